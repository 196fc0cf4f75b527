//! The rate of the last while, and how long what is left takes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use curtsy::core::Timestamp;
use curtsy::{Outlook, Progress};

/// The rate is that of the last so much time.
const RATE_OVER: Duration = Duration::from_secs(15);
/// A rate over less than this is none to count on.
const SURE_AFTER: Duration = Duration::from_secs(3);
/// Nothing takes longer.
const LONGEST: f64 = 1e9;

/// How many had ended when.
#[derive(Default)]
pub(crate) struct Meter {
    seen: VecDeque<(Instant, u64)>,
    /// The highest rate so far: what the machine and the line can do at least.
    best: f64,
}

impl Meter {
    /// So many have ended by now.
    pub(crate) fn note(&mut self, ended: u64) {
        let now = Instant::now();
        self.seen.push_back((now, ended));
        let is_old = |(at, _): &(Instant, u64)| now.duration_since(*at) > RATE_OVER;
        while self.seen.len() > 2 && self.seen.front().is_some_and(is_old) {
            self.seen.pop_front();
        }
        if self.span() >= SURE_AFTER {
            self.best = self.best.max(self.rate().unwrap_or(0.0));
        }
    }

    /// Ended URLs/s; `None` where too little was seen.
    pub(crate) fn rate(&self) -> Option<f64> {
        let ((_, before), (_, after)) = (self.seen.front()?, self.seen.back()?);
        let seconds = self.span().as_secs_f64();
        (seconds > 0.5 && after > before).then(|| (after - before) as f64 / seconds)
    }

    /// How long what is left takes: as long as the scope that takes longest, and as all of it takes at the
    /// best rate there was.
    pub(crate) fn eta(
        &self,
        progress: &Progress,
        outlook: &Outlook,
        now: Timestamp,
    ) -> Option<Duration> {
        let ended: u64 = progress.ended.values().sum();
        let left = progress.total.saturating_sub(ended + outlook.deferred);
        let work = (self.best > 0.0 && left > 0)
            .then(|| Duration::from_secs_f64((left as f64 / self.best).min(LONGEST)));
        let paced = outlook.last.as_ref().map(|(_, end)| end.since(now));
        paced.max(work).filter(|_| ended < progress.total)
    }

    fn span(&self) -> Duration {
        match (self.seen.front(), self.seen.back()) {
            (Some((from, _)), Some((to, _))) => to.duration_since(*from),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use curtsy::core::Scope;

    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_the_slowest_scope_and_as_all_of_it() {
        let now = Timestamp::from_secs(1_000);
        let progress = Progress {
            total: 100,
            ..Progress::default()
        };
        let slowest = |secs| Outlook {
            last: Some((Scope::named("a"), now.after(Duration::from_secs(secs)))),
            ..Outlook::default()
        };
        let mut meter = Meter::default();
        assert_eq!(meter.eta(&progress, &Outlook::default(), now), None);
        assert_eq!(
            meter.eta(&progress, &slowest(7), now),
            Some(Duration::from_secs(7))
        );
        meter.best = 4.0;
        for (secs, expected) in [(7, 25), (70, 70)] {
            assert_eq!(
                meter.eta(&progress, &slowest(secs), now),
                Some(Duration::from_secs(expected))
            );
        }
        let done = Progress {
            ended: [(curtsy::Outcome::Fetched, 100)].into(),
            ..progress
        };
        assert_eq!(meter.eta(&done, &slowest(7), now), None);
    }
}
