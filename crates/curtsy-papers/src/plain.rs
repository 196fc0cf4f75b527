//! Plain text of what providers send with tags of HTML or JATS in it.

use std::borrow::Cow;

use quick_xml::escape::unescape;

/// One line without tags.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        plain.push_str(&rest[..at]);
        let after = rest[at + 1..].trim_start_matches('/');
        // "p < 0.05" is no tag.
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic());
        match after.find('>').filter(|end| is_tag && *end < 100) {
            Some(end) => {
                let name: String = after
                    .chars()
                    .take_while(char::is_ascii_alphanumeric)
                    .collect();
                if matches!(name.as_str(), "h4" | "br" | "p") {
                    plain.push(' ');
                }
                rest = &after[end + 1..];
            }
            None => {
                plain.push('<');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    // Some send text that was escaped once too often.
    let plain = unescape(&plain).unwrap_or(Cow::Borrowed(&plain));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_left_out_and_signs_are_not() {
        for (text, expected) in [
            ("a <i>b</i> c", "a b c"),
            ("<h4>AIM</h4>To see", "AIM To see"),
            ("<jats:p>To see</jats:p>", "To see"),
            ("p < 0.05 and q > 1", "p < 0.05 and q > 1"),
            ("x<y", "x<y"),
            ("<", "<"),
            ("</i>", ""),
            ("Herons &amp; egrets", "Herons & egrets"),
            ("AT&T; <b>x</b>", "AT&T; x"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
