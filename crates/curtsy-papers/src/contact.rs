//! The mail address that goes with every request.
//!
//! Crossref, Unpaywall, NCBI and others want one, and treat who gives one better; Unpaywall answers nothing without.
//! So it is checked once, at the start, and not found wrong ten thousand papers later.

use std::fmt;
use std::str::FromStr;

/// A mail address at which a provider's operators reach whoever asks: well-formed, and of no placeholder domain.
/// Whether anybody reads it is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact(String);

/// What is no [`Contact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactError {
    /// It is no mail address.
    #[error("is no mail address; give one that you read, as name@university.edu")]
    Malformed,
    /// Its domain is one that stands in manuals and belongs to nobody who asks.
    #[error("is a placeholder; give a mail address that you read")]
    Placeholder,
}

/// Registrable names that stand for any other (RFC 2606, RFC 6761, and what people type).
const PLACEHOLDER_DOMAINS: [&str; 11] = [
    "example.com",
    "example.org",
    "example.net",
    "example.edu",
    "domain.com",
    "yourdomain.com",
    "your-domain.com",
    "yourdomain.org",
    "email.com",
    "test.com",
    "company.com",
];
/// Top-level names that no mail is delivered under.
const PLACEHOLDER_ENDS: [&str; 4] = ["invalid", "test", "localhost", "local"];

impl Contact {
    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text has the form of a mail address as it may stand in a header: visible ASCII, without what
    /// would end a comment there.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        let Some((local, domain)) = text.rsplit_once('@') else {
            return false;
        };
        let plain = |c: char| c.is_ascii_graphic() && !"()<>[]\\,;:\"@".contains(c);
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        text.len() <= 254
            && local.len() <= 64
            && local.chars().all(plain)
            && local.split('.').all(|part| !part.is_empty())
            && domain.contains('.')
            && domain.split('.').all(label)
    }
}

impl FromStr for Contact {
    type Err = ContactError;

    fn from_str(text: &str) -> Result<Self, ContactError> {
        let text = text.trim();
        if !Self::is_address(text) {
            return Err(ContactError::Malformed);
        }
        let domain = text.rsplit('@').next().unwrap_or_default();
        if is_placeholder(&domain.to_ascii_lowercase()) {
            return Err(ContactError::Placeholder);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_placeholder(domain: &str) -> bool {
    let end = domain.rsplit('.').next().unwrap_or_default();
    PLACEHOLDER_ENDS.contains(&end)
        || PLACEHOLDER_DOMAINS.iter().any(|placeholder| {
            let rest = domain.strip_suffix(placeholder);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_somebody_may_read_is_taken() {
        for text in [
            "rae@lab.example",
            "a.b+curtsy@mail.uni-example.co.uk",
            " o'neill@heron.edu ",
            "x@xn--mnchen-3ya.de",
            "me@notexample.com",
        ] {
            assert_eq!(
                text.parse::<Contact>().map(|c| c.to_string()),
                Ok(text.trim().to_owned())
            );
        }
    }

    #[test]
    fn a_placeholder_is_refused_before_a_provider_refuses_it() {
        for text in [
            "you@example.com",
            "you@Example.ORG",
            "you@mail.example.net",
            "name@yourdomain.com",
            "a@b.invalid",
            "a@host.test",
            "root@my.localhost",
        ] {
            assert_eq!(
                text.parse::<Contact>(),
                Err(ContactError::Placeholder),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("{}@lab.example", "a".repeat(65));
        for text in [
            "",
            "me",
            "@",
            "@lab.example",
            "me@",
            "me@localhost",
            "me@lab..example",
            "me@.org",
            "a@b@lab.example",
            "me @lab.example",
            "<me@lab.example>",
            "me@lab.example\r\nX: y",
            "m..e@lab.example",
            "me@-lab.example",
            "mé@lab.example",
            &long,
        ] {
            assert_eq!(
                text.parse::<Contact>(),
                Err(ContactError::Malformed),
                "{text}"
            );
        }
    }
}
