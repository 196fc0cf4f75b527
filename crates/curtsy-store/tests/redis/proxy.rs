//! A network that loses answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Stands between client and server, and loses every so-manieth answer: with it, the connection.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    /// Answers that were lost.
    pub(crate) lost: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn before(server: u16, every: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answers, lost) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let losing = Arc::clone(&lost);
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                tokio::spawn(carry(
                    client,
                    server,
                    every,
                    Arc::clone(&answers),
                    Arc::clone(&losing),
                ));
            }
        });
        Self { port, lost, task }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    every: usize,
    answers: Arc<AtomicUsize>,
    lost: Arc<AtomicUsize>,
) {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(bytes) if bytes > 0 => server.write_all(&asked[..bytes]).await.unwrap(),
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(bytes) if bytes > 0 => {
                    if answers.fetch_add(1, Ordering::Relaxed) % every == every - 1 {
                        lost.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    if client.write_all(&answered[..bytes]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}
