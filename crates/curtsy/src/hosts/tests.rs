use std::time::Duration;

use curtsy_core::{Answer, Ask, Attempt, Decision, Draw, Kind, Signal, decide, observe};
use curtsy_store::{MemoryStore, SqliteStore};
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn scopes_at_rest_that_nobody_uses_are_let_go_of_and_the_others_kept() {
    let store = Arc::new(MemoryStore::new());
    let hosts = Hosts::new(store, Clock::system(), Arc::default());
    let suppressed = Scope::named("suppressed.example");
    let host = hosts.host(&suppressed);
    for _ in 0..3 {
        let forbid = |state: &HostState| (answered(&host.policy, state, 403), ());
        hosts.update(&host, forbid).await.unwrap();
    }
    drop(host);
    let used = hosts.host(&Scope::named("used.example"));
    for n in 0..3 * MANY {
        hosts.host(&Scope::named(&format!("{n}.example")));
    }
    let left = hosts.all();
    assert!(left.len() <= MANY + 2, "{}", left.len());
    assert!(left.iter().any(|host| host.scope == suppressed));
    assert!(left.iter().any(|host| Arc::ptr_eq(host, &used)));
}

#[tokio::test]
async fn changes_made_while_one_is_being_stored_are_stored_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&dir.path().join("s")).await.unwrap());
    let hosts = Arc::new(Hosts::new(store.clone(), Clock::system(), Arc::default()));
    let mut changes = JoinSet::new();
    change_often(&hosts, 20, &mut changes);
    changes.join_all().await;
    assert_eq!(stored_departures(&hosts).await, 20);
    assert!(store.commits() <= 3, "{} commits", store.commits());
}

#[tokio::test]
async fn no_change_is_lost_or_made_twice_where_two_processes_change_one_scope() {
    let processes = two_processes().map(Arc::new);
    let mut changes = JoinSet::new();
    for hosts in &processes {
        change_often(hosts, 50, &mut changes);
    }
    changes.join_all().await;
    for hosts in &processes {
        assert_eq!(stored_departures(hosts).await, 100);
    }
}

#[tokio::test]
async fn a_change_that_is_being_stored_is_made_once_though_its_caller_goes_away() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&dir.path().join("s")).await.unwrap());
    let hosts = Arc::new(Hosts::new(store, Clock::system(), Arc::default()));
    stored_departures(&hosts).await;
    let mut changes = JoinSet::new();
    change_often(&hosts, 1, &mut changes);
    // Once for the change to begin, and once for the store to be called.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    changes.shutdown().await;
    change_often(&hosts, 5, &mut changes);
    changes.join_all().await;
    assert_eq!(stored_departures(&hosts).await, 6);
}

#[tokio::test]
async fn others_are_measured_from_when_a_departure_has_left_at_the_latest() {
    let [here, there] = two_processes();
    let host = here.host(&Scope::named("left.example"));
    let (permit, leaving) = depart(&here, &host).await;
    let last = async |hosts: &Hosts| {
        let host = hosts.host(&host.scope);
        let state = hosts.reload(&host).await.unwrap();
        state.last_departure().unwrap()
    };
    let told = last(&there).await;
    assert!(told >= permit.at.after(Duration::from_micros(500)));
    assert!(told <= here.clock.now().after(Duration::from_millis(3)));
    // What follows here is measured from when it was permitted, until it has left.
    assert_eq!(last(&here).await, permit.at);

    // Nobody need be told that it left by then, and everybody that it did not.
    assert!(here.note_departed(&host, permit.seq, told).is_none());
    let later = told.after(Duration::from_micros(1));
    let noted = here.note_departed(&host, permit.seq, later);
    drop(leaving);
    assert_eq!(last(&there).await, told);
    here.tell_departed(&host, permit.seq, later, noted.as_ref())
        .await
        .unwrap();
    assert_eq!(last(&there).await, later);
}

#[tokio::test]
async fn the_next_change_tells_when_a_departure_really_left() {
    let [here, there] = two_processes();
    let host = here.host(&Scope::named("left.example"));
    let (permit, leaving) = depart(&here, &host).await;
    let left = permit.at.after(Duration::from_micros(1));
    assert!(here.note_departed(&host, permit.seq, left).is_none());
    drop(leaving);
    here.update(&host, |state| (state.clone(), ()))
        .await
        .unwrap();
    let seen = there.reload(&there.host(&host.scope)).await.unwrap();
    assert_eq!(seen.last_departure(), Some(left));
}

/// Two that share a store.
fn two_processes() -> [Hosts; 2] {
    let store = Arc::new(MemoryStore::new());
    [(); 2].map(|()| Hosts::new(store.clone(), Clock::system(), Arc::default()))
}

/// A departure that stands and has not left.
async fn depart(hosts: &Hosts, host: &Arc<Host>) -> (Box<Permit>, Leaving) {
    let look = |known: Known<'_>| (known.mark, known.state.clone());
    let (mark, state) = hosts.look(host, look).await.unwrap();
    let permit = permitted(&host.policy, &state, hosts.clock.now());
    let (batch, leaving, turn) = hosts.depart(host, mark, &permit).unwrap();
    assert!(hosts.stands(host, batch).await.unwrap());
    turn.take();
    (permit, leaving)
}

fn change_often(hosts: &Arc<Hosts>, times: usize, changes: &mut JoinSet<()>) {
    for _ in 0..times {
        let hosts = Arc::clone(hosts);
        changes.spawn(async move {
            let host = hosts.host(&Scope::named("changed.example"));
            let answer = |state: &HostState| (answered(&host.policy, state, 200), ());
            hosts.update(&host, answer).await.unwrap();
        });
    }
}

async fn stored_departures(hosts: &Hosts) -> u64 {
    let host = hosts.host(&Scope::named("changed.example"));
    hosts.reload(&host).await.unwrap().departures()
}

/// The state after one more answer.
fn answered(policy: &Policy, state: &HostState, status: u16) -> HostState {
    let now = Timestamp::from_secs(1_700_000_000 + 3600 * state.departures());
    let permit = permitted(policy, state, now);
    let attempt = Attempt {
        seq: permit.seq,
        kind: Kind::Page,
        departed: now,
        host: "example.org",
    };
    let answer = Answer::Head {
        status,
        latency: Duration::ZERO,
        signal: &Signal::default(),
    };
    observe(policy, &permit.state, &attempt, &answer, now, Draw::LEAST).state
}

fn permitted(policy: &Policy, state: &HostState, now: Timestamp) -> Box<Permit> {
    match decide(policy, state, &Ask::page(now), now, Draw::LEAST) {
        Decision::Depart(permit) => permit,
        other => panic!("it may not depart: {other:?}"),
    }
}
