use std::time::Duration;

use curtsy_origin::{Verdict, judge};

use crate::{fetch, start};

#[tokio::test]
async fn a_quota_is_told_counted_down_and_enforced() {
    let origin = start(
        r#"{"policies": [{"kind": "fixed_window", "limit": 2, "window_s": 60}],
            "dialect": "draft6", "refuse": {"status": 503}}"#,
    )
    .await;
    for (path, status, remaining, retry_after) in [
        ("/a", 200, "1", None),
        ("/b", 200, "0", None),
        ("/c", 503, "0", Some("60".to_owned())),
    ] {
        let answer = fetch(&origin, path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.header("ratelimit-limit").as_deref(), Some("2"));
        assert_eq!(
            answer.header("ratelimit-remaining").as_deref(),
            Some(remaining)
        );
        assert_eq!(answer.header("ratelimit-reset").as_deref(), Some("60"));
        assert_eq!(answer.header("ratelimit-policy").as_deref(), Some("2;w=60"));
        assert_eq!(answer.header("retry-after"), retry_after, "{path}");
    }
    let arrivals = origin.arrivals();
    let refused = &arrivals[2];
    assert_eq!(
        (refused.verdict, refused.status),
        (Verdict::Refused, Some(503))
    );
    let hold = refused.hold_until.unwrap() - refused.answered.unwrap();
    assert_eq!(hold, Duration::from_secs(60));
    let judged = judge(origin.script(), &arrivals, &["/a", "/b", "/c"]);
    assert_eq!((judged.refused, judged.in_hold), (1, 0));
    assert_eq!(judged.lost, ["/c"]);
}

#[tokio::test]
async fn a_window_opens_again_when_it_said() {
    let origin = start(
        r#"{"policies": [{"kind": "fixed_window", "limit": 1, "window_s": 0.2}],
            "dialect": "x_delta_float", "refuse": {"retry_after": 0.2}}"#,
    )
    .await;
    assert_eq!(fetch(&origin, "/").await.status(), 200);
    let refused = fetch(&origin, "/").await;
    assert_eq!(refused.status(), 429);
    let reset: f64 = refused
        .header("x-ratelimit-reset")
        .unwrap()
        .parse()
        .unwrap();
    assert!(reset > 0.0 && reset <= 0.2, "{reset}");
    tokio::time::sleep(Duration::from_secs_f64(reset + 0.002)).await;
    assert_eq!(fetch(&origin, "/").await.status(), 200);
}

#[tokio::test]
async fn a_place_in_flight_is_free_when_its_answer_has_gone() {
    let origin = start(
        r#"{"policies": [{"kind": "concurrency", "limit": 1}], "service": {"latency_ms": 60}}"#,
    )
    .await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        fetch(&origin, "/second").await
    };
    let (first, second) = tokio::join!(fetch(&origin, "/first"), late);
    assert_eq!((first.status(), second.status()), (200, 429));
    assert_eq!(second.header("retry-after").as_deref(), Some("1"));
    assert_eq!(fetch(&origin, "/third").await.status(), 200);
    let in_flight: Vec<_> = origin
        .arrivals()
        .iter()
        .map(|arrival| arrival.in_flight)
        .collect();
    assert_eq!(in_flight, [1, 2, 1]);
}

#[tokio::test]
async fn robots_is_exempt_unless_told_otherwise() {
    let script = |governed: bool| {
        format!(
            r#"{{"policies": [{{"kind": "fixed_window", "limit": 1, "window_s": 60}}],
                 "robots": "User-agent: *\nDisallow: /x\n", "robots_governed": {governed}}}"#
        )
    };
    let origin = start(&script(false)).await;
    for _ in 0..3 {
        let robots = fetch(&origin, "/robots.txt").await;
        assert_eq!(robots.status(), 200);
        assert_eq!(robots.body(), b"User-agent: *\nDisallow: /x\n");
    }
    assert_eq!(origin.arrivals()[2].verdict, Verdict::Exempt);
    assert_eq!(fetch(&origin, "/").await.status(), 200);

    let origin = start(&script(true)).await;
    assert_eq!(fetch(&origin, "/robots.txt").await.status(), 200);
    assert_eq!(fetch(&origin, "/robots.txt").await.status(), 429);
}

#[tokio::test]
async fn robots_may_have_a_status_and_is_absent_by_default() {
    let origin = start(r#"{"robots": 503}"#).await;
    assert_eq!(fetch(&origin, "/robots.txt").await.status(), 503);
    let origin = start("{}").await;
    assert_eq!(fetch(&origin, "/robots.txt").await.status(), 404);
}

#[tokio::test]
async fn an_outage_answers_with_its_status_and_its_end() {
    let origin = start(
        r#"{"outages": [{"at_s": 0.1, "for_s": 0.2, "status": 502, "retry_after": "seconds"}]}"#,
    )
    .await;
    assert_eq!(fetch(&origin, "/").await.status(), 200);
    tokio::time::sleep(Duration::from_millis(120)).await;
    let down = fetch(&origin, "/").await;
    assert_eq!(down.status(), 502);
    assert_eq!(down.header("retry-after").as_deref(), Some("1"));
    assert_eq!(origin.arrivals()[1].verdict, Verdict::Outage);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(fetch(&origin, "/").await.status(), 200);
}

#[tokio::test]
async fn an_outage_overtakes_what_is_still_being_served() {
    let origin = start(
        r#"{"outages": [{"at_s": 0.05, "for_s": 10, "retry_after": "none"}],
            "service": {"latency_ms": 100}}"#,
    )
    .await;
    let answer = fetch(&origin, "/").await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.header("retry-after"), None);
    assert_eq!(origin.arrivals()[0].verdict, Verdict::Outage);
}

#[tokio::test]
async fn an_outage_may_reset_connections() {
    let origin = start(r#"{"outages": [{"at_s": 0, "for_s": 10, "reset": true}]}"#).await;
    let answer = fetch(&origin, "/").await;
    assert!(answer.reset && answer.bytes.is_empty());
    assert_eq!(origin.arrivals()[0].status, None);
}

#[tokio::test]
async fn an_admitted_request_may_be_told_a_wait_that_is_no_hold() {
    let origin = start(
        r#"{"policies": [{"kind": "fixed_window", "limit": 5, "window_s": 9}],
            "retry_after_on_ok": "seconds"}"#,
    )
    .await;
    let answer = fetch(&origin, "/").await;
    assert_eq!(
        (answer.status(), answer.header("retry-after").as_deref()),
        (200, Some("9"))
    );
    assert_eq!(origin.arrivals()[0].hold_until, None);
}
