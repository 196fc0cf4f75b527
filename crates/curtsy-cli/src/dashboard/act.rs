//! What a person does from the page: pause, resume, lift. Never a server's hold.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use curtsy::core::Scope;
use serde::Deserialize;

use super::Shared;
use crate::failure::chain;

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    act: Deed,
    /// Whom it is about; everything where there is none.
    scope: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Deed {
    Pause,
    Resume,
    Lift,
}

pub(super) async fn act(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(Act { act, scope }) = serde_json::from_slice(&body) else {
        return (StatusCode::BAD_REQUEST, "nothing that can be done").into_response();
    };
    let scope = scope.map(|scope| Scope::named(&scope));
    if let Some(scope) = &scope
        && !shared.watcher.knows(scope)
    {
        return (StatusCode::NOT_FOUND, "the job has no such scope").into_response();
    }
    let client = &shared.client;
    let done = match (act, &scope) {
        (Deed::Pause, scope) => client.pause(scope.as_ref()).await,
        (Deed::Resume, scope) => client.resume(scope.as_ref()).await,
        (Deed::Lift, Some(scope)) => client.lift(scope).await,
        (Deed::Lift, None) => {
            return (StatusCode::BAD_REQUEST, "lift names a scope").into_response();
        }
    };
    shared.watcher.refresh();
    match done {
        Ok(true) => StatusCode::NO_CONTENT.into_response(),
        Ok(false) if act == Deed::Lift => {
            let why =
                "there is no suppression and no breaker to lift; what its server asks for stands";
            (StatusCode::CONFLICT, why).into_response()
        }
        // It was so already.
        Ok(false) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, chain(&error)).into_response(),
    }
}
