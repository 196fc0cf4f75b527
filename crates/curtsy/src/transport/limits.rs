//! How long and how large an exchange may be.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::error::Phase;
use crate::clock::LONGEST_WAIT;

/// The limits of each exchange. What exceeds one is an error of its own kind; nothing is truncated.
/// Durations beyond [`LONGEST_WAIT`] count as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Name lookup, TCP, proxy and TLS together. Default 10 s.
    pub connect: Duration,
    /// The longest silence: from the hand-over of the request to the whole response head (a head that
    /// drips is a silence), and then between two pieces of the body. Default 30 s.
    pub silence: Duration,
    /// From the hand-over of the request to the end of the body. Default 10 min.
    pub total: Duration,
    /// Bytes of a body, once decoded. Default 1 GiB.
    pub body: u64,
}

impl Limits {
    /// The default of [`connect`](Self::connect).
    pub const CONNECT: Duration = Duration::from_secs(10);
    /// The default of [`silence`](Self::silence).
    pub const SILENCE: Duration = Duration::from_secs(30);
    /// The default of [`total`](Self::total).
    pub const TOTAL: Duration = Duration::from_secs(600);
    /// The default of [`body`](Self::body).
    pub const BODY: u64 = 1 << 30;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Self::CONNECT,
            silence: Self::SILENCE,
            total: Self::TOTAL,
            body: Self::BODY,
        }
    }
}

/// Watches the two clocks of one exchange with one timer.
pub(super) struct Deadline {
    timer: Pin<Box<Sleep>>,
    silence: Duration,
    silent_since: Instant,
    /// Whether somebody has been waiting since `silent_since`.
    waiting: bool,
    total_at: Instant,
    head_read: bool,
}

impl Deadline {
    /// Starts both clocks.
    pub(super) fn start(limits: &Limits) -> Self {
        let now = Instant::now();
        let silence = limits.silence.min(LONGEST_WAIT);
        let total_at = now + limits.total.min(LONGEST_WAIT);
        Self {
            timer: Box::pin(tokio::time::sleep_until(total_at.min(now + silence))),
            silence,
            silent_since: now,
            waiting: true,
            total_at,
            head_read: false,
        }
    }

    /// Notes that the response head has come.
    pub(super) fn note_head(&mut self) {
        self.head_read = true;
        self.waiting = false;
    }

    /// Notes that a piece of the body has come. Silence is counted from the next time that somebody
    /// waits: while a slow reader keeps the server back, the server is not silent.
    pub(super) fn note_piece(&mut self) {
        self.waiting = false;
    }

    /// Ready with what took too long. To be polled whenever there is nothing to read.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Phase> {
        if !self.waiting {
            self.waiting = true;
            self.silent_since = Instant::now();
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if now >= self.total_at {
                return Poll::Ready(Phase::Total);
            }
            let silent_until = self.silent_since + self.silence;
            if now >= silent_until {
                return Poll::Ready(if self.head_read {
                    Phase::Body
                } else {
                    Phase::Head
                });
            }
            // The timer was set before the last piece came; moving it for every piece would cost more.
            self.timer.as_mut().reset(silent_until.min(self.total_at));
        }
    }
}
