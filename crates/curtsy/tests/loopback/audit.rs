//! T1, T2: what is on record, and that it is so before a request leaves.

use std::error::Error as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use curtsy::core::audit::Event;
use curtsy::{Notices, Request};

use crate::support::*;

#[tokio::test]
async fn t2_each_departure_is_on_record_before_the_request_arrives() {
    let (_dir, log, audit) = log();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut unrecorded = Vec::new();
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..6 {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let url = format!("http://{address}{path}");
            let is_departure = |record: &curtsy::core::audit::Record| {
                matches!(record.event, Event::Departure(_)) && record.url.as_ref() == Some(&url)
            };
            if !records(&log).iter().any(is_departure) {
                unrecorded.push(path);
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
        }
        unrecorded
    });
    let client = builder(fast(|_| ())).audit(audit).build().unwrap();
    for n in 0..5 {
        assert_eq!(status(&client, &format!("http://{address}/{n}")).await, 200);
    }
    assert_eq!(server.join().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn h11_every_hold_rate_and_delay_change_is_on_record_with_its_trigger_and_chained() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nCrawl-delay: 0.01\nDisallow: /no\n", "pages": {
            "/429": [{"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}],
            "/503": [{"status": 503}, {"status": 200}],
            "/quota": {"headers": [["RateLimit-Limit", "100"], ["RateLimit-Remaining", "50"], ["RateLimit-Reset", "10"]]},
            "/403": {"status": 403}}}"#,
    )
    .await;
    let (_dir, log, audit) = log();
    let policy = fast(|p| p.suppress_after = Some(1));
    let client = builder(policy).audit(audit.clone()).build().unwrap();
    for path in ["/429", "/503", "/quota"] {
        assert_eq!(status(&client, &origin.url(path)).await, 200, "{path}");
    }
    disallowed(client.get(&origin.url("/no")).await);
    assert_eq!(status(&client, &origin.url("/403")).await, 403);

    let records = records(&log);
    let of = |name: &str| {
        let lines = json_lines(&log);
        let found = lines.into_iter().filter(|line| line["event"] == name);
        found.collect::<Vec<_>>()
    };
    assert_eq!(of("hold_started")[0]["trigger"], "429_retry_after");
    assert_eq!(of("hold_started")[0]["base_delay_ms"], 1000.0);
    assert!(of("hold_started")[0]["computed_delay_ms"].as_f64().unwrap() >= 1100.0);
    let delays = of("dynamic_delay_applied");
    let delayed = |status: u16| delays.iter().any(|line| line["status_code"] == status);
    assert!(delayed(429) && delayed(503) && delayed(200), "{delays:?}");
    let rate = of("rate_adjusted").pop().unwrap();
    assert!(rate["after"].as_f64().unwrap() < 6.0, "{rate}");
    assert_eq!(of("robots_read")[0]["crawl_delay_ms"], 10.0);
    assert_eq!(of("robots_disallowed")[0]["rule"], "Disallow: /no");
    assert_eq!(of("scope_suppressed").len(), 1);
    assert_eq!(of("departure").len(), origin.arrived() as usize);
    assert_eq!(of("outcome").len(), origin.arrived() as usize);

    let text = std::fs::read_to_string(&log).unwrap();
    let mut prev = sha256(b"");
    for (at, (line, record)) in text.lines().zip(&records).enumerate() {
        assert_eq!((record.seq, &record.prev), (at as u64 + 1, &prev), "{line}");
        assert_eq!(record.pipeline_id, "test");
        prev = sha256(line.as_bytes());
    }
    let tail = audit.tail().unwrap();
    assert_eq!((tail.seq, tail.hash), (records.len() as u64, prev));
}

#[tokio::test]
async fn no_query_and_no_password_is_in_any_line_message_or_notice() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nDisallow: /no\n", "pages": {
            "/429": {"status": 429, "headers": [["Retry-After", "900"]]},
            "/moved": {"location": "/end?key=s3cret#s3cret"},
            "/circle": {"location": "/circle?key=s3cret"},
            "/reset": {"fault": "reset_before_head"}}}"#,
    )
    .await;
    let (_dir, log, audit) = log();
    let told: Arc<Mutex<String>> = Arc::default();
    let teller = Arc::clone(&told);
    let notices = Notices::to(move |notice| {
        // A listener is given URLs whole, and shows them as it sees fit; what is said in words is not.
        if let curtsy::Notice::Failed { error, .. } = notice {
            teller
                .lock()
                .unwrap()
                .push_str(&format!("{error} {error:?}"));
        }
    });
    let policy = fast(|p| (p.max_retries, p.backoff_base) = (1, ms(1)));
    let client = builder(policy)
        .audit(audit)
        .notices(notices)
        .build()
        .unwrap();
    let host = origin.addr();
    let mut said = String::new();
    for path in ["/no", "/moved", "/circle", "/reset", "/429", "/later"] {
        let url = format!("http://user:s3cret@{host}{path}?key=s3cret");
        if let Err(error) = client.get(&url).await {
            let mut cause: Option<&dyn std::error::Error> = Some(&error);
            while let Some(error) = cause {
                said.push_str(&format!("{error} "));
                cause = error.source();
            }
            assert!(error.source().is_some() || error.kind().label() == "redirect");
        }
    }
    let refused = format!("http://user:s3cret@{}/?key=s3cret", nobody());
    said.push_str(&client.get(&refused).await.unwrap_err().to_string());
    for bad in [
        "http://user:s3cret@/?key=s3cret",
        "s3cret",
        "ftp://user:s3cret@h/",
    ] {
        said.push_str(&Request::get(bad).unwrap_err().to_string());
    }
    assert!(!said.is_empty());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("?[redacted]"));
    for text in [&said, &log, &*told.lock().unwrap()] {
        assert!(!text.contains("s3cret"), "{text}");
        assert!(!text.contains("user:"), "{text}");
    }
}
