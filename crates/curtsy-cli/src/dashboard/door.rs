//! What stands before every page: whose request it is, the token, and what a browser may do with the answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Shared, assets};
use crate::serve::guard::Refusal;

/// After a wrong token.
const PAUSE: Duration = Duration::from_millis(500);

/// Nothing from elsewhere, nothing in a line of the page itself, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn check_site(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    match shared.guard.check_site(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refuse(refusal),
    }
}

pub(super) async fn demand_token(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    match shared.guard.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        // A browser is asked for it.
        Err(refusal) if request.uri().path() == "/" => {
            (refusal.status, assets::login()).into_response()
        }
        Err(refusal) => refuse(refusal),
    }
}

/// Opens a session for who knows the token.
pub(super) async fn login(State(shared): State<Arc<Shared>>, token: String) -> Response {
    match shared.guard.open_session(token.trim()) {
        Some(cookie) => (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response(),
        None => {
            tokio::time::sleep(PAUSE).await;
            (StatusCode::FORBIDDEN, "this is not the token").into_response()
        }
    }
}

pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refuse(refusal: Refusal) -> Response {
    (refusal.status, refusal.why).into_response()
}
