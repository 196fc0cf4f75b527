//! What one browser looks at: which rows, in which order, from where to where.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use super::row::{Row, Stage};
use super::snapshot::Snapshot;

/// Rows that a browser can look at, at once.
const MOST: usize = 200;

/// What a browser looks at, as it asks for it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct View {
    /// Part of the names.
    q: String,
    /// What the scopes do; all where there is nothing.
    does: Option<Stage>,
    sort: Sort,
    /// The other way round.
    descending: bool,
    from: usize,
    count: usize,
    /// The scope whose page is open.
    pub(super) scope: Option<String>,
    /// The number of the last event that it has.
    pub(super) event: u64,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// What they do, those in trouble first.
    #[default]
    Does,
    Scope,
    Rate,
    Left,
    Next,
    Departures,
}

/// The rows in view.
#[derive(Debug, Serialize)]
pub(super) struct Window<'a> {
    /// How many there are to scroll through.
    pub(super) total: usize,
    pub(super) from: usize,
    pub(super) rows: Vec<&'a Row>,
}

impl View {
    pub(super) fn window<'a>(&self, snapshot: &'a Snapshot) -> Window<'a> {
        let q = self.q.trim().to_ascii_lowercase();
        let is_asked = |row: &&Row| {
            (q.is_empty() || row.scope.contains(&q))
                && self.does.is_none_or(|does| row.does == does)
        };
        let mut rows: Vec<&Row> = snapshot.rows.iter().filter(is_asked).collect();
        rows.sort_by(|a, b| {
            let order = self.sort.compare(a, b);
            let order = if self.descending {
                order.reverse()
            } else {
                order
            };
            order.then_with(|| a.scope.cmp(&b.scope))
        });
        let total = rows.len();
        let from = self.from.min(total);
        let to = total.min(from + self.count.min(MOST));
        Window {
            total,
            from,
            rows: rows.drain(from..to).collect(),
        }
    }
}

impl Sort {
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        match self {
            Self::Does => (a.does.rank(), Reverse(a.left)).cmp(&(b.does.rank(), Reverse(b.left))),
            Self::Scope => a.scope.cmp(&b.scope),
            Self::Rate => a.rate.unwrap_or(0.0).total_cmp(&b.rate.unwrap_or(0.0)),
            Self::Left => a.left.cmp(&b.left),
            Self::Next => (a.next_ms.is_none(), a.next_ms).cmp(&(b.next_ms.is_none(), b.next_ms)),
            Self::Departures => a.departures.cmp(&b.departures),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use curtsy::core::{Scope, Timestamp};
    use curtsy::{Outlook, Progress, ScopeOutlook};

    use super::*;
    use crate::dashboard::history::History;
    use crate::dashboard::snapshot::Look;

    fn snapshot(scopes: u64) -> Snapshot {
        let outlook = Outlook {
            scopes: (0..scopes)
                .map(|n| {
                    (
                        Scope::named(&format!("h{n}.example")),
                        ScopeOutlook { left: n, end: None },
                    )
                })
                .collect(),
            ..Outlook::default()
        };
        Snapshot::of(&Look {
            name: "default",
            views: &[],
            progress: &Progress::default(),
            outlook: &outlook,
            history: &History::default(),
            rate: None,
            eta: Some(Duration::from_secs(5)),
            is_paused: false,
            has_ended: false,
            now: Timestamp::from_secs(1),
        })
    }

    fn seen(view: &View) -> (usize, Vec<String>) {
        let snapshot = snapshot(10_000);
        let window = view.window(&snapshot);
        (
            window.total,
            window.rows.iter().map(|row| row.scope.clone()).collect(),
        )
    }

    #[test]
    fn a_browser_is_shown_what_it_looks_at_and_no_more() {
        let all = View {
            count: usize::MAX,
            ..View::default()
        };
        assert_eq!(seen(&all).1.len(), MOST);
        let some = View {
            q: " H99 ".to_owned(),
            sort: Sort::Left,
            from: 1,
            count: 2,
            ..View::default()
        };
        assert_eq!(
            seen(&some),
            (
                111,
                vec!["h990.example".to_owned(), "h991.example".to_owned()]
            )
        );
        let most = View {
            descending: true,
            q: String::new(),
            from: 0,
            ..some.clone()
        };
        assert_eq!(seen(&most).1[0], "h9999.example");
        let beyond = View { from: 500, ..some };
        assert_eq!(seen(&beyond), (111, vec![]));
        let that = |does| View {
            does: Some(does),
            ..View::default()
        };
        assert_eq!(
            (seen(&that(Stage::Queued)).0, seen(&that(Stage::Held)).0),
            (10_000, 0)
        );
    }
}
