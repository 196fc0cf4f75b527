//! A published quota as a scope remembers it (rules H5, H5a, H5b, H6).
//!
//! A reading says how much is left and when it is full again. The first number is reduced by what the
//! server had not counted when it wrote it; the second is an instant that all readings of one window
//! bracket ever more narrowly. Supported: fixed windows in any rounding of whole-second resets, and
//! windows that roll (sliding logs and counters, token buckets), told apart by a reset that moves on
//! before it can have come. What a scope settles on it remembers: rolling or not, how resets are rounded,
//! how long a window lasts where none is published, and whether resets are named as delays or as
//! instants. Not supported: a quota that others draw on too is seen only as far as their
//! share shows in the readings.

mod bracket;
mod reading;
mod stored;
mod window;

use std::time::Duration;

use crate::Timestamp;
use crate::signal::{self, Form};
use crate::state::short;
use crate::time::whole_millis;

pub use bracket::Bracket;
pub(crate) use reading::Reading;
pub(crate) use stored::StoredQuota;
use window::Window;

/// H5: no time to a reset counts as shorter, so that a small one makes no large rate.
const SHORTEST: Duration = Duration::from_secs(1);
/// No window is shorter.
const SHORTEST_WINDOW: Duration = Duration::from_millis(1);
/// The end of a window is seen so sharply where requests are frequent.
const FUZZ: Duration = Duration::from_millis(250);

/// One quota of a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Tells it from the scope's other quotas.
    pub key: String,
    /// How much a window allows.
    pub limit: Option<u64>,
    /// How long a window is: as published, else as seen where that was seen sharply.
    pub window: Option<Duration>,
    /// The least that a reading of this window said is left; `None` where the server never says.
    pub remaining: Option<u64>,
    /// When it is full again, as printed.
    pub reset: Option<Bracket>,
    /// H5b: the reset does not count down.
    pub rolling: bool,
    /// H5: its rate is the scope's.
    pub steers: bool,
    /// Its window, as seen, lasts no whole seconds.
    odd: bool,
    /// Its reset has lain farther ahead than its window is long: that is no upper end of it.
    overlong: bool,
    /// Whether all of it came back when it last reset; `None` before that was seen.
    whole: Option<bool>,
    /// A reading may have been of the next window already.
    doubtful: bool,
    /// So many times in a row it reset in less than half its window, which a fixed one never does twice.
    hasty: u8,
    /// How its resets are named, and whether the last one was named otherwise.
    form: Option<Form>,
    is_form_doubtful: bool,
    /// The first reading of this window found all of it there.
    fresh: bool,
    /// It has reset, and nothing has been read of the window that later departures opened.
    unread: bool,
    /// Departures that the server had not counted in `remaining`.
    uncounted: u64,
    /// The latest departure whose answer brought a reading, and when the server counted it: half-way
    /// between departure and answer.
    read_by: u64,
    counted_at: Timestamp,
    /// When this window's first reading came; of a rolling one, when that was seen to be so.
    opened: Timestamp,
    /// When the window before had not ended yet, where its end was seen.
    opened_after: Option<Timestamp>,
}

impl Quota {
    pub(crate) fn new(reading: &Reading<'_>) -> Self {
        let told = reading.quota;
        let mut quota = Self {
            key: short(told.name.as_str()).into_owned(),
            limit: told.limit.map(sane),
            window: told.window.map(whole_millis),
            remaining: None,
            reset: None,
            rolling: false,
            steers: false,
            odd: false,
            overlong: is_overlong(told),
            whole: None,
            doubtful: false,
            hasty: 0,
            form: told.reset.map(|reset| reset.form),
            is_form_doubtful: false,
            fresh: false,
            unread: false,
            uncounted: 0,
            read_by: reading.seq,
            counted_at: reading.counted_at(),
            opened: reading.received,
            opened_after: None,
        };
        quota.fresh = quota.is_whole(reading);
        quota.take(reading);
        quota
    }

    /// Takes a reading.
    pub(crate) fn read(&mut self, reading: &Reading<'_>) {
        if self.settle_form(reading) {
            return self.read_settled(reading);
        }
        let quota = &signal::Quota {
            reset: None,
            ..reading.quota.clone()
        };
        self.read_settled(&Reading { quota, ..*reading });
    }

    /// Whether this reading's reset stands. A server keeps to one form: a zero among epochs is no instant,
    /// nor is it a delay. What is named in another form than the scope settled on may put the reset off, but
    /// brings it no nearer, until a second reading in a row shows that the server has changed its ways.
    fn settle_form(&mut self, reading: &Reading<'_>) -> bool {
        let Some(told) = reading.quota.reset else {
            return true;
        };
        let is_other = self.form.is_some_and(|form| form != told.form);
        let was_other = std::mem::replace(&mut self.is_form_doubtful, is_other);
        if !is_other || was_other {
            (self.form, self.is_form_doubtful) = (Some(told.form), false);
            return true;
        }
        let told = Bracket::of(told, reading.departed, reading.received);
        self.reset
            .is_none_or(|known| told.latest() >= known.earliest())
    }

    fn read_settled(&mut self, reading: &Reading<'_>) {
        let told = reading.quota;
        self.limit = told.limit.map(sane).or(self.limit);
        if reading.is_refusal && told.remaining == Some(0) && self.has_reset_by(reading.departed) {
            self.unlearn(told);
        }
        self.window = told.window.map(whole_millis).or(self.window);
        self.overlong |= is_overlong(told);
        match self.window_of(reading) {
            Window::Former if self.unread => return,
            // It is answered, and was counted in a window that has ended.
            Window::Former => {
                self.uncounted = self.uncounted.saturating_sub(1);
                return;
            }
            Window::This => self.narrow(reading),
            Window::Next if self.rolling => self.take(reading),
            Window::Next => {
                let lapsed = self.first_lapse(reading);
                self.learn(reading);
                self.opened = reading.received;
                self.fresh = self.is_whole(reading);
                if let Some(window) = lapsed {
                    (self.rolling, self.window) = (true, Some(window));
                    self.opened = reading.received.before(window);
                }
                self.take(reading);
            }
            Window::Rolling => {
                self.rolling = true;
                (self.opened, self.opened_after) = (reading.received, None);
                self.take(reading);
            }
        }
        self.read_by = self.read_by.max(reading.seq);
        self.counted_at = self.counted_at.max(reading.counted_at());
    }

    /// An answer to what left at `departed` does not speak of it. Where its reset had passed by then, it may
    /// be gone for good; what is left is not known any more.
    pub(crate) fn pass_over(&mut self, departed: Timestamp) {
        if self.has_reset_by(departed) {
            (self.remaining, self.uncounted, self.unread) = (None, 0, false);
        }
    }

    /// One departure is sent against it at `now`, while `in_flight` others are unanswered.
    pub(crate) fn depart(&mut self, in_flight: u64, now: Timestamp) {
        let is_known = self.remaining.is_some() && !self.rolling;
        if is_known && !self.unread && self.has_reset_by(now) {
            self.unread = true;
            // Where it is not known to come back at once, one request looks what there is.
            self.remaining = self.limit.filter(|_| self.comes_back_whole()).or(Some(1));
            self.uncounted = in_flight;
        }
        self.uncounted = self.uncounted.saturating_add(1);
    }

    /// What of it nothing has been sent for yet; zero where the server never says.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.remaining.unwrap_or(0).saturating_sub(self.uncounted)
    }

    /// How its server names resets.
    pub(crate) fn form(&self) -> Form {
        self.form.unwrap_or(Form::Delay)
    }

    /// When the server last counted it, as far as was read.
    #[must_use]
    pub fn read_at(&self) -> Timestamp {
        self.counted_at
    }

    /// H5a: when it is full again at the latest. A window that is running lasts no longer from now than
    /// its whole length.
    #[must_use]
    pub fn resets_by(&self) -> Option<Timestamp> {
        let printed = self.reset?;
        let whole = self
            .window
            .filter(|_| !self.rolling && !self.overlong)
            .map(|window| self.opened.after(window))
            .filter(|end| *end >= printed.earliest());
        Some(whole.map_or(printed.latest(), |end| end.min(printed.latest())))
    }

    /// H5, H5b: the rate at which it lasts until its reset, departures/s; `None` where it says nothing (any
    /// more). `before` is the rate so far.
    pub(crate) fn rate(&self, now: Timestamp, before: Option<f64>) -> Option<f64> {
        let sustained = self.sustained();
        if self.remaining.is_none() {
            return sustained;
        }
        if self.rolling {
            return self.rolling_rate(now);
        }
        let rate = match self.resets_by() {
            Some(reset) if reset <= now || self.left() == 0 => return None,
            Some(reset) => self.spread_until(reset, now, before),
            None if self.left() == 0 => 0.0,
            None => return sustained,
        };
        // What is left may be more than the server sustains: 10,000 in 10 s under a policy of 10 per second.
        Some(sustained.map_or(rate, |sustained| rate.min(sustained)))
    }

    /// H6: used up, and not full again before the instant returned.
    pub(crate) fn exhausted_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.exhausted().filter(|reset| *reset > now)
    }

    /// Whether only an answer tells what there is: it has reset, and either all that a window gives has
    /// departed since, or it is not known to come back at once.
    pub(crate) fn needs_reading(&self, now: Timestamp) -> bool {
        let is_open = if self.unread {
            self.left() > 0
        } else {
            self.comes_back_whole()
        };
        !self.rolling && self.remaining.is_some() && !is_open && self.has_reset_by(now)
    }

    /// D6: a stored quota is bounded when it is read back.
    pub(crate) fn clamp(&mut self, now: Timestamp, farthest: Timestamp) {
        let now = now.up_to_milli();
        self.counted_at = self.counted_at.min(now);
        self.opened = self.opened.min(now);
        self.limit = self.limit.map(sane);
        self.remaining = self.remaining.map(sane);
        if let Some(reset) = &mut self.reset {
            reset.clamp(farthest);
        }
    }

    /// What of it may be sent before its reset; `None` when that has passed, or nothing is known.
    pub(crate) fn budget(&self, now: Timestamp) -> Option<u64> {
        self.remaining?;
        let is_known = self.unread || self.resets_by().is_none_or(|reset| reset > now);
        is_known.then_some(self.left())
    }

    /// limit / window, departures/s, where the server publishes both.
    pub(crate) fn sustained(&self) -> Option<f64> {
        let (limit, window) = (self.limit? as f64, self.window?.as_secs_f64());
        (window > 0.0).then_some(limit / window)
    }

    /// When the hold ends that it makes by being used up.
    pub(crate) fn exhausted(&self) -> Option<Timestamp> {
        self.resets_by()
            .filter(|_| self.remaining.is_some() && self.left() == 0)
    }

    /// H5: what is left, over the time to the reset. Within the last second the rate does not grow; but
    /// unless only some comes back then, neither does it fall below what the window has borne, which would
    /// waste the rest.
    fn spread_until(&self, reset: Timestamp, now: Timestamp, before: Option<f64>) -> f64 {
        let (left, time) = (self.left() as f64, reset.since(now));
        let rate = left / time.max(SHORTEST).as_secs_f64();
        let borne = before.filter(|_| self.whole != Some(false)).unwrap_or(0.0);
        borne.max(rate).min(left / time.as_secs_f64())
    }

    /// H5b: the limit over the window, and slower when little is left: an answer that finds it used up
    /// would hold all for a whole window. What was sent before it was seen to roll comes back only when a
    /// window has passed since.
    fn rolling_rate(&self, now: Timestamp) -> Option<f64> {
        let limit = self.limit.or(self.remaining)?;
        let window = match (self.window, self.reset) {
            (Some(window), _) => window,
            (None, reset) => reset?.latest().since(now),
        };
        let evenly =
            limit.saturating_sub(1).max(1) as f64 / window.max(SHORTEST_WINDOW).as_secs_f64();
        let first = self.opened.after(window);
        if now < first {
            return Some(evenly.min(self.spread_until(first, now, None)));
        }
        let reserve = (2 + limit / 50) as f64;
        Some(evenly * (self.left() as f64 / reserve).min(1.0))
    }

    /// Whether a whole limit can be counted on at the reset.
    fn comes_back_whole(&self) -> bool {
        self.whole == Some(true) && !self.doubtful
    }

    /// Another reading of the window that is known. Whoever was answered with one is counted in the least.
    fn narrow(&mut self, reading: &Reading<'_>) {
        // It was overtaken by one that departed before it; or else the window has ended, and of the next
        // one some is used.
        let is_more = reading.quota.remaining > self.remaining && self.remaining.is_some();
        if is_more && reading.seq > self.read_by && self.can_have_reset_by(reading.received) {
            self.doubtful = true;
        }
        if let (Some(known), Some(told)) = (&mut self.reset, reading.quota.reset) {
            known.narrow(&Bracket::of(told, reading.departed, reading.received).knowing(known));
            known.not_ended_by(reading.departed);
        }
        let Some(told) = reading.quota.remaining.map(sane) else {
            return;
        };
        self.uncounted = self.uncounted.saturating_sub(1);
        if self.remaining.is_none_or(|least| told < least) {
            self.remaining = Some(told);
            self.uncounted = self.uncounted.min(reading.uncounted);
        }
    }

    /// The first reading of a window, or one that stands for itself.
    fn take(&mut self, reading: &Reading<'_>) {
        let told = reading.quota;
        self.reset = told.reset.map(|reset| {
            let told = Bracket::of(reset, reading.departed, reading.received);
            self.reset.map_or(told, |known| told.knowing(&known))
        });
        if let Some(remaining) = told.remaining {
            self.remaining = Some(sane(remaining));
            self.uncounted = reading.uncounted;
        }
        (self.unread, self.doubtful) = (false, false);
    }

    /// Whether nothing but what departed since has been used of it.
    fn is_whole(&self, reading: &Reading<'_>) -> bool {
        let told = self.limit.zip(reading.quota.remaining);
        told.is_some_and(|(limit, now)| {
            now.saturating_add(reading.uncounted).saturating_add(1) >= limit
        })
    }

    /// H5b: how long a window lasts that is not published, and gives back one by one: all was there when it
    /// opened, and now that its reset has come, only what was used first has come back. (Flask-Limiter's
    /// moving window tells as the reset when the oldest request lapses.)
    fn first_lapse(&self, reading: &Reading<'_>) -> Option<Duration> {
        let is_unknown = reading.quota.window.is_none() && self.window.is_none();
        let came_back = self.can_have_reset_by(reading.received) && !self.is_whole(reading);
        (is_unknown && self.fresh && came_back).then(|| {
            let seen = reading.received.since(self.opened);
            whole_millis(whole_seconds(seen.saturating_add(2 * reading.way())))
        })
    }

    /// What the end of a window tells: whether all came back at once, and where the end was seen, how the
    /// server rounds and how long a window lasts.
    fn learn(&mut self, reading: &Reading<'_>) {
        let told = reading.quota;
        let has_refilled = self.has_refilled(reading);
        let is_whole = self.is_whole(reading);
        self.whole = Some(is_whole);
        let lasted = reading.received.since(self.opened);
        self.hasty = match told.window {
            Some(window) if lasted < window / 2 => self.hasty.saturating_add(1),
            _ => 0,
        };
        self.rolling = self.hasty > 1;
        if !is_whole || !has_refilled || self.rolling {
            self.opened_after = None;
            return;
        }
        if let Some(known) = &mut self.reset {
            known.ended_by(reading.received);
        }
        if let (None, Some(opened)) = (told.window, self.opened_after) {
            let seen = reading.received.since(opened);
            let length = if self.odd { seen } else { whole_seconds(seen) };
            self.window = Some(self.window.map_or(length, |known| known.min(length)));
        }
        self.opened_after = Some(self.counted_at.before(reading.way()).down_to_milli());
    }

    /// A quota that should have been full again was not: what was learned of it was wrong.
    fn unlearn(&mut self, told: &signal::Quota) {
        if let Some(known) = &mut self.reset {
            known.unlearn();
        }
        if told.window.is_none() && self.window.take().is_some() {
            self.odd = true;
        }
    }
}

/// More than anybody can use is as good as this, and shorter when stored.
fn sane(count: u64) -> u64 {
    count.min(999_999_999)
}

/// Whether the reset lies farther ahead than the window is long, and not only by what a time of day may be off.
fn is_overlong(told: &signal::Quota) -> bool {
    told.reset.zip(told.window).is_some_and(|(reset, window)| {
        let off = reset.skew.saturating_mul(2);
        reset.after > window.saturating_add(off)
    })
}

/// What was seen to last a little more than whole seconds lasts whole seconds, as nearly all windows do.
fn whole_seconds(seen: Duration) -> Duration {
    let whole = Duration::from_secs(seen.as_secs());
    if !whole.is_zero() && seen - whole < FUZZ {
        whole
    } else {
        seen
    }
}
