//! The product token that names a crawler, and whether an agent line of a file means it.

use std::fmt;

/// The name by which robots.txt knows a crawler (RFC 9309, 2.2.1), compared without case and whole.
///
/// A token is one or more of `[A-Za-z_-]`. A crawler whose name holds a digit or another character
/// outside the grammar (`mj12bot`) is named only by its whole name, never by the part before the digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductToken {
    name: String,
    /// Whether `name` is a token of the RFC's grammar.
    regular: bool,
}

impl ProductToken {
    /// The token of a crawler that sends this User-Agent header: the leading token characters of it,
    /// or the whole first product name where that goes on with a digit or a character outside ASCII.
    ///
    /// A header that begins with neither (an empty one, a comment) names nobody: only the groups for
    /// `*` apply to it.
    #[must_use]
    pub fn from_user_agent(header: &str) -> Self {
        let name = product_name(header.trim().as_bytes());
        let token = leading_token(name);
        let cut = match name.get(token.len()) {
            Some(next) => next.is_ascii_punctuation(),
            None => true,
        };
        let name = if cut { token } else { name };
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            regular: cut && !token.is_empty(),
        }
    }

    /// The name as the header spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Whether the value of an agent line names this crawler. A version or another tail of the value
    /// (`FernBot/2.1`) plays no part; a mere prefix of the name is somebody else.
    pub(super) fn is_named_by(&self, value: &[u8]) -> bool {
        let ours = self.name.as_bytes();
        if self.regular {
            let Some((head, tail)) = value.split_at_checked(ours.len()) else {
                return false;
            };
            head.eq_ignore_ascii_case(ours) && !tail.first().copied().is_some_and(is_token_octet)
        } else {
            !ours.is_empty()
                && (value.eq_ignore_ascii_case(ours)
                    || product_name(value).eq_ignore_ascii_case(ours))
        }
    }
}

impl fmt::Display for ProductToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Whether the value of an agent line means everybody: a star alone or with a blank behind it. There
/// are no wildcards in names, so `*Bot` means nobody.
pub(super) fn names_everyone(value: &[u8]) -> bool {
    matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..])
}

/// What stands before the version of the first product: up to a slash or a blank.
fn product_name(value: &[u8]) -> &[u8] {
    let end = value
        .iter()
        .position(|&octet| octet == b'/' || octet.is_ascii_whitespace());
    &value[..end.unwrap_or(value.len())]
}

fn leading_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|&octet| !is_token_octet(octet));
    &value[..end.unwrap_or(value.len())]
}

fn is_token_octet(octet: u8) -> bool {
    octet.is_ascii_alphabetic() || octet == b'_' || octet == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gives_its_leading_token_or_its_whole_irregular_name() {
        for (header, expected) in [
            ("FernBot", "FernBot"),
            ("FernBot/2.1 (+https://fern.example/bot)", "FernBot"),
            ("fern_bot-news libfoo/3", "fern_bot-news"),
            ("FernBot; beta", "FernBot"),
            ("mj12bot/1.4", "mj12bot"),
            ("Downlöad-Bot/1", "Downlöad-Bot"),
            ("", ""),
            ("(a comment)", ""),
        ] {
            assert_eq!(
                ProductToken::from_user_agent(header).as_str(),
                expected,
                "{header:?}"
            );
        }
    }

    #[test]
    fn an_agent_line_names_a_whole_token_or_nobody() {
        for (header, value, named) in [
            ("FernBot", "fernbot", true),
            ("FernBot", "FernBot/2.1", true),
            ("FernBot", "FernBot*", true),
            ("FernBot", "FernBot2", true),
            ("FernBot", "Fern", false),
            ("FernBot", "FernBot-News", false),
            ("FernBot", "Mozilla/5.0 (compatible; FernBot)", false),
            ("mj12bot/1.4", "MJ12bot", true),
            ("mj12bot/1.4", "MJ12bot/9", true),
            ("mj12bot/1.4", "mj", false),
            ("mj12bot", "mj12", false),
            ("FernBot", "", false),
            ("", "", false),
            ("", "FernBot", false),
        ] {
            let token = ProductToken::from_user_agent(header);
            assert_eq!(
                token.is_named_by(value.as_bytes()),
                named,
                "{header:?} {value:?}"
            );
        }
    }

    #[test]
    fn only_a_lone_star_names_everyone() {
        for (value, everyone) in [
            ("*", true),
            ("* everyone", true),
            ("*Bot", false),
            ("", false),
            ("all", false),
        ] {
            assert_eq!(names_everyone(value.as_bytes()), everyone, "{value:?}");
        }
    }
}
