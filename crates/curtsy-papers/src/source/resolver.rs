//! A resolver of the user's own: an address with the DOI in it, and where in the answer the PDF is named.
//!
//! As in reference managers: `https://my.library.example/{doi}` with the pointer `/data/pdf` into JSON (RFC
//! 6901), or the selector `a.download` in HTML, whose `href`, `content` or `src` is taken. Without either the
//! address is that of the PDF itself.

use std::cell::RefCell;

use lol_html::{Selector, element};

use serde_json::Value;
use url::Url;

use super::{Location, SourceId, Unreadable, markup};
use crate::field::{as_text, is_sound};
use crate::id::Doi;

/// The place of the DOI in the address.
const PLACE: &str = "{doi}";

/// A resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    template: String,
    place: Place,
}

/// Where in the answer the PDF is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: the address is that of the PDF.
    Itself,
    /// At this pointer into JSON.
    Pointer(String),
    /// In the first element of a page that this CSS selector matches.
    Selector(String),
}

/// What is wrong with a resolver of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadResolver {
    /// The address has no `{doi}`, or is not http(s).
    #[error("its address is no http(s) URL with {{doi}} in it")]
    Template,
    /// The pointer does not start with a slash.
    #[error("a JSON pointer starts with a slash")]
    Pointer,
    /// No CSS selector.
    #[error("its selector is no CSS selector")]
    Selector,
}

impl Resolver {
    /// Checks a resolver.
    ///
    /// # Errors
    /// As [`BadResolver`] says.
    pub fn new(template: &str, place: Place) -> Result<Self, BadResolver> {
        let example = Url::parse(&template.replace(PLACE, "10.5555/x"));
        let host_is_fixed = template
            .find(PLACE)
            .is_some_and(|at| template[..at].matches('/').count() >= 3);
        if !host_is_fixed || !example.is_ok_and(|url| is_sound(&url)) {
            return Err(BadResolver::Template);
        }
        match &place {
            Place::Pointer(pointer) if !pointer.starts_with('/') => Err(BadResolver::Pointer),
            Place::Selector(css) if css.parse::<Selector>().is_err() => Err(BadResolver::Selector),
            _ => Ok(Self {
                template: template.to_owned(),
                place,
            }),
        }
    }

    /// The address for a work.
    #[must_use]
    pub fn url(&self, doi: &Doi) -> Option<Url> {
        let before = self.template.find(PLACE).map(|at| &self.template[..at])?;
        let doi = if before.contains(['?', '#']) {
            doi.in_query()
        } else {
            doi.in_path()
        };
        Url::parse(&self.template.replace(PLACE, &doi)).ok()
    }

    /// The PDF at the address itself, where nothing has to be asked first.
    #[must_use]
    pub fn direct(&self, doi: &Doi) -> Option<Location> {
        let is_direct = self.place == Place::Itself;
        let url = is_direct.then(|| self.url(doi))??;
        Some(Location::pdf(url, SourceId::Resolver))
    }

    /// The PDF that an answer from `url` names; `None` where it names none.
    ///
    /// # Errors
    /// A pointer is to be followed, and the answer is no JSON.
    pub fn read(&self, body: &[u8], url: &Url) -> Result<Option<Location>, Unreadable> {
        let address = match &self.place {
            Place::Itself => return Ok(None),
            Place::Pointer(pointer) => {
                let value: Value = serde_json::from_slice(body).map_err(|_| Unreadable)?;
                value.pointer(pointer).and_then(as_text)
            }
            Place::Selector(css) => first_match(body, css),
        };
        let pdf = address.and_then(|address| url.join(address.trim()).ok());
        Ok(pdf
            .filter(is_sound)
            .map(|url| Location::pdf(url, SourceId::Resolver)))
    }
}

fn first_match(body: &[u8], css: &str) -> Option<String> {
    let found: RefCell<Option<String>> = RefCell::new(None);
    let handler = element!(css, |element| {
        let mut values = ["href", "content", "src"].iter();
        match values.find_map(|name| element.get_attribute(name)) {
            Some(value) => {
                *found.borrow_mut() = Some(markup::unescape(&value));
                Err("the first one is enough".into())
            }
            None => Ok(()),
        }
    });
    markup::read(body, vec![handler]);
    found.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn an_answer_is_read_by_pointer_or_by_selector() {
        let doi: Doi = "10.5555/a#b".parse().unwrap();
        let json = Resolver::new(
            "https://r.example/find?id={doi}",
            Place::Pointer("/data/0/pdf".into()),
        )
        .unwrap();
        assert_eq!(
            json.url(&doi),
            Some(url("https://r.example/find?id=10.5555%2Fa%23b"))
        );
        let pdf = json
            .read(
                br#"{"data":[{"pdf":"/x.pdf"}]}"#,
                &url("https://r.example/find"),
            )
            .unwrap();
        assert_eq!(pdf.unwrap().url, url("https://r.example/x.pdf"));
        assert_eq!(
            json.read(br#"{"data":[]}"#, &url("https://r.example/")),
            Ok(None)
        );
        assert_eq!(
            json.read(b"<html>", &url("https://r.example/")),
            Err(Unreadable)
        );

        let html = Resolver::new(
            "https://r.example/{doi}",
            Place::Selector("a.pdf[href]".into()),
        )
        .unwrap();
        assert_eq!(html.url(&doi), Some(url("https://r.example/10.5555/a%23b")));
        let page =
            br#"<a href="/no">x</a><div><a class="pdf" href="y.pdf?a=1&amp;b=2">y</a></div>"#;
        let pdf = html
            .read(page, &url("https://r.example/d/"))
            .unwrap()
            .unwrap();
        assert_eq!(pdf.url, url("https://r.example/d/y.pdf?a=1&b=2"));
    }

    #[test]
    fn a_resolver_that_cannot_work_is_refused() {
        for (template, place, error) in [
            ("https://r.example/", Place::Itself, BadResolver::Template),
            ("https://{doi}/", Place::Itself, BadResolver::Template),
            (
                "ftp://r.example/{doi}",
                Place::Itself,
                BadResolver::Template,
            ),
            (
                "https://r.example/{doi}",
                Place::Pointer("data".into()),
                BadResolver::Pointer,
            ),
            (
                "https://r.example/{doi}",
                Place::Selector("a[".into()),
                BadResolver::Selector,
            ),
        ] {
            assert_eq!(Resolver::new(template, place), Err(error), "{template}");
        }
    }

    #[test]
    fn without_a_place_the_address_is_the_pdf() {
        let resolver = Resolver::new("https://r.example/pdf/{doi}", Place::Itself).unwrap();
        let pdf = resolver.direct(&"10.5555/a".parse().unwrap()).unwrap();
        assert_eq!(pdf.url, url("https://r.example/pdf/10.5555/a"));
    }
}
