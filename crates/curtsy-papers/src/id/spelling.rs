//! What stands around an identifier and is none of it.

/// Brackets and the ones that close them.
const BRACKETS: [(char, char); 4] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];

/// The text without quotation marks, blanks, and brackets that are around it.
pub(super) fn unwrap(text: &str) -> &str {
    text.trim_matches(is_around)
        .trim_start_matches(|c| BRACKETS.iter().any(|(open, _)| *open == c))
}

/// An identifier without the end of the sentence that it stood in: a dot, a comma, a bracket that nothing
/// opens.
pub(super) fn end(id: &str) -> &str {
    let mut id = id;
    loop {
        let Some(last) = id.chars().next_back() else {
            return id;
        };
        let closes = BRACKETS.iter().find(|(_, close)| *close == last);
        let falls = match closes {
            Some((open, close)) => count(id, *close) > count(id, *open),
            None => is_around(last) || matches!(last, '.' | ',' | ';' | ':' | '…'),
        };
        if !falls {
            return id;
        }
        id = &id[..id.len() - last.len_utf8()];
    }
}

/// The text behind a prefix of letters, whatever its case, and behind a colon and blanks.
pub(super) fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    if !head.eq_ignore_ascii_case(word) {
        return None;
    }
    let trimmed = rest.trim_start();
    match trimmed.strip_prefix(':') {
        Some(value) => Some(value.trim_start()),
        None => (trimmed.len() < rest.len()).then_some(trimmed),
    }
}

/// Whether it stands around an identifier, on either side.
fn is_around(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '\u{feff}')
}

fn count(text: &str, wanted: char) -> usize {
    text.chars().filter(|c| *c == wanted).count()
}
