//! R3: every hop is a request of its own.

use curtsy::core::Scope;
use curtsy::transport::{Guard, Resolve, Transport, TransportErrorKind};
use curtsy::{Client, ErrorKind, Request, clock::Clock};
use curtsy_origin::Origin;
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::support::*;

/// A request that carries all that identifies its user.
fn with_credentials(url: &str) -> Request {
    let value = HeaderValue::from_static;
    Request::get(url)
        .unwrap()
        .header(AUTHORIZATION, value("Bearer secret"))
        .header(COOKIE, value("id=secret"))
        .header(HeaderName::from_static("x-plain"), value("1"))
        .header(HeaderName::from_static("x-api-key"), secret(value("k")))
}

fn secret(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

fn sent(origin: &Origin, path: &str, name: &str) -> Option<String> {
    let arrivals = origin.arrivals();
    let arrival = arrivals.iter().find(|arrival| arrival.path == path);
    let arrival = arrival.unwrap_or_else(|| panic!("{path} in {arrivals:?}"));
    arrival.header(name).map(str::to_owned)
}

#[tokio::test]
async fn r3_authorization_and_cookie_stay_behind_when_the_origin_changes() {
    let other = origin(r#"{"robots": "User-agent: *\nAllow: /\n"}"#).await;
    let first = origin(&format!(
        r#"{{"robots": 404, "pages": {{
            "/here": {{"location": "/there"}}, "/there": {{"location": "{}"}}}}}}"#,
        other.url("/end")
    ))
    .await;
    let client = client(|_| ());
    let request =
        with_credentials(&first.url("/here")).header(HOST, HeaderValue::from_static("chosen.test"));
    let got = response(client.execute(request).await);
    assert_eq!(got.url.as_str(), other.url("/end"));
    for name in ["authorization", "cookie", "x-plain", "x-api-key"] {
        assert!(sent(&first, "/there", name).is_some(), "{name}");
        assert!(sent(&first, "/robots.txt", name).is_none(), "{name}");
        assert!(sent(&other, "/robots.txt", name).is_none(), "{name}");
    }
    for name in ["authorization", "cookie", "x-api-key"] {
        assert_eq!(sent(&other, "/end", name), None, "{name}");
    }
    assert_eq!(sent(&other, "/end", "x-plain").as_deref(), Some("1"));
    assert_eq!(
        sent(&first, "/there", "host").as_deref(),
        Some("chosen.test")
    );
    assert_eq!(sent(&other, "/end", "host"), Some(other.addr().to_string()));
}

#[tokio::test]
async fn a_guarded_request_and_its_redirects_stay_on_public_hosts_and_where_it_says_on_loopback() {
    let origin =
        origin(r#"{"robots": 404, "pages": {"/away": {"location": "http://10.0.0.1/"}}}"#).await;
    let client = client(|p| p.max_retries = 0);
    let get = |url: &str, guard| client.execute(Request::get(url).unwrap().guard(guard));
    let refused = Some(ErrorKind::Transport(TransportErrorKind::RefusedTarget));
    let kind = |reply: Result<_, curtsy::Error>| reply.err().map(|error| error.kind());
    assert_eq!(
        kind(get(&origin.url("/x"), Guard::PublicOnly).await),
        refused
    );
    let allowed = response(get(&origin.url("/x"), Guard::PublicOrLoopback).await);
    assert_eq!(allowed.status, 200);
    assert_eq!(
        kind(get(&origin.url("/away"), Guard::PublicOrLoopback).await),
        refused
    );
}

#[tokio::test]
async fn r3_ten_hops_are_followed_and_circles_and_longer_ways_end() {
    let hops: Vec<String> = (0..11)
        .map(|n| format!(r#""/{n}": {{"location": "/{}"}}"#, n + 1))
        .collect();
    let origin = origin(&format!(
        r#"{{"robots": 404, "pages": {{{},
            "/self": {{"location": "/self#again"}},
            "/ping": {{"location": "/pong"}}, "/pong": {{"location": "/ping"}}}}}}"#,
        hops.join(",")
    ))
    .await;
    let client = client(|_| ());
    let ten = response(client.get(&origin.url("/1")).await);
    assert_eq!((ten.status.as_u16(), ten.attempts), (200, 11));
    for (path, arrivals) in [("/0", 11), ("/self", 1), ("/ping", 2)] {
        let before = origin.arrived();
        let error = client.get(&origin.url(path)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Redirect, "{path}");
        assert_eq!(origin.arrived() - before, arrivals, "{path}");
    }
}

#[tokio::test]
async fn r3_a_hop_obeys_the_robots_txt_of_its_own_origin() {
    let other = origin(r#"{"robots": "User-agent: *\nDisallow: /end\n"}"#).await;
    let first = origin(&format!(
        r#"{{"robots": 404, "page": {{"location": "{}"}}}}"#,
        other.url("/end")
    ))
    .await;
    let client = client(|_| ());
    let no = disallowed(client.get(&first.url("/x")).await);
    assert_eq!((no.url.as_str(), no.line), (&*other.url("/end"), Some(2)));
    assert_eq!(paths(&other), ["/robots.txt"]);
}

#[tokio::test]
async fn r4_a_403_behind_a_redirect_is_charged_to_who_answered_it() {
    let publisher = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let resolver = origin(&format!(
        r#"{{"robots": 404, "pages": {{"/10.1/*": {{"location": "{}"}}}}}}"#,
        publisher.url("/*")
    ))
    .await;
    let client = client(|_| ());
    for n in 0..4 {
        let got = response(client.get(&resolver.url(&format!("/10.1/{n}"))).await);
        assert_eq!((got.status.as_u16(), got.synthetic), (403, n == 3), "{n}");
    }
    let scopes: Vec<Scope> = client.suppressed_scopes().into_keys().collect();
    assert_eq!(scopes, [Scope::named(&publisher.addr().to_string())]);
    assert_eq!(pages(&resolver).len(), 4, "the resolver is still asked");
    assert_eq!(pages(&publisher).len(), 3);
}

#[tokio::test]
async fn the_method_and_the_body_change_as_http_says() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/301": {"status": 301, "location": "/got-301"},
            "/303": {"status": 303, "location": "/got-303"},
            "/307": {"status": 307, "location": "/got-307"}}}"#,
    )
    .await;
    let client = client(|_| ());
    for (path, method, end, length) in [
        ("/301", Method::POST, "GET", None),
        ("/303", Method::POST, "GET", None),
        ("/303", Method::PUT, "GET", None),
        ("/303", Method::HEAD, "HEAD", None),
        ("/307", Method::POST, "POST", Some("4")),
        ("/301", Method::PUT, "PUT", Some("4")),
    ] {
        let mut request = Request::new(method.clone(), &origin.url(path)).unwrap();
        if method != Method::HEAD {
            request = request.body("body").header(
                HeaderName::from_static("content-type"),
                HeaderValue::from_static("text/plain"),
            );
        }
        response(client.execute(request).await);
        let arrivals = origin.arrivals();
        let last = arrivals.last().unwrap();
        assert_eq!(last.path, format!("/got{}", path.replace('/', "-")));
        assert_eq!(last.method, end, "{method} {path}");
        assert_eq!(last.header("content-length"), length, "{method} {path}");
        assert_eq!(last.header("content-type").is_some(), length.is_some());
    }
}

#[tokio::test]
async fn a_redirect_that_leads_nowhere_is_the_answer() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/none": {"status": 302},
            "/mail": {"location": "mailto:a@example.org"},
            "/file": {"location": "file:///etc/passwd"}}}"#,
    )
    .await;
    let client = client(|_| ());
    for path in ["/none", "/mail", "/file"] {
        let got = response(client.get(&origin.url(path)).await);
        assert_eq!((got.status, got.attempts), (StatusCode::FOUND, 1), "{path}");
    }
}

#[tokio::test]
async fn a_public_server_leads_to_no_private_address_unless_that_is_allowed() {
    let private = origin("{}").await;
    let named = origin(&format!(
        r#"{{"robots": 404, "page": {{"location": "{}"}}}}"#,
        private.url("/secret")
    ))
    .await;
    let port = named.addr().port();
    let client = |allowed: bool| {
        let entry: Resolve = format!("public.test:{port}:127.0.0.1").parse().unwrap();
        let transport = Transport::builder(Clock::system()).resolve(entry);
        Client::builder()
            .policy(fast(|_| ()))
            .transport(transport.build().unwrap())
            .allow_private(allowed)
            .build()
            .unwrap()
    };
    let url = format!("http://public.test:{port}/x");
    let refused = client(false).get(&url).await.unwrap_err();
    let kind = ErrorKind::Transport(TransportErrorKind::RefusedTarget);
    assert_eq!(refused.kind(), kind);
    assert_eq!(private.arrived(), 0);
    assert_eq!(response(client(true).get(&url).await).status, 200);
    // What began at a private address may go on to one.
    let began_private = client(false).get(&named.url("/x")).await;
    assert_eq!(response(began_private).status, 200);
}
