//! H1, H5: what only the body of an answer says of pace is obeyed too.

use std::time::{Duration, Instant};

use curtsy::Policies;
use curtsy::core::audit::Event;
use curtsy::core::signal::Profile;
use curtsy::core::{Reason, Scope};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;

const JSON: &str = "application/json";

/// An origin whose pages all answer so.
async fn answering(
    status: u16,
    kind: &str,
    headers: &[[&str; 2]],
    body: &Value,
) -> curtsy_origin::Origin {
    let mut fields = vec![["Content-Type", kind]];
    fields.extend(headers);
    let page = json!({"status": status, "headers": fields, "body": body.to_string()});
    origin(&json!({"robots": 404, "page": page}).to_string()).await
}

#[tokio::test]
async fn h1_a_wait_in_a_body_is_read_where_its_type_says_so_whatever_the_status() {
    let google = json!({"error": {"code": 429, "details": [{"retryDelay": "400s"}]}});
    let stack_exchange = json!({"items": [], "backoff": 400, "quota_remaining": 17});
    for (status, kind, body, is_obeyed) in [
        (429, JSON, &google, true),
        (503, "application/problem+json", &google, true),
        (403, JSON, &google, true),
        (200, JSON, &stack_exchange, true),
        (200, "text/html", &stack_exchange, false),
        (404, "text/html", &google, false),
    ] {
        let origin = answering(status, kind, &[], body).await;
        let client = client(|p| p.max_retries = 0);
        let first = response(client.get(&origin.url("/a")).await);
        assert_eq!(first.status.as_u16(), status);
        let whole = first.body.collect(1 << 20).await.unwrap();
        assert_eq!(whole, body.to_string(), "what was read ahead is delivered");
        let reply = client.get(&origin.url("/b")).await;
        if !is_obeyed {
            assert_eq!(response(reply).status.as_u16(), status, "{kind}");
            continue;
        }
        let bound = deferred(reply).bound;
        assert_eq!(bound.reason, Reason::ServerHold, "{status} {kind}");
        let wait = bound.not_before.since(client.now());
        assert!(wait > Duration::from_secs(399), "{status}: {wait:?}");
        assert_eq!(count(&origin, "/b"), 0);
    }
}

#[tokio::test]
async fn h1_a_longer_wait_in_a_body_lengthens_the_one_in_the_head_and_is_on_record() {
    let body = json!({"error": {"retry_after": 500}});
    let origin = answering(429, JSON, &[["Retry-After", "1"]], &body).await;
    let (_dir, log, audit) = log();
    let client = builder(fast(|p| p.max_retries = 0))
        .audit(audit)
        .build()
        .unwrap();
    assert_eq!(status(&client, &origin.url("/a")).await, 429);
    assert_eq!(
        deferred(client.get(&origin.url("/b")).await).bound.reason,
        Reason::ServerHold
    );
    let holds: Vec<_> = records(&log)
        .into_iter()
        .filter(|record| matches!(record.event, Event::HoldStarted { .. }))
        .map(|record| (record.head.trigger.unwrap(), record.head.status_code))
        .collect();
    let expected = [
        ("429_retry_after".to_owned(), Some(429)),
        ("429_body_retry_after".to_owned(), Some(429)),
    ];
    assert_eq!(holds, expected);
}

#[tokio::test]
async fn r4_a_403_whose_body_speaks_of_limits_holds_and_suppresses_nothing() {
    let headers = [["X-RateLimit-Limit", "10"], ["X-RateLimit-Reset", "400"]];
    for (message, is_limit) in [
        ("You have exceeded a secondary rate limit", true),
        ("Bad credentials", false),
    ] {
        let origin = answering(403, JSON, &headers, &json!({ "message": message })).await;
        let client = client(|p| (p.max_retries, p.suppress_after) = (0, Some(1)));
        assert_eq!(status(&client, &origin.url("/a")).await, 403);
        let suppressed = client.suppressed_scopes();
        assert_eq!(suppressed.is_empty(), is_limit, "{message}");
        let scope = Scope::named(&origin.addr().to_string());
        let state = client.state(&scope).await.unwrap();
        assert_eq!(state.hold(client.now()).is_some(), is_limit, "{message}");
    }
}

#[tokio::test]
async fn a_profile_tells_the_unit_of_what_the_body_says() {
    let body = json!({"message": "You are being rate limited.", "retry_after": 400_000});
    let origin = answering(429, "text/plain", &[], &body).await;
    let scope = Scope::named(&origin.addr().to_string());
    let policies = Policies::new(fast(|p| p.max_retries = 0));
    let policies = policies.with_profile(scope, Profile::DiscordV6);
    let client = curtsy::Client::builder()
        .policies(policies)
        .build()
        .unwrap();
    assert_eq!(status(&client, &origin.url("/a")).await, 429);
    let bound = deferred(client.get(&origin.url("/b")).await).bound;
    let wait = bound.not_before.since(client.now());
    assert!((390..=460).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test]
async fn a_refusal_holds_before_its_body_has_come_and_a_body_that_does_not_come_holds_nobody_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await.unwrap();
        let refusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n\
                       Retry-After: 400\r\nContent-Length: 90000\r\n\r\n{\"retry_after\": 500,";
        stream.write_all(refusal.as_bytes()).await.unwrap();
        // Held open, and silent.
        let _ = stream.read(&mut head).await;
    });
    let client = client(|p| (p.respect_robots, p.max_retries) = (false, 0));
    let scope = Scope::of(&url.parse().unwrap()).unwrap();
    let getting = tokio::spawn({
        let (client, url) = (client.clone(), url.clone());
        async move { client.get(&url).await }
    });
    let began = Instant::now();
    let held_until = async || {
        let state = client.state(&scope).await.unwrap();
        state.hold(client.now()).map(|hold| hold.until)
    };
    while held_until().await.is_none() {
        assert!(began.elapsed() < Duration::from_secs(10), "no hold");
        tokio::time::sleep(ms(5)).await;
    }
    assert!(!getting.is_finished(), "the hold came with the head");
    let got = response(getting.await.unwrap());
    assert_eq!(got.status.as_u16(), 429);
    let hold = held_until().await.unwrap().since(client.now());
    assert!(hold > Duration::from_secs(490), "what had come is read");
    drop(got);
    server.abort();
}
