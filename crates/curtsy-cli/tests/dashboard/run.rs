//! A run that is watched, and requests to it as they are on the wire.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `curtsy fetch` with a dashboard, ended with the test.
pub(crate) struct Run {
    child: Child,
    said: Arc<Mutex<String>>,
}

/// An answer, its head apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Run {
    /// Fetches this list.
    pub(crate) fn start(dir: &Path, list: &[String], arguments: &[&str]) -> Self {
        std::fs::write(dir.join("list"), list.join("\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_curtsy"))
            .args([
                "fetch",
                "-i",
                "list",
                "--state",
                "memory:",
                "--contact",
                "ann@example.org",
            ])
            .args(arguments)
            .current_dir(dir)
            .env("HOME", dir)
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = Arc::<Mutex<String>>::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *heard.lock().unwrap() += &(line + "\n");
            }
        });
        Self { child, said }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// The address at which it serves `what`: `dashboard` or `metrics`.
    pub(crate) fn address(&self, what: &str) -> String {
        let words = format!("curtsy: {what} at http://");
        let found = || {
            let said = self.said();
            let rest = said.lines().find_map(|line| line.strip_prefix(&words))?;
            Some(rest.split('/').next()?.to_owned())
        };
        eventually(|| found().is_some(), || self.said());
        found().unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until this holds.
pub(crate) fn eventually(holds: impl Fn() -> bool, why: impl Fn() -> String) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not come to hold: {}",
            why()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a request with these fields and no others, and opens its answer.
pub(crate) fn open(address: &str, request: &str, fields: &[(&str, &str)], body: &str) -> TcpStream {
    let mut head = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in fields {
        head += &format!("{name}: {value}\r\n");
    }
    let whole = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(whole.as_bytes()).unwrap();
    stream
}

/// The same, and reads it to its end.
pub(crate) fn ask(address: &str, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
    let mut whole = String::new();
    open(address, request, fields, body)
        .read_to_string(&mut whole)
        .unwrap();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let field = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_ascii_lowercase(), value.to_owned())
    };
    Answer {
        status,
        fields: lines.map(field).collect(),
        body: body.to_owned(),
    }
}
