//! What stands in a log came from servers and lists: on the page it is text and nothing else.

/// A text for HTML, in an element or in a quoted attribute. What would not show, or would turn the text
/// around, is shown by its number.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_hidden(c) => {
                escaped.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c)))
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Controls, and what turns the direction of a text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        for (text, expected) in [
            (
                "<script>alert('x')</script>",
                "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
            ),
            ("a\"b & c", "a&quot;b &amp; c"),
            ("a\u{202e}b\n\0", "a⟨U+202E⟩b⟨U+000A⟩⟨U+0000⟩"),
            ("bücher.example", "bücher.example"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }
}
