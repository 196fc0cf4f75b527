//! A server that a script of `testing/` starts.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to start on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// Runs until it is dropped; its script also ends it where this process dies.
pub(crate) struct Server {
    script: Child,
    dir: TempDir,
}

impl Server {
    /// Starts `testing/{name}` with these arguments, and waits until it listens.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testing")
            .join(name);
        let dir = tempfile::tempdir().unwrap();
        let child = Command::new(&script)
            .arg(socket_in(&dir))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        let mut server = Self { script: child, dir };
        let begun = Instant::now();
        while server.connect().is_err() {
            let ended = server.script.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < STARTS_WITHIN,
                "{name} does not start: is it installed? `./test` does that"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Waits for its first answer, since some listen before they are ready. A quota counts that request.
    pub(crate) fn answering(self) -> Self {
        let mut stream = self.connect().unwrap();
        stream.set_read_timeout(Some(STARTS_WITHIN)).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        self
    }

    /// Where it listens: a Unix socket, so that no port can be taken meanwhile.
    pub(crate) fn socket(&self) -> PathBuf {
        socket_in(&self.dir)
    }

    fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.socket())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its standard input tells the script to end its server.
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

fn socket_in(dir: &TempDir) -> PathBuf {
    dir.path().join("socket")
}
