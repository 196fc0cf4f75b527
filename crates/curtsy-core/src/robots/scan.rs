//! Looking for one of a few octets, eight at a time.

/// Where the first of `needles` lies.
pub(super) fn position_of<const N: usize>(octets: &[u8], needles: [u8; N]) -> Option<usize> {
    let (words, _) = octets.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = needles
            .iter()
            .fold(0, |found, &needle| found | zeros(word ^ spread(needle)));
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let scanned = words.len() * 8;
    let tail = octets[scanned..]
        .iter()
        .position(|octet| needles.contains(octet));
    tail.map(|at| scanned + at)
}

const fn spread(octet: u8) -> u64 {
    u64::from_le_bytes([octet; 8])
}

/// Marks the zero octets of a word by their highest bit. Borrows can mark others too, but only behind
/// the first, which is the one that is asked for.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(spread(1)) & !word & spread(0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_of_the_needles_is_found(
            octets in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..40),
        ) {
            for needles in [[0, 1], [3, 2], [0x80, 0xFF]] {
                let expected = octets.iter().position(|octet| needles.contains(octet));
                prop_assert_eq!(position_of(&octets, needles), expected);
            }
        }
    }
}
