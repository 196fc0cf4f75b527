//! Reading by RFC 9651, with visitors of sfv: nothing is built that is not kept.

use std::borrow::Cow;
use std::convert::Infallible;

use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor,
    ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};

use super::super::name::{Unit, fingerprint};
use super::{Counters, MAX_MEMBERS, Member};
use crate::structured::BareEntry;

/// The members of a List of Strings or Integers; `None` where one is of another kind.
pub(super) fn read_members(text: &str) -> Option<Vec<Member<'_>>> {
    let members = Parser::new(text)
        .parse_list_with_visitor(Members::default())
        .ok()?;
    let is_usable = |member: &Member<'_>| {
        !member.is_malformed && (member.name.is_some() || member.number.is_some())
    };
    (!members.is_empty() && members.iter().all(is_usable)).then_some(members)
}

/// The counters of a Dictionary; a member that is no Integer is none.
pub(super) fn read_counters(text: &str) -> Option<Counters> {
    Parser::new(text)
        .parse_dictionary_with_visitor(Counters::default())
        .ok()
}

#[derive(Default)]
struct Members<'h>(Vec<Member<'h>>);

impl<'h> ListVisitor<'h> for Members<'h> {
    type Out = Vec<Member<'h>>;
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'h>, Infallible> {
        // What lies beyond is parsed, so that it can void the field, but not kept.
        Ok((self.0.len() < MAX_MEMBERS).then(|| MemberVisitor(self.0.push_mut(Member::default()))))
    }

    fn finish(self) -> Result<Self::Out, Infallible> {
        Ok(self.0)
    }
}

struct MemberVisitor<'m, 'h>(&'m mut Member<'h>);

impl<'h> EntryVisitor<'h> for MemberVisitor<'_, 'h> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'h>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'h>, Infallible> {
        self.0.is_malformed = true;
        Ok(Ignored)
    }
}

impl<'h> ItemVisitor<'h> for MemberVisitor<'_, 'h> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'h>,
    ) -> Result<impl ParameterVisitor<'h, Out = ()>, Infallible> {
        match item {
            BareItemFromInput::String(name) => self.0.name = Some(text_of(name)),
            BareItemFromInput::Integer(number) if i64::from(number) >= 0 => {
                self.0.number = Some(number.into());
            }
            _ => self.0.is_malformed = true,
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
        let member = &mut *self.0;
        let number = match &item {
            BareItemFromInput::Integer(number) => Some(i64::from(*number)),
            _ => None,
        };
        match key.as_str() {
            "r" => {
                member.remaining = number;
                member.is_malformed |= number.is_none();
            }
            "t" => {
                member.reset = number;
                member.is_malformed |= number.is_none();
            }
            "q" => {
                member.quota = number;
                member.is_malformed |= number.is_none();
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
        Ok(place.map(|counter| {
            BareEntry(move |item| {
                *counter = match item {
                    Some(BareItemFromInput::Integer(number)) => Some(number.into()),
                    _ => None,
                }
            })
        }))
    }

    fn finish(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

fn text_of<'h>(text: Cow<'h, sfv::StringRef>) -> Cow<'h, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_str()),
        Cow::Owned(text) => Cow::Owned(String::from(text)),
    }
}
