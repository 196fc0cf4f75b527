//! Workers whose wall clocks are wrong, each in its own way: nothing changes.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::fleet::{Fleet, departures_in};
use crate::pace::{
    HELD, SLOW, assert_pace_is_kept, assert_quota_and_holds_are_kept, fetch_through_resolvers,
    fetch_through_resolvers_over,
};
use crate::server::cluster;
use crate::support::{said, serve};
use crate::wrong_clocks::WrongClocks;

#[test]
#[ignore = "needs a C compiler: ./test installs it and runs this"]
fn a_process_that_shares_nothing_goes_by_its_own_wall_clock() {
    const AHEAD: i64 = 3600;
    let server = serve(r#"{"robots": 404}"#);
    let dir = tempfile::tempdir().unwrap();
    let mut fetch = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    fetch
        .args(["fetch", "-q", &server.url, "--state", "memory:", "-o"])
        .arg(dir.path())
        .env("HOME", dir.path());
    let clocks = WrongClocks::build();
    fetch.envs(clocks.ahead(AHEAD));
    let output = fetch.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let departed = departures_in(dir.path(), &server.url)[0].as_secs() as i64;
    let day = 24 * 60 * 60;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ahead = (departed - now.as_secs() as i64).rem_euclid(day);
    assert!((AHEAD - 60..=AHEAD).contains(&ahead), "{ahead} s ahead");
}

fn put_wrong(fleet: &mut Fleet) {
    fleet.put_clocks_wrong(WrongClocks::build());
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn workers_whose_clocks_are_30_s_apart_keep_one_quota_and_one_hold() {
    let host = serve(HELD);
    fetch_through_resolvers(&host, &["--max-rate", "50"], put_wrong);
    assert_quota_and_holds_are_kept(&host);
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn p10_workers_whose_clocks_are_30_s_apart_keep_one_pace() {
    let host = serve(SLOW);
    let fleet = fetch_through_resolvers(&host, &[], put_wrong);
    assert_pace_is_kept(&fleet, &host);
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn p10_workers_over_a_cluster_of_clocks_30_s_apart_keep_one_pace() {
    let clocks = WrongClocks::build();
    let redis = cluster([-30, 0, 30].map(|ahead| clocks.ahead(ahead).to_vec()));
    let host = serve(SLOW);
    let fleet = fetch_through_resolvers_over(&redis[0].url(), &host, &[], put_wrong);
    assert_pace_is_kept(&fleet, &host);
}
