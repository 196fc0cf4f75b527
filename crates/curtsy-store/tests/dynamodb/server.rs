//! The servers, here and in the tests of the command line.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long one may take to start on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

pub(crate) static DYNALITE: LazyLock<Server> = LazyLock::new(|| Server::start("dynalite"));
pub(crate) static MOTO: LazyLock<Server> = LazyLock::new(|| Server::start("moto"));

/// Runs as long as this process: the end of its standard input tells its script to end it.
pub(crate) struct Server {
    pub(crate) port: u16,
    _script: Child,
}

impl Server {
    /// Starts `testing/{name}` on a free port, and waits until it answers.
    fn start(name: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testing")
            .join(name);
        let port = free_port();
        let mut child = Command::new(&script)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        let begun = Instant::now();
        while !answers(port) {
            let ended = child.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < STARTS_WITHIN,
                "{name} does not start: is it installed? `./test` does that"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            port,
            _script: child,
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What a process needs in its environment to find it.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        environment(self.endpoint())
    }
}

/// The same for whatever listens there.
pub(crate) fn environment(endpoint: String) -> [(&'static str, String); 4] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "eu-central-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "nobody".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
    ]
}

/// A table that nobody has.
pub(crate) fn new_table() -> String {
    format!("dynamodb://test-{:016x}", RandomState::new().hash_one(()))
}

/// One that nobody listens on, and that the system gives to no connection.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 10_000 + (RandomState::new().hash_one(()) % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Whether it answers, whatever it thinks of the question.
fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<usize> {
        let mut connection = TcpStream::connect(("127.0.0.1", port))?;
        connection.set_read_timeout(Some(STARTS_WITHIN))?;
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        connection.read(&mut [0; 1])
    };
    ask().is_ok_and(|bytes| bytes > 0)
}
