//! SIZE: `10MiB`, `500k`, bytes.

use serde_json::{Value as Json, json};

use super::Value;
use super::duration::decimal;

/// A number of bytes. `k`, `M`, `G` and `T` are powers of 1000 (a `B` may follow), `KiB`, `MiB`, `GiB` and
/// `TiB` powers of 1024; letter case does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) struct Size(pub(crate) u64);

const POWERS: [(&str, u64); 4] = [("t", 4), ("g", 3), ("m", 2), ("k", 1)];

impl Value for Size {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no size; write bytes, 500k or 10MiB");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = unit(&text[digits.len()..]).ok_or_else(wrong)?;
        let bytes = match digits.parse::<u64>() {
            Ok(number) => number.checked_mul(unit),
            // The cast saturates, and a product past u64 is refused below.
            Err(_) => {
                let product = decimal(digits).ok_or_else(wrong)? * unit as f64;
                (product < u64::MAX as f64).then_some(product as u64)
            }
        };
        bytes
            .map(Self)
            .ok_or_else(|| format!("{text:?} is more bytes than can be counted"))
    }

    fn show(&self) -> Json {
        let whole = POWERS.iter().find_map(|(letter, power)| {
            let unit = 1024_u64.pow(*power as u32);
            (self.0 > 0 && self.0.is_multiple_of(unit))
                .then(|| format!("{}{}iB", self.0 / unit, letter.to_ascii_uppercase()))
        });
        whole.map_or_else(|| json!(self.0), |text| json!(text))
    }
}

fn unit(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    if matches!(name.as_str(), "" | "b") {
        return Some(1);
    }
    let (letter, power) = POWERS.iter().find(|(letter, _)| name.starts_with(letter))?;
    let base: u64 = match name.strip_prefix(letter)? {
        "" | "b" => 1000,
        "ib" => 1024,
        _ => return None,
    };
    Some(base.pow(*power as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_size_has_decimal_and_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1234", 1234),
            ("12B", 12),
            ("500k", 500_000),
            ("500kB", 500_000),
            ("10MiB", 10 << 20),
            ("10mib", 10 << 20),
            ("1.5GiB", 3 << 29),
            ("2T", 2_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(read(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            "k",
            "-1",
            "1e9",
            "10 MiB",
            "10Mi",
            "5x",
            "5kk",
            "NaN",
            "18446744073709551616",
            "99999999T",
        ] {
            assert!(read::<Size>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_whole_binary_units_else_in_bytes() {
        for (bytes, shown) in [
            (1 << 30, json!("1GiB")),
            (10 << 20, json!("10MiB")),
            (500_000, json!(500_000)),
        ] {
            assert_eq!(Size(bytes).show(), shown);
        }
    }
}
