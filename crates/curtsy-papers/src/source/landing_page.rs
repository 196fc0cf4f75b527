//! The page about a paper: what its head says of the PDF.
//!
//! Taken are `citation_pdf_url` (what search engines for papers read) and then `<link type="application/pdf">`,
//! both relative to the page. Never taken are links in its body: supplements and guides for authors end in
//! `.pdf` too. Its `citation_doi`
//! says which work it is about: one about another work is of no use.

use std::cell::RefCell;

use lol_html::element;
use lol_html::html_content::Element;
use url::Url;

use super::{Ids, Location, SourceId, markup};
use crate::field::is_sound;

/// The most of a page that is read, in bytes. Heads are at the beginning, and rarely above 100 KB.
pub const MAX_PAGE: usize = 1024 * 1024;

/// What the head of a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Which work it is about, where it says so.
    pub ids: Ids,
    /// The PDFs that it names, the likeliest first.
    pub pdfs: Vec<Location>,
}

/// Reads the page at `url`, where the redirects had led to.
#[must_use]
pub fn read(body: &[u8], url: &Url) -> Page {
    let head = Head::read(&body[..body.len().min(MAX_PAGE)]);
    let base = head.base.and_then(|base| url.join(&base).ok());
    let base = base.as_ref().unwrap_or(url);
    let mut pdfs: Vec<Location> = Vec::new();
    for address in head.citations.iter().chain(&head.links) {
        let Ok(pdf) = base.join(address.trim()) else {
            continue;
        };
        if is_sound(&pdf) && pdf != *url && pdfs.iter().all(|known| known.url != pdf) {
            pdfs.push(Location::pdf(pdf, SourceId::LandingPage));
        }
    }
    let ids = Ids {
        doi: head.doi.and_then(|text| text.parse().ok()),
        ..Ids::default()
    };
    Page { ids, pdfs }
}

/// The fields of a head that count.
#[derive(Default)]
struct Head {
    doi: Option<String>,
    base: Option<String>,
    citations: Vec<String>,
    links: Vec<String>,
}

/// The most addresses of a kind that are taken.
const MAX_ADDRESSES: usize = 4;

impl Head {
    fn read(body: &[u8]) -> Self {
        let head = RefCell::new(Self::default());
        let handlers = vec![
            element!("meta[name][content]", |meta| {
                head.borrow_mut().take_meta(meta);
                Ok(())
            }),
            element!("link[type][href]", |link| {
                head.borrow_mut().take_link(link);
                Ok(())
            }),
            element!("base[href]", |base| {
                let mut head = head.borrow_mut();
                head.base = head.base.take().or_else(|| base.get_attribute("href"));
                Ok(())
            }),
            element!("body", |_| Err("the head is over".into())),
        ];
        markup::read(body, handlers);
        head.into_inner()
    }

    fn take_meta(&mut self, meta: &Element<'_, '_>) {
        let attribute = |name| meta.get_attribute(name).unwrap_or_default();
        let content = attribute("content");
        match attribute("name").to_ascii_lowercase().as_str() {
            "citation_doi" => self.doi = self.doi.take().or(Some(content)),
            "citation_pdf_url" if self.citations.len() < MAX_ADDRESSES => {
                self.citations.push(markup::unescape(&content));
            }
            _ => {}
        }
    }

    fn take_link(&mut self, link: &Element<'_, '_>) {
        let attribute = |name| link.get_attribute(name).unwrap_or_default();
        let is_pdf = attribute("type").eq_ignore_ascii_case("application/pdf");
        if is_pdf && self.links.len() < MAX_ADDRESSES {
            self.links.push(markup::unescape(&attribute("href")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> Page {
        let url = Url::parse("https://journal.example.org/articles/0042").unwrap();
        read(body.as_bytes(), &url)
    }

    #[test]
    fn the_head_is_read_and_links_of_the_body_are_not() {
        let body = include_str!("../../testdata/landing_page.html");
        let page = page(body);
        let urls: Vec<_> = page.pdfs.iter().map(|pdf| pdf.url.as_str()).collect();
        assert_eq!(
            urls,
            [
                "https://journal.example.org/articles/0042.pdf?download=1",
                "https://journal.example.org/articles/0042/alt"
            ]
        );
    }

    #[test]
    fn a_page_says_which_work_it_is_about() {
        let body = include_str!("../../testdata/landing_page_wrong_doi.html");
        let page = page(body);
        assert_eq!(page.ids.doi, "10.5555/another.paper".parse().ok());
    }

    #[test]
    fn addresses_follow_the_base_and_keep_to_http() {
        let body = r#"<HTML><head><base href="/b/"><META NAME="Citation_PDF_URL" CONTENT="x.pdf?a=1&amp;b=2">
            <meta name="citation_pdf_url" content="javascript:alert(1)"></head>"#;
        let page = page(body);
        let urls: Vec<_> = page.pdfs.iter().map(|pdf| pdf.url.as_str()).collect();
        assert_eq!(urls, ["https://journal.example.org/b/x.pdf?a=1&b=2"]);
    }

    #[test]
    fn whatever_comes_is_read_in_bounded_memory() {
        let tags = "<meta name=\"x\" content=\"y\">".repeat(40_000);
        let attribute = format!(
            "<meta name=\"citation_doi\" content=\"{}",
            "x".repeat(2_000_000)
        );
        for body in [
            "",
            "<",
            "plain text",
            "<meta name=citation_pdf_url",
            &tags,
            &attribute,
        ] {
            assert_eq!(page(body).pdfs, []);
        }
    }
}
