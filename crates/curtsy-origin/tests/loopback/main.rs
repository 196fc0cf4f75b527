//! The origin on loopback, seen by a client that knows nothing but sockets.

mod faults;
mod http2;
mod pages;
mod quotas;
mod running;

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::time::Duration;

use curtsy_origin::{Origin, Script};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(json: &str) -> Origin {
    let script = Script::from_json(json).expect("the script is right");
    Origin::start(script, (Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("loopback has a free port")
}

/// Waits for what is about to be so, and not for long.
async fn until(condition: impl Fn() -> bool) {
    let soon = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let came = tokio::time::timeout(Duration::from_secs(2), soon).await;
    assert!(came.is_ok(), "it did not come about");
}

/// What came back, byte for byte, until the connection ended.
struct Answer {
    bytes: Vec<u8>,
    reset: bool,
}

impl Answer {
    fn head(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        text.split("\r\n\r\n").next().unwrap_or_default().to_owned()
    }

    fn status(&self) -> u16 {
        let status = self
            .head()
            .get(9..12)
            .and_then(|status| status.parse().ok());
        status.unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.head().lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    }

    fn body(&self) -> &[u8] {
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(&[], |end| &self.bytes[end + 4..])
    }
}

async fn connect(origin: &Origin) -> TcpStream {
    TcpStream::connect(origin.addr())
        .await
        .expect("the origin listens")
}

async fn send(client: &mut TcpStream, path: &str, fields: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    client
        .write_all(request.as_bytes())
        .await
        .expect("the request is sent");
}

async fn read(client: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let reset = match client.read_to_end(&mut bytes).await {
        Ok(_) => false,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    Answer { bytes, reset }
}

/// One request on a connection of its own.
async fn fetch(origin: &Origin, path: &str) -> Answer {
    let mut client = connect(origin).await;
    send(&mut client, path, "Connection: close\r\n").await;
    read(&mut client).await
}
