//! A channel's queue: what it is told waits there, so that nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::Message;

/// Alerts that wait for one channel. More are lost, and that is told.
const ROOM: usize = 256;

/// Tells alerts one by one, in their order.
pub(super) struct Outbox {
    pub(super) channel: &'static str,
    queue: mpsc::Sender<Arc<Message>>,
    task: JoinHandle<()>,
}

impl Outbox {
    pub(super) fn start<F>(
        channel: &'static str,
        mut deliver: impl FnMut(Arc<Message>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let (queue, mut messages) = mpsc::channel(ROOM);
        let task = tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                deliver(message).await;
            }
        });
        Self {
            channel,
            queue,
            task,
        }
    }

    /// Whether there was room for it.
    pub(super) fn put(&self, message: &Arc<Message>) -> bool {
        self.queue.try_send(Arc::clone(message)).is_ok()
    }

    /// Waits at most so long until all are told.
    pub(super) async fn finish(self, most: Duration) {
        drop(self.queue);
        let mut task = self.task;
        if tokio::time::timeout(most, &mut task).await.is_err() {
            task.abort();
        }
    }
}
