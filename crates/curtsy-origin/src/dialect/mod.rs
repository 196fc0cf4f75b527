//! The header fields that tell of quotas, in the dialects that servers speak.
//!
//! A dialect is a row of [`fields`]: names, and the [`Cell`] that makes each value. Supported are the
//! IETF drafts 02, 03, 06, 07 and 08 and the common vendor families; not the ones that count in other
//! units than requests, nor those that speak in the body.

pub(crate) mod cell;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::meter::Reading;
use cell::{Cell, Figures};

/// Which fields are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// None at all.
    #[default]
    None,
    /// IETF draft 02: `RateLimit-Limit: 50, 50;w=5`, -Remaining, -Reset in seconds.
    Draft2,
    /// IETF draft 03: the trio `RateLimit-Limit`, -Remaining, -Reset in seconds.
    Draft3,
    /// IETF draft 06: the trio and `RateLimit-Policy: 50;w=5`.
    Draft6,
    /// IETF draft 07: `RateLimit: limit=50, remaining=3, reset=5` and RateLimit-Policy.
    Draft7,
    /// IETF draft 08: `RateLimit: "50-in-5s";r=3;t=5` and `RateLimit-Policy: "50-in-5s";q=50;w=5`;
    /// every published quota is told.
    Draft8,
    /// `X-RateLimit-Limit`, -Remaining, -Reset in seconds.
    XDelta,
    /// The same, the reset in fractional seconds.
    XDeltaFloat,
    /// The same, the reset in Unix seconds (GitHub, flask-limiter).
    XEpoch,
    /// The same, in Unix seconds with a fraction (slowapi).
    XEpochFloat,
    /// The same, in Unix milliseconds (OpenRouter).
    XEpochMs,
    /// The same, as an HTTP-date (Vimeo).
    XDate,
    /// The same, as RFC 3339 in UTC.
    XIso,
    /// The same, as JavaScript prints a date (lemlist).
    XJsDate,
    /// The same, as a Go duration (`1m30s`).
    XGoDuration,
    /// `X-Rate-Limit-Limit`, -Remaining, -Reset in Unix seconds (X, Okta).
    XHyphenEpoch,
    /// GitHub's: Unix seconds, with `X-RateLimit-Used` and `X-RateLimit-Resource`.
    Github,
    /// GitLab's: `RateLimit-*` in Unix seconds, with Observed and ResetTime.
    Gitlab,
    /// Discord's: Unix seconds with a fraction, and `X-RateLimit-Reset-After` in seconds with one.
    Discord,
    /// OpenAI's: `x-ratelimit-{limit,remaining,reset}-requests`, the reset as a Go duration.
    Openai,
    /// BigCommerce's: `X-Rate-Limit-Requests-Left`, -Requests-Quota, -Time-Reset-Ms, -Time-Window-Ms.
    Bigcommerce,
    /// Docker Hub's: `ratelimit-limit: 50;w=5`, `ratelimit-remaining: 3;w=5`, no reset.
    Docker,
    /// Crossref's: `X-Rate-Limit-Limit` and `X-Rate-Limit-Interval: 5s`; what remains is not told.
    Crossref,
    /// Shopify's: `X-Shopify-Shop-Api-Call-Limit: 47/50`, used of the limit.
    Shopify,
    /// Akamai's: limit, remaining, and `X-RateLimit-Next`, when one more is admitted, in RFC 3339.
    Akamai,
    /// `X-RateLimit-Remaining` alone.
    RemainingOnly,
}

/// How a reset in whole seconds is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Up: the quota is there when the time told has passed.
    #[default]
    Up,
    /// Down: up to a second too early.
    Down,
    /// To the nearest.
    Nearest,
}

/// Which instant is told as the reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetTells {
    /// When the whole quota is there again: the end of a fixed window, a bucket that is full.
    #[default]
    Full,
    /// When one request is admitted again; 0 while some remain.
    Next,
    /// The length of the window, whatever the time: it never counts down (rolling windows).
    Window,
}

/// The fields that tell of these quotas, in the order in which they are sent; none where there is no
/// quota. `epoch` is the Unix time by the server's clock.
#[must_use]
pub fn quota_headers(
    dialect: Dialect,
    rounding: Rounding,
    tells: ResetTells,
    readings: &[Reading],
    epoch: Duration,
) -> Vec<(&'static str, String)> {
    let Some(tightest) = tightest(readings) else {
        return Vec::new();
    };
    let figures = Figures {
        tightest,
        readings,
        rounding,
        tells,
        epoch,
    };
    fields(dialect)
        .iter()
        .map(|(name, cell)| (*name, figures.value(*cell)))
        .collect()
}

/// The quota that steers: an exhausted one that stays so for longest, else the one of which the least
/// share is left.
pub(crate) fn tightest(readings: &[Reading]) -> Option<&Reading> {
    readings.iter().reduce(|a, b| {
        let tighter = match (a.remaining, b.remaining) {
            (0, 0) => b.next > a.next,
            _ => {
                let (a_left, b_left) = (u128::from(a.remaining), u128::from(b.remaining));
                b_left * u128::from(a.limit) < a_left * u128::from(b.limit)
            }
        };
        if tighter { b } else { a }
    })
}

/// The `X-RateLimit-*` trio, of which only the reset differs.
macro_rules! x_trio {
    ($reset:expr) => {
        [
            ("x-ratelimit-limit", Limit),
            ("x-ratelimit-remaining", Remaining),
            ("x-ratelimit-reset", $reset),
        ]
    };
}

/// The table.
fn fields(dialect: Dialect) -> &'static [(&'static str, Cell)] {
    use Cell::*;
    match dialect {
        Dialect::None => &[],
        Dialect::Draft2 => &[
            ("ratelimit-limit", LimitAndWindows),
            ("ratelimit-remaining", Remaining),
            ("ratelimit-reset", DeltaSeconds),
        ],
        Dialect::Draft3 => &[
            ("ratelimit-limit", Limit),
            ("ratelimit-remaining", Remaining),
            ("ratelimit-reset", DeltaSeconds),
        ],
        Dialect::Draft6 => &[
            ("ratelimit-policy", Windows),
            ("ratelimit-limit", Limit),
            ("ratelimit-remaining", Remaining),
            ("ratelimit-reset", DeltaSeconds),
        ],
        Dialect::Draft7 => &[("ratelimit-policy", Windows), ("ratelimit", Draft7Limit)],
        Dialect::Draft8 => &[
            ("ratelimit-policy", Draft8Policies),
            ("ratelimit", Draft8Limits),
        ],
        Dialect::XDelta => &x_trio!(DeltaSeconds),
        Dialect::XDeltaFloat => &x_trio!(DeltaFloat),
        Dialect::XEpoch => &x_trio!(EpochSeconds),
        Dialect::XEpochFloat => &x_trio!(EpochFloat),
        Dialect::XEpochMs => &x_trio!(EpochMillis),
        Dialect::XDate => &x_trio!(HttpDate),
        Dialect::XIso => &x_trio!(Iso),
        Dialect::XJsDate => &x_trio!(JsDate),
        Dialect::XGoDuration => &x_trio!(GoDuration),
        Dialect::XHyphenEpoch => &[
            ("x-rate-limit-limit", Limit),
            ("x-rate-limit-remaining", Remaining),
            ("x-rate-limit-reset", EpochSeconds),
        ],
        Dialect::Github => &[
            ("x-ratelimit-limit", Limit),
            ("x-ratelimit-remaining", Remaining),
            ("x-ratelimit-reset", EpochSeconds),
            ("x-ratelimit-used", Used),
            ("x-ratelimit-resource", Text("core")),
        ],
        Dialect::Gitlab => &[
            ("ratelimit-limit", Limit),
            ("ratelimit-observed", Used),
            ("ratelimit-remaining", Remaining),
            ("ratelimit-reset", EpochSeconds),
            ("ratelimit-resettime", HttpDate),
        ],
        Dialect::Discord => &[
            ("x-ratelimit-limit", Limit),
            ("x-ratelimit-remaining", Remaining),
            ("x-ratelimit-reset", EpochFloat),
            ("x-ratelimit-reset-after", DeltaFloat),
            ("x-ratelimit-bucket", Text("0123456789abcdef")),
        ],
        Dialect::Openai => &[
            ("x-ratelimit-limit-requests", Limit),
            ("x-ratelimit-remaining-requests", Remaining),
            ("x-ratelimit-reset-requests", GoDuration),
        ],
        Dialect::Bigcommerce => &[
            ("x-rate-limit-requests-left", Remaining),
            ("x-rate-limit-requests-quota", Limit),
            ("x-rate-limit-time-reset-ms", DeltaMillis),
            ("x-rate-limit-time-window-ms", WindowMillis),
        ],
        Dialect::Docker => &[
            ("ratelimit-limit", LimitInWindow),
            ("ratelimit-remaining", RemainingInWindow),
        ],
        Dialect::Crossref => &[
            ("x-rate-limit-limit", Limit),
            ("x-rate-limit-interval", WindowSeconds),
        ],
        Dialect::Shopify => &[("x-shopify-shop-api-call-limit", UsedOfLimit)],
        Dialect::Akamai => &[
            ("x-ratelimit-limit", Limit),
            ("x-ratelimit-remaining", Remaining),
            ("x-ratelimit-next", NextIso),
        ],
        Dialect::RemainingOnly => &[("x-ratelimit-remaining", Remaining)],
    }
}

#[cfg(test)]
mod tests;
