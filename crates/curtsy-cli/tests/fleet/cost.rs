//! What a fleet costs its Redis.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::fleet::Fleet;
use crate::server::Server;
use crate::support::serve_at;

const HOSTS: usize = 8;
const PAGES: usize = 40;
/// What it takes to get to know a host, to find its robots.txt, to lease it and to give it back.
const A_HOST: usize = 12;

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_departure_takes_three_calls_at_most_and_a_host_a_kibibyte() {
    let redis = Server::start(&[]);
    let server = serve_at(
        r#"{"robots": 404, "dialect": "draft8",
            "policies": [{"kind": "fixed_window", "limit": 1000, "window_s": 2}]}"#,
        Ipv4Addr::UNSPECIFIED,
    );
    let port = server.origin.addr().port();
    let urls: Vec<String> = (0..HOSTS * PAGES)
        .map(|n| format!("http://127.0.7.{}:{port}/{n}", 1 + n % HOSTS))
        .collect();
    let pace = ["--rate", "20", "--burst", "1"];
    let mut fleet = Fleet::start(&redis.url(), 2, &pace);
    fleet.fetch(&urls);
    let departures = server.origin.arrivals().len();
    let aside = A_HOST * HOSTS;
    // With these the scripts begin that swap and that load. What takes long is looked at once more, as it does
    // on a busy machine.
    let [swaps, loads] = ["getrange", "get"].map(|name| commands(&redis, &[name]));
    assert!(
        swaps <= 3 * departures + aside && loads <= departures / 2 + aside,
        "{swaps} swaps and {loads} loads for {departures} departures"
    );
    // The ends of several pages are recorded at once.
    let calls = calls(&redis);
    assert!(
        calls <= swaps + loads + departures + aside,
        "{calls} calls, {swaps} swaps and {loads} loads for {departures} departures"
    );
    for host in 1..=HOSTS {
        let key = format!("curtsy:{{scope:127.0.7.{host}:{port}}}");
        let bytes: usize = redis
            .ask(&["MEMORY", "USAGE", &key])
            .trim()
            .parse()
            .unwrap();
        assert!(bytes <= 1024, "{bytes} bytes");
    }
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn workers_that_wait_ask_nothing() {
    let redis = Server::start(&[]);
    let mut fleet = Fleet::start(&redis.url(), 0, &[]);
    fleet.join(&["--stay"]);
    fleet.join(&["--stay"]);
    std::thread::sleep(Duration::from_secs(2));
    let before = calls(&redis);
    std::thread::sleep(Duration::from_secs(5));
    let asked = calls(&redis) - before;
    // A heartbeat is due every quarter of a lease, which is a minute.
    assert!(asked <= 2, "{asked} calls in five seconds");
    assert_eq!([fleet.stop(0), fleet.stop(0)], [Some(130); 2]);
}

/// What was asked of this Redis, each a way there and back; what scripts call is none.
fn calls(redis: &Server) -> usize {
    let by_clients = [
        "evalsha",
        "eval",
        "scan",
        "hello",
        "subscribe",
        "unsubscribe",
    ];
    commands(redis, &by_clients)
}

/// How often these were called.
fn commands(redis: &Server, names: &[&str]) -> usize {
    let stats = redis.ask(&["INFO", "commandstats"]);
    let calls_of = |line: &str| {
        let (name, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = stats.split(',').next()?;
        names
            .contains(&name)
            .then(|| calls.parse::<usize>().unwrap())
    };
    stats.lines().filter_map(calls_of).sum()
}
