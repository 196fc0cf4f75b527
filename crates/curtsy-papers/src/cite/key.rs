//! Citation keys: `roe2024waiting`, the same whenever the work is.

use std::collections::HashMap;

use super::item::{Item, Name};

/// Words that a title begins with and nobody knows it by.
const EMPTY_WORDS: [&str; 24] = [
    "a", "an", "and", "as", "at", "by", "das", "de", "der", "die", "el", "for", "from", "in", "is",
    "la", "le", "les", "of", "on", "the", "to", "und", "with",
];

/// Keys that were given out, so that no two works have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    given: HashMap<String, usize>,
}

impl Keys {
    /// The key of a work. The second of its kind gets an `a`, the third a `b`; after `z`, `aa`.
    pub(super) fn key(&mut self, item: &Item) -> String {
        let key = key(item);
        let count = self.given.entry(key.clone()).or_insert(0);
        let suffix = letters(*count);
        *count += 1;
        key + &suffix
    }
}

/// The first author's family name, the year, and the first word of the title that says something.
fn key(item: &Item) -> String {
    let author = match item.authors.first() {
        Some(Name::Person { family, .. }) => fold(family),
        Some(Name::Literal(literal)) => literal
            .split_whitespace()
            .map(fold)
            .find(|word| !is_empty(word))
            .unwrap_or_default(),
        None => String::new(),
    };
    let words = item.title.split(|c: char| !c.is_alphanumeric()).map(fold);
    let word = words
        .into_iter()
        .find(|word| !is_empty(word))
        .unwrap_or_default();
    let year = item
        .issued
        .map_or_else(|| "nd".to_owned(), |date| date.year.to_string());
    let author = if author.is_empty() {
        "anon".to_owned()
    } else {
        author
    };
    let bounded = |text: String| text.chars().take(40).collect::<String>();
    bounded(author) + &year + &bounded(word)
}

fn is_empty(word: &str) -> bool {
    word.is_empty() || EMPTY_WORDS.contains(&word)
}

fn letters(count: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = count;
    while rest > 0 {
        rest -= 1;
        letters.push(b'a' + (rest % 26) as u8);
        rest /= 26;
    }
    letters
        .iter()
        .rev()
        .map(|letter| char::from(*letter))
        .collect()
}

/// ASCII letters and digits alone, in lower case: keys of others break old programs. Latin letters with marks lose
/// them; letters of other scripts are left out.
fn fold(text: &str) -> String {
    text.chars()
        .flat_map(char::to_lowercase)
        .filter_map(fold_letter)
        .collect()
}

fn fold_letter(c: char) -> Option<&'static str> {
    const ASCII: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    if let Some(at) = ASCII.find(c) {
        return Some(&ASCII[at..=at]);
    }
    Some(match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | 'ạ'..='ặ' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'ẹ'..='ệ' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ỉ' | 'ị' => "i",
        'ĵ' => "j",
        'ķ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ọ'..='ợ' | 'ơ' => "o",
        'œ' => "oe",
        'ŕ' | 'ř' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ß' => "ss",
        'ţ' | 'ť' | 'ț' => "t",
        'þ' => "th",
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' | 'ụ'..='ự' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' | 'ỳ'..='ỹ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::Issued;

    fn item(family: &str, year: u64, title: &str) -> Item {
        Item {
            title: title.to_owned(),
            authors: vec![Name::Person {
                family: family.to_owned(),
                given: String::new(),
            }],
            issued: Issued::new(year, None, None),
            ..Item::default()
        }
    }

    #[test]
    fn a_key_is_made_of_author_year_and_title() {
        for (family, year, title, expected) in [
            (
                "Roe",
                2024,
                "Waiting politely: queue discipline",
                "roe2024waiting",
            ),
            (
                "Müller-Łukasz",
                1999,
                "The Ägyptian heron",
                "mullerlukasz1999agyptian",
            ),
            ("O'Neill", 0, "On the", "oneillnd"),
            ("李", 2020, "鹭", "anon2020"),
        ] {
            assert_eq!(key(&item(family, year, title)), expected);
        }
        let group = Item {
            authors: vec![Name::Literal("The Marsh Heron Group".to_owned())],
            ..Item::default()
        };
        assert_eq!(key(&group), "marshnd");
        assert_eq!(key(&Item::default()), "anonnd");
    }

    #[test]
    fn no_two_works_have_the_same_key() {
        let mut keys = Keys::default();
        let roe = item("Roe", 2024, "Waiting");
        let given: Vec<_> = (0..30).map(|_| keys.key(&roe)).collect();
        assert_eq!(
            (given[0].as_str(), given[1].as_str()),
            ("roe2024waiting", "roe2024waitinga")
        );
        assert_eq!(
            (given[26].as_str(), given[27].as_str()),
            ("roe2024waitingz", "roe2024waitingaa")
        );
    }
}
