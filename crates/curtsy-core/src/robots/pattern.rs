//! Matching one spelt pattern against one spelt path.

use super::scan::position_of;

/// Whether a pattern, spelt by [`super::spelling`], matches a path.
///
/// The first segment is a prefix; each middle one is taken where it is found first; the last one is
/// compared with the end where the pattern is anchored. The leftmost choice is never wrong, because a
/// star behind it takes up whatever is left over, so nothing is ever tried twice: the work is bounded
/// by the lengths of pattern and path multiplied, and mostly by their sum. To `work` is added what is left
/// of the path for stars to be tried on; no other pattern costs anything to speak of.
pub(super) fn matches(pattern: &[u8], anchored: bool, path: &[u8], work: &mut usize) -> bool {
    // A star that lies further off than the path is long cannot be reached.
    let reach = &pattern[..pattern.len().min(path.len() + 1)];
    let Some(star) = position_of(reach, [b'*']) else {
        return if anchored {
            path == pattern
        } else {
            path.starts_with(pattern)
        };
    };
    let Some(mut path) = path.strip_prefix(&pattern[..star]) else {
        return false;
    };
    *work += path.len();
    let mut segments = &pattern[star + 1..];
    if anchored {
        // Off the end first, so that no earlier segment can overlap it.
        let last = segments.iter().rposition(|&octet| octet == b'*');
        let tail = &segments[last.map_or(0, |at| at + 1)..];
        let Some(rest) = path.strip_suffix(tail) else {
            return false;
        };
        path = rest;
        match last {
            Some(at) => segments = &segments[..at],
            None => return true,
        }
    }
    for segment in segments.split(|&octet| octet == b'*') {
        match find(path, segment) {
            Some(at) => path = &path[at + segment.len()..],
            None => return false,
        }
    }
    true
}

/// The longest needle that is searched for by plain comparison, which is faster for short ones.
const SHORT: usize = 24;

/// Where `needle` first lies in `path`.
fn find(path: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, _) = needle.split_first()?;
    if needle.len() > SHORT
        && let (Ok(path), Ok(needle)) = (str::from_utf8(path), str::from_utf8(needle))
    {
        // The search of std is linear whatever the needle; both sides are ASCII once spelt.
        return path.find(needle);
    }
    let last = path.len().checked_sub(needle.len())?;
    (0..=last).find(|&at| path[at] == first && path[at..].starts_with(needle))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::robots::spelling::{spell_path, spell_pattern};

    #[test]
    fn stars_take_any_run_and_a_dollar_the_end() {
        for (pattern, path, expected) in [
            ("/fish", "/fish/salmon", true),
            ("/fish", "/catfish", false),
            ("/fish$", "/fish", true),
            ("/fish$", "/fishes", false),
            ("*", "/", true),
            ("*m", "/moo", true),
            ("*m", "/foo", false),
            ("/*.php$", "/a.php.php", true),
            ("/*abc$", "/abcxabc", true),
            ("/*abc$", "/abcabcd", false),
            ("/*ab*ab$", "/ab", false),
            ("/*ab*ab$", "/abab", true),
            ("/*aba*ba$", "/ababa", true),
            ("/*aba*ba$", "/aba", false),
            ("/a*ab", "/aab", true),
            ("/a*ab", "/ab", false),
            ("/a*$", "/abc", true),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("$", "/", false),
            ("/x*y*z", "/x-z-y-z", true),
            ("/x*y*z", "/x-z-y", false),
        ] {
            let mut spelt = Vec::new();
            let anchored = spell_pattern(pattern.as_bytes(), &mut spelt).anchored;
            let matched = matches(&spelt, anchored, &spell_path(path.as_bytes()), &mut 0);
            assert_eq!(matched, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn long_and_short_needles_are_found_alike() {
        for length in [1, 2, SHORT - 1, SHORT, SHORT + 1, 100] {
            let needle = [vec![b'a'; length - 1], vec![b'b']].concat();
            let path = [vec![b'a'; 200], vec![b'b'], vec![b'c'; 9]].concat();
            assert_eq!(find(&path, &needle), Some(201 - length), "{length}");
            assert_eq!(find(&path[..200], &needle), None, "{length}");
        }
    }

    #[test]
    fn hostile_patterns_are_not_tried_twice() {
        let path = vec![b'a'; 4000];
        for pattern in [
            "a*".repeat(2000) + "b",
            "a*".repeat(40) + "b$",
            "*ab".repeat(1000),
        ] {
            let mut spelt = Vec::new();
            let anchored = spell_pattern(pattern.as_bytes(), &mut spelt).anchored;
            assert!(!matches(&spelt, anchored, &path, &mut 0), "{pattern:.20}");
        }
    }

    /// The textbook's table, slow and plain.
    fn matches_by_table(pattern: &[u8], anchored: bool, path: &[u8]) -> bool {
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for &octet in pattern {
            let mut next = vec![false; path.len() + 1];
            for at in 0..=path.len() {
                if octet == b'*' {
                    next[at] = reached[at] || (at > 0 && next[at - 1]);
                } else if at > 0 {
                    next[at] = reached[at - 1] && path[at - 1] == octet;
                }
            }
            reached = next;
        }
        if anchored {
            reached[path.len()]
        } else {
            reached.contains(&true)
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_table(pattern in "[/ab*]{0,12}[$]?", path in "/[/ab]{0,14}") {
            let mut spelt = Vec::new();
            let anchored = spell_pattern(pattern.as_bytes(), &mut spelt).anchored;
            let by_table = match pattern.strip_suffix('$') {
                Some(open) => matches_by_table(open.as_bytes(), true, path.as_bytes()),
                None => matches_by_table(pattern.as_bytes(), false, path.as_bytes()),
            };
            prop_assert_eq!(matches(&spelt, anchored, path.as_bytes(), &mut 0), by_table);
        }
    }
}
