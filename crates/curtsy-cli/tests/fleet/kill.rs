//! Workers that die, and one that stays.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::fleet::Fleet;
use crate::server::Server;
use crate::support::serve_at;

const HOSTS: usize = 12;
const PAGES: usize = 10;

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn the_scopes_of_two_workers_that_are_killed_are_taken_over_and_nothing_recorded_is_fetched_again()
{
    let redis = Server::start(&[]);
    let server = serve_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED);
    let port = server.origin.addr().port();
    let urls: Vec<String> = (0..HOSTS * PAGES)
        .map(|n| format!("http://127.0.5.{}:{port}/{n}", 1 + n % HOSTS))
        .collect();
    let options = ["--rate", "5", "--burst", "1", "--lease", "2s"];
    let mut fleet = Fleet::start(&redis.url(), 3, &options);
    fleet.begin(&urls);
    std::thread::sleep(Duration::from_millis(1200));
    let mut recorded = fleet.kill(0);
    recorded.extend(fleet.kill(0));
    fleet.end();
    fleet.assert_each_is_recorded_once(&urls);

    let mut times: HashMap<String, usize> = HashMap::new();
    let mut last: HashMap<String, Duration> = HashMap::new();
    for arrival in server.origin.arrivals() {
        let host = arrival.host.unwrap();
        if arrival.path == "/robots.txt" {
            continue;
        }
        *times
            .entry(format!("http://{host}{}", arrival.path))
            .or_default() += 1;
        // What arrives a little too close left in time, and the one before it late.
        if let Some(before) = last.insert(host, arrival.at) {
            let gap = arrival.at - before;
            assert!(
                gap > Duration::from_millis(150),
                "{gap:?} before {}",
                arrival.path
            );
        }
    }
    assert!(recorded.len() > 5, "they were killed too early");
    for url in &recorded {
        assert_eq!(times[url], 1, "{url} was recorded, and fetched again");
    }
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_worker_that_stays_takes_up_what_is_added_later_and_ends_when_it_is_stopped() {
    let redis = Server::start(&[]);
    let server = serve_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED);
    let port = server.origin.addr().port();
    let mut fleet = Fleet::start(&redis.url(), 0, &["--rate", "20", "--burst", "1"]);
    fleet.join(&["--stay"]);
    let mut recorded = 0;
    for list in 0..2 {
        let urls: Vec<String> = (0..HOSTS * PAGES)
            .map(|n| format!("http://127.0.5.{}:{port}/{list}-{n}", 1 + n % HOSTS))
            .collect();
        fleet.begin(&urls);
        let mut feeder = fleet.workers.pop().unwrap();
        assert_eq!(feeder.process.wait().unwrap().code(), Some(0));
        let before = std::mem::replace(&mut recorded, fleet.workers[0].recorded().len());
        assert!(recorded > before, "it has done nothing of list {list}");
    }
    assert!(fleet.workers[0].process.try_wait().unwrap().is_none());
    assert_eq!(fleet.stop(0), Some(130));
}
