//! HTTPS with a certificate authority made on the fly.

use std::sync::Arc;

use curtsy::clock::Clock;
use curtsy::store::MemoryQueue;
use curtsy::transport::{Transport, TransportErrorKind};
use curtsy::{Bodies, Client, ErrorKind, JobOptions, Outcome, Request};
use curtsy_origin::{Options, Origin, Protocol, Script, Tls, judge, sized_body};
use http::header::{HOST, HeaderValue};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::*;

/// A server's certificate and key, and the authority that vouches for it, all in PEM.
struct Certified {
    authority: String,
    chain: String,
    key: String,
}

fn certified() -> Certified {
    let root_key = KeyPair::generate().unwrap();
    let mut root = CertificateParams::new(Vec::new()).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = root.self_signed(&root_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let names = vec!["secure.test".to_owned()];
    let certificate = CertificateParams::new(names).unwrap();
    let certificate = certificate
        .signed_by(&key, &Issuer::new(root, root_key))
        .unwrap();
    Certified {
        authority,
        chain: certificate.pem(),
        key: key.serialize_pem(),
    }
}

async fn secure(script: &str, certified: &Certified, protocols: &[&str]) -> Origin {
    let tls = Tls::from_pem(&certified.chain, &certified.key).unwrap();
    let options = Options {
        tls: Some(tls.offering(protocols)),
        ..Options::default()
    };
    Origin::start_with(Script::from_json(script).unwrap(), options)
        .await
        .unwrap()
}

fn trusting(authority: &str, origin: &Origin) -> Client {
    let entry = format!("secure.test:{}:127.0.0.1", origin.addr().port());
    let transport = Transport::builder(Clock::system())
        .ca_certificates(authority)
        .resolve(entry.parse().unwrap())
        .build()
        .unwrap();
    let policy = fast(|p| (p.backoff_base, p.max_retries) = (ms(5), 1));
    builder(policy).transport(transport).build().unwrap()
}

fn url(origin: &Origin, path: &str) -> String {
    format!("https://secure.test:{}{path}", origin.addr().port())
}

#[tokio::test]
async fn pages_and_robots_come_by_http_1_and_2_in_every_coding() {
    let certified = certified();
    let codings = ["gzip", "deflate", "br", "zstd"];
    let pages: Vec<String> = codings
        .iter()
        .map(|coding| format!(r#""/{coding}": {{"body_bytes": 3000, "coding": "{coding}"}}"#))
        .collect();
    let script = format!(
        r#"{{"robots": "User-agent: *\nDisallow: /no\n", "pages": {{{}}}}}"#,
        pages.join(",")
    );
    for (protocols, protocol) in [
        (&["http/1.1"][..], Protocol::Http11),
        (&["h2", "http/1.1"], Protocol::Http2),
        (&[], Protocol::Http11),
    ] {
        let origin = secure(&script, &certified, protocols).await;
        let client = trusting(&certified.authority, &origin);
        for coding in codings {
            let got = response(client.get(&url(&origin, &format!("/{coding}"))).await);
            let body = got.body.collect(3000).await.unwrap();
            assert_eq!(body, sized_body(3000), "{coding} {protocol:?}");
        }
        disallowed(client.get(&url(&origin, "/no")).await);
        let arrivals = origin.arrivals();
        assert!(arrivals.iter().all(|arrival| arrival.protocol == protocol));
        assert_eq!(origin.connections(), 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn what_came_by_http_2_is_archived_as_http_1_writes_it() {
    let certified = certified();
    let script = r#"{"robots": 404, "page": {"body_bytes": 3000, "coding": "gzip"}}"#;
    let origin = secure(script, &certified, &["h2"]).await;
    let (dir, url) = (tempfile::tempdir().unwrap(), url(&origin, "/a?b=c"));
    let archive = dir.path().join("a.warc.gz");
    let options = JobOptions {
        bodies: Bodies::Warc(archive.clone()),
        ..JobOptions::default()
    };
    let client = trusting(&certified.authority, &origin);
    let (queue, entries) = (Arc::new(MemoryQueue::new()), vec![entry(&url)]);
    let summary = run_on(client, queue, dir.path(), entries, options).await;
    assert_eq!(summary.unwrap().count(Outcome::Fetched), 1);
    assert_eq!(origin.arrivals()[1].protocol, Protocol::Http2);

    let (records, _) = crate::warc::read(&archive);
    let [_, response, request] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!(response.field("warc-target-uri"), url);
    assert!(response.text().starts_with("HTTP/1.1 200"));
    assert!(response.text().contains("content-encoding: gzip\r\n"));
    let host = format!("host: secure.test:{}\r\n", origin.addr().port());
    let head = format!("GET /a?b=c HTTP/1.1\r\n{host}");
    assert!(request.text().starts_with(&head), "{}", request.text());
}

#[tokio::test]
async fn p10_on_http_2_too_each_request_departs_at_its_own_time() {
    let certified = certified();
    let script =
        r#"{"robots": "User-agent: *\nCrawl-delay: 0.1\n", "service": {"latency_ms": 150}}"#;
    let origin = secure(script, &certified, &["h2"]).await;
    let client = trusting(&certified.authority, &origin);
    let paths: Vec<String> = (0..5).map(|n| format!("/{n}")).collect();
    let urls = paths.iter().map(|path| url(&origin, path));
    assert_eq!(statuses(&client, urls).await, [200; 5]);
    let verdict = judge(origin.script(), &origin.arrivals(), &paths);
    assert!(verdict.is_flawless(), "{verdict:?}");
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_an_error_and_nothing_is_sent() {
    let (theirs, other) = (certified(), certified());
    let origin = secure("{}", &theirs, &["http/1.1"]).await;
    let client = trusting(&other.authority, &origin);
    let error = client.get(&url(&origin, "/x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Tls));
    assert_eq!(origin.arrived(), 0);
}

#[tokio::test]
async fn a_request_that_cannot_be_written_departs_nowhere_and_costs_the_server_nothing() {
    let certified = certified();
    let origin = secure(r#"{"robots": 404}"#, &certified, &["h2"]).await;
    let client = trusting(&certified.authority, &origin);
    let host = HeaderValue::from_static("no host");
    let request = Request::get(&url(&origin, "/x"))
        .unwrap()
        .header(HOST, host);
    let error = client.execute(request).await.unwrap_err();
    let kind = ErrorKind::Transport(TransportErrorKind::Request);
    assert_eq!(error.kind(), kind);
    assert_eq!(paths(&origin), ["/robots.txt"]);
    assert!(client.backoff_delays().is_empty());
    assert_eq!(status(&client, &url(&origin, "/x")).await, 200);
}
