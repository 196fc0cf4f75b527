//! The lenient reader of quota lists: `100, 100;w=60;comment=sliding window, 5000;w=3600`.

use std::borrow::Cow;
use std::time::Duration;

use super::super::number::{Decimal, trim};
use super::super::value::{self, Scale};
use super::{MAX_MEMBERS, Member};

/// A quota list as early drafts print it.
#[derive(Debug, Default)]
pub(in super::super) struct QuotaList<'h> {
    /// The first member, or a smaller one without parameters that a proxy joined to it.
    pub(in super::super) limit: u64,
    /// The members that have a window.
    pub(in super::super) policies: Vec<QuotaPolicy<'h>>,
}

/// One policy of a list.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct QuotaPolicy<'h> {
    pub(in super::super) limit: u64,
    pub(in super::super) window: Option<Duration>,
    pub(in super::super) label: Option<&'h str>,
}

/// Reads a quota list; `None` where it is none. Unknown parameters are comments.
pub(in super::super) fn read_quota_list(text: &str) -> Option<QuotaList<'_>> {
    let mut members = split_outside_quotes(text, ',').take(MAX_MEMBERS);
    let (limit, policy) = read_member(members.next()?)?;
    let mut list = QuotaList {
        limit,
        policies: policy.into_iter().collect(),
    };
    for member in members {
        // `5,000` is a number with a separator, no list.
        if member.trim_ascii().starts_with('0') && member.trim_ascii().len() > 1 {
            return None;
        }
        match read_member(member) {
            Some((_, Some(policy))) => list.policies.push(policy),
            Some((limit, None)) => list.limit = list.limit.min(limit),
            None => {}
        }
    }
    Some(list)
}

fn read_member(member: &str) -> Option<(u64, Option<QuotaPolicy<'_>>)> {
    let mut parts = split_outside_quotes(member, ';');
    let limit = Decimal::read(trim(parts.next()?))?.count()?;
    let (mut window, mut label) = (None, None);
    for parameter in parts {
        match parameter
            .split_once('=')
            .map(|(key, text)| (key.trim_ascii(), text))
        {
            Some(("w" | "window", text)) => window = Some(value::window(text, Scale::Seconds)),
            Some(("name", text)) => label = Some(trim(text)),
            _ => {}
        }
    }
    let policy = window.map(|window| QuotaPolicy {
        limit,
        window,
        label,
    });
    Some((limit, policy))
}

impl<'h> QuotaList<'h> {
    /// The policies as members of a structured field.
    pub(super) fn into_members(self) -> Vec<Member<'h>> {
        self.policies
            .into_iter()
            .map(|policy| Member {
                number: i64::try_from(policy.limit).ok(),
                window: policy
                    .window
                    .and_then(|window| i64::try_from(window.as_secs()).ok()),
                label: policy.label.map(Cow::Borrowed),
                ..Member::default()
            })
            .collect()
    }
}

/// Splits at `separator` where it stands in no quoted string.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_their_windows() {
        for (text, limit, windows) in [
            ("10, 100;w=60", 10, vec![(100, Some(60))]),
            ("500, 500;window=60", 500, vec![(500, Some(60))]),
            ("100;w=21600", 100, vec![(100, Some(21_600))]),
            ("100, 1000", 100, vec![]),
            ("1000, 100", 100, vec![]),
            (
                "100, 100;w=60;comment=\"a, b; c\", 5000;w=3600;comment=sliding window",
                100,
                vec![(100, Some(60)), (5000, Some(3600))],
            ),
            ("10;w=0", 10, vec![(10, None)]),
        ] {
            let list = read_quota_list(text).unwrap();
            let found: Vec<_> = list
                .policies
                .iter()
                .map(|policy| (policy.limit, policy.window.map(|window| window.as_secs())))
                .collect();
            assert_eq!((list.limit, found), (limit, windows), "{text}");
        }
        for text in ["5,000", "", "junk", "1e6", "-1, 5"] {
            assert!(read_quota_list(text).is_none(), "{text}");
        }
    }
}
