//! Why URLs were not fetched, counted.

use std::collections::BTreeMap;

use curtsy_core::audit::redacted;
use curtsy_store::{UrlRecord, UrlState};
use serde::Serialize;
use url::Url;

use super::{Line, Outcome};

/// Reasons that are told apart; all others count as one.
const MAX_REASONS: usize = 100;
/// The longest reason in characters.
const MAX_TEXT: usize = 160;
/// What the others are called.
const OTHER: &str = "other";

/// Why some URLs were not fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// Their outcome.
    pub outcome: Outcome,
    /// Why, as the manifest says it.
    pub reason: String,
    /// How many there are.
    pub count: u64,
    /// The first of them, without query string.
    pub example: String,
}

#[derive(Default)]
pub(in super::super) struct Reasons(BTreeMap<(Outcome, String), (u64, String)>);

impl Reasons {
    /// Counts a URL, unless it was fetched.
    pub(in super::super) fn note(&mut self, record: &UrlRecord) {
        let outcome = match &record.state {
            UrlState::Finished { outcome } if outcome == Outcome::Fetched.label() => return,
            UrlState::Finished { .. } => None,
            UrlState::Deferred { .. } | UrlState::Pending => Some(Outcome::Deferred),
        };
        let line = record.line.as_deref();
        let line = line.and_then(|line| serde_json::from_str::<Line>(line).ok());
        let outcome = outcome.or(line.as_ref().map(|line| line.outcome));
        let reason = match (&record.state, line) {
            (UrlState::Deferred { reason, .. }, _) => reason.clone(),
            (UrlState::Pending, _) => "not_tried".to_owned(),
            (_, line) => line.and_then(|line| line.error).unwrap_or_default(),
        };
        self.add(outcome.unwrap_or(Outcome::Failed), &reason, &record.url);
    }

    fn add(&mut self, outcome: Outcome, reason: &str, url: &str) {
        let mut key = (outcome, reason.chars().take(MAX_TEXT).collect::<String>());
        if self.0.len() >= MAX_REASONS && !self.0.contains_key(&key) {
            key.1 = OTHER.to_owned();
        }
        let example = || match Url::parse(url) {
            Ok(url) => redacted(&url),
            Err(_) => String::new(),
        };
        let (count, _) = self.0.entry(key).or_insert_with(|| (0, example()));
        *count += 1;
    }

    /// The most frequent first.
    pub(super) fn counts(self) -> Vec<ReasonCount> {
        let counts = self
            .0
            .into_iter()
            .map(|((outcome, reason), (count, example))| ReasonCount {
                outcome,
                reason,
                count,
                example,
            });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded_and_each_has_its_first_url() {
        let mut reasons = Reasons::default();
        for n in 0..1_000 {
            let url = format!("http://ann:secret@a.example/{n}?key=secret");
            reasons.add(Outcome::Failed, &format!("why {}", n % 300), &url);
        }
        let counts = reasons.counts();
        assert!(counts.len() <= MAX_REASONS + 1);
        assert_eq!(counts.iter().map(|reason| reason.count).sum::<u64>(), 1_000);
        assert_eq!(counts[0].reason, OTHER);
        assert!(
            counts
                .iter()
                .all(|reason| !reason.example.contains("secret"))
        );
        assert!(counts[1].example.starts_with("http://a.example/"));
    }
}
