//! The IETF draft's fields, `RateLimit` and `RateLimit-Policy`, and the quota lists of its early
//! revisions.
//!
//! Drafts 03 to 06 print a policy as an Integer with parameters (`100;w=60`), draft 07 a Dictionary
//! of counters (`limit=100, remaining=50, reset=30`), drafts 08 to 10 Lists of Strings with
//! parameters (`"default";r=50;t=30`). They are read by RFC 9651, all or nothing: a malformed field is
//! dropped whole. Behind that stands a lenient reader for what early writers print, quota lists with
//! comments that are no structured field.

use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Duration;

use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor,
    ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};

use super::name::{Unit, fingerprint};
use super::value::{self, Decimal, Scale};

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

/// The counters of draft 07.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) limit: Option<i64>,
    pub(super) remaining: Option<i64>,
    pub(super) reset: Option<i64>,
}

/// One member of a list: a policy or what is left of it.
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

/// A quota list as early drafts print it: `10, 100;w=60;comment="x"`.
#[derive(Debug, Default)]
pub(super) struct QuotaList<'h> {
    /// The first member.
    pub(super) limit: Option<u64>,
    /// The members that have a window.
    pub(super) policies: Vec<(u64, Option<Duration>, Option<&'h str>)>,
}

/// Reads one line of `RateLimit`.
pub(super) fn read_line(text: &str) -> Option<Line<'_>> {
    let key_end = text.find(['=', ';', ',', '"'])?;
    if text[key_end..].starts_with('=') {
        let strict = Parser::new(text).parse_dictionary_with_visitor(Counters::default());
        let counters = strict.ok().or_else(|| read_counters_leniently(text))?;
        return Some(Line::Counters(counters));
    }
    let members = read_members(text)?;
    let is_named = members.iter().all(|member| member.name.is_some());
    is_named.then_some(Line::Members(members))
}

/// Reads one line of `RateLimit-Policy`.
pub(super) fn read_policy_line(text: &str) -> Option<Vec<Member<'_>>> {
    let strict = read_members(text);
    strict.or_else(|| {
        // Only the early form has ever been printed with comments that are no structured field.
        text.starts_with(|first: char| first.is_ascii_digit())
            .then(|| read_quota_list(text))?
            .map(|list| {
                list.policies
                    .into_iter()
                    .map(|(limit, window, label)| Member {
                        number: i64::try_from(limit).ok(),
                        window: window.and_then(|w| i64::try_from(w.as_secs()).ok()),
                        label: label.map(Cow::Borrowed),
                        ..Member::default()
                    })
                    .collect()
            })
    })
}

/// Reads a quota list leniently; `None` where it is none.
pub(super) fn read_quota_list(text: &str) -> Option<QuotaList<'_>> {
    let mut list = QuotaList::default();
    let mut is_first = true;
    for member in split_outside_quotes(text, ',').take(MAX_MEMBERS) {
        let mut parts = split_outside_quotes(member, ';');
        let number = parts.next()?.trim_ascii();
        // `5,000` is a number with a separator, no list.
        if number.len() > 1 && number.starts_with('0') {
            return None;
        }
        let Some(number) = Decimal::read(number).and_then(|n| u64::try_from(n.whole).ok()) else {
            if is_first {
                return None;
            }
            continue;
        };
        let (mut window, mut label) = (None, None);
        let mut has_parameters = false;
        for parameter in parts {
            let Some((key, text)) = parameter.split_once('=') else {
                continue;
            };
            match key.trim_ascii() {
                "w" | "window" => {
                    has_parameters = true;
                    window = value::window(text, Scale::Seconds);
                }
                "name" => label = Some(value::trim(text)),
                _ => {}
            }
        }
        // Plain members beside the first are what a proxy joined: the smallest counts.
        if is_first {
            list.limit = Some(number);
        } else if !has_parameters {
            list.limit = list.limit.map(|limit| limit.min(number));
        }
        if has_parameters {
            list.policies.push((number, window, label));
        }
        is_first = false;
    }
    list.limit.is_some().then_some(list)
}

fn read_members(text: &str) -> Option<Vec<Member<'_>>> {
    let members = Parser::new(text)
        .parse_list_with_visitor(Members::default())
        .ok()?;
    let is_usable = |member: &Member<'_>| {
        !member.is_malformed && (member.name.is_some() || member.number.is_some())
    };
    (!members.is_empty() && members.iter().all(is_usable)).then_some(members)
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

/// Splits at `separator` where it stands in no quoted string.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
}

#[derive(Default)]
struct Members<'h>(Vec<Member<'h>>);

impl<'h> ListVisitor<'h> for Members<'h> {
    type Out = Vec<Member<'h>>;
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'h>, Infallible> {
        // What lies beyond is parsed, so that it can void the field, but not kept.
        Ok((self.0.len() < MAX_MEMBERS).then(|| {
            self.0.push(Member::default());
            MemberVisitor(self.0.last_mut())
        }))
    }

    fn finish(self) -> Result<Self::Out, Infallible> {
        Ok(self.0)
    }
}

struct MemberVisitor<'m, 'h>(Option<&'m mut Member<'h>>);

impl<'h> EntryVisitor<'h> for MemberVisitor<'_, 'h> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'h>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'h>, Infallible> {
        if let Some(member) = self.0 {
            member.is_malformed = true;
        }
        Ok(Ignored)
    }
}

impl<'h> ItemVisitor<'h> for MemberVisitor<'_, 'h> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        mut self,
        item: BareItemFromInput<'h>,
    ) -> Result<impl ParameterVisitor<'h, Out = ()>, Infallible> {
        if let Some(member) = &mut self.0 {
            match item {
                BareItemFromInput::String(name) => member.name = Some(text_of(name)),
                BareItemFromInput::Integer(number) if i64::from(number) >= 0 => {
                    member.number = Some(number.into());
                }
                _ => member.is_malformed = true,
            }
        }
        Ok(self)
    }
}

impl<'h> ParameterVisitor<'h> for MemberVisitor<'_, 'h> {
    type Out = ();
    type Error = Infallible;

    fn parameter(
        &mut self,
        key: &'h KeyRef,
        item: BareItemFromInput<'h>,
    ) -> Result<(), Infallible> {
        let Some(member) = &mut self.0 else {
            return Ok(());
        };
        let number = match &item {
            BareItemFromInput::Integer(number) => Some(i64::from(*number)),
            _ => None,
        };
        match key.as_str() {
            "r" => {
                (member.remaining, member.is_malformed) =
                    (number, member.is_malformed || number.is_none())
            }
            "t" => {
                (member.reset, member.is_malformed) =
                    (number, member.is_malformed || number.is_none())
            }
            "q" => {
                (member.quota, member.is_malformed) =
                    (number, member.is_malformed || number.is_none())
            }
            "w" | "window" => member.window = number,
            "qu" => {
                member.unit = match &item {
                    BareItemFromInput::String(unit) => Some(Unit::from_draft(unit.as_str())),
                    BareItemFromInput::Token(unit) => Some(Unit::from_draft(unit.as_str())),
                    _ => None,
                }
            }
            "pk" => {
                member.partition = match &item {
                    BareItemFromInput::ByteSequence(bytes) => Some(fingerprint(bytes)),
                    BareItemFromInput::String(text) => Some(fingerprint(text.as_str().as_bytes())),
                    _ => None,
                }
            }
            "name" => {
                if let BareItemFromInput::String(label) = item {
                    member.label = Some(text_of(label));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<'h> DictionaryVisitor<'h> for Counters {
    type Out = Self;
    type Error = Infallible;

    fn entry(&mut self, key: &'h KeyRef) -> Result<impl EntryVisitor<'h>, Infallible> {
        let place = match key.as_str() {
            "limit" => Some(&mut self.limit),
            "remaining" => Some(&mut self.remaining),
            "reset" => Some(&mut self.reset),
            _ => None,
        };
        Ok(place.map(CounterVisitor))
    }

    fn finish(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

struct CounterVisitor<'m>(&'m mut Option<i64>);

impl<'h> EntryVisitor<'h> for CounterVisitor<'_> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'h>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'h>, Infallible> {
        *self.0 = None;
        Ok(Ignored)
    }
}

impl<'h> ItemVisitor<'h> for CounterVisitor<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'h>,
    ) -> Result<impl ParameterVisitor<'h, Out = ()>, Infallible> {
        *self.0 = match item {
            BareItemFromInput::Integer(number) => Some(number.into()),
            _ => None,
        };
        Ok(Ignored)
    }
}

fn text_of<'h>(text: Cow<'h, sfv::StringRef>) -> Cow<'h, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_str()),
        Cow::Owned(text) => Cow::Owned(String::from(text)),
    }
}
