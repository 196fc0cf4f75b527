//! O: bodies in the place of a robots.txt that are too long, or no text as everybody writes it.

use std::net::{Ipv4Addr, SocketAddr};

use curtsy::Reply;
use curtsy::core::robots::MAX_BODY;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::support::*;

const RULES: &[u8] = b"User-agent: *\nDisallow: /x\n";
const COMMENT: &[u8] = b"# nothing to see here\n";

/// A server whose robots.txt is these octets, and after them a comment over and over.
struct Octets {
    address: SocketAddr,
    /// How many octets of each body left, once the client wanted no more of it or had it all.
    sent: mpsc::UnboundedReceiver<u64>,
}

impl Octets {
    /// `total` octets, or without end.
    async fn serve(beginning: Vec<u8>, total: Option<u64>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, sent) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (beginning, tell) = (beginning.clone(), tell.clone());
                tokio::spawn(async move { answer(stream, &beginning, total, &tell).await });
            }
        });
        Self { address, sent }
    }

    async fn file(octets: impl Into<Vec<u8>>) -> Self {
        let octets = octets.into();
        let total = octets.len() as u64;
        Self::serve(octets, Some(total)).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// One request of a connection: its end is that of the body.
async fn answer(
    mut stream: TcpStream,
    beginning: &[u8],
    total: Option<u64>,
    tell: &mpsc::UnboundedSender<u64>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(octet) => head.push(octet),
            Err(_) => return,
        }
    }
    let is_robots = head.starts_with(b"GET /robots.txt ");
    let length = match total {
        _ if !is_robots => "Content-Length: 3\r\n".to_owned(),
        Some(total) => format!("Content-Length: {total}\r\n"),
        // As long as the connection lasts.
        None => String::new(),
    };
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{length}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    if !is_robots {
        stream.write_all(b"ok\n").await.unwrap();
        return;
    }
    let mut sent = 0;
    let mut piece = beginning.to_vec();
    let block = COMMENT.repeat(700);
    loop {
        let left = total.map_or(u64::MAX, |total| total - sent);
        piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if piece.is_empty() || stream.write_all(&piece).await.is_err() {
            break;
        }
        sent += piece.len() as u64;
        piece.clone_from(&block);
    }
    tell.send(sent).unwrap();
}

#[tokio::test]
async fn o3_of_fifty_megabytes_and_of_a_body_without_end_only_the_beginning_is_fetched_and_read() {
    const FIFTY_MB: u64 = 50_000_000;

    for total in [Some(FIFTY_MB), None] {
        let mut server = Octets::serve(RULES.to_vec(), total).await;
        let client = client(|_| ());
        let no = disallowed(client.get(&server.url("/x")).await);
        assert_eq!(no.line, Some(2), "{total:?}");
        assert_eq!(status(&client, &server.url("/y")).await, 200, "{total:?}");
        // What is in the buffers on the way is far less than the rest.
        let sent = tokio::time::timeout(ms(5000), server.sent.recv()).await;
        let sent = sent.expect("it is read on and on").unwrap();
        assert!(sent < FIFTY_MB / 2, "{total:?}: {sent} octets were taken");
    }
}

#[tokio::test]
async fn o3_the_line_that_the_limit_cuts_is_dropped_and_those_before_it_count() {
    // The limit falls after this much of the last line.
    for (cut, expected) in [
        // What is left would be a rule that forbids everything.
        ("Disallow: /", [false, true, true]),
        ("Disallow: /pri", [false, true, true]),
        // The next octet ends the line: it is whole.
        ("Disallow: /private", [false, true, false]),
    ] {
        let mut file = RULES.to_vec();
        while file.len() + cut.len() + COMMENT.len() <= MAX_BODY {
            file.extend(COMMENT);
        }
        let rest = MAX_BODY - cut.len() - file.len();
        if rest > 0 {
            file.extend(vec![b'#'; rest - 1]);
            file.push(b'\n');
        }
        file.extend(b"Disallow: /private\nDisallow: /\n");
        let server = Octets::file(file).await;
        let client = client(|_| ());
        let mut allowed = Vec::new();
        for path in ["/x", "/public", "/private"] {
            let reply = client.get(&server.url(path)).await.unwrap();
            allowed.push(matches!(reply, Reply::Response(_)));
        }
        assert_eq!(allowed, expected, "{cut}");
    }
}

#[tokio::test]
async fn o3_utf_16_with_its_mark_is_read_and_other_encodings_are_octets() {
    let text = String::from_utf8(RULES.to_vec()).unwrap();
    let units = |to_octets: fn(u16) -> [u8; 2]| {
        let marked = format!("\u{feff}{text}");
        marked
            .encode_utf16()
            .flat_map(to_octets)
            .collect::<Vec<u8>>()
    };
    for (name, file) in [
        ("UTF-16, little-endian", units(u16::to_le_bytes)),
        ("UTF-16, big-endian", units(u16::to_be_bytes)),
        ("UTF-8 with a mark", format!("\u{feff}{text}").into_bytes()),
        ("Latin-1", [b"# caf\xe9\n", RULES].concat()),
    ] {
        let server = Octets::file(file).await;
        let client = client(|_| ());
        let no = disallowed(client.get(&server.url("/x")).await);
        let line = if name == "Latin-1" { 3 } else { 2 };
        assert_eq!(no.line, Some(line), "{name}");
        assert_eq!(status(&client, &server.url("/y")).await, 200, "{name}");
    }
}
