use std::time::{Duration, Instant};

use curtsy_origin::{Protocol, sized_body};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{connect, fetch, read, send, start};

#[tokio::test]
async fn a_path_answers_as_its_page_says() {
    let origin = start(
        r#"{"page": {"body": "any\n"},
            "pages": {"/gone": {"status": 410, "body": "no more",
                                "headers": [["Content-Type", "text/html"], ["X-A", "1"], ["X-A", "2"]]},
                      "/empty": {"status": 204},
                      "/sized": {"body_bytes": 70000}}}"#,
    )
    .await;
    let gone = fetch(&origin, "/gone").await;
    assert_eq!((gone.status(), gone.body()), (410, &b"no more"[..]));
    assert_eq!(gone.header("content-type").as_deref(), Some("text/html"));
    assert_eq!(gone.head().matches("x-a: ").count(), 2);
    assert!(
        gone.header("date")
            .is_some_and(|date| date.ends_with(" GMT"))
    );
    let empty = fetch(&origin, "/empty").await;
    assert_eq!((empty.status(), empty.body()), (204, &b""[..]));
    let sized = fetch(&origin, "/sized").await;
    assert_eq!(sized.header("content-length").as_deref(), Some("70000"));
    assert!(sized.body() == sized_body(70_000));
    assert_eq!(fetch(&origin, "/else?where").await.body(), b"any\n");
}

#[tokio::test]
async fn the_date_may_be_absent_or_wrong() {
    let origin = start(r#"{"date": false}"#).await;
    assert_eq!(fetch(&origin, "/").await.header("date"), None);
    let origin = start(r#"{"clock_skew_s": -1000000000}"#).await;
    let date = fetch(&origin, "/").await.header("date").unwrap();
    let year: u32 = date.split(' ').nth(3).unwrap().parse().unwrap();
    assert!((1990..2010).contains(&year), "{date}");
}

#[tokio::test]
async fn a_redirect_names_its_target() {
    let origin = start(r#"{"pages": {"/r/*": {"location": "/*"}, "/s": {"status": 308, "location": "http://example.org/"}}}"#).await;
    let redirect = fetch(&origin, "/r/a/b?c=d").await;
    assert_eq!(redirect.status(), 302);
    assert_eq!(redirect.header("location").as_deref(), Some("/a/b?c=d"));
    let redirect = fetch(&origin, "/s").await;
    assert_eq!(redirect.status(), 308);
    assert_eq!(
        redirect.header("location").as_deref(),
        Some("http://example.org/")
    );
}

#[tokio::test]
async fn pages_in_turn_end_with_the_last() {
    let origin = start(r#"{"pages": {"/x": [{"status": 500}, {"status": 503}, {}]}}"#).await;
    for status in [500, 503, 200, 200] {
        assert_eq!(fetch(&origin, "/x").await.status(), status);
    }
}

#[tokio::test]
async fn a_coded_body_says_so_and_is_shorter() {
    let origin = start(r#"{"pages": {"/gz": {"body_bytes": 100000, "coding": "gzip"}}}"#).await;
    let answer = fetch(&origin, "/gz").await;
    assert_eq!(answer.header("content-encoding").as_deref(), Some("gzip"));
    assert_eq!(answer.body()[..2], [0x1f, 0x8b]);
    assert!(answer.body().len() < 10_000);
    let told: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!(told, answer.body().len());
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let origin = start("{}").await;
    let mut client = connect(&origin).await;
    client
        .write_all(b"HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let answer = read(&mut client).await;
    assert_eq!(answer.header("content-length").as_deref(), Some("3"));
    assert_eq!(answer.body(), b"");
    assert!(origin.arrivals()[0].whole);
}

#[tokio::test]
async fn a_connection_is_kept_and_an_arrival_tells_what_came_on_it() {
    let origin = start("{}").await;
    let mut client = connect(&origin).await;
    for n in 0..2 {
        send(
            &mut client,
            &format!("/{n}?q"),
            "User-Agent: tester/1\r\nX-Extra: yes\r\n",
        )
        .await;
        let mut bytes = [0; 4096];
        assert!(client.read(&mut bytes).await.unwrap() > 0);
    }
    fetch(&origin, "/other").await;
    let arrivals = origin.arrivals();
    let connections: Vec<_> = arrivals.iter().map(|arrival| arrival.connection).collect();
    assert_eq!(connections, [1, 1, 2]);
    assert_eq!(origin.connections(), 2);
    let second = &arrivals[1];
    assert_eq!(
        (second.seq, second.method.as_str(), second.path.as_str()),
        (2, "GET", "/1?q")
    );
    assert_eq!(second.bare_path(), "/1");
    assert_eq!(second.host.as_deref(), Some("localhost"));
    assert_eq!(second.user_agent.as_deref(), Some("tester/1"));
    assert_eq!(second.header("x-extra"), Some("yes"));
    assert_eq!(second.protocol, Protocol::Http11);
    assert!(second.at >= arrivals[0].done.unwrap());
}

#[tokio::test]
async fn latency_is_kept_and_workers_serve_in_turn() {
    let origin = start(
        r#"{"service": {"latency_ms": 40, "workers": 1}, "pages": {"/slow": {"latency_ms": 90}}}"#,
    )
    .await;
    let begun = Instant::now();
    tokio::join!(fetch(&origin, "/a"), fetch(&origin, "/b"));
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(80), "{took:?}");
    let begun = Instant::now();
    fetch(&origin, "/slow").await;
    assert!(begun.elapsed() >= Duration::from_millis(90));
}

#[tokio::test]
async fn a_request_with_a_body_is_read_before_its_answer() {
    let origin = start("{}").await;
    let mut client = connect(&origin).await;
    for _ in 0..2 {
        let request = format!(
            "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n{}",
            "x".repeat(50_000)
        );
        client.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = [0; 4096];
        let read = client.read(&mut bytes).await.unwrap();
        assert!(bytes[..read].starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_tunnel_is_declined() {
    let origin = start("{}").await;
    let mut client = connect(&origin).await;
    client
        .write_all(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = [0; 4096];
    let read = client.read(&mut bytes).await.unwrap();
    assert!(bytes[..read].starts_with(b"HTTP/1.1 501"));
}
