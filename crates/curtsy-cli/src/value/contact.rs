//! The mail address at which a site's operator reaches whoever runs curtsy.

use serde_json::{Value as Json, json};

use super::Value;

/// A mail address that is not obviously malformed. Whether anybody reads it is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contact(String);

impl Contact {
    /// The address.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Contact {
    fn read(text: &str) -> Result<Self, String> {
        if curtsy_papers::Contact::is_address(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "{text:?} is no mail address; write name@example.org"
            ))
        }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_mail_address_has_a_name_and_a_domain() {
        for text in [
            "tester@example.org",
            "a.b+curtsy@mail.example.co.uk",
            "o'neill@example.com",
            "x@xn--mnchen-3ya.example",
        ] {
            assert_eq!(
                read::<Contact>(text)
                    .map(|contact| contact.as_str().to_owned())
                    .as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn what_is_obviously_malformed_is_refused() {
        let long = format!("{}@example.org", "a".repeat(65));
        for text in [
            "",
            "me",
            "@",
            "@example.org",
            "me@",
            "me@localhost",
            "me@example..org",
            "me@.org",
            "me@example.org.",
            "a@b@example.org",
            "me @example.org",
            "me@exam ple.org",
            "<me@example.org>",
            "me@example.org\r\nX: y",
            "m..e@example.org",
            "me@-example.org",
            "mé@example.org",
            "https://example.org",
            &long,
        ] {
            assert!(read::<Contact>(text).is_err(), "{text}");
        }
    }
}
