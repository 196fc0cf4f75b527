//! A redis-server for one test.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use curtsy_store::{RedisStore, RedisUrl};
use tempfile::TempDir;

/// A redis-server on a free port of loopback; it ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    process: Child,
    dir: TempDir,
    options: Vec<String>,
}

impl Server {
    /// Starts one that writes an append-only file, with these options of its own.
    pub(crate) async fn start(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let process = spawn(dir.path(), port, &options);
        let server = Self {
            port,
            process,
            dir,
            options,
        };
        server.answers().await;
        server
    }

    pub(crate) fn url(&self) -> RedisUrl {
        self.url_of("redis://127.0.0.1", "")
    }

    /// Of this scheme, user and host, and with this database.
    pub(crate) fn url_of(&self, before: &str, after: &str) -> RedisUrl {
        format!("{before}:{}{after}", self.port).parse().unwrap()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again where it was, with what it had stored.
    pub(crate) fn start_again(&mut self) {
        self.process = spawn(self.dir.path(), self.port, &self.options);
    }

    /// Sends it a signal, as `STOP` and `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
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

    async fn answers(&self) {
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("redis-server does not start");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One that nobody listens on; freed again, it is not taken by others for a while.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn spawn(dir: &Path, port: u16, options: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--appendonly", "yes", "--save", "", "--loglevel", "warning"])
        .args(options)
        .current_dir(dir)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server has to be installed: ./test does it")
}

pub(crate) async fn open(server: &Server) -> RedisStore {
    RedisStore::open(&server.url()).await.unwrap()
}
