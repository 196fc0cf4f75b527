//! How often a time was about so long: in steps that grow, four of them to the power of ten.

use std::time::Duration;

/// The least that is told apart: a millisecond.
const LEAST_MS: f64 = 1.0;
const TO_TEN: f64 = 4.0;
/// The last bin has all that is longer than about 17 minutes.
pub(super) const BINS: usize = 25;

/// Times by their lengths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    bins: [u32; BINS],
    count: u64,
    least: Option<Duration>,
}

impl Histogram {
    pub(super) fn add(&mut self, time: Duration) {
        self.bins[bin(time)] += 1;
        self.count += 1;
        self.least = Some(self.least.map_or(time, |least| least.min(time)));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (bin, more) in self.bins.iter_mut().zip(other.bins) {
            *bin += more;
        }
        self.count += other.count;
        self.least = [self.least, other.least].into_iter().flatten().min();
    }

    pub(super) fn bins(&self) -> &[u32; BINS] {
        &self.bins
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The shortest.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least
    }

    /// The upper end of the bin below which this share lies: not exact, and never too good.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.bins.iter().position(|bin| {
            seen += u64::from(*bin);
            seen >= wanted
        });
        found.filter(|_| self.count > 0).map(end)
    }
}

fn bin(time: Duration) -> usize {
    let ms = time.as_secs_f64() * 1000.0;
    if ms <= LEAST_MS {
        return 0;
    }
    (((ms / LEAST_MS).log10() * TO_TEN).ceil() as usize).min(BINS - 1)
}

/// The longest time in a bin.
pub(super) fn end(bin: usize) -> Duration {
    Duration::from_secs_f64(LEAST_MS / 1000.0 * 10_f64.powf(bin as f64 / TO_TEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_never_below_what_it_stands_for() {
        let mut histogram = Histogram::default();
        for ms in 1..=1000 {
            histogram.add(Duration::from_millis(ms));
        }
        for (share, ms) in [(0.5, 500), (0.95, 950), (1.0, 1000)] {
            let told = histogram.quantile(share).unwrap();
            let true_one = Duration::from_millis(ms);
            assert!(told >= true_one && told < true_one * 2, "{share}: {told:?}");
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
        histogram.add(Duration::from_secs(1 << 40));
        assert_eq!(histogram.bins()[BINS - 1], 1);
    }
}
