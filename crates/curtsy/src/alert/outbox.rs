//! A channel's queue: what it is told waits there, so that nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Whether there was no room for the last one.
    is_full: AtomicBool,
}

/// What became of an alert that was put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It waits to be told.
    Waits,
    /// There is no room any more.
    FirstLost,
    /// There is still none.
    Lost,
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
            is_full: AtomicBool::new(false),
        }
    }

    /// Puts it into the queue, where there is room.
    pub(super) fn put(&self, message: &Arc<Message>) -> Put {
        let is_full = self.queue.try_send(Arc::clone(message)).is_err();
        match (is_full, self.is_full.swap(is_full, Ordering::Relaxed)) {
            (false, _) => Put::Waits,
            (true, false) => Put::FirstLost,
            (true, true) => Put::Lost,
        }
    }

    /// Waits at most so long until all are told, and answers whether they are.
    pub(super) async fn finish(self, most: Duration) -> bool {
        drop(self.queue);
        let mut task = self.task;
        let ended = tokio::time::timeout(most, &mut task).await;
        task.abort();
        ended.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use curtsy_core::{Alert, AlertKind, AlertState, Scope, Timestamp};
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn who_is_told_slowly_keeps_nobody_waiting_and_what_is_lost_is_told_once() {
        let alert = Alert {
            kind: AlertKind::BreakerOpen,
            state: AlertState::Raised,
            since: Timestamp::from_secs(1),
        };
        let scope = Scope::named("a.example");
        let message = Arc::new(Message::new(&scope, &alert, Timestamp::from_secs(2)));
        let (told, may_tell) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (tell, may) = (Arc::clone(&told), Arc::clone(&may_tell));
        let outbox = Outbox::start("test", move |_| {
            let (tell, may) = (Arc::clone(&tell), Arc::clone(&may));
            async move {
                may.acquire().await.unwrap().forget();
                tell.add_permits(1);
            }
        });
        let put: Vec<_> = (0..ROOM + 2).map(|_| outbox.put(&message)).collect();
        assert!(put[..ROOM].iter().all(|put| *put == Put::Waits));
        assert_eq!(put[ROOM..], [Put::FirstLost, Put::Lost]);
        may_tell.add_permits(ROOM);
        assert!(outbox.finish(Duration::from_secs(5)).await);
        assert_eq!(told.available_permits(), ROOM);
    }
}
