//! Which proxy, if any, a target is reached through.
//!
//! Supported: http and https proxies, with Basic credentials in the URL; plain http in absolute
//! form, https through a `CONNECT` tunnel. Not supported: SOCKS, PAC files, other authentication.
//! The credentials go to the proxy alone and are in no message of this crate.

use std::fmt;

use http::Uri;
use http::header::HeaderValue;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::error::{TransportError, TransportErrorKind};
use super::target::Target;

/// The proxies to use, as given or as the environment says. Default: none.
#[derive(Clone, Default)]
pub struct Proxies {
    all: Option<String>,
    http: Option<String>,
    https: Option<String>,
    no: Option<String>,
}

impl Proxies {
    /// No proxy, whatever the environment says.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// From the environment by curl's rules: `http_proxy` (lower case only, since a CGI program finds
    /// a request's `Proxy:` header in `HTTP_PROXY`), `https_proxy` or `HTTPS_PROXY`, `all_proxy` or
    /// `ALL_PROXY`, `no_proxy` or `NO_PROXY`; the lower case wins, and what is empty counts as unset.
    ///
    /// `variable` reads one variable: `|name| std::env::var(name).ok()`.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            names
                .iter()
                .filter_map(|name| variable(name))
                .find(|value| !value.is_empty())
        };
        Self {
            all: first(&["all_proxy", "ALL_PROXY"]),
            http: first(&["http_proxy"]),
            https: first(&["https_proxy", "HTTPS_PROXY"]),
            no: first(&["no_proxy", "NO_PROXY"]),
        }
    }

    /// Uses `url` for every target instead, as curl's `--proxy`; the hosts of `no_proxy` stay exempt.
    /// An empty `url` means no proxy at all. Without a scheme it is http, without a port 1080 (https:
    /// 443).
    #[must_use]
    pub fn with_url(self, url: &str) -> Self {
        Self {
            all: (!url.is_empty()).then(|| url.to_owned()),
            http: None,
            https: None,
            no: self.no,
        }
    }

    /// Exempts these hosts: names (each with its subdomains), addresses, networks (`10.0.0.0/8`) or
    /// `*`, separated by commas. It replaces what the environment says.
    #[must_use]
    pub fn with_no_proxy(self, hosts: &str) -> Self {
        Self {
            no: Some(hosts.to_owned()),
            ..self
        }
    }

    /// Checks every URL. A proxy that cannot be used is an error, never a direct connection: whoever
    /// set it does not want one.
    pub(super) fn build(&self) -> Result<Option<ProxyRules>, TransportError> {
        let urls = [&self.all, &self.http, &self.https];
        if urls.iter().all(|url| url.is_none()) {
            return Ok(None);
        }
        for url in urls.into_iter().flatten() {
            check(url)?;
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let matcher = Matcher::builder()
            .all(text(&self.all))
            .http(text(&self.http))
            .https(text(&self.https))
            .no(text(&self.no))
            .build();
        Ok(Some(ProxyRules(matcher)))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URLs may hold a password.
        f.debug_struct("Proxies")
            .field("all", &self.all.is_some())
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("no", &self.no)
            .finish()
    }
}

fn check(url: &str) -> Result<(), TransportError> {
    let probe = Uri::from_static("http://probe.invalid/");
    let usable = Matcher::builder()
        .all(url.to_owned())
        .build()
        .intercept(&probe)
        .is_some_and(|proxy| matches!(proxy.uri().scheme_str(), Some("http" | "https")));
    if usable {
        Ok(())
    } else {
        Err(TransportError::with_source(
            TransportErrorKind::Configuration,
            "a proxy is an http or https URL",
        ))
    }
}

/// Says which proxy a target is reached through.
pub(super) struct ProxyRules(Matcher);

impl ProxyRules {
    /// The proxy for `target`; none where it is to be reached directly.
    pub(super) fn proxy_for(&self, target: &Target) -> Option<Proxy> {
        let uri = Uri::builder()
            .scheme(target.scheme())
            .authority(target.authority().as_bytes())
            .path_and_query("/")
            .build()
            .ok()?;
        self.0.intercept(&uri).map(Proxy)
    }
}

/// One proxy.
pub(super) struct Proxy(Intercept);

impl Proxy {
    pub(super) fn is_https(&self) -> bool {
        self.0.uri().scheme_str() == Some("https")
    }

    /// The host, an IPv6 literal without its brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.0.uri().host().unwrap_or_default();
        let bare = host
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'));
        bare.unwrap_or(host)
    }

    pub(super) fn port(&self) -> u16 {
        let default = if self.is_https() { 443 } else { 1080 };
        self.0.uri().port_u16().unwrap_or(default)
    }

    /// The value of `Proxy-Authorization`, marked as sensitive.
    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.0.basic_auth()
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn proxy_of(proxies: &Proxies, url: &str) -> Option<String> {
        let target = Target::of(&Url::parse(url).unwrap()).unwrap();
        let proxy = proxies.build().unwrap()?.proxy_for(&target)?;
        Some(format!("{}:{}", proxy.host(), proxy.port()))
    }

    #[test]
    fn the_environment_is_read_by_curls_rules() {
        type Case = (
            &'static [(&'static str, &'static str)],
            &'static str,
            Option<&'static str>,
        );
        let cases: &[Case] = &[
            (&[], "http://a.test/", None),
            (
                &[("http_proxy", "http://p:1")],
                "http://a.test/",
                Some("p:1"),
            ),
            (&[("http_proxy", "http://p:1")], "https://a.test/", None),
            (&[("HTTP_PROXY", "http://p:1")], "http://a.test/", None),
            (
                &[("HTTPS_PROXY", "http://p:2")],
                "https://a.test/",
                Some("p:2"),
            ),
            (
                &[
                    ("HTTPS_PROXY", "http://upper:2"),
                    ("https_proxy", "http://lower:3"),
                ],
                "https://a.test/",
                Some("lower:3"),
            ),
            (&[("ALL_PROXY", "p:4")], "http://a.test/", Some("p:4")),
            (
                &[("all_proxy", "http://p:4"), ("http_proxy", "http://own:5")],
                "http://a.test/",
                Some("own:5"),
            ),
            (
                &[("http_proxy", ""), ("all_proxy", "http://p:4")],
                "http://a.test/",
                Some("p:4"),
            ),
            (
                &[("http_proxy", "http://p")],
                "http://a.test/",
                Some("p:1080"),
            ),
            (
                &[("http_proxy", "https://p")],
                "http://a.test/",
                Some("p:443"),
            ),
            (
                &[("http_proxy", "http://[::1]:8")],
                "http://a.test/",
                Some("::1:8"),
            ),
            (
                &[("all_proxy", "p:4"), ("no_proxy", "a.test")],
                "http://a.test/",
                None,
            ),
            (
                &[("all_proxy", "p:4"), ("NO_PROXY", ".a.test")],
                "https://b.a.test:8/",
                None,
            ),
            (
                &[("all_proxy", "p:4"), ("no_proxy", "a.test")],
                "http://xa.test/",
                Some("p:4"),
            ),
            (
                &[("all_proxy", "p:4"), ("no_proxy", "10.0.0.0/8")],
                "http://10.1.2.3/",
                None,
            ),
            (
                &[("all_proxy", "p:4"), ("no_proxy", "*")],
                "http://a.test/",
                None,
            ),
        ];
        for (environment, url, expected) in cases {
            let proxies = Proxies::from_environment(|name| {
                let found = environment.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(
                proxy_of(&proxies, url).as_deref(),
                *expected,
                "{environment:?} {url}"
            );
        }
    }

    #[test]
    fn a_given_proxy_replaces_the_environments_and_keeps_its_exemptions() {
        let environment = Proxies::from_environment(|name| match name {
            "http_proxy" => Some("http://env:1".to_owned()),
            "no_proxy" => Some("exempt.test".to_owned()),
            _ => None,
        });
        let given = environment.clone().with_url("given:2");
        assert_eq!(
            proxy_of(&given, "http://a.test/").as_deref(),
            Some("given:2")
        );
        assert_eq!(
            proxy_of(&given, "https://a.test/").as_deref(),
            Some("given:2")
        );
        assert_eq!(proxy_of(&given, "http://exempt.test/"), None);
        assert_eq!(
            proxy_of(&environment.clone().with_url(""), "http://a.test/"),
            None
        );
        assert_eq!(
            proxy_of(&environment.with_no_proxy("a.test"), "http://a.test/"),
            None
        );
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_that_keeps_its_password_to_itself() {
        for url in [
            "socks5://u:secret@p:1",
            "ftp://u:secret@p:1",
            "http://u:secret@",
            "::::",
        ] {
            let proxies = Proxies::none().with_url(url);
            let error = proxies.build().err().unwrap();
            assert_eq!(error.kind(), TransportErrorKind::Configuration, "{url}");
            assert!(
                !format!("{error:?} {proxies:?}").contains("secret"),
                "{url}"
            );
        }
    }
}
