//! What is asked of a provider: a path below its base, a query, a form.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::endpoint::Provider;

/// The longest URL that a question is put into, in bytes: about two hundred PMIDs, above which NCBI wants a form, and
/// what every proxy on the way lets through.
const LONGEST_URL: usize = 2_000;

/// All but the unreserved characters of RFC 3986 section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A question to a provider, below its base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    path: String,
    pairs: Vec<(&'static str, String)>,
    accept: Option<&'static str>,
    body: Body,
}

/// What a question is posted with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Body {
    /// Nothing: it is a GET.
    #[default]
    None,
    /// The pairs, in the place of a query string.
    Form,
    /// A JSON text; the pairs stay in the query string.
    Json(String),
}

impl Query {
    /// A question below this path, which is taken as it is: `works`, `esearch.fcgi`.
    #[must_use]
    pub fn at(path: &str) -> Self {
        Self {
            path: path.trim_matches('/').to_owned(),
            ..Self::default()
        }
    }

    /// Appends more of the path, taken as it is: an identifier is encoded by its
    /// [`in_path`](crate::Doi::in_path).
    #[must_use]
    pub fn then(mut self, path: &str) -> Self {
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.path.push_str(path);
        self
    }

    /// Adds a pair to the query string.
    #[must_use]
    pub fn pair(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.pairs.push((name, value.into()));
        self
    }

    /// What kind of answer is wanted.
    #[must_use]
    pub fn accept(mut self, media_type: &'static str) -> Self {
        self.accept = Some(media_type);
        self
    }

    /// Sends all pairs as a form in a POST, also those that are added later.
    #[must_use]
    pub fn as_form(mut self) -> Self {
        self.body = Body::Form;
        self
    }

    /// Sends a JSON text in a POST.
    #[must_use]
    pub fn with_json(mut self, json: String) -> Self {
        self.body = Body::Json(json);
        self
    }

    /// The same question in the form in which `provider` takes it when it is too long for a URL below `base`: all of
    /// NCBI's utilities take a form in its place, Europe PMC's search at a path of its own. Others have no such form.
    pub(crate) fn fitted(mut self, provider: Provider, base: &Url) -> Self {
        let is_search = provider == Provider::EuropePmc && self.path == "search";
        let takes_form = provider == Provider::Ncbi || is_search;
        if !takes_form || self.body != Body::None || self.url(base).len() <= LONGEST_URL {
            return self;
        }
        if is_search {
            "searchPOST".clone_into(&mut self.path);
        }
        self.as_form()
    }

    pub(crate) fn wanted(&self) -> Option<&'static str> {
        self.accept
    }

    /// The media type and text of the body, where there is one.
    pub(crate) fn body(&self) -> Option<(&'static str, Cow<'_, str>)> {
        match &self.body {
            Body::None => None,
            Body::Form => {
                let form = encode_pairs(&self.pairs);
                Some(("application/x-www-form-urlencoded", form.into()))
            }
            Body::Json(json) => Some(("application/json", json.into())),
        }
    }

    /// The URL below a base.
    pub(crate) fn url(&self, base: &Url) -> String {
        let mut url = base.as_str().trim_end_matches('/').to_owned();
        if !self.path.is_empty() || base.path() == "/" {
            url.push('/');
            url.push_str(&self.path);
        }
        if !self.pairs.is_empty() && self.body != Body::Form {
            url.push('?');
            url.push_str(&encode_pairs(&self.pairs));
        }
        url
    }
}

fn encode_pairs(pairs: &[(&'static str, String)]) -> String {
    let encode =
        |(name, value): &(&str, String)| format!("{name}={}", utf8_percent_encode(value, RESERVED));
    pairs.iter().map(encode).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Doi;

    #[test]
    fn a_doi_of_any_characters_reaches_a_path_and_a_query_whole() {
        let base = Url::parse("https://api.example.org/v2").unwrap();
        for text in [
            "10.5555/(SICI)1521-3951(199911)216:1<135::AID-X135>3.0.CO;2-#",
            "10.5555/jp992190+",
            "10.5555/x?y=1&z=%41",
            "10.5555/a\u{e9}",
            "10.5555/a//b",
            "10.5555/../up",
        ] {
            let doi: Doi = text.parse().unwrap();
            let query = Query::at("works").then(&doi.in_path());
            let text = query.pair("q", doi.as_str()).url(&base);
            let url = Url::parse(&text).unwrap();
            assert_eq!(url.fragment(), None, "{text}");
            let path = url.path().strip_prefix("/v2/works/").unwrap();
            let path = percent_encoding::percent_decode_str(path);
            assert_eq!(path.decode_utf8().unwrap(), doi.as_str(), "{text}");
            let pairs: Vec<_> = url.query_pairs().collect();
            assert_eq!(pairs, [("q".into(), doi.as_str().into())], "{text}");
        }
    }

    #[test]
    fn what_is_too_long_for_a_url_is_a_form_where_the_provider_takes_one() {
        let base = Url::parse("https://a.example/b").unwrap();
        let ids = |count| vec!["39900042"; count].join(",");
        for (provider, path, count, expected) in [
            (Provider::Ncbi, "efetch.fcgi", 100, None),
            (Provider::Ncbi, "efetch.fcgi", 201, Some("efetch.fcgi")),
            (Provider::EuropePmc, "search", 201, Some("searchPOST")),
            (Provider::EuropePmc, "MED/1/references", 201, None),
            (Provider::IdConverter, "", 201, None),
        ] {
            let query = Query::at(path).pair("id", ids(count));
            let fitted = query.clone().fitted(provider, &base);
            let Some(path) = expected else {
                assert_eq!(fitted, query, "{provider} {path}");
                continue;
            };
            assert_eq!(fitted.url(&base), format!("https://a.example/b/{path}"));
            let fitted = fitted.pair("api_key", "k");
            let (media_type, form) = fitted.body().unwrap();
            assert_eq!(media_type, "application/x-www-form-urlencoded");
            assert!(form.ends_with("&api_key=k"), "{form}");
            assert!(!fitted.url(&base).contains("api_key"));
        }
        let posted = Query::at("paper").with_json("{}".to_owned());
        assert_eq!(posted.clone().fitted(Provider::Ncbi, &base), posted);
    }

    #[test]
    fn a_query_lies_below_its_base() {
        let at = Query::at;
        for (base, query, expected) in [
            (
                "https://a.example",
                at("").then("10.5555/x"),
                "https://a.example/10.5555/x",
            ),
            (
                "https://a.example",
                at("").pair("q", "1"),
                "https://a.example/?q=1",
            ),
            (
                "https://a.example/b",
                at("").pair("q", "1"),
                "https://a.example/b?q=1",
            ),
            (
                "https://a.example/b",
                at("/c/").then("1").then("refs"),
                "https://a.example/b/c/1/refs",
            ),
            (
                "https://a.example/b",
                at("c").pair("q", "1").as_form(),
                "https://a.example/b/c",
            ),
        ] {
            assert_eq!(query.url(&Url::parse(base).unwrap()), expected);
        }
    }
}
