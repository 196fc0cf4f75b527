//! The properties that the fuzz targets try, which are those of `crates/curtsy-core/tests/bytes`.

#[path = "../../crates/curtsy-core/tests/bytes/property/mod.rs"]
mod property;

/// A whole response.
pub fn signal(bytes: &[u8]) {
    property::signal::holds(bytes);
}

/// Lines of `RateLimit-Policy` and `RateLimit`.
pub fn rate_limit(bytes: &[u8]) {
    property::rate_limit::holds(bytes);
}

/// A time and a Date.
pub fn date(bytes: &[u8]) {
    property::date::holds(bytes);
}

/// A User-Agent, a path and a robots.txt.
pub fn robots(bytes: &[u8]) {
    property::robots::holds(bytes);
}
