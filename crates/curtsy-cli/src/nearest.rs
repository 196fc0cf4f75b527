//! The nearest word to a misspelt one.

/// `did you mean …?`, where one of `words` is near enough to have been meant.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let nearest = nearest(word, words)?;
    Some(format!("did you mean {nearest}?"))
}

/// The word that needs the fewest changes, at most one for every three letters.
pub(crate) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = word.chars().count().div_ceil(3);
    words
        .into_iter()
        .map(|other| (distance(word, other), other))
        .min()
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, other)| other)
}

/// How many letters are to be changed, added, left out or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before_last = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 0..one.len() {
        let mut row = vec![i + 1; other.len() + 1];
        for j in 0..other.len() {
            let change = last[j] + usize::from(one[i] != other[j]);
            row[j + 1] = change.min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j];
            if swapped {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_named_and_a_far_one_is_not() {
        let words = [
            "rate",
            "max_rate",
            "min_rate",
            "max_retries",
            "burst",
            "user_agent",
        ];
        for (word, expected) in [
            ("raet", Some("rate")),
            ("rates", Some("rate")),
            ("max-rate", Some("max_rate")),
            ("max_retrys", Some("max_retries")),
            ("useragent", Some("user_agent")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }

    #[test]
    fn a_distance_counts_changes() {
        for (one, other, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("abc", "abd", 1),
            ("abc", "acb", 1),
            ("abc", "xabc", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
