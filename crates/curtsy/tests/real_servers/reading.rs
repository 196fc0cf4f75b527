//! What is read from the answers of a server, as the tap saw them.

use std::time::Duration;

use curtsy::core::Timestamp;
use curtsy::core::signal::{self, Signal};

use crate::scene::Done;
use crate::tap::Answer;

/// A quota as its server was started with it.
pub(crate) struct Told {
    pub(crate) limit: u64,
    pub(crate) window: Duration,
    /// Whether the window's length is in the headers too.
    pub(crate) names_window: bool,
}

impl Answer {
    pub(crate) fn reading(&self) -> Signal {
        let received = Timestamp::from_micros(self.epoch.as_micros() as u64);
        signal::read(self.status, &self.headers, received, None, None)
    }
}

impl Done {
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Answer> {
        let exchanges = self.exchanges.iter();
        exchanges.map(|exchange| exchange.answer.as_ref().unwrap())
    }

    /// Every answer tells the quota, and what is left of it goes down from all but one; with something
    /// left no answer is a reason to wait, and with nothing left each is one, until the reset.
    pub(crate) fn assert_quota_is_read(&self, told: &Told) {
        // Whole seconds, rounded in whichever direction.
        let longest = told.window + Duration::from_secs(1);
        let mut lefts = Vec::new();
        for answer in self.answers() {
            let reading = answer.reading();
            let figures = reading.figures;
            assert_eq!(figures.limit, Some(told.limit as f64), "{answer:?}");
            let window = told.names_window.then_some(told.window);
            assert_eq!(figures.window, window, "{answer:?}");
            let reset = figures.reset.unwrap_or_else(|| panic!("{answer:?}"));
            assert!(reset <= longest, "{reset:?}: {answer:?}");
            let left = figures.remaining.unwrap_or_else(|| panic!("{answer:?}"));
            let wait = reading.wait.map(|wait| wait.after);
            match left {
                0 => assert!(wait.is_some_and(|wait| wait >= reset), "{answer:?}"),
                _ => assert_eq!(wait, None, "{answer:?}"),
            }
            lefts.push(left);
        }
        // Of the first window nothing else is gone but robots.txt, and then one after the other. All is left
        // where a window ends between the counting and the answer.
        assert_eq!(lefts[0], told.limit - 1, "{lefts:?}");
        assert!(lefts.iter().all(|left| *left <= told.limit), "{lefts:?}");
        assert!(lefts.contains(&(told.limit / 2)), "{lefts:?}");
    }

    /// No answer tells anything, neither a success nor a refusal.
    pub(crate) fn assert_nothing_is_read(&self) {
        for answer in self.answers() {
            assert_eq!(answer.reading(), Signal::default(), "{answer:?}");
        }
    }
}
