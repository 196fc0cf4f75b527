//! Sitemap lines: they belong to no group and may point to any host.

use std::collections::HashSet;

use url::Url;

use super::spelling::spell_path;
use super::warning::WarningKind;

/// The values of all Sitemap lines, as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Sitemaps {
    values: Vec<Box<str>>,
}

impl Sitemaps {
    pub(super) fn add(&mut self, value: &[u8]) -> Option<WarningKind> {
        if value.is_empty() {
            return Some(WarningKind::EmptySitemap);
        }
        let text = match str::from_utf8(value) {
            Ok(text) => text.into(),
            // Octets that are no text can only be told in escapes.
            Err(_) => String::from_utf8_lossy(&spell_path(value)).into(),
        };
        self.values.push(text);
        None
    }

    /// The URLs in the order of the file, each once. An absolute one is given as written, a relative
    /// one resolved against `base`; what is no URL either way is left out.
    pub(super) fn resolve(&self, base: &Url) -> Vec<String> {
        let mut seen = HashSet::new();
        let urls = self
            .values
            .iter()
            .filter_map(|value| match Url::parse(value) {
                Ok(_) => Some(value.to_string()),
                Err(_) => base.join(value).ok().map(String::from),
            });
        urls.filter(|url| seen.insert(url.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sitemaps_are_resolved_and_told_once() {
        let base = Url::parse("https://orchard.example/robots.txt").unwrap();
        let mut sitemaps = Sitemaps::default();
        for value in [
            "https://cdn.example",
            "/map.xml",
            "https://cdn.example",
            "https://orchard.example/map.xml",
            "//cdn.example/b.xml",
            "https://[broken",
        ] {
            assert_eq!(sitemaps.add(value.as_bytes()), None, "{value}");
        }
        assert_eq!(sitemaps.add(b""), Some(WarningKind::EmptySitemap));
        assert_eq!(sitemaps.add(b"/\xE9.xml"), None);
        assert_eq!(
            sitemaps.resolve(&base),
            [
                "https://cdn.example",
                "https://orchard.example/map.xml",
                "https://cdn.example/b.xml",
                "https://orchard.example/%E9.xml",
            ]
        );
    }
}
