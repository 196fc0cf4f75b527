//! What a browser is sent as long as it looks: at first all that it looks at, then what has changed.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use curtsy::core::Scope;
use futures_util::stream;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::Shared;
use super::events::Told;
use super::row::{Row, Stage};
use super::snapshot::{Job, Snapshot};
use super::view::View;

/// Where nothing else is sent, so that a connection shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// One message.
#[derive(Serialize)]
struct Message<'a> {
    job: &'a Job,
    stages: &'a BTreeMap<Stage, usize>,
    total: usize,
    from: usize,
    /// By their place in the view: those that have changed.
    rows: Vec<(usize, &'a RawValue)>,
    /// How many rows there are in the view.
    count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Told>,
    /// The page of the scope that is open, where it has changed, and its row, which may be out of view.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope_row: Option<&'a Row>,
}

/// What one browser has been sent.
struct Sent {
    shared: Arc<Shared>,
    view: View,
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    rows: Vec<Box<RawValue>>,
    scope: Option<Box<RawValue>>,
    is_first: bool,
    is_last: bool,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Query(view): Query<View>,
) -> Response {
    let Ok(place) = Arc::clone(&shared.streams).try_acquire_owned() else {
        let why = "too many watch already";
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let sent = Sent {
        snapshots: shared.watcher.watch(),
        view,
        shared,
        rows: Vec::new(),
        scope: None,
        is_first: true,
        is_last: false,
        _place: place,
    };
    let messages = stream::unfold(sent, |mut sent| async {
        let message = sent.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(message)), sent))
    });
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    Sse::new(messages).keep_alive(heartbeat).into_response()
}

impl Sent {
    /// The next message; none after the one that tells the end.
    async fn next(&mut self) -> Option<String> {
        while !self.is_last {
            if !std::mem::take(&mut self.is_first) {
                self.snapshots.changed().await.ok()?;
            }
            let snapshot = self.snapshots.borrow_and_update().clone();
            if let Some(snapshot) = snapshot {
                self.is_last = snapshot.job.has_ended;
                return self.message(&snapshot).ok();
            }
        }
        None
    }

    /// What has changed since the last one.
    fn message(&mut self, snapshot: &Snapshot) -> serde_json::Result<String> {
        let window = self.view.window(snapshot);
        let rows = window.rows.iter().map(serde_json::value::to_raw_value);
        let rows = rows.collect::<serde_json::Result<Vec<_>>>()?;
        let is_new = |(at, row): &(usize, &RawValue)| {
            self.rows
                .get(*at)
                .is_none_or(|sent| sent.get() != row.get())
        };
        let changed = rows.iter().map(|row| &**row).enumerate().filter(is_new);
        let scope = self.view.scope.as_deref().map(Scope::named);
        let scope_row = scope
            .as_ref()
            .and_then(|scope| snapshot.row(scope.as_str()));
        let detail = scope.and_then(|scope| self.shared.watcher.detail(&scope));
        let detail = detail
            .map(|detail| serde_json::value::to_raw_value(&detail))
            .transpose()?;
        let is_new = |detail: &&RawValue| {
            self.scope
                .as_ref()
                .is_none_or(|sent| sent.get() != detail.get())
        };
        let events = self.shared.watcher.events.since(self.view.event);
        let message = serde_json::to_string(&Message {
            job: &snapshot.job,
            stages: &snapshot.stages,
            total: window.total,
            from: window.from,
            rows: changed.collect(),
            count: rows.len(),
            events,
            scope_row,
            scope: detail.as_deref().filter(is_new),
        });
        self.view.event = self.view.event.max(self.shared.watcher.events.last_id());
        (self.rows, self.scope) = (rows, detail);
        message
    }
}
