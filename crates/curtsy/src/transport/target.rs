//! What a connection is opened to.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::HeaderValue;
use url::{Host, Url};

/// Scheme, host and port: what a connection is opened to, and what the pool keeps connections by.
/// Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Target(Arc<Parts>);

struct Parts {
    https: bool,
    /// Lower case, without the brackets of an IPv6 literal.
    host: String,
    literal: Option<IpAddr>,
    port: u16,
    /// The `Host` field: host and, where it is not the scheme's own, port.
    authority: HeaderValue,
}

impl Target {
    /// The target of `url`; none where it is not http(s) or has no host. Userinfo, path and query are
    /// no part of it.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let https = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let (host, literal) = match url.host()? {
            Host::Domain(name) => (name.to_owned(), None),
            Host::Ipv4(address) => (address.to_string(), Some(IpAddr::V4(address))),
            Host::Ipv6(address) => (address.to_string(), Some(IpAddr::V6(address))),
        };
        let written = url.host_str()?;
        let authority = match url.port() {
            Some(port) => HeaderValue::try_from(format!("{written}:{port}")),
            None => HeaderValue::from_str(written),
        };
        Some(Self(Arc::new(Parts {
            https,
            host,
            literal,
            port: url.port_or_known_default()?,
            authority: authority.ok()?,
        })))
    }

    /// Whether the connection is to be protected by TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.https
    }

    /// The host in lower case, an IPv6 literal without its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The port, the scheme's own where the URL gives none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.0.https { "https" } else { "http" }
    }

    /// The address, where the host is a literal one.
    pub(super) fn literal(&self) -> Option<IpAddr> {
        self.0.literal
    }

    pub(super) fn authority(&self) -> &HeaderValue {
        &self.0.authority
    }

    /// Host and port as `CONNECT` writes them: always with the port.
    pub(super) fn host_and_port(&self) -> String {
        match self.0.literal {
            Some(IpAddr::V6(address)) => format!("[{address}]:{}", self.0.port),
            _ => format!("{}:{}", self.0.host, self.0.port),
        }
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.https == other.https && self.port == other.port && self.host == other.host
    }
}

impl Eq for Parts {}

impl std::hash::Hash for Parts {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.host.hash(state);
        (self.port, self.https).hash(state);
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.host_and_port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_scheme_host_and_port_and_nothing_else_of_the_url() {
        for (url, debug, authority) in [
            (
                "http://Example.org/a?b#c",
                "http://example.org:80",
                "example.org",
            ),
            (
                "https://u:p@example.org:443/",
                "https://example.org:443",
                "example.org",
            ),
            (
                "https://example.org:8443",
                "https://example.org:8443",
                "example.org:8443",
            ),
            ("http://[::1]:80/", "http://[::1]:80", "[::1]"),
            ("http://[::1]:81/", "http://[::1]:81", "[::1]:81"),
            ("http://2130706433/", "http://127.0.0.1:80", "127.0.0.1"),
        ] {
            let target = Target::of(&Url::parse(url).unwrap()).unwrap();
            assert_eq!(format!("{target:?}"), debug, "{url}");
            assert_eq!(target.authority(), authority, "{url}");
        }
        for url in [
            "ftp://example.org/",
            "data:text/plain,x",
            "mailto:a@example.org",
        ] {
            assert!(Target::of(&Url::parse(url).unwrap()).is_none(), "{url}");
        }
    }
}
