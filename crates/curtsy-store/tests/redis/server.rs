//! A redis-server for one test, here and in the tests of the command line.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A redis-server on a free port of loopback; it ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    process: Child,
    dir: TempDir,
    options: Vec<String>,
    environment: Environment,
}

/// Variables of a process.
pub(crate) type Environment = Vec<(&'static str, OsString)>;

impl Server {
    /// Starts one that writes an append-only file, with these options of its own.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_in(options, Vec::new())
    }

    /// Starts one with these variables in its environment.
    pub(crate) fn start_in(options: &[&str], environment: Environment) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        loop {
            let port = free_port();
            let mut process = spawn(dir.path(), port, &options, &environment);
            if answers(&mut process, port) {
                return Self {
                    port,
                    process,
                    dir,
                    options,
                    environment,
                };
            }
            // Somebody else has taken the port meanwhile.
            process.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("redis://127.0.0.1", "")
    }

    /// Of this scheme, user and host, and with this database.
    pub(crate) fn url_of(&self, before: &str, after: &str) -> String {
        format!("{before}:{}{after}", self.port)
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Has it acknowledge nothing that the disk does not have: else a busy disk lets it fall behind by two seconds.
    pub(crate) fn write_at_once(&self) {
        let set = self.ask(&["CONFIG", "SET", "appendfsync", "always"]);
        assert_eq!(set.trim(), "OK");
    }

    /// Starts it again where it was, with what it had stored.
    pub(crate) fn start_again(&mut self) {
        let dir = self.dir.path();
        self.process = spawn(dir, self.port, &self.options, &self.environment);
        assert!(answers(&mut self.process, self.port));
    }

    /// Sends it a signal, as `STOP` and `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it knows of a node for every slot.
    pub(crate) fn wait_for_cluster(&self) {
        for _ in 0..1500 {
            if self.ask(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the cluster is not made");
    }

    /// What redis-cli prints of the answer to this command.
    pub(crate) fn ask(&self, command: &[&str]) -> String {
        let port = self.port.to_string();
        let asked = Command::new("redis-cli")
            .args(["-p", &port])
            .args(command)
            .output();
        String::from_utf8(asked.unwrap().stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Three servers that are one cluster, each with a third of the slots.
pub(crate) fn cluster(environments: [Environment; 3]) -> [Server; 3] {
    const OPTIONS: [&str; 4] = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
    let mut slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")].into_iter();
    let servers = environments.map(|environment| {
        let server = Server::start_in(&OPTIONS, environment);
        let (first, last) = slots.next().unwrap();
        server.ask(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
        server
    });
    for other in &servers[1..] {
        let port = other.port.to_string();
        servers[0].ask(&["CLUSTER", "MEET", "127.0.0.1", &port]);
    }
    servers.iter().for_each(Server::wait_for_cluster);
    servers
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

/// Waits until the server answers, whatever it thinks of the question; false where it has ended.
fn answers(process: &mut Child, port: u16) -> bool {
    let ask = || -> std::io::Result<usize> {
        let mut connection = TcpStream::connect(("127.0.0.1", port))?;
        connection.write_all(b"PING\r\n")?;
        connection.read(&mut [0; 1])
    };
    for _ in 0..500 {
        if process.try_wait().unwrap().is_some() {
            return false;
        }
        if ask().is_ok_and(|bytes| bytes > 0) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("redis-server does not answer");
}

fn spawn(dir: &Path, port: u16, options: &[String], environment: &Environment) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--appendonly", "yes", "--save", "", "--loglevel", "warning"])
        .args(options)
        .envs(environment.iter().cloned())
        .current_dir(dir)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server has to be installed: ./test does it")
}
