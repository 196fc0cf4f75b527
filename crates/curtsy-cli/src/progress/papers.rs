//! How a batch of papers comes on.

use std::time::Duration;

use console::style;
use curtsy::core::Timestamp;
use curtsy::{Client, ScopeView};
use curtsy_papers::batch::{BatchHandle, BatchProgress};

use super::meter::Meter;
use super::picture::{OTHERS, bar, scope_lines};
use super::{Canvas, FRAME, LINE, SCOPES, Screen, Shared, lock};
use crate::notices::short;
use crate::output;
use crate::table::cut;

/// Who looks at a running batch.
pub(super) struct PaperWatcher {
    pub(super) handle: BatchHandle,
    pub(super) client: Client,
    pub(super) meter: Meter,
    pub(super) screen: Screen,
}

/// A moment of a batch.
struct Moment {
    progress: BatchProgress,
    /// Papers/s.
    rate: Option<f64>,
    scopes: Vec<ScopeView>,
    event: Option<String>,
    now: Timestamp,
}

impl PaperWatcher {
    pub(super) async fn draw(mut self, canvas: Shared<Canvas>) {
        loop {
            let (width, height) = lock(&canvas).size();
            let lines = self.look(SCOPES.0).lines(width, height);
            lock(&canvas).show(lines);
            tokio::time::sleep(FRAME).await;
        }
    }

    pub(super) async fn tell(mut self) {
        loop {
            self.look(0);
            tokio::time::sleep(LINE).await;
            for line in self.look(SCOPES.1).plain_lines() {
                output::say(&line);
            }
        }
    }

    fn look(&mut self, rows: usize) -> Moment {
        let progress = self.handle.progress();
        self.meter.note(progress.ended());
        Moment {
            rate: self.meter.rate(),
            scopes: self.client.busiest_scopes(rows),
            event: lock(&self.screen.event).clone(),
            now: self.client.now(),
            progress,
        }
    }
}

impl Moment {
    /// For a terminal of this size.
    fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let width = width.saturating_sub(1);
        let rows = height.saturating_sub(OTHERS).min(self.scopes.len());
        let BatchProgress { total, .. } = self.progress;
        let mut lines = vec![bar(self.progress.ended(), total, self.ends(), width)];
        if height > 2 {
            lines.push(cut(&self.numbers().join(" · "), width));
        }
        lines.extend(scope_lines(&self.scopes[..rows], |_| None, self.now, width));
        if let Some(event) = self.event.as_ref().filter(|_| height > OTHERS) {
            lines.push(style(cut(event, width)).dim().for_stderr().to_string());
        }
        lines
    }

    /// The same for a log.
    fn plain_lines(&self) -> Vec<String> {
        let (ended, total) = (self.progress.ended(), self.progress.total);
        let mut first = vec![format!("{ended}/{total} papers")];
        first.extend(self.numbers());
        first.extend(self.ends());
        let mut lines = vec![first.join(" · ")];
        lines.extend(scope_lines(&self.scopes, |_| None, self.now, usize::MAX));
        lines
    }

    fn numbers(&self) -> Vec<String> {
        let progress = &self.progress;
        let mut parts = vec![format!("{} had", progress.had)];
        for (count, name) in [
            (progress.not_open, "not open"),
            (progress.failed, "failed"),
            (progress.deferred, "deferred"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {name}"));
            }
        }
        if let Some(rate) = self.rate {
            parts.push(format!("{rate:.1}/s"));
        }
        parts
    }

    /// At the rate of the last while: a few slow hosts at the end make it longer.
    fn ends(&self) -> Option<String> {
        let left = self.progress.total.saturating_sub(self.progress.ended());
        let rate = self.rate.filter(|_| left > 0)?;
        Some(format!(
            "ETA {}",
            short(Duration::from_secs_f64(left as f64 / rate))
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment() -> Moment {
        Moment {
            progress: BatchProgress {
                total: 200,
                had: 90,
                not_open: 7,
                failed: 0,
                deferred: 3,
            },
            rate: Some(2.0),
            scopes: Vec::new(),
            event: Some("api.example: asked to be left alone for 30 s".to_owned()),
            now: Timestamp::from_secs(1_700_000_000),
        }
    }

    #[test]
    fn a_batch_is_a_bar_its_numbers_and_the_last_event_and_no_line_wraps() {
        for (width, height) in [(80, 24), (40, 10), (10, 3), (0, 0)] {
            let lines = moment().lines(width, height);
            assert!(lines.len() <= height.max(1), "{lines:?}");
            for line in &lines {
                assert!(console::measure_text_width(line) < width.max(7), "{line:?}");
            }
        }
        assert_eq!(moment().lines(80, 24).len(), 3);
        assert_eq!(
            moment().plain_lines(),
            ["100/200 papers · 90 had · 7 not open · 3 deferred · 2.0/s · ETA 50 s"]
        );
    }
}
