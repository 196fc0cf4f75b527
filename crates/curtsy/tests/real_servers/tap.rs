//! A free port of loopback before a server, which notes when each request and its answer came by.
//!
//! It passes bytes on as they are and reads only heads: of requests without a body, one at a time on a
//! connection, as the client sends them over HTTP/1.1. It runs on threads of its own, so that the
//! client under test cannot delay what it notes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};

/// What came by.
pub(crate) struct Tap {
    address: SocketAddr,
    seen: Seen,
}

/// A request, and its answer once it came.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) path: String,
    /// When its first byte arrived.
    pub(crate) arrived: Instant,
    pub(crate) answer: Option<Answer>,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// When its first byte came from the server, before the client saw it.
    pub(crate) at: Instant,
    /// The same by the machine's clock, as the server knows it too.
    pub(crate) epoch: Duration,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
}

impl Answer {
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let value = self.headers.get(RETRY_AFTER)?.to_str().unwrap();
        Some(Duration::from_secs(value.parse().unwrap()))
    }
}

type Seen = Arc<Mutex<Vec<Exchange>>>;

impl Tap {
    /// Listens on a free port, and passes on what comes to the server on this Unix socket.
    pub(crate) fn before(socket: &Path) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, socket) = (Seen::default(), socket.to_owned());
        let tap = Self {
            address,
            seen: Arc::clone(&seen),
        };
        // It ends with the process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&socket)) else {
                    break;
                };
                pass_on(client, server, &seen);
            }
        });
        tap
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far, in the order in which they arrived.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.seen.lock().unwrap().clone()
    }
}

/// Both directions of a connection, each on its thread.
fn pass_on(client: TcpStream, server: UnixStream, seen: &Seen) {
    // So that a small answer is not held back for an acknowledgement.
    client.set_nodelay(true).unwrap();
    // Which exchange the connection is at.
    let current = Arc::new(Mutex::new(0));
    let (requests, answers) = (
        Requests {
            seen: Arc::clone(seen),
            current: Arc::clone(&current),
            head: Head::default(),
        },
        Answers {
            seen: Arc::clone(seen),
            current,
            head: Head::default(),
        },
    );
    let (from_client, from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        copy(from_client, &server, requests);
        let _ = server.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        copy(from_server, &client, answers);
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// Lets `watch` look at each piece before it is passed on.
fn copy(mut from: impl Read, mut to: impl Write, mut watch: impl Watch) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        watch.see(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

trait Watch {
    fn see(&mut self, piece: &[u8]);
}

struct Requests {
    seen: Seen,
    current: Arc<Mutex<usize>>,
    head: Head,
}

impl Watch for Requests {
    fn see(&mut self, piece: &[u8]) {
        let Some((arrived, head)) = self.head.read(piece) else {
            return;
        };
        let mut seen = self.seen.lock().unwrap();
        *self.current.lock().unwrap() = seen.len();
        seen.push(Exchange {
            path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
            arrived,
            answer: None,
        });
    }
}

struct Answers {
    seen: Seen,
    current: Arc<Mutex<usize>>,
    head: Head,
}

impl Watch for Answers {
    fn see(&mut self, piece: &[u8]) {
        let mut seen = self.seen.lock().unwrap();
        let Some(exchange) = seen.get_mut(*self.current.lock().unwrap()) else {
            return;
        };
        if exchange.answer.is_some() {
            // The rest of a body.
            return;
        }
        let Some((at, head)) = self.head.read(piece) else {
            return;
        };
        let fields = head.lines().filter_map(|line| line.split_once(':'));
        exchange.answer = Some(Answer {
            at,
            epoch: UNIX_EPOCH.elapsed().unwrap().saturating_sub(at.elapsed()),
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            headers: fields
                .map(|(name, value)| {
                    let name = name.parse::<HeaderName>().unwrap();
                    (name, HeaderValue::from_str(value.trim()).unwrap())
                })
                .collect(),
        });
    }
}

/// A head that comes in pieces.
#[derive(Default)]
struct Head {
    begun: Option<Instant>,
    bytes: Vec<u8>,
}

impl Head {
    /// The whole head, once it has come, and when its first byte did. What follows it is not looked at.
    fn read(&mut self, piece: &[u8]) -> Option<(Instant, String)> {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        self.bytes.extend_from_slice(piece);
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        *self = Self::default();
        Some((begun, head))
    }
}
