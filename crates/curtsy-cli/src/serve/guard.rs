//! Who is served: a request for one of our own names (no rebound DNS name), from no other site's page, and
//! with the token where one is demanded.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::value::{HostName, Token};

/// Where a browser says whose page a request is of (Fetch Metadata).
const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_DESTINATION: &str = "sec-fetch-dest";

/// Who is served.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    names: Vec<HostName>,
    token: Option<Token>,
}

/// Why somebody is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

const FOREIGN_HOST: Refusal = Refusal {
    status: StatusCode::FORBIDDEN,
    why: "not served under this name; use localhost or an address, or name it in dashboard_hosts",
};
const FOREIGN_ORIGIN: Refusal = Refusal {
    status: StatusCode::FORBIDDEN,
    why: "not served to other sites",
};
const NO_TOKEN: Refusal = Refusal {
    status: StatusCode::UNAUTHORIZED,
    why: "the token is missing or wrong",
};

impl Guard {
    pub(crate) fn new(address: SocketAddr, names: Vec<HostName>, token: Option<Token>) -> Self {
        Self {
            address,
            names,
            token,
        }
    }

    /// Whether only this machine can reach it.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Whether the request is for one of our names and from no other site's page.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn check_site(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = sole(headers, HOST.as_str()).ok_or(FOREIGN_HOST)?;
        let authority: Authority = host.parse().map_err(|_| FOREIGN_HOST)?;
        if !self.is_ours(authority.host()) {
            return Err(FOREIGN_HOST);
        }
        let is_own = |origin: &str| {
            let rest = origin.split_once("://").map(|(_, rest)| rest);
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        };
        match (headers.contains_key(ORIGIN), sole(headers, ORIGIN.as_str())) {
            (true, Some(origin)) if is_own(origin) => return Ok(()),
            (true, _) => return Err(FOREIGN_ORIGIN),
            (false, _) => {}
        }
        match sole(headers, FETCH_SITE) {
            Some("same-origin") => Ok(()),
            // What changes something is asked for by our own page, or by who says that it is.
            _ if *method != Method::GET => Err(FOREIGN_ORIGIN),
            // Typed or clicked: the page shows itself, and to nobody else.
            None | Some("none") => Ok(()),
            Some(_) if sole(headers, FETCH_DESTINATION) == Some("document") => Ok(()),
            Some(_) => Err(FOREIGN_ORIGIN),
        }
    }

    /// Whether the request shows the token, as a bearer's or as the session's that it was given for.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let bearer = sole(headers, AUTHORIZATION.as_str())
            .and_then(|value| value.strip_prefix("Bearer "))
            .is_some_and(|given| are_equal(given.trim(), token.as_str()));
        let (name, session) = (self.cookie_name(), session_of(token));
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split("; "));
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        if bearer || pairs.any(|(key, value)| key == name && are_equal(value, &session)) {
            Ok(())
        } else {
            Err(NO_TOKEN)
        }
    }

    /// The cookie of a session, where `given` is the token.
    pub(crate) fn open_session(&self, given: &str) -> Option<String> {
        let token = self.token.as_ref()?;
        are_equal(given, token.as_str()).then(|| {
            format!(
                "{}={}; Path=/; HttpOnly; SameSite=Strict",
                self.cookie_name(),
                session_of(token)
            )
        })
    }

    /// Browsers share cookies among the ports of a host.
    fn cookie_name(&self) -> String {
        format!("curtsy_{}", self.address.port())
    }

    fn is_ours(&self, host: &str) -> bool {
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(ip) = literal.parse::<IpAddr>() {
            // No name leads to a literal address but by itself.
            return ip.is_loopback() || !self.address.ip().is_loopback();
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        host == "localhost" || self.names.iter().any(|name| name.as_str() == host)
    }
}

/// What a session shows in place of the token itself.
fn session_of(token: &Token) -> String {
    format!(
        "{:x}",
        Sha256::digest(["curtsy dashboard ", token.as_str()].concat())
    )
}

/// Takes as long whatever differs.
fn are_equal(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one), Sha256::digest(other));
    one.ct_eq(&other).into()
}

/// The value of a field that stands there once.
fn sole<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn guard(address: &str, token: Option<&str>) -> Guard {
        let names = vec![read("crawler.example.org").unwrap()];
        let token = token.map(|token| read(token).unwrap());
        Guard::new(address.parse().unwrap(), names, token)
    }

    #[test]
    fn a_foreign_host_is_refused() {
        let (here, wide) = (guard("127.0.0.1:80", None), guard("0.0.0.0:80", None));
        for (host, at_home, everywhere) in [
            ("localhost:80", true, true),
            ("LOCALHOST.", true, true),
            ("127.0.0.1:8080", true, true),
            ("[::1]:80", true, true),
            ("crawler.example.org", true, true),
            ("192.0.2.1:80", false, true),
            ("evil.example", false, false),
            ("localhost.evil.example", false, false),
            ("127.0.0.1.evil.example:80", false, false),
            ("a b", false, false),
        ] {
            let headers = headers(&[("host", host)]);
            let checked = |guard: &Guard| guard.check_site(&Method::GET, &headers).is_ok();
            assert_eq!(
                (checked(&here), checked(&wide)),
                (at_home, everywhere),
                "{host}"
            );
        }
        assert!(here.check_site(&Method::GET, &HeaderMap::new()).is_err());
        let two = headers(&[("host", "localhost"), ("host", "evil.example")]);
        assert!(here.check_site(&Method::GET, &two).is_err());
    }

    #[test]
    fn another_sites_page_gets_nothing_and_changes_nothing() {
        let guard = guard("127.0.0.1:80", None);
        for (fields, get, post) in [
            (&[][..], true, false),
            (&[("origin", "http://localhost:80")], true, true),
            (&[("origin", "http://localhost:81")], false, false),
            (&[("origin", "http://evil.example")], false, false),
            (&[("origin", "null")], false, false),
            (&[("sec-fetch-site", "same-origin")], true, true),
            (&[("sec-fetch-site", "none")], true, false),
            (&[("sec-fetch-site", "cross-site")], false, false),
            (&[("sec-fetch-site", "same-site")], false, false),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-dest", "document"),
                ],
                true,
                false,
            ),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "iframe"),
                ],
                false,
                false,
            ),
            (
                &[
                    ("sec-fetch-site", "same-origin"),
                    ("origin", "http://evil.example"),
                ],
                false,
                false,
            ),
        ] {
            let headers = headers(&[&[("host", "localhost:80")], fields].concat());
            let checked = |method| guard.check_site(&method, &headers).is_ok();
            assert_eq!(
                (checked(Method::GET), checked(Method::POST)),
                (get, post),
                "{fields:?}"
            );
        }
    }

    #[test]
    fn a_token_is_shown_by_its_bearer_or_its_session() {
        let guard = guard("0.0.0.0:80", Some("0123456789abcdef"));
        let shows = |name, value: &str| guard.check_token(&headers(&[(name, value)])).is_ok();
        assert!(shows("authorization", "Bearer 0123456789abcdef"));
        assert!(!shows("authorization", "Bearer 0123456789abcdeF"));
        assert!(!shows("authorization", "Bearer "));
        assert!(guard.check_token(&HeaderMap::new()).is_err());
        assert_eq!(guard.open_session("0123456789abcdeF"), None);
        let cookie = guard.open_session("0123456789abcdef").unwrap();
        assert!(!cookie.contains("0123456789abcdef"));
        let pair = cookie.split(';').next().unwrap();
        assert!(shows("cookie", &format!("a=b; {pair}")));
        assert!(!shows("cookie", "curtsy_80=0123456789abcdef"));
    }
}
