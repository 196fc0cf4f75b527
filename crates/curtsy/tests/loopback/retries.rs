//! R1, R2: which answers are tried again, and how often.

use curtsy::core::Scope;
use curtsy::transport::{Limits, Phase, TransportErrorKind};
use curtsy::{ErrorKind, Request};
use http::Method;

use crate::support::*;

#[tokio::test]
async fn r1_a_status_of_trouble_is_tried_again_and_the_last_response_comes_back_as_it_is() {
    for (status, tries) in [
        (500, 4),
        (502, 4),
        (503, 4),
        (429, 4),
        (408, 4),
        (404, 1),
        (501, 1),
    ] {
        let origin = origin(&format!(
            r#"{{"robots": 404, "page": {{"status": {status}, "body": "why"}}}}"#
        ))
        .await;
        let client = client(|p| p.backoff_base = ms(5));
        let got = response(client.get(&origin.url("/x")).await);
        assert_eq!(
            (got.status.as_u16(), got.attempts),
            (status, tries),
            "{status}"
        );
        assert_eq!(&got.body.collect(100).await.unwrap()[..], b"why");
        assert_eq!(pages(&origin).len(), tries as usize, "{status}");
    }
}

#[tokio::test]
async fn r1_only_what_may_be_repeated_is() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 503}}"#).await;
    let client = client(|p| (p.backoff_base, p.max_retries) = (ms(5), 1));
    for (method, repeatable, attempts) in [
        (Method::POST, None, 1),
        (Method::POST, Some(true), 2),
        (Method::PUT, None, 2),
        (Method::GET, Some(false), 1),
    ] {
        let mut request = Request::new(method.clone(), &origin.url("/x")).unwrap();
        if let Some(repeatable) = repeatable {
            request = request.repeatable(repeatable);
        }
        let got = response(client.execute(request).await);
        assert_eq!(got.attempts, attempts, "{method} {repeatable:?}");
    }
}

#[tokio::test]
async fn r2_without_honor_retry_after_a_429_goes_to_the_caller_and_the_hold_stands() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/x": {"status": 429, "headers": [["Retry-After", "1"]]}}}"#,
    )
    .await;
    let client = client(|p| p.honor_retry_after = false);
    let got = response(client.get(&origin.url("/x")).await);
    assert_eq!((got.status.as_u16(), got.attempts), (429, 1));
    drop(got);
    assert_eq!(status(&client, &origin.url("/y")).await, 200);
    let arrivals = pages(&origin);
    assert!(arrivals[1].at - arrivals[0].answered.unwrap() >= ms(1095));
}

#[tokio::test]
async fn d1_a_server_that_fails_is_tried_again_and_held_meanwhile() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/x": [{"fault": "reset_before_head"},
            {"fault": {"raw": "no http at all\r\n\r\n"}}, {"status": 200}]}}"#,
    )
    .await;
    let client = client(|p| p.backoff_base = ms(100));
    let got = response(client.get(&origin.url("/x")).await);
    assert_eq!((got.status.as_u16(), got.attempts), (200, 3));
    let gaps = gaps(&pages(&origin));
    assert!(
        gaps[0] + SLACK >= ms(100) && gaps[1] + SLACK >= ms(200),
        "{gaps:?}"
    );
}

#[tokio::test]
async fn what_never_answers_is_an_error_of_its_own_kind_after_all_tries() {
    let origin = origin(
        r#"{"pages": {"/silent": {"fault": "no_head"}, "/reset": {"fault": "reset_before_head"},
            "/raw": {"fault": {"raw": "no http\r\n\r\n"}}}}"#,
    )
    .await;
    let limits = Limits {
        silence: ms(100),
        ..Limits::default()
    };
    let policy = fast(|p| {
        (p.respect_robots, p.max_retries, p.backoff_base) = (false, 1, ms(5));
    });
    let client = builder(policy)
        .transport(impatient(limits))
        .build()
        .unwrap();
    let nobody = format!("http://{}/", nobody());
    for (url, kind) in [
        (
            origin.url("/silent"),
            TransportErrorKind::Timeout(Phase::Head),
        ),
        (origin.url("/reset"), TransportErrorKind::Reset),
        (origin.url("/raw"), TransportErrorKind::Protocol),
        (nobody, TransportErrorKind::Refused),
        (
            "http://no-such-name.invalid/".to_owned(),
            TransportErrorKind::Dns,
        ),
    ] {
        let error = client.get(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport(kind), "{url}");
    }
    for path in ["/silent", "/reset", "/raw"] {
        assert_eq!(count(&origin, path), 2, "{path}");
    }
    let delays = client.backoff_delays();
    assert!(delays.contains_key(&Scope::named(&origin.addr().to_string())));
}

#[tokio::test]
async fn a_url_that_cannot_be_written_departs_nowhere() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let client = client(|_| ());
    let endless = format!("{}?{}", origin.url("/x"), "q".repeat(70_000));
    let error = client.get(&endless).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
    assert_eq!(paths(&origin), ["/robots.txt"]);
    let scope = Scope::named(&origin.addr().to_string());
    assert_eq!(client.state(&scope).await.unwrap().departures(), 1);
}
