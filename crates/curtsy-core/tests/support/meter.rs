//! Limits that a server may have, each exact to the microsecond.

use std::collections::VecDeque;

use super::Micros;

/// One limit.
#[derive(Clone, Debug)]
pub enum Meter {
    /// `limit` in each window, which opens at the first request after the last one closed, or on the clock.
    Fixed {
        limit: u64,
        window: Micros,
        on_the_clock: bool,
        start: Option<Micros>,
        used: u64,
        /// What each window that has closed was used for.
        closed: Vec<u64>,
    },
    /// `limit` in any span of `window`: a log of arrivals. `tells_next`: the reset that it tells is when the
    /// oldest arrival lapses, not when all have.
    Sliding {
        limit: u64,
        window: Micros,
        log: VecDeque<Micros>,
        tells_next: bool,
    },
    /// This window's count plus the last one's, which fades.
    Counter {
        limit: u64,
        window: Micros,
        start: Option<Micros>,
        now: u64,
        last: u64,
    },
    /// `burst` tokens, refilled evenly over `window`.
    Token {
        burst: u64,
        window: Micros,
        tokens: f64,
        at: Micros,
    },
}

impl Meter {
    pub fn fixed(limit: u64, window: Micros) -> Self {
        Self::Fixed {
            limit,
            window,
            on_the_clock: false,
            start: None,
            used: 0,
            closed: Vec::new(),
        }
    }

    pub fn fixed_on_the_clock(limit: u64, window: Micros) -> Self {
        Self::Fixed {
            limit,
            window,
            on_the_clock: true,
            start: None,
            used: 0,
            closed: Vec::new(),
        }
    }

    pub fn sliding(limit: u64, window: Micros) -> Self {
        Self::Sliding {
            limit,
            window,
            log: VecDeque::new(),
            tells_next: false,
        }
    }

    pub fn sliding_that_tells_the_next(limit: u64, window: Micros) -> Self {
        Self::Sliding {
            limit,
            window,
            log: VecDeque::new(),
            tells_next: true,
        }
    }

    pub fn counter(limit: u64, window: Micros) -> Self {
        Self::Counter {
            limit,
            window,
            start: None,
            now: 0,
            last: 0,
        }
    }

    pub fn token(burst: u64, window: Micros) -> Self {
        Self::Token {
            burst,
            window,
            tokens: burst as f64,
            at: 0,
        }
    }

    pub fn limit(&self) -> u64 {
        match self {
            Self::Fixed { limit, .. }
            | Self::Sliding { limit, .. }
            | Self::Counter { limit, .. } => *limit,
            Self::Token { burst, .. } => *burst,
        }
    }

    pub fn window(&self) -> Micros {
        match self {
            Self::Fixed { window, .. }
            | Self::Sliding { window, .. }
            | Self::Counter { window, .. }
            | Self::Token { window, .. } => *window,
        }
    }

    /// Whether a request that arrives at `at` is within the limit.
    pub fn admits(&mut self, at: Micros) -> bool {
        self.pass(at);
        match self {
            Self::Fixed { limit, used, .. } => used < limit,
            Self::Sliding { limit, log, .. } => (log.len() as u64) < *limit,
            Self::Counter { limit, .. } => {
                let limit = *limit as f64;
                self.counted(at) + 1.0 <= limit + 1e-6
            }
            Self::Token { tokens, .. } => *tokens >= 1.0 - 1e-9,
        }
    }

    /// Counts a request that was admitted.
    pub fn take(&mut self, at: Micros) {
        match self {
            Self::Fixed { used, .. } => *used += 1,
            Self::Sliding { log, .. } => log.push_back(at),
            Self::Counter { now, .. } => *now += 1,
            Self::Token { tokens, .. } => *tokens -= 1.0,
        }
    }

    /// What is left, after [`take`](Self::take).
    pub fn remaining(&self, at: Micros) -> u64 {
        match self {
            Self::Fixed { limit, used, .. } => limit - used,
            Self::Sliding { limit, log, .. } => limit - log.len() as u64,
            Self::Counter { limit, .. } => (*limit as f64 - self.counted(at)).max(0.0) as u64,
            Self::Token { tokens, .. } => (tokens + 1e-9).max(0.0) as u64,
        }
    }

    /// How long until it is full again: the reset that it tells.
    pub fn resets_in(&self, at: Micros) -> Micros {
        match self {
            Self::Fixed { window, start, .. } => start.unwrap_or(at) + window - at,
            Self::Sliding {
                window,
                log,
                tells_next,
                ..
            } => {
                let arrival = if *tells_next { log.front() } else { log.back() };
                arrival.map_or(0, |arrival| arrival + window - at)
            }
            Self::Counter { window, start, .. } => start.unwrap_or(at) + 2 * window - at,
            Self::Token {
                burst,
                window,
                tokens,
                ..
            } => ((*burst as f64 - tokens) * *window as f64 / *burst as f64).ceil() as Micros,
        }
    }

    /// How long until one more request is admitted.
    pub fn admits_in(&self, at: Micros) -> Micros {
        match self {
            Self::Fixed { limit, used, .. } if used < limit => 0,
            Self::Sliding { limit, log, .. } if (log.len() as u64) < *limit => 0,
            Self::Sliding { window, log, .. } => log.front().map_or(0, |first| first + window - at),
            Self::Token {
                burst,
                window,
                tokens,
                ..
            } => ((1.0 - tokens).max(0.0) * *window as f64 / *burst as f64).ceil() as Micros,
            Self::Counter { .. } | Self::Fixed { .. } => self.resets_in(at),
        }
    }

    /// For a fixed window: what each window that has closed was used for.
    pub fn closed(&self) -> &[u64] {
        match self {
            Self::Fixed { closed, .. } => closed,
            _ => &[],
        }
    }

    fn counted(&self, at: Micros) -> f64 {
        let Self::Counter {
            window,
            start,
            now,
            last,
            ..
        } = self
        else {
            return 0.0;
        };
        let gone = (at - start.unwrap_or(at)) as f64 / *window as f64;
        *now as f64 + *last as f64 * (1.0 - gone)
    }

    /// Brings the meter up to `at`.
    fn pass(&mut self, at: Micros) {
        match self {
            Self::Fixed {
                window,
                on_the_clock,
                start,
                used,
                closed,
                ..
            } => {
                if start.is_some_and(|start| at < start + *window) {
                    return;
                }
                if start.is_some() {
                    closed.push(*used);
                }
                *start = Some(if *on_the_clock { at - at % *window } else { at });
                *used = 0;
            }
            Self::Sliding { window, log, .. } => {
                while log.front().is_some_and(|first| first + *window <= at) {
                    log.pop_front();
                }
            }
            Self::Counter {
                window,
                start,
                now,
                last,
                ..
            } => {
                let opened = start.get_or_insert(at);
                if at >= *opened + 2 * *window {
                    (*opened, *now, *last) = (at, 0, 0);
                } else if at >= *opened + *window {
                    (*opened, *now, *last) = (*opened + *window, 0, *now);
                }
            }
            Self::Token {
                burst,
                window,
                tokens,
                at: then,
            } => {
                let gained = (at - *then) as f64 * *burst as f64 / *window as f64;
                *tokens = (*tokens + gained).min(*burst as f64);
                *then = at;
            }
        }
    }
}
