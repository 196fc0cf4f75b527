//! The files of the page, which are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, type, bytes: none of them tells anything of the run.
const ASSETS: [(&str, &str, &[u8]); 8] = [
    (
        "dashboard.css",
        "text/css; charset=utf-8",
        include_bytes!("assets/dashboard.css"),
    ),
    (
        "dashboard.js",
        SCRIPT,
        include_bytes!("assets/dashboard.js"),
    ),
    ("chart.js", SCRIPT, include_bytes!("assets/chart.js")),
    ("scope.js", SCRIPT, include_bytes!("assets/scope.js")),
    ("table.js", SCRIPT, include_bytes!("assets/table.js")),
    ("words.js", SCRIPT, include_bytes!("assets/words.js")),
    ("login.js", SCRIPT, include_bytes!("assets/login.js")),
    (
        "icon.svg",
        "image/svg+xml",
        include_bytes!("assets/icon.svg"),
    ),
];

pub(super) async fn page() -> Response {
    (
        [(CONTENT_TYPE, HTML)],
        include_str!("assets/dashboard.html"),
    )
        .into_response()
}

/// The page that asks for the token.
pub(super) fn login() -> Response {
    ([(CONTENT_TYPE, HTML)], include_str!("assets/login.html")).into_response()
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, bytes)) => ([(CONTENT_TYPE, *kind)], *bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page").into_response(),
    }
}
