//! A piece of work for the thread, with the way back to who asked for it.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::StoreError;

/// A call on its way through the thread.
pub(super) trait Call: Send {
    fn writes(&self) -> bool;
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Answers the caller; nothing happens where it has gone.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Makes a call of `work` that changes something (`writes`) or not, and where its answer will arrive.
pub(super) fn pending<T, F>(
    writes: bool,
    work: F,
) -> (Box<dyn Call>, oneshot::Receiver<Result<T, StoreError>>)
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let call = Pending {
        writes,
        work: Some(work),
        result: None,
        reply,
    };
    (Box::new(call), answer)
}

struct Pending<T, F> {
    writes: bool,
    work: Option<F>,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Call for Pending<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    fn writes(&self) -> bool {
        self.writes
    }

    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if let Some(work) = self.work.take() {
            self.result = Some(work(connection)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match (committed, self.result) {
            (Ok(()), Some(result)) => Ok(result),
            (Err(error), _) => Err(error),
            // A committed call has run. Without an answer the caller takes the store for closed.
            (Ok(()), None) => return,
        };
        let _ = self.reply.send(answer);
    }
}
