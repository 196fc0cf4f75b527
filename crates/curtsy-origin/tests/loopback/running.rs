use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use curtsy_origin::{
    Clock, ErrorKind, LogFormat, LogWriter, Options, Origin, Script, judge, read_log,
};
use tokio::net::TcpStream;

use crate::{connect, fetch, send, start, until};

#[tokio::test]
async fn many_origins_live_side_by_side_on_one_clock() {
    let clock = Clock::start();
    let mut origins = Vec::new();
    for n in 1..=50 {
        let options = Options {
            bind: (Ipv4Addr::new(127, 0, 0, n), 0).into(),
            clock: Some(clock),
            ..Options::default()
        };
        origins.push(
            Origin::start_with(Script::default(), options)
                .await
                .unwrap(),
        );
    }
    let mut last = Duration::ZERO;
    for origin in &origins {
        assert_eq!(fetch(origin, "/").await.status(), 200);
        let arrivals = origin.arrivals();
        assert_eq!(arrivals.len(), 1);
        assert!(arrivals[0].at > last);
        last = arrivals[0].at;
    }
    assert!(last <= clock.now());
}

#[tokio::test]
async fn a_stop_lets_a_request_end_and_accepts_no_more() {
    let mut origin = start(r#"{"service": {"latency_ms": 80}}"#).await;
    let addr = origin.addr();
    let mut idle = connect(&origin).await;
    let mut busy = connect(&origin).await;
    send(&mut busy, "/x", "").await;
    until(|| origin.arrived() == 1).await;
    let begun = Instant::now();
    origin.stop().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(500));
    assert_eq!(crate::read(&mut busy).await.body(), b"ok\n");
    assert!(crate::read(&mut idle).await.bytes.is_empty());
    assert!(TcpStream::connect(addr).await.is_err());
    assert!(origin.arrivals()[0].whole);
    origin.stop().await.unwrap();
}

#[tokio::test]
async fn a_life_ends_by_itself() {
    let options = Options {
        life: Some(Duration::from_millis(50)),
        ..Options::default()
    };
    let mut origin = Origin::start_with(Script::default(), options)
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_millis(500), origin.ended())
        .await
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(origin.addr()).await.is_err());
}

#[tokio::test]
async fn a_dropped_origin_is_gone() {
    let origin = start("{}").await;
    let addr = origin.addr();
    let mut client = connect(&origin).await;
    drop(origin);
    assert!(crate::read(&mut client).await.bytes.is_empty());
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn connections_over_the_bound_wait_their_turn() {
    let options = Options {
        max_connections: 1,
        ..Options::default()
    };
    let origin = Origin::start_with(Script::default(), options)
        .await
        .unwrap();
    let first = connect(&origin).await;
    let mut second = connect(&origin).await;
    send(&mut second, "/", "").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((origin.connections(), origin.arrived()), (1, 0));
    drop(first);
    until(|| (origin.connections(), origin.arrived()) == (2, 1)).await;
}

#[tokio::test]
async fn arrivals_over_the_bound_are_counted_and_logged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("arrivals.jsonl");
    let options = Options {
        max_arrivals: 2,
        keep_headers: 1,
        log: Some(LogWriter::create(&path, LogFormat::of(&path)).unwrap()),
        ..Options::default()
    };
    let mut origin = Origin::start_with(Script::default(), options)
        .await
        .unwrap();
    let paths = ["/a", "/b", "/c", "/d"];
    for path in paths {
        fetch(&origin, path).await;
    }
    origin.stop().await.unwrap();
    assert_eq!(
        (origin.arrivals().len(), origin.arrived(), origin.unkept()),
        (2, 4, 2)
    );
    let kept = origin.arrivals();
    assert_eq!((kept[0].headers.len(), kept[1].headers.len()), (2, 0));
    let logged = read_log(&path).unwrap();
    assert_eq!(judge(origin.script(), &logged, &paths).served, 4);
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let origin = start("{}").await;
    let error = Origin::start(Script::default(), origin.addr())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Listen);
    let mut script = Script::default();
    script.refuse.status = 42;
    let nowhere: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    let error = Origin::start(script, nowhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Script);
}
