//! Walking JSON without building it: every scalar with the keys that lead to it.
//!
//! Meant for header values and the first 64 KiB of a body, so text that is cut off is walked as far as
//! it goes. Escapes in strings are left as they are: no field that matters needs them.

/// The deepest nesting that is walked; what lies deeper is passed over.
const MAX_DEPTH: usize = 8;

/// A scalar, as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar<'j> {
    /// The inside of a string, escapes untouched.
    Text(&'j str),
    /// A number, `true`, `false` or `null`, as it stands.
    Word(&'j str),
}

impl<'j> Scalar<'j> {
    /// The text of either kind.
    pub(super) fn as_str(self) -> &'j str {
        match self {
            Self::Text(text) | Self::Word(text) => text,
        }
    }
}

/// Calls `visit` with the keys on the way and the scalar there, for each scalar in `text`. Arrays add
/// nothing to the way.
pub(super) fn walk<'j>(text: &'j str, mut visit: impl FnMut(&[&'j str], Scalar<'j>)) {
    let mut way: Vec<&'j str> = Vec::with_capacity(MAX_DEPTH);
    // For each open bracket: whether it is an object, and whether it put a key on the way.
    let mut open: Vec<(bool, bool)> = Vec::with_capacity(MAX_DEPTH);
    let mut too_deep = 0_usize;
    let mut key: Option<&'j str> = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' | '[' if open.len() == MAX_DEPTH || too_deep > 0 => {
                too_deep += 1;
                1
            }
            '{' | '[' => {
                let has_key = key.take().map(|key| way.push(key)).is_some();
                open.push((first == '{', has_key));
                1
            }
            '}' | ']' if too_deep > 0 => {
                too_deep -= 1;
                1
            }
            '}' | ']' => {
                if let Some((_, true)) = open.pop() {
                    way.pop();
                }
                key = None;
                1
            }
            '"' => {
                let Some(inside) = string_at(rest) else {
                    return;
                };
                let length = inside.len() + 2;
                let is_key = key.is_none()
                    && open.last().is_some_and(|(is_object, _)| *is_object)
                    && rest[length..].trim_start().starts_with(':');
                if too_deep == 0 {
                    if is_key {
                        key = Some(inside);
                    } else {
                        report(&mut way, key.take(), Scalar::Text(inside), &mut visit);
                    }
                }
                length
            }
            c if c.is_ascii_alphanumeric() || c == '-' => {
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
                    .unwrap_or(rest.len());
                if too_deep == 0 {
                    report(&mut way, key.take(), Scalar::Word(&rest[..end]), &mut visit);
                }
                end
            }
            c => c.len_utf8(),
        };
        rest = &rest[length..];
    }
}

fn report<'j>(
    way: &mut Vec<&'j str>,
    key: Option<&'j str>,
    scalar: Scalar<'j>,
    visit: &mut impl FnMut(&[&'j str], Scalar<'j>),
) {
    way.extend(key);
    visit(way, scalar);
    if key.is_some() {
        way.pop();
    }
}

/// The inside of the string that `text` begins with; `None` where it does not end.
fn string_at(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return text.get(1..at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        walk(text, |way, scalar| {
            found.push(format!("{}={}", way.join("/"), scalar.as_str()));
        });
        found
    }

    #[test]
    fn every_scalar_comes_with_its_way() {
        assert_eq!(
            scalars(r#"{"a":1,"b":{"c":"x, \"y\"","d":[2,{"e":null}]},"f":-1.5e3}"#),
            ["a=1", r#"b/c=x, \"y\""#, "b/d=2", "b/d/e=null", "f=-1.5e3"]
        );
    }

    #[test]
    fn what_is_cut_off_or_too_deep_does_no_harm() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", r#"{"a"#, r#"{"a":"#, "]]}}", deep.as_str(), "é\"é"] {
            assert!(scalars(text).is_empty(), "{}", text.len());
        }
        assert_eq!(scalars(r#"{"a":1,"b":{"c":2"#), ["a=1", "b/c=2"]);
    }
}
