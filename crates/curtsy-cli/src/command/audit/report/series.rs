//! Something over time, in no more steps than a picture shows: when the time grows, so do the steps.

use curtsy::core::Timestamp;

/// Steps of a whole picture.
pub(super) const STEPS: u64 = 180;

/// What happened over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    begin: Option<Timestamp>,
    /// The width of a step is so many seconds.
    pub(super) width_s: u64,
    /// The steps in which anything happened, in order.
    steps: Vec<Step>,
}

/// One step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) place: u64,
    pub(super) departures: u32,
    pub(super) refusals: u32,
    /// The most that was allowed a second, where anything was told of that.
    pub(super) allowed: Option<f64>,
}

impl Series {
    /// When the first step begins.
    pub(super) fn begin(&self) -> Timestamp {
        self.begin.unwrap_or_default()
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step at this time, to add to.
    pub(super) fn at(&mut self, at: Timestamp) -> &mut Step {
        let begin = *self.begin.get_or_insert(at);
        self.width_s = self.width_s.max(1);
        // What is a little out of order belongs to the first step.
        let since = at.since(begin).as_secs();
        while since / self.width_s >= STEPS {
            self.double();
        }
        let place = since / self.width_s;
        let found = self.steps.binary_search_by_key(&place, |step| step.place);
        let nth = found.unwrap_or_else(|nth| {
            let step = Step {
                place,
                ..Step::default()
            };
            self.steps.insert(nth, step);
            nth
        });
        &mut self.steps[nth]
    }

    fn double(&mut self) {
        self.width_s *= 2;
        let mut doubled: Vec<Step> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let place = step.place / 2;
            match doubled.last_mut() {
                Some(last) if last.place == place => {
                    last.departures += step.departures;
                    last.refusals += step.refusals;
                    last.allow(step.allowed);
                }
                _ => doubled.push(Step { place, ..*step }),
            }
        }
        self.steps = doubled;
    }
}

impl Step {
    /// So much was allowed a second; of several the most.
    pub(super) fn allow(&mut self, allowed: Option<f64>) {
        self.allowed = match (self.allowed, allowed) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_keeps_every_departure_however_long_it_becomes() {
        let mut series = Series::default();
        for n in 0..100_000_u64 {
            let at = Timestamp::from_secs(1_000 + n);
            series.at(at).departures += 1;
        }
        assert!(series.steps().len() as u64 <= STEPS);
        assert_eq!(series.width_s, 1024);
        let all: u32 = series.steps().iter().map(|step| step.departures).sum();
        assert_eq!(all, 100_000);
        // One that comes from before the beginning.
        series.at(Timestamp::EPOCH).departures += 1;
        assert_eq!(series.steps()[0].place, 0);
    }
}
