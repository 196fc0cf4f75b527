//! One line of a list of URLs.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use url::Url;

use super::out::OutPath;
use crate::value::{Header, parse_header};

/// A URL to fetch, and what its line says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The URL without its fragment: equal for what is the same URL after WHATWG parsing.
    pub(crate) url: Url,
    /// As given, less userinfo: what the manifest says.
    pub(crate) given: String,
    /// Where its body goes, where the line says so.
    pub(crate) out: Option<OutPath>,
    /// Headers for it alone.
    pub(crate) headers: Vec<Header>,
}

/// A line of JSON Lines. What is unknown is an error, since a misspelt `headers` would be missed silently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    url: String,
    out: Option<String>,
    #[serde(default)]
    headers: Map<String, Json>,
}

impl Listed {
    /// Reads a line that is neither blank nor a comment.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if !text.starts_with('{') {
            return Self::url(text);
        }
        let object: Object = serde_json::from_str(text).map_err(|error| {
            // The place within the line, which serde calls "line 1".
            let told = error.to_string();
            let why = told.split(" at line ").next().unwrap_or_default();
            format!(
                "is no JSON object with url, out and headers: {why}, column {}",
                error.column()
            )
        })?;
        let headers = object.headers.iter().map(|(name, value)| match value {
            Json::String(value) => parse_header(name, value),
            _ => Err(format!("the value of the header {name} is no text")),
        });
        Ok(Self {
            out: object.out.as_deref().map(OutPath::read).transpose()?,
            headers: headers.collect::<Result<_, _>>()?,
            ..Self::url(&object.url)?
        })
    }

    /// Reads a URL as an argument gives it.
    ///
    /// # Errors
    /// It is no http(s) URL.
    pub(crate) fn url(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut url = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                "is no URL; write it with http:// or https://".to_owned()
            }
            error => format!("is no URL: {error}"),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("is no http or https URL but {}:", url.scheme()));
        }
        url.set_fragment(None);
        Ok(Self {
            given: without_userinfo(text, &url),
            url,
            out: None,
            headers: Vec::new(),
        })
    }
}

/// A URL with userinfo is told as the parser writes it, since cutting a text by hand could leave a
/// password in.
fn without_userinfo(text: &str, url: &Url) -> String {
    if url.username().is_empty() && url.password().is_none() {
        return text.to_owned();
    }
    let mut bare = url.clone();
    // Neither can fail on a URL that has a host, as every http URL does.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_url_is_equal_however_it_is_written() {
        for text in [
            "http://example.org/a?b",
            "HTTP://EXAMPLE.org:80/a?b",
            "http://example.org/x/../a?b#part",
            "http:example.org/a?b",
            "http://example.org\\a?b",
            r#"{"url": "http://example.org/a?b#x", "out": "y"}"#,
        ] {
            assert_eq!(
                Listed::read(text).unwrap().url.as_str(),
                "http://example.org/a?b",
                "{text}"
            );
        }
    }

    #[test]
    fn what_was_given_is_kept_less_userinfo() {
        for (text, given) in [
            ("http://Example.org/a#b", "http://Example.org/a#b"),
            ("http://ann:secret@example.org/a", "http://example.org/a"),
            ("http://ann@example.org", "http://example.org/"),
            ("http:\\\\ann:secret@example.org", "http://example.org/"),
            ("http://example.org/@b:c", "http://example.org/@b:c"),
        ] {
            assert_eq!(Listed::read(text).unwrap().given, given, "{text}");
        }
    }

    #[test]
    fn a_json_line_names_a_file_and_headers() {
        let listed = Listed::read(
            r#"{"url": "https://example.org/", "out": "a/./b.html", "headers": {"Accept": "text/html", "X-B": "c"}}"#,
        )
        .unwrap();
        assert_eq!(listed.out.unwrap().as_str(), "a/b.html");
        let names: Vec<_> = listed
            .headers
            .iter()
            .map(|header| header.name.as_str())
            .collect();
        assert_eq!(names, ["accept", "x-b"]);
    }

    #[test]
    fn what_is_no_url_to_fetch_is_refused() {
        for (text, why) in [
            (
                "example.org",
                "is no URL; write it with http:// or https://",
            ),
            ("/a/b", "is no URL; write it with http:// or https://"),
            ("ftp://example.org/", "is no http or https URL but ftp:"),
            ("example.org:80", "is no http or https URL but example.org:"),
            ("file:///etc/passwd", "is no http or https URL but file:"),
            ("http://", "is no URL: empty host"),
            (
                "http://exa mple.org/",
                "is no URL: invalid international domain name",
            ),
            (
                "http://example.org:99999/",
                "is no URL: invalid port number",
            ),
            (
                "{",
                "is no JSON object with url, out and headers: EOF while parsing an object, column 1",
            ),
            (
                "{}",
                "is no JSON object with url, out and headers: missing field `url`, column 2",
            ),
            (r#"{"url": 3}"#, "is no JSON object"),
            (
                r#"{"url": "http://example.org/", "header": {}}"#,
                "is no JSON object",
            ),
            (r#"{"url": "http://example.org/"} x"#, "is no JSON object"),
            (
                r#"{"url": "mailto:a@example.org"}"#,
                "is no http or https URL but mailto:",
            ),
            (
                r#"{"url": "http://example.org/", "out": "../x"}"#,
                "\"../x\" leads out of the output directory",
            ),
            (
                r#"{"url": "http://example.org/", "headers": {"A": 3}}"#,
                "the value of the header A is no text",
            ),
            (
                r#"{"url": "http://example.org/", "headers": {"A B": "c"}}"#,
                "\"A B\" is no header name",
            ),
            (
                r#"{"url": "http://example.org/", "headers": {"Host": "x"}}"#,
                "the header Host is written by curtsy itself",
            ),
        ] {
            let error = Listed::read(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
