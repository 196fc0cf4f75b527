//! T4: an alert reaches log, webhook and command once when it is raised, and once when it is cleared.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use curtsy::core::audit::Event;
use curtsy::core::{AlertRules, Scope};
use curtsy::{AlertOptions, Alerts, Client, Notice, Notices};
use serde_json::Value;

use crate::support::*;

/// Waits until this holds.
async fn eventually(holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(ms(20)).await;
    }
    panic!("it does not come to hold");
}

fn alerting(options: AlertOptions, notices: Notices) -> (Client, Alerts) {
    let alerts = Alerts::new(options).unwrap();
    let client = builder(fast(|p| p.suppress_after = Some(1)))
        .alerts(alerts.clone())
        .notices(notices)
        .build()
        .unwrap();
    (client, alerts)
}

/// What a webhook was sent: when, the head, and the body.
type Sent = Arc<Mutex<Vec<(Instant, String, Value)>>>;

/// A receiver of webhooks that answers the first with this status, and takes the rest.
fn receiver(first: &'static str) -> (std::net::SocketAddr, Sent) {
    use std::io::{BufRead, BufReader, Read, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Sent::default();
    let heard = Arc::clone(&sent);
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
                if line == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let status = if n == 0 { first } else { "204 Taken" };
            let answer =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            let body = serde_json::from_slice(&body).unwrap();
            heard.lock().unwrap().push((Instant::now(), head, body));
        }
    });
    (address, sent)
}

#[tokio::test]
async fn t4_a_webhook_is_told_once_of_each_turn_and_again_where_it_is_busy() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let (address, sent) = receiver("503 Busy");
    let (_dir, log, audit) = log();
    let alerts = Alerts::new(AlertOptions {
        webhook: Some(format!("http://ann:secret@{address}/hook?key=k")),
        ..AlertOptions::default()
    })
    .unwrap();
    let client = builder(fast(|p| p.suppress_after = Some(1)))
        .alerts(alerts.clone())
        .audit(audit)
        .build()
        .unwrap();
    let watch = alerts.watch(&client).unwrap();
    response(client.get(&origin.url("/1")).await);
    response(client.get(&origin.url("/2")).await);
    eventually(|| sent.lock().unwrap().len() == 2).await;
    let scope = Scope::named(&origin.addr().to_string());
    assert_eq!(watch.raised().keys().collect::<Vec<_>>(), [&scope]);
    assert!(client.lift(&scope).await.unwrap());
    eventually(|| sent.lock().unwrap().len() == 3).await;
    watch.finish().await;

    let sent = sent.lock().unwrap().clone();
    let (_, head, first) = &sent[0];
    assert!(head.starts_with("POST /hook?key=k HTTP/1.1\r\n"), "{head}");
    // "ann:secret"
    assert!(head.contains("Basic YW5uOnNlY3JldA=="), "{head}");
    assert_eq!(first["alert"], "scope_suppressed");
    assert_eq!(first["scope"], scope.as_str());
    assert_eq!(
        sent.iter()
            .map(|(_, _, body)| &body["state"])
            .collect::<Vec<_>>(),
        ["raised", "raised", "cleared"],
        "the first was not taken"
    );
    let logged = records(&log)
        .into_iter()
        .filter(|record| matches!(record.event, Event::Alert { .. }));
    assert_eq!(logged.count(), 2);
    assert_eq!(pages(&origin).len(), 1, "the webhook is no departure");
}

#[tokio::test]
async fn t4_a_webhook_has_a_pace_of_its_own_and_waits_as_long_as_it_asks() {
    let one = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let other = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let (address, sent) = receiver("429 Busy\r\nRetry-After: 3");
    let options = AlertOptions {
        webhook: Some(format!("http://{address}/")),
        ..AlertOptions::default()
    };
    let (client, alerts) = alerting(options, Notices::default());
    let watch = alerts.watch(&client).unwrap();
    response(client.get(&one.url("/")).await);
    response(client.get(&other.url("/")).await);
    eventually(|| sent.lock().unwrap().len() == 3).await;
    watch.finish().await;
    let sent = sent.lock().unwrap().clone();
    let gap = |n: usize| sent[n].0 - sent[n - 1].0;
    // Without the answer's word the first wait would be one second, and without a pace there would be none.
    assert!(gap(1) > ms(2_000), "{:?}", gap(1));
    assert!(gap(2) > ms(500), "{:?}", gap(2));
    assert_eq!(sent[0].2, sent[1].2, "the same again");
    assert_ne!(sent[1].2["scope"], sent[2].2["scope"]);
}

#[tokio::test]
async fn t4_what_begins_again_before_the_cool_down_is_over_is_not_told_again() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let scope = Scope::named(&origin.addr().to_string());
    for (cool_down, expected) in [
        (Duration::from_secs(3600), &["raised", "cleared"][..]),
        (Duration::ZERO, &["raised", "cleared", "raised"]),
    ] {
        let told = Arc::<Mutex<Vec<&str>>>::default();
        let heard = Arc::clone(&told);
        let notices = Notices::to(move |notice| {
            if let Notice::Alert { alert, .. } = notice {
                heard.lock().unwrap().push(alert.state.label());
            }
        });
        let rules = AlertRules {
            cool_down,
            ..AlertRules::default()
        };
        let options = AlertOptions {
            rules,
            ..AlertOptions::default()
        };
        let (client, alerts) = alerting(options, notices);
        let watch = alerts.watch(&client).unwrap();
        response(client.get(&origin.url("/1")).await);
        eventually(|| told.lock().unwrap().len() == 1).await;
        assert!(client.lift(&scope).await.unwrap());
        eventually(|| told.lock().unwrap().len() == 2).await;
        response(client.get(&origin.url("/2")).await);
        watch.finish().await;
        assert_eq!(*told.lock().unwrap(), expected, "{cool_down:?}");
    }
}

#[tokio::test]
async fn t4_a_webhook_that_nobody_answers_keeps_nothing_waiting_and_is_told_without_its_secrets() {
    let origin = origin(r#"{"robots": 404, "pages": {"/403": {"status": 403}}}"#).await;
    let other = crate::support::origin(r#"{"page": {"status": 404}}"#).await;
    let options = AlertOptions {
        webhook: Some(format!(
            "http://ann:secret@{}/secret?key=secret",
            other.addr()
        )),
        ..AlertOptions::default()
    };
    // 404: no use to try again.
    let lost = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&lost);
    let notices = Notices::to(move |notice| {
        if let Notice::AlertLost { error, .. } = notice {
            heard.lock().unwrap().push(error.unwrap().to_string());
        }
    });
    let (client, alerts) = alerting(options, notices);
    let watch = alerts.watch(&client).unwrap();
    response(client.get(&origin.url("/403")).await);
    eventually(|| !lost.lock().unwrap().is_empty()).await;
    let told = lost.lock().unwrap().join("\n");
    assert!(told.contains("404") && !told.contains("secret"), "{told}");
    watch.finish().await;
}

#[tokio::test]
async fn t4_what_could_not_be_told_by_the_end_is_told_as_lost() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let (address, sent) = receiver("503 Busy\r\nRetry-After: 60");
    let lost = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&lost);
    let notices = Notices::to(move |notice| {
        if let Notice::AlertLost { channel, error } = notice {
            heard
                .lock()
                .unwrap()
                .push(format!("{channel}: {}", error.unwrap()));
        }
    });
    let options = AlertOptions {
        webhook: Some(format!("http://{address}/")),
        ..AlertOptions::default()
    };
    let (client, alerts) = alerting(options, notices);
    let watch = alerts.watch(&client).unwrap();
    response(client.get(&origin.url("/")).await);
    eventually(|| sent.lock().unwrap().len() == 1).await;
    watch.finish().await;
    assert_eq!(*lost.lock().unwrap(), ["webhook: the end came before"]);
}

#[cfg(unix)]
#[tokio::test]
async fn t4_a_command_reads_the_alert_and_no_shell_is_between() {
    let origin = origin(r#"{"robots": 503, "page": {"status": 200}}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let (script, out) = (dir.path().join("told"), dir.path().join("out $(x)"));
    std::fs::write(
        &script,
        "#!/bin/sh\n{ cat; echo; echo \"$CURTSY_ALERT_KIND\"; } >> \"$1\"\n",
    )
    .unwrap();
    let mut mode = std::fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let options = AlertOptions {
        command: vec![script.display().to_string(), out.display().to_string()],
        rules: AlertRules {
            sustained: Duration::ZERO,
            ..AlertRules::default()
        },
        ..AlertOptions::default()
    };
    let (client, alerts) = alerting(options, Notices::default());
    let watch = alerts.watch(&client).unwrap();
    deferred(client.get(&origin.url("/")).await);
    let told = || std::fs::read_to_string(&out).unwrap_or_default();
    eventually(|| told().contains("\nrobots_unreachable\n")).await;
    watch.finish().await;
    let lines: Vec<String> = told().lines().map(str::to_owned).collect();
    let of_robots = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_robots: Vec<_> = of_robots
        .filter(|told| told["alert"] == "robots_unreachable")
        .collect();
    assert_eq!(of_robots.len(), 1, "{lines:?}");
    assert_eq!(of_robots[0]["scope"], origin.addr().to_string());
}
