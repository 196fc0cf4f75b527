//! The IETF draft's fields, `RateLimit` and `RateLimit-Policy`, and the quota lists of its early
//! revisions.
//!
//! Drafts 03 to 06 print a policy as an Integer with parameters (`100;w=60`), draft 07 a Dictionary
//! of counters (`limit=100, remaining=50, reset=30`), drafts 08 to 10 Lists of Strings with
//! parameters (`"default";r=50;t=30`). They are read by RFC 9651, all or nothing: a malformed field is
//! dropped whole. Behind that stands a lenient reader for what early writers print: quota lists with
//! comments that are no structured field, and dictionaries whose keys or numbers are none.

mod members;
mod quota_list;

use std::borrow::Cow;

use super::name::Unit;
pub(super) use quota_list::{QuotaList, read_quota_list};

/// The most members that are read of one field.
const MAX_MEMBERS: usize = 32;

/// What a `RateLimit` line holds.
#[derive(Debug)]
pub(super) enum Line<'h> {
    /// Draft 07.
    Counters(Counters),
    /// Drafts 08 to 10.
    Members(Vec<Member<'h>>),
}

/// The counters of draft 07, in requests and seconds.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) limit: Option<i64>,
    pub(super) remaining: Option<i64>,
    pub(super) reset: Option<i64>,
}

/// One member of a list: a policy, or what is left of it.
#[derive(Debug, Default)]
pub(super) struct Member<'h> {
    /// A String: the policy's name (drafts 08 to 10).
    pub(super) name: Option<Cow<'h, str>>,
    /// An Integer: the quota itself (drafts 03 to 06).
    pub(super) number: Option<i64>,
    /// `r`: what is left.
    pub(super) remaining: Option<i64>,
    /// `t`: seconds until it is full again.
    pub(super) reset: Option<i64>,
    /// `q`: the quota.
    pub(super) quota: Option<i64>,
    /// `w`: the window in seconds.
    pub(super) window: Option<i64>,
    /// `qu`: what is counted.
    pub(super) unit: Option<Unit>,
    /// `name`, a comment that some print with Integer policies.
    pub(super) label: Option<Cow<'h, str>>,
    /// `pk`: the partition, as a fingerprint.
    pub(super) partition: Option<u64>,
    is_malformed: bool,
}

/// Reads one line of `RateLimit`; `None` where it is malformed.
pub(super) fn read_line(text: &str) -> Option<Line<'_>> {
    let first = text.find(['=', ';', ',', '"'])?;
    if text[first..].starts_with('=') {
        let counters = members::read_counters(text).or_else(|| read_counters_leniently(text))?;
        return Some(Line::Counters(counters));
    }
    let members = members::read_members(text)?;
    let is_named = members.iter().all(|member| member.name.is_some());
    is_named.then_some(Line::Members(members))
}

/// Reads one line of `RateLimit-Policy`; `None` where it is malformed.
pub(super) fn read_policy_line(text: &str) -> Option<Vec<Member<'_>>> {
    members::read_members(text).or_else(|| {
        // Only the early form is printed with comments that are no structured field.
        text.starts_with(|first: char| first.is_ascii_digit())
            .then(|| read_quota_list(text))?
            .map(QuotaList::into_members)
    })
}

/// `limit=…, remaining=…, reset=…` that is no Dictionary: upper case, or too many digits.
fn read_counters_leniently(text: &str) -> Option<Counters> {
    let mut counters = Counters::default();
    for member in text.split(',').take(MAX_MEMBERS) {
        let (key, number) = member.split_once('=')?;
        let number = number.split(';').next()?.trim_ascii().parse().ok();
        match key.trim_ascii() {
            key if key.eq_ignore_ascii_case("limit") => counters.limit = number,
            key if key.eq_ignore_ascii_case("remaining") => counters.remaining = number,
            key if key.eq_ignore_ascii_case("reset") => counters.reset = number,
            _ => {}
        }
    }
    Some(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_field_is_dropped_whole() {
        for text in [
            "\"default\";r=50;t=30,",
            "\"default\";r=\"50\";t=30",
            "\"default\";r=50.5;t=30",
            "(\"default\" \"other\");r=50;t=30",
            "\"défaut\";r=50;t=30",
            "quota;t=1",
            "100;w=60",
            "\"a\";r=1;t=1, b",
            "jira-quota-global-based",
            "",
        ] {
            assert!(read_line(text).is_none(), "{text}");
        }
        for text in [
            "quota;q=100;w=1",
            "\"fixed window\";\"api\";q=500;w=300",
            "soon",
        ] {
            assert!(read_policy_line(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_partition_key_needs_no_canonical_padding() {
        let Some(Line::Members(members)) =
            read_line("\"peruser\";r=40;t=20;pk=:cHsdsRa894==:, \"peruser\";r=2;pk=:QQ==:")
        else {
            panic!("no members");
        };
        assert_eq!(members.len(), 2);
        assert_ne!(members[0].partition, members[1].partition);
        assert_eq!(
            (members[0].remaining, members[0].reset),
            (Some(40), Some(20))
        );
    }

    #[test]
    fn a_dictionary_is_read_with_its_own_members_only() {
        for (text, expected) in [
            (
                "limit=100, remaining=50, reset=30",
                (Some(100), Some(50), Some(30)),
            ),
            ("limit=100; remaining=50; reset=30", (Some(100), None, None)),
            ("limit=10, reset=1", (Some(10), None, Some(1))),
            ("limit=1, limit=2", (Some(2), None, None)),
            (
                "Limit=100, Remaining=5, Reset=1372700873000000",
                (Some(100), Some(5), Some(1_372_700_873_000_000)),
            ),
        ] {
            let Some(Line::Counters(counters)) = read_line(text) else {
                panic!("{text}");
            };
            let found = (counters.limit, counters.remaining, counters.reset);
            assert_eq!(found, expected, "{text}");
        }
    }
}
