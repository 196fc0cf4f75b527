//! Which path answers what.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::page::Page;

/// Answers by path.
///
/// A key is a path, with its query or without (then it holds for any query), or the beginning of
/// paths and a `*`. The most exact wins: with the query, then without, then the longest beginning.
/// The value is a page, or a list of pages of which each request takes the next, the last for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pages(pub BTreeMap<String, Series>);

impl Pages {
    /// The entry for a path with its query: its key, its pages, and what a `*` in the key stands for.
    #[must_use]
    pub fn find<'a, 'p>(&'a self, path: &'p str) -> Option<(&'a str, &'a Series, &'p str)> {
        let bare = path.split('?').next().unwrap_or(path);
        let exact = [path, bare]
            .into_iter()
            .find_map(|key| self.0.get_key_value(key));
        if let Some((key, series)) = exact {
            return Some((key, series, ""));
        }
        self.0
            .iter()
            .filter_map(|(key, series)| {
                let rest = path.strip_prefix(key.strip_suffix('*')?)?;
                Some((key.as_str(), series, rest))
            })
            .max_by_key(|(key, ..)| key.len())
    }
}

impl<K: Into<String>, S: Into<Series>> FromIterator<(K, S)> for Pages {
    fn from_iter<I: IntoIterator<Item = (K, S)>>(entries: I) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(key, series)| (key.into(), series.into()))
                .collect(),
        )
    }
}

/// The pages of one path, at least one: each request takes the next, the last for good.
#[derive(Clone, Debug, PartialEq)]
pub struct Series(Vec<Page>);

impl Series {
    /// The page of the `n`-th request, counted from 0.
    #[must_use]
    pub fn page(&self, n: usize) -> &Page {
        &self.0[n.min(self.0.len() - 1)]
    }

    /// All of them.
    #[must_use]
    pub fn pages(&self) -> &[Page] {
        &self.0
    }
}

impl From<Page> for Series {
    fn from(page: Page) -> Self {
        Self(vec![page])
    }
}

impl TryFrom<Vec<Page>> for Series {
    type Error = EmptySeries;

    fn try_from(pages: Vec<Page>) -> Result<Self, EmptySeries> {
        if pages.is_empty() {
            return Err(EmptySeries);
        }
        Ok(Self(pages))
    }
}

/// A list of pages with nothing in it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a list of pages needs at least one page")]
pub struct EmptySeries;

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [page] => page.serialize(serializer),
            pages => pages.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;

        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Series;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a page or a list of pages")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Series, A::Error> {
                Page::deserialize(value::MapAccessDeserializer::new(map)).map(Series::from)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Series, A::Error> {
                let pages = Vec::deserialize(value::SeqAccessDeserializer::new(seq))?;
                Series::try_from(pages).map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_any(OneOrMore)
    }
}
