//! S4: a Redis that is lost for a while, or for good.

use std::net::Ipv4Addr;
use std::time::Duration;

use curtsy_origin::Arrival;

use crate::fleet::Fleet;
use crate::server::Server;
use crate::support::{self, serve_at};

const HOSTS: usize = 4;
const PAGES: usize = 15;

struct Scene {
    redis: Server,
    origin: support::Server,
    fleet: Fleet,
    urls: Vec<String>,
}

impl Scene {
    /// A job of three seconds and more that has run for one.
    fn under_way(options: &[&str]) -> Self {
        let redis = Server::start(&[]);
        redis.write_at_once();
        let origin = serve_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED);
        let port = origin.origin.addr().port();
        let urls: Vec<String> = (0..HOSTS * PAGES)
            .map(|n| format!("http://127.0.6.{}:{port}/{n}", 1 + n % HOSTS))
            .collect();
        let pace = ["--rate", "5", "--burst", "1"];
        let mut fleet = Fleet::start(&redis.url(), 1, &[&pace[..], options].concat());
        fleet.begin(&urls);
        std::thread::sleep(Duration::from_secs(1));
        Self {
            redis,
            origin,
            fleet,
            urls,
        }
    }

    fn pages(&self) -> Vec<Arrival> {
        let arrivals = self.origin.origin.arrivals().into_iter();
        arrivals
            .filter(|arrival| arrival.path != "/robots.txt")
            .collect()
    }

    /// Nothing lost, nothing doubled, nothing early but by what this machine held up on its way.
    fn assert_flawless(&self) {
        self.fleet.assert_each_is_recorded_once(&self.urls);
        let pages = self.pages();
        assert_eq!(pages.len(), self.urls.len());
        for host in 1..=HOSTS {
            let host = format!("127.0.6.{host}:");
            let of_host = pages
                .iter()
                .filter(|page| page.host.as_ref().unwrap().starts_with(&host));
            let instants: Vec<Duration> = of_host.map(|page| page.at).collect();
            for pair in instants.windows(2) {
                let gap = pair[1] - pair[0];
                assert!(gap > Duration::from_millis(150), "{gap:?} at {host}");
            }
        }
    }
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_redis_that_stands_still_for_three_seconds_stops_departures_and_nothing_else() {
    let mut scene = Scene::under_way(&[]);
    scene.redis.signal("STOP");
    // What had been let through has arrived by then.
    std::thread::sleep(Duration::from_millis(200));
    let before = scene.pages().len();
    std::thread::sleep(Duration::from_millis(2800));
    let after = scene.pages().len();
    scene.redis.signal("CONT");
    assert!(before > 0 && before < scene.urls.len());
    assert_eq!(after, before, "departures without a store");
    scene.fleet.end();
    scene.assert_flawless();
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_redis_that_is_killed_and_started_again_stops_departures_and_nothing_else() {
    let mut scene = Scene::under_way(&[]);
    scene.redis.kill();
    std::thread::sleep(Duration::from_millis(200));
    let before = scene.pages().len();
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(scene.pages().len(), before, "departures without a store");
    scene.redis.start_again();
    scene.fleet.end();
    scene.assert_flawless();
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_redis_that_is_lost_for_longer_than_store_timeout_is_exit_4_and_the_job_goes_on_when_run_again()
{
    let mut scene = Scene::under_way(&["--store-timeout", "1s", "--lease", "2s"]);
    scene.redis.kill();
    assert_eq!(scene.fleet.exits(), [Some(4), Some(4)]);
    let before = scene.pages().len();
    scene.redis.start_again();
    std::thread::sleep(Duration::from_millis(500));
    scene.fleet.workers.clear();
    scene.fleet.fetch(&scene.urls);
    scene.fleet.assert_each_is_recorded_once(&scene.urls);
    // What had departed and could not be recorded is fetched again.
    let pages = scene.pages().len();
    assert!(
        before < scene.urls.len() && pages <= scene.urls.len() + HOSTS,
        "{pages}"
    );
}
