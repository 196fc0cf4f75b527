//! The word that the origin stops.

use tokio::sync::watch;

/// Hears of the stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    pub(super) fn channel() -> (watch::Sender<bool>, Self) {
        let (tell, hear) = watch::channel(false);
        (tell, Self(hear))
    }

    /// Waits for the word; an origin that is gone has stopped too.
    pub(super) async fn told(&mut self) {
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
