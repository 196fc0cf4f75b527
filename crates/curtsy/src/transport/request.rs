//! Writing a request for the connection that it goes out on.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderValue, PROXY_AUTHORIZATION, RANGE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Request, Uri, Version};
use http_body_util::Full;

use super::connection::{Facts, OutgoingRequest};
use super::error::{TransportError, TransportErrorKind};
use super::target::Target;

/// The content codings that can be decoded, as offered to servers.
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");

/// How a request is to be written.
pub(super) struct Form<'a> {
    pub(super) target: &'a Target,
    pub(super) facts: &'a Facts,
    pub(super) http2: bool,
    /// Offer the content codings that can be decoded.
    pub(super) offer_codings: bool,
}

/// Takes method, path, query, headers and body from `request` and all else from the connection, so
/// that a request never goes to another host than the one that was checked.
pub(super) fn write(
    request: Request<Bytes>,
    form: &Form<'_>,
) -> Result<OutgoingRequest, TransportError> {
    let (mut parts, body) = request.into_parts();
    let path = parts
        .uri
        .path_and_query()
        .cloned()
        .unwrap_or_else(|| PathAndQuery::from_static("/"));
    let host = parts
        .headers
        .remove(HOST)
        .unwrap_or_else(|| form.target.authority().clone());

    let mut headers = HeaderMap::with_capacity(parts.headers.len() + 3);
    if form.http2 {
        parts.version = Version::HTTP_2;
        parts.uri = absolute(form.target, &host, path)?;
    } else {
        parts.version = Version::HTTP_11;
        parts.uri = if form.facts.forwarded {
            absolute(form.target, form.target.authority(), path)?
        } else {
            Uri::from(path)
        };
        // First of all fields, as RFC 9110 section 7.2 recommends.
        headers.insert(HOST, host);
    }
    let offer = form.offer_codings
        && !parts.headers.contains_key(ACCEPT_ENCODING)
        // A range of an encoded body cannot be decoded by itself.
        && !parts.headers.contains_key(RANGE);
    headers.extend(parts.headers);
    if offer {
        headers.insert(ACCEPT_ENCODING, CODINGS);
    }
    // There is none but on a connection to a proxy that forwards.
    if let Some(authorization) = &form.facts.proxy_authorization {
        headers.insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    if let Some(authorization) = headers.get_mut(AUTHORIZATION) {
        authorization.set_sensitive(true);
    }
    parts.headers = headers;
    Ok(Request::from_parts(parts, Full::new(body)))
}

fn absolute(
    target: &Target,
    authority: &HeaderValue,
    path: PathAndQuery,
) -> Result<Uri, TransportError> {
    let authority = Authority::try_from(authority.as_bytes())
        .map_err(|error| TransportError::with_source(TransportErrorKind::Request, error))?;
    let scheme = if target.is_https() {
        Scheme::HTTPS
    } else {
        Scheme::HTTP
    };
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(|error| TransportError::with_source(TransportErrorKind::Request, error))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::guard::Reach;
    use super::*;

    fn target(url: &str) -> Target {
        Target::of(&Url::parse(url).unwrap()).unwrap()
    }

    fn facts(forwarded: bool) -> Facts {
        Facts {
            peer: None,
            reach: Reach::Public,
            forwarded,
            proxy_authorization: forwarded.then(|| HeaderValue::from_static("Basic c2VjcmV0")),
        }
    }

    fn written(request: Request<Bytes>, forwarded: bool, http2: bool) -> OutgoingRequest {
        let form = Form {
            target: &target("http://example.org:8080/"),
            facts: &facts(forwarded),
            http2,
            offer_codings: true,
        };
        write(request, &form).unwrap()
    }

    fn request(uri: &str) -> Request<Bytes> {
        Request::get(uri)
            .header("x-own", "1")
            .body(Bytes::new())
            .unwrap()
    }

    #[test]
    fn the_uri_has_the_form_that_the_connection_asks_for_and_no_userinfo() {
        for (forwarded, http2, expected) in [
            (false, false, "/a?b=c"),
            (true, false, "http://example.org:8080/a?b=c"),
            (false, true, "http://example.org:8080/a?b=c"),
        ] {
            for uri in ["http://u:p@elsewhere.test/a?b=c", "/a?b=c"] {
                let written = written(request(uri), forwarded, http2);
                assert_eq!(written.uri().to_string(), expected, "{uri}");
            }
        }
    }

    #[test]
    fn host_comes_first_and_names_the_target_unless_the_caller_set_it() {
        let written_one = written(request("/"), false, false);
        let first = written_one.headers().iter().next().unwrap();
        assert_eq!(
            (first.0.as_str(), first.1.as_bytes()),
            ("host", &b"example.org:8080"[..])
        );

        let mut own = request("/");
        own.headers_mut()
            .insert(HOST, HeaderValue::from_static("own.test"));
        assert_eq!(
            written(own.clone(), false, false).headers()[HOST],
            "own.test"
        );
        let http2 = written(own, false, true);
        assert!(!http2.headers().contains_key(HOST));
        assert_eq!(http2.uri().host(), Some("own.test"));
    }

    #[test]
    fn codings_are_offered_unless_the_caller_chose_or_asks_for_a_range() {
        let offered = written(request("/"), false, false);
        assert_eq!(
            offered.headers()[ACCEPT_ENCODING],
            "gzip, deflate, br, zstd"
        );
        for (name, value, expected) in [
            (ACCEPT_ENCODING, "identity", Some("identity")),
            (RANGE, "bytes=0-9", None),
        ] {
            let mut own = request("/");
            own.headers_mut()
                .insert(&name, HeaderValue::from_static(value));
            let written = written(own, false, false);
            let coding = written.headers().get(ACCEPT_ENCODING);
            assert_eq!(
                coding.map(|value| value.to_str().unwrap()),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn the_proxys_credentials_go_to_the_proxy_alone() {
        for (forwarded, expected) in [(true, true), (false, false)] {
            let written = written(request("/"), forwarded, false);
            assert_eq!(
                written.headers().contains_key(PROXY_AUTHORIZATION),
                expected
            );
        }
    }
}
