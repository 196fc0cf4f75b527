//! Header fields that the user adds: `Name: value`.

use std::fmt;

use http::{HeaderName, HeaderValue, header};
use serde_json::{Value as Json, json};

use super::Value;

/// One `-H 'Name: value'`, sent with every listed URL, never with robots.txt.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The name, in lower case.
    pub(crate) name: HeaderName,
    /// The value.
    pub(crate) value: HeaderValue,
}

/// The fields that frame a message or name its host: they are curtsy's own to write, since a wrong one
/// would make the connection unusable, or send a request to a host that is not the one paced.
const OWN: [HeaderName; 7] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
];

/// The fields whose values are secrets.
const SECRET: [HeaderName; 3] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::PROXY_AUTHORIZATION,
];

/// Checks a field's name and value.
///
/// # Errors
/// What is wrong with it. The value is not repeated, since it may be a secret.
pub(crate) fn parse_header(name: &str, value: &str) -> Result<Header, String> {
    let known = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("{name:?} is no header name"))?;
    if OWN.contains(&known) {
        return Err(format!("the header {name} is written by curtsy itself"));
    }
    let mut value = HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| format!("the value of the header {name} holds a control character"))?;
    value.set_sensitive(SECRET.contains(&known));
    Ok(Header { name: known, value })
}

impl Value for Header {
    const SEPARATORS: &'static [char] = &['\n'];

    fn read(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once(':')
            .ok_or("has no colon; write 'Name: value'".to_owned())?;
        parse_header(name.trim_end(), value.trim())
    }

    fn show(&self) -> Json {
        let value = if self.value.is_sensitive() {
            "***".into()
        } else {
            String::from_utf8_lossy(self.value.as_bytes())
        };
        json!(format!("{}: {value}", self.name))
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({})", self.show())
    }
}

/// A User-Agent: visible ASCII, since servers and robots.txt compare it as such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserAgent(String);

impl UserAgent {
    /// `curtsy/VERSION`, what is sent where nothing else is configured.
    pub(crate) fn own() -> Self {
        Self(concat!("curtsy/", env!("CARGO_PKG_VERSION")).to_owned())
    }

    /// The text of the field.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for UserAgent {
    fn read(text: &str) -> Result<Self, String> {
        let visible = text
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if text.trim().is_empty() {
            Err("is empty; sites must be able to tell who fetches".to_owned())
        } else if visible {
            Ok(Self(text.trim().to_owned()))
        } else {
            Err(format!("{text:?} holds a character outside visible ASCII"))
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
    fn a_header_is_a_name_and_a_value() {
        for (text, shown) in [
            ("Accept: text/html", "accept: text/html"),
            ("X-Key:a:b", "x-key: a:b"),
            ("X-Empty:", "x-empty: "),
            ("X-Name: grün", "x-name: grün"),
            ("Cookie: secret=1", "cookie: ***"),
            ("authorization: Bearer secret", "authorization: ***"),
        ] {
            let header: Header = read(text).unwrap();
            assert_eq!(header.show(), shown, "{text}");
            assert_eq!(format!("{header:?}"), format!("Header({shown:?})"));
        }
    }

    #[test]
    fn what_is_no_header_is_refused_without_repeating_its_value() {
        for text in [
            "",
            "Accept",
            ": secret",
            "X Y: secret",
            "X: secret\r\nY: z",
            "X: secret\u{7f}",
            "é: secret",
            "Host: secret",
            "content-length: 3",
            "Transfer-Encoding: chunked",
        ] {
            let error = read::<Header>(text).unwrap_err();
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_user_agent_is_visible_ascii() {
        assert_eq!(
            read::<UserAgent>(" FernBot/2.1 (x) ").unwrap().as_str(),
            "FernBot/2.1 (x)"
        );
        for text in ["", "  ", "Fern\nBot", "Färn"] {
            assert!(read::<UserAgent>(text).is_err(), "{text}");
        }
    }
}
