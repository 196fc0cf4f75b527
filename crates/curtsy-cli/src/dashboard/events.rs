//! What happened last, in words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use curtsy::Notice;
use curtsy::core::Timestamp;
use serde::Serialize;

use crate::notices::{about, lines};

/// Events that are remembered.
const MOST: usize = 200;
/// What is told only on request, as each URL that is put off, would drive out the rest.
const LEVEL: u8 = 1;

/// The last events. Cheap to clone; the clones share them.
#[derive(Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Events>>);

#[derive(Default)]
struct Events {
    last: VecDeque<Told>,
    last_id: u64,
}

/// One event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Told {
    id: u64,
    at_ms: u64,
    scope: Option<String>,
    text: String,
}

impl EventLog {
    /// Remembers a notice.
    pub(crate) fn hear(&self, notice: &Notice<'_>, now: Timestamp) {
        let Some((level, text)) = lines(notice).into_iter().next() else {
            return;
        };
        if level > LEVEL {
            return;
        }
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A page that has seen the run before, at the same address, knows its events by lower numbers.
        events.last_id = now.as_micros().max(events.last_id + 1);
        let told = Told {
            id: events.last_id,
            at_ms: now.as_micros() / 1000,
            scope: about(notice),
            text,
        };
        events.last.push_back(told);
        if events.last.len() > MOST {
            events.last.pop_front();
        }
    }

    /// Those after number `id`, the oldest first.
    pub(super) fn since(&self, id: u64) -> Vec<Told> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events
            .last
            .iter()
            .filter(|told| told.id > id)
            .cloned()
            .collect()
    }

    /// The number of the last one.
    pub(super) fn last_id(&self) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .last_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_has_seen_one_run_hears_of_all_that_happens_in_the_next() {
        let (before, after) = (EventLog::default(), EventLog::default());
        for _ in 0..MOST + 5 {
            before.hear(&Notice::StoreBack, Timestamp::from_secs(1_000));
        }
        assert_eq!(before.since(0).len(), MOST);
        after.hear(&Notice::StoreBack, Timestamp::from_secs(1_001));
        assert_eq!(after.since(before.last_id()).len(), 1);
        after.hear(&Notice::StoreBack, Timestamp::from_secs(900));
        assert_eq!(after.since(before.last_id()).len(), 2, "a clock set back");
    }
}
