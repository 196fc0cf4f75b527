//! Asking an HTTP proxy for a tunnel (`CONNECT`, RFC 9110 section 9.3.6).

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::error::{TransportError, TransportErrorKind};
use super::proxy::Proxy;
use super::stream::Stream;
use super::target::Target;

/// The largest answer that a proxy may give, in bytes.
const ANSWER_LIMIT: usize = 16 * 1024;

/// Asks the proxy at the other end of `stream` to connect to `target`.
///
/// # Errors
/// `Proxy` where it refuses, answers with what is no HTTP, or hangs up.
pub(super) async fn open(
    stream: &mut Stream,
    proxy: &Proxy,
    target: &Target,
) -> Result<(), TransportError> {
    let host_and_port = target.host_and_port();
    let mut request =
        format!("CONNECT {host_and_port} HTTP/1.1\r\nHost: {host_and_port}\r\n").into_bytes();
    if let Some(authorization) = proxy.authorization() {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(authorization.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream
        .write_all(&request)
        .await
        .map_err(TransportError::from_connect)?;
    stream.flush().await.map_err(TransportError::from_connect)?;

    let status = read_status(stream).await?;
    if status / 100 == 2 {
        Ok(())
    } else {
        Err(failed(format!("the proxy answered CONNECT with {status}")))
    }
}

/// Reads one response head. Whatever follows it is a breach: in a tunnel to a TLS server the client
/// speaks first.
async fn read_status(stream: &mut Stream) -> Result<u16, TransportError> {
    let mut head = BytesMut::with_capacity(1024);
    let end = loop {
        if let Some(at) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if head.len() >= ANSWER_LIMIT {
            return Err(failed("the proxy's answer is too large"));
        }
        let read = stream
            .read_buf(&mut head)
            .await
            .map_err(|error| TransportError::with_source(TransportErrorKind::Proxy, error))?;
        if read == 0 {
            return Err(failed("the proxy hung up"));
        }
    };
    let status = status_of(&head).ok_or_else(|| failed("the proxy's answer is not http"))?;
    if status / 100 == 2 && end != head.len() {
        return Err(failed("the proxy's answer does not end with its head"));
    }
    Ok(status)
}

fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|&byte| byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.strip_prefix("HTTP/1.")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn failed(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TransportError {
    TransportError::with_source(TransportErrorKind::Proxy, why)
}
