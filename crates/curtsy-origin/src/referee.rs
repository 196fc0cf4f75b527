//! Whether a request passes: outages and all the quotas over its path, in virtual time.

use std::time::Duration;

use crate::arrival::Verdict;
use crate::meter::{Meter, Reading};
use crate::script::{Outage, Policy, Script};

/// Judges the requests of one origin, one after another.
#[derive(Debug)]
pub struct Referee {
    quotas: Vec<(Policy, Meter)>,
    outages: Vec<Outage>,
    /// When the first governed request came; outages count from here.
    first: Option<Duration>,
}

/// What the referee says to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// Ok, refused or outage.
    pub verdict: Verdict,
    /// For a refusal, until all its quotas admit a request again; for an outage, until it ends.
    pub wait: Duration,
    /// For an admitted request, how long it stands in a leaky queue.
    pub turn: Duration,
    /// What the published quotas over its path have left, this request counted.
    pub readings: Vec<Reading>,
    /// The outage that answers it.
    pub outage: Option<Outage>,
    /// Which quotas it was counted in.
    quotas: Vec<usize>,
}

impl Referee {
    /// A referee that has seen nothing. `epoch` is the Unix time of the instant zero.
    #[must_use]
    pub fn new(script: &Script, epoch: Duration) -> Self {
        Self {
            quotas: script
                .policies
                .iter()
                .map(|policy| (policy.clone(), Meter::new(&policy.rule, epoch)))
                .collect(),
            outages: script.outages.clone(),
            first: None,
        }
    }

    /// Judges a request to a governed path (with its query), and counts it.
    pub fn rule(&mut self, path: &str, now: Duration) -> Ruling {
        self.first.get_or_insert(now);
        if let Some((outage, left)) = self.outage(now) {
            return Ruling {
                verdict: Verdict::Outage,
                wait: left,
                turn: Duration::ZERO,
                readings: Vec::new(),
                outage: Some(outage.clone()),
                quotas: Vec::new(),
            };
        }
        let mine: Vec<usize> = (0..self.quotas.len())
            .filter(|n| self.quotas[*n].0.governs(path))
            .collect();
        // All are asked before any counts: a request that one quota refuses uses up none.
        let admitted = mine.iter().all(|n| self.quotas[*n].1.wait(now).is_zero());
        let (mut wait, mut turn) = (Duration::ZERO, Duration::ZERO);
        let mut readings = Vec::new();
        for n in &mine {
            let (policy, meter) = &mut self.quotas[*n];
            turn = turn.max(meter.settle(admitted, now));
            if !admitted {
                wait = wait.max(meter.wait(now));
            }
            if policy.published {
                readings.push(meter.read(now));
            }
        }
        Ruling {
            verdict: if admitted {
                Verdict::Ok
            } else {
                Verdict::Refused
            },
            wait,
            turn,
            readings,
            outage: None,
            quotas: if admitted { mine } else { Vec::new() },
        }
    }

    /// Turns an admitted request, which is about to be answered at `now`, into a victim of the outage that
    /// has begun while it was served.
    pub fn overtake(&self, ruling: &mut Ruling, now: Duration) {
        if ruling.verdict == Verdict::Ok
            && let Some((outage, left)) = self.outage(now)
        {
            (ruling.verdict, ruling.wait) = (Verdict::Outage, left);
            ruling.outage = Some(outage.clone());
        }
    }

    /// Counts the end of a request.
    pub fn release(&mut self, ruling: &Ruling) {
        for n in &ruling.quotas {
            self.quotas[*n].1.release();
        }
    }

    /// The outage at `now`, and how long it lasts from here. Before the first governed request there
    /// is none.
    #[must_use]
    pub fn outage(&self, now: Duration) -> Option<(&Outage, Duration)> {
        let at = now.saturating_sub(self.first?);
        self.outages.iter().find_map(|outage| {
            let end = outage.at + outage.lasts;
            (outage.at <= at && at < end).then(|| (outage, end - at))
        })
    }
}

#[cfg(test)]
impl Ruling {
    /// A ruling for tests of what is made of it.
    pub(crate) fn hand_made(verdict: Verdict, wait: Duration, outage: Option<Outage>) -> Self {
        Self {
            verdict,
            wait,
            turn: Duration::ZERO,
            readings: Vec::new(),
            outage,
            quotas: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::RetryAfter;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn referee(policies: Vec<Policy>, outages: Vec<Outage>) -> Referee {
        let script = Script {
            policies,
            outages,
            ..Script::default()
        };
        Referee::new(&script, Duration::ZERO)
    }

    #[test]
    fn what_one_quota_refuses_uses_up_no_other() {
        let mut referee = referee(
            vec![
                Policy::fixed_window(10, ms(1000)),
                Policy::fixed_window(1, ms(400)).under("/narrow"),
            ],
            Vec::new(),
        );
        let verdicts: Vec<_> = ["/narrow", "/narrow", "/wide"]
            .map(|path| referee.rule(path, ms(0)).verdict)
            .into();
        assert_eq!(verdicts, [Verdict::Ok, Verdict::Refused, Verdict::Ok]);
        let ruling = referee.rule("/wide", ms(100));
        assert_eq!(ruling.readings.len(), 1);
        assert_eq!(ruling.readings[0].remaining, 7);
        assert_eq!(referee.rule("/narrow", ms(100)).wait, ms(300));
    }

    #[test]
    fn a_hidden_quota_refuses_and_is_not_read() {
        let mut referee = referee(vec![Policy::fixed_window(1, ms(1000)).hidden()], Vec::new());
        assert_eq!(referee.rule("/", ms(0)).readings, []);
        assert_eq!(referee.rule("/", ms(1)).verdict, Verdict::Refused);
    }

    #[test]
    fn an_outage_counts_from_the_first_governed_request() {
        let outage = Outage {
            at: ms(1000),
            lasts: ms(500),
            status: 503,
            reset: false,
            retry_after: RetryAfter::None,
        };
        let mut referee = referee(Vec::new(), vec![outage]);
        assert_eq!(referee.outage(ms(1200)), None);
        for (at, verdict, wait) in [
            (7000, Verdict::Ok, 0),
            (7999, Verdict::Ok, 0),
            (8000, Verdict::Outage, 500),
            (8499, Verdict::Outage, 1),
            (8500, Verdict::Ok, 0),
        ] {
            let ruling = referee.rule("/", ms(at));
            assert_eq!((ruling.verdict, ruling.wait), (verdict, ms(wait)), "{at}");
        }
    }

    #[test]
    fn an_ended_request_gives_its_place_back() {
        let mut referee = referee(vec![Policy::concurrency(1)], Vec::new());
        let first = referee.rule("/", ms(0));
        let second = referee.rule("/", ms(1));
        assert_eq!(second.verdict, Verdict::Refused);
        referee.release(&second);
        assert_eq!(referee.rule("/", ms(2)).verdict, Verdict::Refused);
        referee.release(&first);
        assert_eq!(referee.rule("/", ms(3)).verdict, Verdict::Ok);
    }
}
