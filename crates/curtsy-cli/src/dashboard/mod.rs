//! The live page of a run (`--dashboard`): the job, its scopes, what happened last, and what a person can do
//! about it.
//!
//! The page asks nothing of anybody but this process, and this process shows it to nobody but its own visitors
//! ([`crate::serve::guard`]). What a browser sees is sent as server-sent events: the rows in its view alone, and of
//! those only the ones that have changed, so that ten thousand scopes cost no more than fifty.

mod act;
mod assets;
mod detail;
mod door;
mod events;
mod history;
mod row;
mod snapshot;
mod stream;
mod view;
mod watcher;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use curtsy::{Client, ProgressView};
use tokio::sync::Semaphore;

use crate::serve::Ending;
use crate::serve::guard::Guard;
use crate::value::{HostName, Token};
use watcher::Watcher;

pub(crate) use events::EventLog;

/// Browsers that are kept up to date at once.
const STREAMS: usize = 16;
/// No request has a longer body.
const LONGEST_BODY: usize = 4096;

/// What a dashboard shows.
pub(crate) struct Shown {
    /// The job's name.
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) progress: ProgressView,
    pub(crate) events: EventLog,
}

/// Who may see it.
pub(crate) struct Visitors {
    pub(crate) token: Option<Token>,
    pub(crate) hosts: Vec<HostName>,
}

/// What all requests share.
struct Shared {
    guard: Guard,
    client: Client,
    watcher: Arc<Watcher>,
    /// Places for streams.
    streams: Arc<Semaphore>,
}

/// The dashboard at this address, until the run ends. To be called on the runtime that serves it.
pub(crate) fn router(
    address: SocketAddr,
    visitors: Visitors,
    shown: Shown,
    ending: Ending,
) -> Router {
    let shared = Arc::new(Shared {
        guard: Guard::new(address, visitors.hosts, visitors.token),
        client: shown.client.clone(),
        watcher: Watcher::start(shown, ending),
        streams: Arc::new(Semaphore::new(STREAMS)),
    });
    let inside = Router::new()
        .route("/", get(assets::page))
        .route("/events", get(stream::events))
        .route("/act", post(act::act))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&shared),
            door::demand_token,
        ));
    Router::new()
        .route("/login", post(door::login))
        .route("/{asset}", get(assets::asset))
        .merge(inside)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&shared),
            door::check_site,
        ))
        .layer(middleware::map_response(door::harden))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .with_state(shared)
}
