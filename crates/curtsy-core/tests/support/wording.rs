//! How a server words what its meters say.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Meter, Micros, SECOND};

/// How a whole number of seconds is made of a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Up,
    Down,
    Nearest,
}

impl Rounding {
    pub const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Nearest];

    fn seconds(self, micros: Micros) -> u64 {
        match self {
            Self::Up => micros.div_ceil(SECOND),
            Self::Down => micros / SECOND,
            Self::Nearest => (micros + SECOND / 2) / SECOND,
        }
    }
}

/// The fields that carry the quotas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// Nothing is published.
    None,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` and `RateLimit-Policy` with the window (drafts 03 to 06).
    Draft6,
    /// The trio alone, with `X-`: the window is not told.
    Trio,
    /// `RateLimit` and `RateLimit-Policy` as lists: every quota is told.
    Draft8,
}

/// The form of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetAs {
    /// Whole seconds from now.
    Seconds(Rounding),
    /// Seconds of the epoch by the server's own clock, beside its Date.
    Epoch(Rounding),
    /// Seconds from now to the millisecond.
    Fraction,
}

/// What a refusal tells of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    None,
    /// Whole seconds.
    Seconds(Rounding),
    /// An HTTP-date, rounded up.
    Date,
}

/// A dialect.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    pub fields: Fields,
    pub reset: ResetAs,
    pub retry_after: RetryAfter,
}

impl Wording {
    pub const fn new(fields: Fields, reset: ResetAs) -> Self {
        Self {
            fields,
            reset,
            retry_after: RetryAfter::Seconds(Rounding::Up),
        }
    }

    /// The quota fields of an answer that leaves the server at `at`; `wall` is the server's own clock.
    pub fn quotas(&self, meters: &[Meter], at: Micros, wall: Micros, headers: &mut HeaderMap) {
        let reset = |meter: &Meter| self.reset_of(meter.resets_in(at), wall);
        // As most do, the one that has least left is told where only one can be.
        let Some(tight) = meters.iter().min_by_key(|meter| meter.remaining(at)) else {
            return;
        };
        let seconds = |meter: &Meter| meter.window().div_ceil(SECOND);
        match self.fields {
            Fields::None => {}
            Fields::Draft6 | Fields::Trio => {
                let prefix = if self.fields == Fields::Trio {
                    "x-"
                } else {
                    ""
                };
                for (name, value) in [
                    ("limit", tight.limit().to_string()),
                    ("remaining", tight.remaining(at).to_string()),
                    ("reset", reset(tight)),
                ] {
                    say(headers, &format!("{prefix}ratelimit-{name}"), &value);
                }
                if self.fields == Fields::Draft6 {
                    let policy = format!("{};w={}", tight.limit(), seconds(tight));
                    say(headers, "ratelimit-policy", &policy);
                }
            }
            Fields::Draft8 => {
                let list = |item: &dyn Fn(&Meter) -> String| {
                    let items: Vec<String> = meters.iter().map(item).collect();
                    items.join(", ")
                };
                let name = |meter: &Meter| format!("{}-in-{}", meter.limit(), seconds(meter));
                let policy = list(&|meter: &Meter| {
                    format!(
                        "\"{}\";q={};w={}",
                        name(meter),
                        meter.limit(),
                        seconds(meter)
                    )
                });
                let state = list(&|meter: &Meter| {
                    format!(
                        "\"{}\";r={};t={}",
                        name(meter),
                        meter.remaining(at),
                        reset(meter)
                    )
                });
                say(headers, "ratelimit-policy", &policy);
                say(headers, "ratelimit", &state);
            }
        }
    }

    /// The wait of a refusal, and until when it asks for quiet.
    pub fn wait(&self, wait: Micros, at: Micros, wall: Micros, headers: &mut HeaderMap) -> Micros {
        match self.retry_after {
            RetryAfter::None => at,
            RetryAfter::Seconds(rounding) => {
                let seconds = rounding.seconds(wait);
                say(headers, "retry-after", &seconds.to_string());
                at + seconds * SECOND
            }
            RetryAfter::Date => {
                let seconds = (wall + wait).div_ceil(SECOND);
                say(headers, "retry-after", &http_date(seconds));
                at + seconds * SECOND - wall
            }
        }
    }

    fn reset_of(&self, resets_in: Micros, wall: Micros) -> String {
        match self.reset {
            ResetAs::Seconds(rounding) => rounding.seconds(resets_in).to_string(),
            ResetAs::Epoch(rounding) => rounding.seconds(wall + resets_in).to_string(),
            ResetAs::Fraction => format!("{:.3}", resets_in as f64 / SECOND as f64),
        }
    }
}

/// The Date of a response, cut to the second as RFC 9110 has it.
pub fn http_date(seconds: u64) -> String {
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}

pub fn say(headers: &mut HeaderMap, name: &str, value: &str) {
    headers.insert(
        HeaderName::from_bytes(name.as_bytes()).unwrap(),
        HeaderValue::from_str(value).unwrap(),
    );
}
