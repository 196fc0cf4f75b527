//! Fields of a provider's JSON, read leniently.
//!
//! Every field may be missing, null or of another type than documented; ids come as text or as numbers. So nothing is
//! deserialized into a shape: what is not what it should be, is not there.

use std::str::FromStr;

use serde_json::Value;
use url::Url;

/// The longest URL that is taken from an answer.
const LONGEST_URL: usize = 4_096;

/// Looks fields up by name.
pub(crate) trait Field {
    /// A text, or a whole number as text; `None` where it is empty.
    fn text(&self, name: &str) -> Option<String>;
    /// A whole number, or a text that is one.
    fn number(&self, name: &str) -> Option<u64>;
    /// What a text or a number parses as.
    fn parse<T: FromStr>(&self, name: &str) -> Option<T>;
    /// A URL that may be followed: see [`is_sound`].
    fn url(&self, name: &str) -> Option<Url>;
    /// `true`, or the letter that some providers write for it.
    fn flag(&self, name: &str) -> Option<bool>;
    /// The members of a list; a single object counts as a list of one, as in XML that became JSON.
    fn list(&self, name: &str) -> &[Value];
    /// An object; anything else has no fields.
    fn part(&self, name: &str) -> &Value;
}

impl Field for Value {
    fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(as_text)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(as_number)
    }

    fn parse<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    fn url(&self, name: &str) -> Option<Url> {
        self.get(name).and_then(as_url)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => match text.as_str() {
                "Y" | "y" | "true" | "yes" => Some(true),
                "N" | "n" | "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::Array(items)) => items,
            Some(object @ Value::Object(_)) => std::slice::from_ref(object),
            _ => &[],
        }
    }

    fn part(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

/// A text, or a whole number as text; `None` where it is empty.
pub(crate) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// A whole number, or a text that is one.
pub(crate) fn as_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A URL that may be followed: see [`is_sound`].
pub(crate) fn as_url(value: &Value) -> Option<Url> {
    let text = as_text(value).filter(|text| text.len() <= LONGEST_URL)?;
    Url::parse(&text).ok().filter(is_sound)
}

/// Whether a URL that a server gave may be followed: http(s), with a host and no credentials, of a sound length.
pub(crate) fn is_sound(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.as_str().len() <= LONGEST_URL
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_what_it_should_be_is_not_there() {
        let value = json!({"id": 7, "name": " x ", "none": null, "empty": "", "half": 0.5, "y": "Y", "list": [1],
            "one": {"a": 1}});
        assert_eq!(value.text("id").as_deref(), Some("7"));
        assert_eq!(value.text("name").as_deref(), Some("x"));
        for name in ["none", "empty", "half", "list", "missing"] {
            assert_eq!(value.text(name), None, "{name}");
        }
        assert_eq!((value.number("id"), value.number("name")), (Some(7), None));
        assert_eq!((value.flag("y"), value.flag("id")), (Some(true), None));
        assert_eq!(
            (
                value.list("list").len(),
                value.list("one").len(),
                value.list("id").len()
            ),
            (1, 1, 0)
        );
        assert_eq!(value.part("one").number("a"), Some(1));
        assert_eq!(value.part("missing").part("deeper").text("x"), None);
    }

    #[test]
    fn only_urls_that_can_be_asked_for_are_urls() {
        for text in [
            "ftp://a.example/x",
            "s3://bucket/x",
            "https://u:p@a.example/",
            "/x",
            "javascript:1",
            &format!("https://a.example/{}", "x".repeat(5_000)),
        ] {
            assert_eq!(json!({ "u": text }).url("u"), None, "{text}");
        }
        assert!(json!({"u": "http://a.example/x y"}).url("u").is_some());
    }
}
