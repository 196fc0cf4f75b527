//! One work, one entry.
//!
//! Two entries are of one work where they share an identifier; or, no identifier standing against it, where title and
//! year are the same, or the whole text is, or where one's text holds the other's title, year and first author. Case,
//! punctuation and blanks do not count.

use std::collections::HashMap;

use super::Reference;
use crate::source::Ids;

/// A shorter title says too little.
const LEAST_TITLE: usize = 10;
/// Texts are searched for titles only in lists of so many entries, since each is compared with each.
const MOST_COMPARED: usize = 500;

/// The works of these entries, in the order in which they come first.
pub(super) fn merge(entries: Vec<Reference>) -> Vec<Reference> {
    let mut works: Vec<Option<Reference>> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let mut at = works.len();
        works.push(Some(entry));
        // What one entry says may show that two others are of one work.
        while let Some(other) = same(&works, &by_key, at) {
            let (first, second) = (at.min(other), at.max(other));
            if let Some(later) = works[second].take()
                && let Some(earlier) = &mut works[first]
            {
                earlier.learn(later);
            }
            at = first;
        }
        if let Some(work) = &works[at] {
            for key in work.keys() {
                by_key.insert(key, at);
            }
        }
    }
    works.into_iter().flatten().collect()
}

/// Another entry of the same work as the one at `at`.
fn same(works: &[Option<Reference>], by_key: &HashMap<String, usize>, at: usize) -> Option<usize> {
    let work = works[at].as_ref()?;
    let agrees = |other: &Reference| !work.ids().contradict(&other.ids());
    let of_key = |key: &String| {
        let other = *by_key.get(key).filter(|other| **other != at)?;
        works[other]
            .as_ref()
            .filter(|work| agrees(work))
            .map(|_| other)
    };
    if let Some(other) = work.keys().iter().find_map(of_key) {
        return Some(other);
    }
    if works.len() > MOST_COMPARED {
        return None;
    }
    let describes =
        |other: &Reference| agrees(other) && (work.describes(other) || other.describes(work));
    (0..works.len()).find(|other| *other != at && works[*other].as_ref().is_some_and(describes))
}

impl Reference {
    fn ids(&self) -> Ids {
        Ids {
            doi: self.doi.clone(),
            pmid: self.pmid,
            pmcid: self.pmcid,
            arxiv: None,
        }
    }

    /// All that it can be recognized by.
    fn keys(&self) -> Vec<String> {
        let title = self
            .title
            .as_deref()
            .map(plain)
            .filter(|title| title.len() >= LEAST_TITLE);
        let text = self
            .text
            .as_deref()
            .map(plain)
            .filter(|text| text.len() >= 2 * LEAST_TITLE);
        let keys = [
            self.doi.as_ref().map(|doi| format!("doi {doi}")),
            self.pmid.map(|pmid| format!("pmid {pmid}")),
            self.pmcid.map(|pmcid| format!("pmcid {}", pmcid.article())),
            title
                .zip(self.year)
                .map(|(title, year)| format!("title {title} {year}")),
            text.map(|text| format!("text {text}")),
        ];
        keys.into_iter().flatten().collect()
    }

    /// Whether its text is about the other one.
    fn describes(&self, other: &Self) -> bool {
        let (Some(text), Some(title), Some(year)) = (&self.text, &other.title, other.year) else {
            return false;
        };
        let (text, title) = (plain(text), plain(title));
        let first = other
            .authors
            .first()
            .and_then(|author| author.split([' ', ',']).next());
        title.len() >= LEAST_TITLE
            && text.contains(&title)
            && text.contains(&year.to_string())
            && first.is_some_and(|name| text.contains(&plain(name)))
    }

    /// Takes what the other entry knows beyond this one.
    fn learn(&mut self, other: Self) {
        self.doi = self.doi.take().or(other.doi);
        self.pmid = self.pmid.or(other.pmid);
        self.pmcid = self.pmcid.or(other.pmcid);
        self.title = self.title.take().or(other.title);
        if self.authors.len() < other.authors.len() {
            self.authors = other.authors;
        }
        self.journal = self.journal.take().or(other.journal);
        self.year = self.year.or(other.year);
        self.text = self.text.take().or(other.text);
        for source in other.sources {
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
        }
    }
}

/// Letters and digits alone, in lower case.
fn plain(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(doi: &str, pmid: &str, title: &str, year: u16, text: &str) -> Reference {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Reference {
            doi: doi.parse().ok(),
            pmid: pmid.parse().ok(),
            title: some(title),
            year: Some(year).filter(|year| *year > 0),
            text: some(text),
            authors: vec!["Anon".to_owned()],
            ..Reference::default()
        }
    }

    #[test]
    fn entries_of_one_work_become_one_and_others_stay() {
        let title = "A preprint on stillness";
        let book = "Anon. The heron book. Example Press; 1999.";
        for (what, entries, works) in [
            (
                "a DOI",
                vec![
                    entry("10.5555/a", "", "", 0, ""),
                    entry("10.5555/A", "1", "", 0, ""),
                ],
                1,
            ),
            (
                "a bridge",
                vec![
                    entry("10.5555/a", "", "", 0, ""),
                    entry("", "7", "", 0, ""),
                    entry("10.5555/a", "7", "", 0, ""),
                ],
                1,
            ),
            (
                "title and year",
                vec![
                    entry("10.5555/a", "", title, 2021, ""),
                    entry("", "", "A Preprint: on stillness.", 2021, ""),
                ],
                1,
            ),
            (
                "another year",
                vec![
                    entry("", "", title, 2021, ""),
                    entry("", "", title, 2022, ""),
                ],
                2,
            ),
            (
                "a preprint and its article",
                vec![
                    entry("10.5555/a", "", title, 2021, ""),
                    entry("10.5555/b", "", title, 2021, ""),
                ],
                2,
            ),
            (
                "the same text",
                vec![
                    entry("", "", "", 0, book),
                    entry("", "", "", 0, "Anon. The heron book. Example Press, 1999."),
                ],
                1,
            ),
            (
                "a text about it",
                vec![
                    entry("", "", "", 0, book),
                    entry("", "", "The heron book", 1999, ""),
                ],
                1,
            ),
            (
                "a text about another",
                vec![
                    entry("", "", "", 0, book),
                    entry("", "", "The egret book", 1999, ""),
                ],
                2,
            ),
            (
                "nothing known",
                vec![entry("", "", "", 0, ""), entry("", "", "", 0, "")],
                2,
            ),
        ] {
            assert_eq!(merge(entries).len(), works, "{what}");
        }
    }
}
