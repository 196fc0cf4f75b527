//! The learned pace (rules L1–L4): what a server bears that does not say so.
//!
//! An overload is an experiment whose result is kept. Between a recovery and the next refusal the server
//! admitted a known number of requests, refused until a known instant, and admitted again at a known
//! instant. Its true limit lies between that number over the longer and over the shorter time. The next
//! cycle runs a little under the middle of this bracket, which every further overload narrows: the search
//! of a bisection, with the server's own window as its step.
//!
//! - From AIMD (Chiu and Jain 1989; RFC 5681) comes that a decrease is multiplicative and one for each
//!   overload.
//! - From CUBIC (RFC 9438, section 4) comes the shape of growth: fast where the rate is far from the one
//!   that failed, flat just under it for a long while, then faster and faster beyond it, so that a limit
//!   that was raised is found. Progress is counted in requests, not in seconds, so that a scope at rest
//!   does not grow.
//! - From BBR (draft-ietf-ccwg-bbr, section 5.5) comes that the rate is a measurement of what was
//!   delivered, not a consequence of how many losses there were.
//! - From AWS's adaptive retry (its SDK's client rate limiter) comes that the first overload is what turns
//!   the limiter on: before it the operator's `rate` holds alone.
//!
//! Supported are limits of a fixed window, a sliding one, a token or leaky bucket, a minimum gap, in any
//! size. Failures that look like an outage (a 503 that a probe finds again, a broken connection) teach
//! nothing of a limit, unless they come back at once; nor does a 503 now and then that comes at every rate.
//! Not supported: a limit that other clients use up
//! too is seen as the share of it that was left.

mod stored;

use std::time::Duration;

use crate::Timestamp;

pub(crate) use stored::StoredLearned;

/// How much under the middle of the bracket a cycle restarts, and under the rate that failed growth stays.
const UNDER: f64 = 0.97;
/// How far up the bracket a cycle restarts.
const MIDDLE: f64 = 0.4;
/// So many of the server's periods after the overload growth goes beyond the rate that failed.
const PATIENCE: f64 = 20.0;
/// The same where the rate that failed had been borne before: what caused it may be gone.
const PATIENCE_IF_DOUBTED: f64 = 3.0;
/// A scope at rest for so long, and for as many intervals, begins a cycle of its own.
const REST: Duration = Duration::from_secs(10);
const REST_INTERVALS: f64 = 10.0;
/// After so long a limit may have changed: growth goes beyond it as after [`PATIENCE`].
const AGED: Duration = Duration::from_secs(24 * 3600);
/// After so long it is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// A second failure within so many times the requests before the first is no other outage, but a limit.
const SOON: u64 = 4;
/// A limit lies at most this much above the mean of a long cycle at whose end it was met.
const ABOVE_MEAN: f64 = 1.1;
/// Two measurements agree that differ by less than this share.
const AGREE: f64 = 0.1;
/// A refusal that lasts for this share of the time before it is a window's.
const HOLD_OF_WINDOW: f64 = 0.25;
/// In so many periods half of the way to just under the rate that failed is gone.
const HALF_WAY: f64 = 4.0;
/// Failures at rates that had been borne before count two, others take one back; from so many on they are
/// not about the rate.
const DOUBTS: u8 = 3;
/// Where failures are not about the rate, one after this share of the requests between them is.
const OFTEN: u64 = 4;
/// A period has at least so many requests.
const FEWEST: f64 = 4.0;

/// What kind of overload it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// 429 and its like: a limit.
    Limit,
    /// 503 and its like: a limit, or an outage.
    Unavailable,
    /// No answer: an outage.
    Broken,
    /// Too many at once: nothing about the rate.
    Crowded,
}

/// What is known of the limit of one scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Learned {
    /// The cycle that runs: since the first departure, the last recovery or the last rest.
    pub(crate) since: Timestamp,
    /// Departures before it.
    pub(crate) since_seq: u64,
    /// The overload that is being waited out.
    pub(crate) overload: Option<Overload>,
    /// When the overload before was met: nothing was left then.
    pub(crate) exhausted_at: Option<Timestamp>,
    /// How long the last cycle took, its hold included.
    pub(crate) lasted: Duration,
    /// What passed in the last cycle, its hold included, departures/s.
    pub(crate) passed: Option<f64>,
    /// What the limit lies between, and the course of the rate since.
    pub(crate) bracket: Option<Bracket>,
    /// How long after the start of a cycle the server has recovered, where probes found out.
    pub(crate) window: Option<Duration>,
    /// How far failures have come at rates that had been borne before.
    pub(crate) doubts: u8,
    /// The server fails after about so many requests, whatever the rate.
    pub(crate) flaky: Option<u64>,
    /// L4: half the rate, until something that departed later is answered well.
    pub(crate) eased_by: Option<u64>,
    /// A failure before this departure is no other outage.
    pub(crate) suspect_until: u64,
}

/// What a server was found to bear that does not say so, in departures/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedPace {
    /// The rate by now, where the operator allows as much.
    pub rate: f64,
    /// A rate that it has borne; zero where only refusals are known.
    pub borne: f64,
    /// The rate that it last refused.
    pub refused: f64,
    /// When that was.
    pub learned_at: Timestamp,
}

/// An overload: refusals from one instant to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overload {
    pub(crate) sign: Sign,
    /// Until when the server asked for quiet, if it did.
    pub(crate) told: Option<Timestamp>,
    /// What the cycle had sent before.
    pub(crate) admitted: u64,
    /// When the first refused request departed, and the last.
    pub(crate) met: Timestamp,
    pub(crate) last: Timestamp,
    /// How long it was held because the server had taken so long before.
    pub(crate) waited: Duration,
    /// The rate until then, departures/s.
    pub(crate) rate: f64,
}

/// The bracket around a limit, in departures/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bracket {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The rate at which the cycle restarted, and the departures before.
    pub(crate) restart: f64,
    pub(crate) from_seq: i64,
    /// Requests of one period of the server at that rate.
    pub(crate) period: f64,
    /// What failed had been borne before.
    pub(crate) doubted: bool,
    pub(crate) learned_at: Timestamp,
}

impl Learned {
    /// One departure, the number `seq`, at `now`; the one before was at `last`.
    pub(crate) fn depart(&mut self, seq: u64, last: Option<Timestamp>, rate: f64, now: Timestamp) {
        let now = now.down_to_milli();
        let rest = REST.max(crate::duration_from_secs(REST_INTERVALS / rate));
        let rested = last.is_none_or(|last| now.since(last) > rest);
        if !rested || self.overload.is_some() {
            return;
        }
        (self.since, self.since_seq, self.exhausted_at) = (now, seq.saturating_sub(1), None);
        self.passed = None;
        let age = self.bracket.map(|bracket| now.since(bracket.learned_at));
        if age.is_some_and(|age| age > FORGOTTEN) {
            (self.bracket, self.window) = (None, None);
        } else if age.is_some_and(|age| age > AGED)
            && let Some(bracket) = &mut self.bracket
        {
            bracket.age(seq);
        }
    }

    /// L1: the rate after `departures` departures, departures/s; `None` where nothing has been learned.
    pub(crate) fn rate(&self, departures: u64, most: f64) -> Option<f64> {
        let learned = self.bracket.map(|bracket| bracket.rate(departures));
        let eased = self.eased_by.map(|_| learned.unwrap_or(most) / 2.0);
        eased.or(learned).filter(|rate| *rate < most)
    }

    /// What is known after `departures` departures.
    pub(crate) fn pace(&self, departures: u64) -> Option<LearnedPace> {
        self.bracket.map(|bracket| LearnedPace {
            rate: bracket.rate(departures),
            borne: bracket.low,
            refused: bracket.high,
            learned_at: bracket.learned_at,
        })
    }

    /// A request that departed at `departed` was refused; `rate` is the bucket's until then.
    pub(crate) fn overload(
        &mut self,
        sign: Sign,
        told: Option<Timestamp>,
        seq: u64,
        departed: Timestamp,
        rate: Option<f64>,
    ) {
        let departed = departed.down_to_milli();
        let told = told.map(Timestamp::down_to_milli);
        match &mut self.overload {
            Some(overload) => {
                overload.last = departed;
                overload.told = overload.told.max(told);
            }
            None => {
                let admitted = seq.saturating_sub(self.since_seq.saturating_add(1));
                let waited = told.map_or_else(|| self.wait(departed), |_| Duration::ZERO);
                let sent = || (admitted as f64 + 1.0) / self.span(departed);
                self.overload = Some(Overload {
                    sign,
                    told,
                    admitted,
                    met: departed,
                    last: departed,
                    waited,
                    rate: short(rate.unwrap_or_else(sent)),
                });
            }
        }
    }

    /// How long the hold of a new overload is at least: until the server had recovered before.
    pub(crate) fn wait(&self, departed: Timestamp) -> Duration {
        let gone = departed.since(self.since);
        match (self.window, self.overload) {
            (Some(window), None) => window.saturating_sub(gone),
            _ => Duration::ZERO,
        }
    }

    /// The probe `seq` that left at `departed` was answered well. The rates before and after, where one
    /// was learned.
    pub(crate) fn recover(
        &mut self,
        seq: u64,
        departed: Timestamp,
        now: Timestamp,
    ) -> Option<(f64, f64)> {
        let (departed, now) = (departed.down_to_milli(), now.down_to_milli());
        let overload = self.overload.take()?;
        let is_outage = match overload.sign {
            Sign::Limit | Sign::Crowded => false,
            Sign::Unavailable => overload.told.is_some() || overload.last > overload.met,
            Sign::Broken => true,
        };
        let is_suspect = overload.sign != Sign::Broken && seq <= self.suspect_until;
        let change = if overload.sign == Sign::Crowded {
            None
        } else if is_outage && !is_suspect {
            let soon = SOON.saturating_mul(overload.admitted.max(1));
            self.suspect_until = seq.saturating_add(soon);
            self.eased_by = Some(seq);
            None
        } else if overload.admitted == 0 || self.is_flaky(&overload) {
            None
        } else {
            let after = self.learn(overload, departed, seq, now);
            Some((overload.rate, after))
        };
        self.exhausted_at = Some(overload.met);
        self.lasted = departed.since(self.since);
        (self.since, self.since_seq) = (departed, seq.saturating_sub(1));
        change
    }

    /// The probe `seq` that left at `departed` was answered well, and the overload teaches nothing.
    pub(crate) fn forgive(&mut self, seq: u64, departed: Timestamp) {
        self.overload = None;
        (self.since, self.since_seq) = (departed.down_to_milli(), seq.saturating_sub(1));
    }

    /// Whether the overload is one of the failures that come now and then whatever the rate.
    fn is_flaky(&mut self, overload: &Overload) -> bool {
        let is_lone = overload.sign == Sign::Unavailable && overload.last == overload.met;
        match self.flaky {
            Some(often) if is_lone && overload.admitted.saturating_mul(OFTEN) >= often => true,
            Some(_) => {
                self.flaky = None;
                false
            }
            None if is_lone && self.doubts >= DOUBTS => {
                self.flaky = Some(overload.admitted);
                (self.bracket, self.passed, self.doubts) = (None, None, 0);
                true
            }
            None => false,
        }
    }

    /// L4: a clean round trip after the recovery.
    pub(crate) fn clean(&mut self, seq: u64) {
        if self.eased_by.is_some_and(|eased_by| seq > eased_by) {
            self.eased_by = None;
        }
    }

    /// D6: a stored value is bounded when it is read.
    pub(crate) fn clamp(&mut self, now: Timestamp) {
        self.since = self.since.min(now);
        if self
            .overload
            .is_some_and(|overload| !overload.rate.is_finite())
        {
            self.overload = None;
        }
        if let Some(bracket) = &mut self.bracket {
            bracket.learned_at = bracket.learned_at.min(now);
        }
        self.bracket = self.bracket.filter(Bracket::is_sound);
    }

    /// L2: narrows the bracket by one overload. The rate at which the next cycle starts.
    fn learn(&mut self, overload: Overload, recovered: Timestamp, seq: u64, now: Timestamp) -> f64 {
        let admitted = overload.admitted as f64;
        let known = self.bracket;
        // In a long cycle what was not used of earlier windows is lost: what failed is the rate at its end.
        let long = known.filter(|known| admitted > 2.0 * known.period);
        let was_probed = overload.last > overload.met;
        let ended = overload.told.map_or(recovered, |told| told.min(recovered));
        let passed = admitted / self.span(ended);
        let (low, high) = match long {
            Some(known) => {
                let borne = known.rate(seq.saturating_sub((1.5 * known.period) as u64));
                // A bucket has borne more for a while, from what it held; but hardly more in the mean.
                let since = self.exhausted_at.unwrap_or(self.since);
                let mean = admitted / overload.met.since(since).as_secs_f64().max(0.001);
                (borne.min(mean), overload.rate.min(mean * ABOVE_MEAN))
            }
            None => {
                let high = admitted.max(1.0) / self.span(overload.last);
                let held = ended.since(overload.met).as_secs_f64();
                let low = match self.exhausted_at {
                    // What a bucket had gained in the hold before makes a cycle much shorter than that hold.
                    Some(then) if ended.since(self.since) < self.lasted / 2 => {
                        admitted / ended.since(then).as_secs_f64().max(0.001)
                    }
                    Some(_) => passed,
                    // A window refuses until its end; a bucket that was full, until the next drop.
                    None if was_probed || held > HOLD_OF_WINDOW * self.span(overload.met) => passed,
                    None => high / 2.0,
                };
                (low, high)
            }
        };
        let known = known.unwrap_or(Bracket::OPEN);
        let settled = self.passed.filter(|before| {
            let agrees = (passed - before).abs() < AGREE * before;
            agrees && long.is_none() && overload.waited.is_zero()
        });
        self.passed = self
            .exhausted_at
            .filter(|_| long.is_none())
            .map(|_| short(passed));
        let doubted = high < known.low;
        // One that is not in doubt takes back only half of what those before had raised.
        self.doubts = match doubted {
            true => self.doubts.saturating_add(2),
            false => self.doubts.saturating_sub(1),
        };
        let doubted = doubted && settled.is_none();
        let low = if known.low < high {
            low.max(known.low)
        } else {
            low
        };
        // What failed once and has been passed since is no bound any more.
        let high = if known.high > low && overload.rate <= known.high {
            high.min(known.high)
        } else {
            high
        };
        // What passes from one refusal to the next is all that there is, where it is the same twice.
        let high = settled.map_or(high, |before| high.min(passed.max(before)));
        let low = low.min(high);
        if was_probed && overload.told.is_none() {
            self.window = Some(recovered.since(self.since));
        }
        let restart = (low + (high - low) * MIDDLE).min(overload.rate) * UNDER;
        let period = self
            .window
            .unwrap_or(recovered.since(self.since).max(self.lasted));
        self.bracket = Some(Bracket {
            // A bucket that was full at first makes more look borne than is.
            low: if self.exhausted_at.is_some() {
                short(low)
            } else {
                0.0
            },
            high: short(high),
            restart: short(restart),
            from_seq: seq.cast_signed(),
            period: short((restart * period.as_secs_f64()).max(FEWEST)),
            doubted,
            learned_at: now,
        });
        restart
    }

    /// Seconds since the cycle began.
    fn span(&self, until: Timestamp) -> f64 {
        until.since(self.since).as_secs_f64().max(0.001)
    }
}

impl Bracket {
    const OPEN: Self = Self {
        low: 0.0,
        high: f64::INFINITY,
        restart: f64::INFINITY,
        from_seq: 0,
        period: FEWEST,
        doubted: false,
        learned_at: Timestamp::EPOCH,
    };

    /// L3: the rate after `departures` departures: half of the way to just under what failed in a few periods,
    /// and beyond it only when that has been borne for long.
    fn rate(&self, departures: u64) -> f64 {
        let sent = departures
            .cast_signed()
            .saturating_sub(self.from_seq)
            .max(0);
        let periods = sent as f64 / self.period;
        let near = self.high * UNDER;
        let rate = near - (near - self.restart) * (-periods / HALF_WAY).exp2();
        let patience = self.patience();
        if periods <= patience {
            return rate;
        }
        rate * (1.0 + ((periods - patience) / PATIENCE).powi(3))
    }

    fn patience(&self) -> f64 {
        if self.doubted {
            PATIENCE_IF_DOUBTED
        } else {
            PATIENCE
        }
    }

    fn is_sound(&self) -> bool {
        [self.low, self.high, self.restart, self.period]
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0)
            && self.period >= FEWEST
    }

    /// Sets its course to where it goes beyond what failed.
    fn age(&mut self, seq: u64) {
        let borne = (self.patience() * self.period) as i64;
        self.from_seq = self.from_seq.min(seq.cast_signed().saturating_sub(borne));
    }
}

/// With as many digits as it is good for, which keeps the stored state short.
fn short(rate: f64) -> f64 {
    (rate * 1e4).round() / 1e4
}
