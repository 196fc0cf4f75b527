//! Who hears of what happens (section T): the audit log, the metrics, the alerts.
//!
//! All three are told by one call with one record, so that they cannot disagree.

use curtsy_core::audit::Entry;

use crate::alert::Alerts;
use crate::audit::Audit;
use crate::error::Error;
use crate::metrics::Metrics;

/// Tells what happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telling {
    pub(crate) audit: Audit,
    pub(crate) metrics: Metrics,
    pub(crate) alerts: Alerts,
}

impl Telling {
    /// Whether anybody listens: what nobody hears need not be put into words.
    pub(crate) fn is_on(&self) -> bool {
        self.audit.is_on() || self.metrics.is_on() || self.alerts.is_on()
    }

    /// Puts these events on record.
    ///
    /// # Errors
    /// They are not: what they permit must not happen.
    pub(crate) async fn record(
        &self,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<(), Error> {
        if !self.metrics.is_on() && !self.alerts.is_on() {
            return self.audit.record(entries).await;
        }
        let entries: Vec<Entry> = entries.into_iter().collect();
        for entry in &entries {
            self.metrics.note(entry.record());
            self.alerts.note(entry.record());
        }
        self.audit.record(entries).await
    }
}
