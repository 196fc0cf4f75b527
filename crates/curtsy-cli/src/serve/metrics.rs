//! `/metrics` for Prometheus, and `/healthz` for who looks whether this process lives.

use std::net::SocketAddr;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use curtsy::{Client, METRICS_CONTENT_TYPE, Metrics};

use super::guard::Guard;

/// Serves what `metrics` counts of `client`. Of this machine alone it is served under no foreign name, so
/// that no web page reads which hosts are fetched from.
pub(crate) fn router(address: SocketAddr, metrics: Metrics, client: Client) -> Router {
    let guard = Guard::new(address, Vec::new(), None);
    let text = move |headers: HeaderMap| {
        let answer = answer(&guard, &headers, &metrics, &client);
        async move { answer }
    };
    Router::new()
        .route("/metrics", get(text))
        .route("/healthz", get(|| async { "ok\n" }))
}

fn answer(guard: &Guard, headers: &HeaderMap, metrics: &Metrics, client: &Client) -> Response {
    if guard.is_of_this_machine()
        && let Err(refusal) = guard.check_site(&Method::GET, headers)
    {
        return (refusal.status, refusal.why).into_response();
    }
    let headers = [
        (CONTENT_TYPE, METRICS_CONTENT_TYPE),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, metrics.text(client)).into_response()
}
