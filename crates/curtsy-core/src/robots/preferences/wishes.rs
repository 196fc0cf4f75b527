//! Yes and no to kinds of use.

use super::dictionary;

/// Which kinds of use there are, and how yes and no are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vocabulary {
    /// Content-Usage: `train-ai=n, search=y` (draft-ietf-aipref-vocab).
    ContentUsage,
    /// Content-Signal: `search=yes, ai-input=no, ai-train=no` (Cloudflare).
    ContentSignal,
}

/// The most keys of a vocabulary.
const MAX_KEYS: usize = 3;

impl Vocabulary {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::ContentUsage => &["train-ai", "search"],
            Self::ContentSignal => &["search", "ai-input", "ai-train"],
        }
    }

    fn word(self, yes: bool) -> &'static str {
        match (self, yes) {
            (Self::ContentUsage, true) => "y",
            (Self::ContentUsage, false) => "n",
            (Self::ContentSignal, true) => "yes",
            (Self::ContentSignal, false) => "no",
        }
    }

    /// The place of a key, which is compared with its case; `None` for a kind of use that is not known.
    pub(super) fn place(self, key: &str) -> Option<usize> {
        self.keys().iter().position(|known| *known == key)
    }

    /// What a word means.
    pub(super) fn meaning(self, word: &str) -> Option<bool> {
        [true, false]
            .into_iter()
            .find(|yes| self.word(*yes) == word)
    }
}

/// What is wished for each kind of use. A key that is not there is neither granted nor refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    vocabulary: Vocabulary,
    pub(super) permitted: [Option<bool>; MAX_KEYS],
}

impl Wishes {
    /// No wish.
    #[must_use]
    pub const fn none(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            permitted: [None; MAX_KEYS],
        }
    }

    /// Reads the value of a field: a Dictionary of Tokens (RFC 9651). Unknown keys, other values and
    /// parameters are passed over; of a key that stands twice the last counts; a value that is no
    /// Dictionary says nothing.
    #[must_use]
    pub fn read(vocabulary: Vocabulary, value: &[u8]) -> Self {
        dictionary::read(vocabulary, value).unwrap_or(Self::none(vocabulary))
    }

    /// Adds another source of the same vocabulary: a no of either stands.
    pub fn add(&mut self, other: Self) {
        for (mine, theirs) in self.permitted.iter_mut().zip(other.permitted) {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) => Some(mine && theirs),
                (mine, theirs) => mine.or(theirs),
            };
        }
    }

    /// Whose words they are.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        self.vocabulary
    }

    /// Each wish as key and value, in the vocabulary's own words.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let vocabulary = self.vocabulary;
        let wishes = vocabulary.keys().iter().zip(self.permitted);
        wishes.filter_map(move |(key, permitted)| Some((*key, vocabulary.word(permitted?))))
    }
}
