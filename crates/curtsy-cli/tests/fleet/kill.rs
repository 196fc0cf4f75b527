//! Workers that die.

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
    // What was in flight at the kill, and no more, is asked for again.
    let again = times.values().filter(|times| **times > 1).count();
    assert!(again <= HOSTS, "{again} URLs were fetched twice");
}
