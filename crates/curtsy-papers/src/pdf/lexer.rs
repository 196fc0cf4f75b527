//! From bytes to objects (ISO 32000-2 section 7.3), in bounded depth and number.

use super::object::{Dictionary, Object};
use super::tail::is_white;

/// How deep objects may lie in one another.
const MAX_DEPTH: u32 = 32;
/// How many objects are read in one go.
const MAX_OBJECTS: u32 = 200_000;

/// Reads objects from a piece of a file.
pub(super) struct Lexer<'b> {
    bytes: &'b [u8],
    at: usize,
    left: u32,
}

impl<'b> Lexer<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            left: MAX_OBJECTS,
        }
    }

    /// How far it has come.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next object; `None` where there is none, or not all of it.
    pub(super) fn object(&mut self) -> Option<Object> {
        self.object_at(MAX_DEPTH)
    }

    /// Passes a word over, if it is the next one.
    pub(super) fn word(&mut self, word: &str) -> bool {
        self.skip_white();
        let is_next = self.bytes[self.at..].starts_with(word.as_bytes());
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// The next number, if it is whole and not negative.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.skip_white();
        let rest = &self.bytes[self.at..];
        let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&rest[..len]).ok()?;
        let number = digits.parse().ok()?;
        self.at += len;
        Some(number)
    }

    fn object_at(&mut self, depth: u32) -> Option<Object> {
        self.skip_white();
        self.left = self.left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        match self.bytes.get(self.at..)? {
            [b'<', b'<', ..] => self.dictionary(depth).map(Object::Dictionary),
            [b'<', ..] => {
                let end = self.bytes[self.at..]
                    .iter()
                    .position(|byte| *byte == b'>')?;
                self.at += end + 1;
                Some(Object::Other)
            }
            [b'[', ..] => self.array(depth),
            [b'(', ..] => self.string(),
            [b'/', ..] => self.name().map(Object::Name),
            [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => self.number_or_reference(),
            [b'a'..=b'z', ..] => {
                let word = self.token();
                matches!(word, b"true" | b"false" | b"null").then_some(Object::Other)
            }
            _ => None,
        }
    }

    fn dictionary(&mut self, depth: u32) -> Option<Dictionary> {
        self.at += 2;
        let mut entries = Vec::new();
        loop {
            self.skip_white();
            match self.bytes.get(self.at..)? {
                [b'>', b'>', ..] => {
                    self.at += 2;
                    return Some(Dictionary(entries));
                }
                [b'/', ..] => {
                    let key = self.name()?;
                    entries.push((key, self.object_at(depth)?));
                }
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth: u32) -> Option<Object> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_white();
            if self.bytes.get(self.at)? == &b']' {
                self.at += 1;
                return Some(Object::Array(items));
            }
            items.push(self.object_at(depth)?);
        }
    }

    /// Brackets inside a string are balanced or escaped.
    fn string(&mut self) -> Option<Object> {
        let mut open = 0_u32;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 1,
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Some(Object::Other);
            }
        }
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        self.at += 1;
        let token = self.token();
        let mut name = Vec::with_capacity(token.len());
        let mut bytes = token.iter();
        while let Some(byte) = bytes.next() {
            let escaped = match (byte, bytes.as_slice()) {
                (b'#', [high, low, ..]) => hex(*high).zip(hex(*low)),
                _ => None,
            };
            match escaped {
                Some((high, low)) => {
                    name.push(high << 4 | low);
                    bytes.nth(1);
                }
                None => name.push(*byte),
            }
        }
        Some(name)
    }

    /// `12`, `1.5`, or `12 0 R`.
    fn number_or_reference(&mut self) -> Option<Object> {
        let token = std::str::from_utf8(self.token()).ok()?;
        let Ok(number) = token.parse::<i64>() else {
            return token.parse::<f64>().is_ok().then_some(Object::Other);
        };
        let behind = self.at;
        let is_reference = self.number().is_some() && self.word("R");
        match u32::try_from(number) {
            Ok(number) if is_reference => Some(Object::Reference(number)),
            _ => {
                self.at = behind;
                Some(Object::Integer(number))
            }
        }
    }

    /// What stands until white space or a delimiter.
    fn token(&mut self) -> &'b [u8] {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| is_white(*byte) || b"()<>[]{}/%".contains(byte);
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// White space and comments.
    fn skip_white(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                byte if is_white(*byte) => self.at += 1,
                b'%' => {
                    let rest = &self.bytes[self.at..];
                    let line = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += line.unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dictionary_is_read_with_all_that_may_stand_in_it() {
        let text = b"<< /Type/Catalog % a comment\n /P#61ges 2 0 R /A [1 -2 .5 (a\\)(b)) <41> true] /D << /N null >> /I 12 >>";
        let Some(Object::Dictionary(dictionary)) = Lexer::new(text).object() else {
            panic!("a dictionary")
        };
        assert!(dictionary.is("Type", "Catalog"));
        assert_eq!(dictionary.value("Pages"), Some(&Object::Reference(2)));
        assert_eq!(dictionary.number("I"), Some(12));
        let Some(Object::Array(items)) = dictionary.value("A") else {
            panic!("an array")
        };
        assert_eq!(items.len(), 6);
        assert_eq!(items[1], Object::Integer(-2));
    }

    #[test]
    fn what_lies_too_deep_is_not_read() {
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert_eq!(Lexer::new(&deep).object(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(bytes in prop::collection::vec(prop_oneof![Just(b'<'), Just(b'>'), Just(b'('), Just(b'/'), Just(b'['), Just(b' '), Just(b'1'), Just(b'R'), Just(b'%'), any::<u8>()], 0..60)) {
            let mut lexer = Lexer::new(&bytes);
            while lexer.object().is_some() {}
            prop_assert!(lexer.at() <= bytes.len() + 1);
        }
    }
}
