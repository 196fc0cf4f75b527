//! The thread that holds a connection, and group commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::call::{Call, pending};
use super::failure::{of_io, of_sqlite, told};
use super::file::{self, Format};
use super::sync::LogSync;
use crate::error::{StoreError, StoreErrorKind};

/// So many calls may wait for the thread; further ones wait for room.
const CHANNEL: usize = 256;
/// So many calls go into one transaction at most.
const MAX_BATCH: usize = 256;

/// A handle on the thread. When the last one is dropped, the thread does what it was sent, closes the
/// file and ends.
#[derive(Debug)]
pub(super) struct Thread {
    sender: mpsc::Sender<Message>,
    commits: Arc<AtomicU64>,
    path: PathBuf,
}

enum Message {
    Call(Box<dyn Call>),
    Close(oneshot::Sender<()>),
}

impl Thread {
    /// Opens the file on a thread of its own. `log_sync`: the log is synced in the background.
    pub(super) async fn start(
        path: &Path,
        format: &'static Format,
        log_sync: bool,
    ) -> Result<Self, StoreError> {
        let path = std::path::absolute(path).map_err(|error| of_io(path, error))?;
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let commits = Arc::new(AtomicU64::new(0));
        let (opened, is_open) = oneshot::channel();
        let served = path.clone();
        let counted = Arc::clone(&commits);
        thread::Builder::new()
            .name("curtsy-sqlite".to_owned())
            .spawn(
                move || match Server::open(served, format, log_sync, counted) {
                    Ok(server) => {
                        // Where nobody waits any more, the channel is closed too.
                        let _ = opened.send(Ok(()));
                        server.run(receiver);
                    }
                    Err(error) => {
                        let _ = opened.send(Err(error));
                    }
                },
            )
            .map_err(|error| of_io(&path, error))?;
        match is_open.await {
            Ok(outcome) => outcome.map(|()| Self {
                sender,
                commits,
                path,
            }),
            Err(_) => Err(told(&path, StoreErrorKind::Unavailable)),
        }
    }

    /// Runs `work` on the connection; it changes nothing.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.call(false, work).await
    }

    /// Runs `work` within a transaction and answers when that is committed. Where it fails, all that
    /// was to go into the same transaction fails with it.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.call(true, work).await
    }

    async fn call<T, F>(&self, writes: bool, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (call, answer) = pending(writes, work);
        let closed = || told(&self.path, StoreErrorKind::Unavailable);
        self.sender
            .send(Message::Call(call))
            .await
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// A handle that keeps nothing open, for work that nobody waits for.
    pub(super) fn later(&self) -> Later {
        Later(self.sender.downgrade())
    }

    /// Waits until all that was sent before is done and the file is closed.
    pub(super) async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        // Either way it is closed when the answer is in or the thread is gone.
        let _ = self.sender.send(Message::Close(closed)).await;
        let _ = is_closed.await;
    }

    /// So many transactions that could write were committed so far.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

/// See [`Thread::later`].
#[derive(Debug)]
pub(super) struct Later(mpsc::WeakSender<Message>);

impl Later {
    /// Writes, unless the thread has too much to do or is gone.
    pub(super) fn write<F>(&self, work: F)
    where
        F: FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    {
        if let Some(sender) = self.0.upgrade() {
            let (call, _) = pending(true, work);
            let _ = sender.try_send(Message::Call(call));
        }
    }
}

struct Server {
    connection: Connection,
    path: PathBuf,
    place: Option<(u64, u64)>,
    log_sync: Option<LogSync>,
    commits: Arc<AtomicU64>,
}

impl Server {
    fn open(
        path: PathBuf,
        format: &Format,
        log_sync: bool,
        commits: Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        let connection = file::open(&path, format)?;
        let log_sync = if log_sync {
            Some(LogSync::start(&path).map_err(|error| of_io(&path, error))?)
        } else {
            None
        };
        let place = place_of(&path);
        Ok(Self {
            connection,
            path,
            place,
            log_sync,
            commits,
        })
    }

    fn run(self, mut receiver: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while receiver.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
            for message in messages.drain(..) {
                match message {
                    Message::Call(call) => batch.push(call),
                    Message::Close(closed) => {
                        self.serve(&mut batch);
                        drop(self);
                        let _ = closed.send(());
                        return;
                    }
                }
            }
            self.serve(&mut batch);
        }
    }

    /// Runs all calls of the batch in one transaction, then answers them.
    fn serve(&self, batch: &mut Vec<Box<dyn Call>>) {
        if batch.is_empty() {
            return;
        }
        let writes = batch.iter().any(|call| call.writes());
        let committed = self.commit(writes, batch);
        for call in batch.drain(..) {
            call.answer(committed.clone());
        }
    }

    fn commit(&self, writes: bool, batch: &mut [Box<dyn Call>]) -> Result<(), StoreError> {
        if writes {
            self.check_file()?;
        }
        // With the lock taken at the start, what a call reads cannot change before it writes.
        let begin = if writes { "BEGIN IMMEDIATE" } else { "BEGIN" };
        let done = self.execute(begin).and_then(|()| {
            batch
                .iter_mut()
                .try_for_each(|call| call.run(&self.connection))
                .and_then(|()| self.execute("COMMIT"))
        });
        if let Err(error) = done {
            if !self.connection.is_autocommit() {
                // Some errors have rolled back already; the first one is the one to tell.
                let _ = self.execute("ROLLBACK");
            }
            return Err(of_sqlite(&self.path, error));
        }
        if writes {
            self.commits.fetch_add(1, Ordering::Relaxed);
            if let Some(log_sync) = &self.log_sync {
                log_sync.committed();
            }
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    /// SQLite would go on writing a file that was removed, for nobody to find.
    fn check_file(&self) -> Result<(), StoreError> {
        if self.place != place_of(&self.path) {
            return Err(StoreError::new(
                StoreErrorKind::Unavailable,
                format!("{} was removed or replaced", self.path.display()),
            ));
        }
        match self.log_sync.as_ref().and_then(LogSync::failure) {
            Some(kind) => Err(of_io(&self.path, kind.into())),
            None => Ok(()),
        }
    }
}

/// Which file it is, by device and number; `None` where there is none or the system cannot tell.
fn place_of(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format {
        application_id: 7,
        version: 1,
        schema: "CREATE TABLE t (a BLOB)",
        synchronous: "normal",
        cache_kib: 100,
    };

    #[tokio::test]
    async fn a_full_disk_is_told_and_ends_when_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let thread = Thread::start(&dir.path().join("t.db"), &FORMAT, true)
            .await
            .unwrap();
        let most_pages = async |pages: u32| {
            let set = move |c: &Connection| {
                c.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            };
            thread.read(set).await.unwrap();
        };
        let insert = async |bytes: i64| {
            let sql = "INSERT INTO t VALUES (zeroblob(?1))";
            thread.write(move |c| c.execute(sql, [bytes])).await
        };
        insert(1).await.unwrap();
        most_pages(4).await;
        let error = insert(100_000).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Full);
        insert(1).await.unwrap();
        most_pages(1000).await;
        insert(100_000).await.unwrap();
        let rows: i64 = thread
            .read(|c| c.query_row("SELECT count(*) FROM t", [], |row| row.get(0)))
            .await
            .unwrap();
        assert_eq!(rows, 3);
    }

    #[tokio::test]
    async fn a_failed_call_takes_nothing_with_it_that_was_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        let thread = Thread::start(&dir.path().join("t.db"), &FORMAT, false)
            .await
            .unwrap();
        let good = thread.write(|c| c.execute("INSERT INTO t VALUES (1)", []));
        assert_eq!(good.await.unwrap(), 1);
        let bad = thread.write(|c| {
            c.execute("INSERT INTO t VALUES (2)", [])?;
            c.execute("INSERT INTO nowhere VALUES (2)", [])
        });
        assert_eq!(bad.await.unwrap_err().kind(), StoreErrorKind::Damaged);
        let rows = thread.read(|c| {
            c.query_row("SELECT group_concat(a) FROM t", [], |row| {
                row.get::<_, String>(0)
            })
        });
        assert_eq!(rows.await.unwrap(), "1");
    }

    #[tokio::test]
    async fn the_thread_ends_with_its_last_handle_and_leaves_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let thread = Thread::start(&dir.path().join("t.db"), &FORMAT, true)
            .await
            .unwrap();
        let insert = thread.write(|c| c.execute("INSERT INTO t VALUES (1)", []));
        insert.await.unwrap();
        drop(thread);
        let files = || fs::read_dir(dir.path()).unwrap().count();
        for _ in 0..500 {
            if files() == 1 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        panic!("{} files are left", files());
    }
}
