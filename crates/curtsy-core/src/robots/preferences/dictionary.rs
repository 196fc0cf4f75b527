//! Reading wishes by RFC 9651, with a visitor of sfv: nothing is built that is not kept.

use std::convert::Infallible;

use sfv::visitor::{DictionaryVisitor, EntryVisitor};
use sfv::{BareItemFromInput, KeyRef, Parser};

use super::wishes::{Vocabulary, Wishes};
use crate::structured::BareEntry;

/// The wishes of a value; `None` where it is no Dictionary.
pub(super) fn read(vocabulary: Vocabulary, value: &[u8]) -> Option<Wishes> {
    Parser::new(value)
        .parse_dictionary_with_visitor(Wishes::none(vocabulary))
        .ok()
}

impl<'h> DictionaryVisitor<'h> for Wishes {
    type Out = Self;
    type Error = Infallible;

    fn entry(&mut self, key: &'h KeyRef) -> Result<impl EntryVisitor<'h>, Infallible> {
        let vocabulary = self.vocabulary();
        let place = vocabulary.place(key.as_str());
        Ok(place.map(|place| {
            let permitted = &mut self.permitted[place];
            BareEntry(move |item| {
                *permitted = match item {
                    Some(BareItemFromInput::Token(word)) => vocabulary.meaning(word.as_str()),
                    _ => None,
                }
            })
        }))
    }

    fn finish(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_of_tokens_is_read_and_nothing_else() {
        use Vocabulary::{ContentSignal, ContentUsage};
        for (vocabulary, value, expected) in [
            (ContentUsage, "train-ai=n", Some("train-ai=n")),
            (
                ContentUsage,
                " search=y ,\ttrain-ai=n ",
                Some("train-ai=n search=y"),
            ),
            (
                ContentUsage,
                "train-ai=n;reason=\"a, b\";x, search=y;q=0.5",
                Some("train-ai=n search=y"),
            ),
            (ContentUsage, "future-use=n, search=y", Some("search=y")),
            (ContentUsage, "train-ai=y, train-ai=n", Some("train-ai=n")),
            (ContentUsage, "train-ai=n, train-ai=y", Some("train-ai=y")),
            (ContentUsage, "train-ai=n, train-ai=maybe", Some("")),
            (ContentUsage, "train-ai=N", Some("")),
            (ContentUsage, "train-ai=no", Some("")),
            (ContentUsage, "train-ai=\"n\"", Some("")),
            (ContentUsage, "train-ai", Some("")),
            (ContentUsage, "train-ai=(n)", Some("")),
            (ContentUsage, "", Some("")),
            (ContentUsage, "Train-AI=n", None),
            (ContentUsage, "train-ai = n", None),
            (ContentUsage, "train-ai=n,", None),
            (ContentUsage, "train-ai=n search=y", None),
            (ContentUsage, "train-ai=é", None),
            (
                ContentSignal,
                "search=yes,ai-train=no",
                Some("search=yes ai-train=no"),
            ),
            (
                ContentSignal,
                "search=yes, ai-input=no, ai-train=no",
                Some("search=yes ai-input=no ai-train=no"),
            ),
            (ContentSignal, "ai-train=n, train-ai=no", Some("")),
        ] {
            let read = read(vocabulary, value.as_bytes()).map(|wishes| {
                let told = wishes.told().map(|(key, word)| format!("{key}={word}"));
                told.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(read.as_deref(), expected, "{vocabulary:?} {value:?}");
        }
    }

    #[test]
    fn a_hostile_value_says_nothing_and_is_soon_read() {
        for value in [
            "a=".repeat(100_000),
            "train-ai=(".repeat(100_000),
            "train-ai=n;".repeat(100_000),
            "(".repeat(300_000),
        ] {
            assert_eq!(read(Vocabulary::ContentUsage, value.as_bytes()), None);
        }
        let many: String = (0..50_000).map(|n| format!("k{n}=y, ")).collect();
        let wishes = read(
            Vocabulary::ContentUsage,
            format!("{many}train-ai=n").as_bytes(),
        );
        let told = wishes.map(|wishes| wishes.told().collect::<Vec<_>>());
        assert_eq!(told, Some(vec![("train-ai", "n")]));
    }
}
