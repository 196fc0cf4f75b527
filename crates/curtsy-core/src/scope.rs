//! What is paced together ([`Scope`]) and what one robots.txt governs ([`Origin`]).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

/// The unit that is paced, held, suppressed and broken: a lower-cased host plus a port that is not
/// the default of its scheme, a registrable domain, or the name of a configured group of hosts.
///
/// http and https on their default ports are one scope: they are one server's load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(String);

impl Scope {
    /// The scope of a URL's host; `None` where the URL has no host or is not http(s).
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let host = http_host(url)?;
        Some(match url.port() {
            // `Url::port` is `None` for the scheme's own default; the other scheme's default counts as default too.
            None | Some(80 | 443) => Self(host),
            Some(port) => Self(format!("{host}:{port}")),
        })
    }

    /// The registrable domain of a URL's host (`www.example.co.uk` → `example.co.uk`) by the Public
    /// Suffix List; the host itself where it has none (an address, a bare suffix).
    #[must_use]
    pub fn registrable_domain_of(url: &Url) -> Option<Self> {
        let host = http_host(url)?;
        Some(match (url.domain(), psl::domain_str(&host)) {
            (Some(_), Some(domain)) => Self(domain.to_owned()),
            _ => Self::of(url)?,
        })
    }

    /// A scope by name: `example.org`, `example.org:8080`, or a group's name. Case is folded.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.trim().to_ascii_lowercase())
    }

    /// The name, as it stands in the configuration, the store, the audit log and the metrics.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host without the port.
    #[must_use]
    pub fn host(&self) -> &str {
        match self.0.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.is_empty() => {
                host
            }
            _ => &self.0,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Scheme, host and port: what one robots.txt governs (RFC 9309 section 2.3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

impl Origin {
    /// The origin of an http(s) URL, else `None`.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let host = http_host(url)?;
        Some(Self(match url.port() {
            None => format!("{}://{host}", url.scheme()),
            Some(port) => format!("{}://{host}:{port}", url.scheme()),
        }))
    }

    /// `scheme://host`, with `:port` where it is not the scheme's default.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where this origin's robots.txt lies, as text.
    #[must_use]
    pub fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn http_host(url: &Url) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    // A trailing dot names the same host; two scopes for one server would double its load.
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_scope_is_the_host_and_an_uncommon_port() {
        for (text, expected) in [
            ("http://Example.ORG/a", "example.org"),
            ("https://example.org/", "example.org"),
            ("https://example.org:80/", "example.org"),
            ("http://example.org:8080/", "example.org:8080"),
            ("http://example.org./", "example.org"),
            ("http://user:secret@example.org/", "example.org"),
            ("http://[::1]:9000/", "[::1]:9000"),
            ("http://127.0.0.1:9000/", "127.0.0.1:9000"),
        ] {
            assert_eq!(Scope::of(&url(text)).unwrap().as_str(), expected, "{text}");
        }
        assert_eq!(Scope::of(&url("ftp://example.org/")), None);
        assert_eq!(Scope::of(&url("data:text/plain,x")), None);
    }

    #[test]
    fn a_registrable_domain_gathers_its_hosts() {
        for (text, expected) in [
            ("https://a.b.example.co.uk/", "example.co.uk"),
            ("https://example.org/", "example.org"),
            ("http://127.0.0.1:9000/", "127.0.0.1:9000"),
            ("http://localhost:1/", "localhost:1"),
        ] {
            assert_eq!(
                Scope::registrable_domain_of(&url(text)).unwrap().as_str(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn the_host_of_a_scope_has_no_port() {
        for (name, host) in [
            ("example.org:8080", "example.org"),
            ("example.org", "example.org"),
            ("[::1]:9", "[::1]"),
        ] {
            assert_eq!(Scope::named(name).host(), host);
        }
    }

    #[test]
    fn each_scheme_and_port_is_an_origin_of_its_own() {
        assert_eq!(
            Origin::of(&url("https://Example.org:443/x?y"))
                .unwrap()
                .robots_url(),
            "https://example.org/robots.txt"
        );
        assert_eq!(
            Origin::of(&url("http://example.org:443/"))
                .unwrap()
                .as_str(),
            "http://example.org:443"
        );
        assert_eq!(Origin::of(&url("mailto:a@example.org")), None);
    }
}
