//! A delay between departures: `D`, `MIN..MAX`, `MIN..` or `..MAX`, each a DUR (rule P4).

use std::time::Duration;

use curtsy_core::Interval;
use serde_json::{Value as Json, json};

use super::duration::spell;
use super::{Value, read};

impl Value for Interval {
    fn read(text: &str) -> Result<Self, String> {
        let Some((min, max)) = text.split_once("..") else {
            return read(text).map(Self::fixed);
        };
        let bound = |text: &str| match text.trim() {
            "" => Ok(None),
            text => read::<Duration>(text).map(Some),
        };
        Self::from_bounds(bound(min)?, bound(max)?)
            .map_err(|inverted| format!("{text:?}: {inverted}"))?
            .ok_or_else(|| format!("{text:?} has no bound; write D, MIN..MAX, MIN.. or ..MAX"))
    }

    fn show(&self) -> Json {
        if self.min() == self.max() {
            json!(spell(self.min()))
        } else {
            json!(format!("{}..{}", spell(self.min()), spell(self.max())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_a_delay_is_fixed_or_a_range_with_one_or_two_ends() {
        for (text, min, max) in [
            ("2", 2_000, 2_000),
            ("0", 0, 0),
            ("500ms", 500, 500),
            ("1..5", 1_000, 5_000),
            ("500ms..2m", 500, 120_000),
            ("2..", 2_000, 6_000),
            ("..4", 0, 4_000),
            ("1.5..3.5", 1_500, 3_500),
            ("1 .. 5", 1_000, 5_000),
        ] {
            let delay: Interval = read(text).unwrap();
            assert_eq!(
                (delay.min().as_millis(), delay.max().as_millis()),
                (min, max),
                "{text}"
            );
            assert_eq!(read(delay.show().as_str().unwrap()), Ok(delay), "{text}");
        }
    }

    #[test]
    fn what_is_no_delay_is_refused() {
        for text in [
            "", "..", "5..1", "1..2..3", "1-5", "-1..2", "x..", "..x", "1...5",
        ] {
            assert!(read::<Interval>(text).is_err(), "{text}");
        }
    }
}
