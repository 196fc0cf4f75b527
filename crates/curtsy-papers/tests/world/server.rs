//! HTTP/1.1 as far as the world needs it.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::pubmed::Search;
use super::tls::Certified;
use super::{Answer, Arrival, Shared, World};

pub(super) async fn start(papers: u32, tls: Option<Certified>) -> World {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let shared = Arc::new(Shared {
        addr: listener.local_addr().unwrap(),
        started: Instant::now(),
        authority: tls.as_ref().map(|tls| tls.authority.clone()),
        log: Mutex::default(),
        faults: Mutex::default(),
        search: Mutex::new(Search::default()),
        papers,
        task: Mutex::default(),
    });
    let acceptor = tls.map(|tls| tls.acceptor);
    let world = Arc::downgrade(&shared);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let (world, acceptor) = (world.clone(), acceptor.clone());
            tokio::spawn(async move {
                match acceptor {
                    None => serve(stream, world).await,
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            serve(stream, world).await;
                        }
                    }
                }
            });
        }
    });
    *shared.task.lock().unwrap() = Some(task.abort_handle());
    World { shared }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, world: Weak<Shared>) {
    let mut buffer = Vec::new();
    while let Some(mut arrival) = read(&mut stream, &mut buffer).await {
        let Some(shared) = world.upgrade() else {
            return;
        };
        arrival.at = shared.started.elapsed();
        shared.log.lock().unwrap().push(arrival.clone());
        let answer = World { shared }.answer(&arrival);
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        if write(&mut stream, &answer).await.is_none() {
            return;
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<Arrival> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let header = |wanted: &str| {
        let field = headers.iter().find(|(name, _)| name == wanted);
        field.map_or("", |(_, value)| value.as_str())
    };
    let length: usize = header("content-length").parse().unwrap_or(0);
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&buffer[end..end + length]).into_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let is_form = header("content-type").starts_with("application/x-www-form-urlencoded");
    let form = if is_form { body.as_str() } else { "" };
    let pairs = [query, form].map(|text| url::form_urlencoded::parse(text.as_bytes()).into_owned());
    let arrival = Arrival {
        at: std::time::Duration::ZERO,
        host: header("host")
            .split(':')
            .next()
            .unwrap_or_default()
            .to_owned(),
        method,
        path: path.to_owned(),
        query: pairs.into_iter().flatten().collect(),
        body: body.clone(),
        headers: headers.clone(),
    };
    buffer.drain(..end + length);
    Some(arrival)
}

/// `None` where the connection is at its end.
async fn write(stream: &mut (impl AsyncWrite + Unpin), answer: &Answer) -> Option<()> {
    let mut head = format!(
        "HTTP/1.1 {} X\r\ncontent-length: {}\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let sent = &answer.body[..answer.cut_at.unwrap_or(answer.body.len())];
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(sent);
    stream.write_all(&bytes).await.ok()?;
    stream.flush().await.ok()?;
    answer.cut_at.is_none().then_some(())
}
