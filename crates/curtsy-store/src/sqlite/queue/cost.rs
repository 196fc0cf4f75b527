//! The work of a call does not grow with the job.
//!
//! Counted in steps of SQLite's virtual machine, which are the same in every run: a statement that
//! scanned a table would take as many of them as there are rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use curtsy_core::Timestamp;
use rusqlite::Connection;

use super::{FORMAT, enqueue, lease, meta, settle, tell};
use crate::queue::{Cursor, Lease, LeaseToken, NewUrl, Rest, Settlement, UrlId};

const NOW: Timestamp = Timestamp::from_secs(1000);

#[test]
fn a_call_does_the_same_work_in_a_job_of_200_000_urls_as_in_one_of_2_000() {
    let small = steps_of_each_call(1_000, 100);
    let large = steps_of_each_call(100_000, 10_000);
    for ((call, small), (_, large)) in small.into_iter().zip(large) {
        assert!(small > 0, "{call} was not counted");
        assert!(
            large <= small + small / 10 + 5,
            "{call}: {small} steps in the small job, {large} in the large one"
        );
    }
}

/// One host with `deep` URLs, and `hosts` hosts with ten each.
fn steps_of_each_call(deep: usize, hosts: usize) -> Vec<(&'static str, u64)> {
    let mut job = Job::new();
    let mut batch: Vec<NewUrl> = (0..deep).map(|n| url("deep.org", n)).collect();
    batch.extend((0..10 * hosts).map(|n| url(&format!("h{}.org", n % hosts), n)));
    enqueue::enqueue(&job.connection, &batch).unwrap();
    // So that some of each kind are there: done with, deferred, leased, parked.
    let leased = lease::lease_due(&job.connection, "w", 40, 32, LEASE, NOW).unwrap();
    for (n, of) in leased.iter().enumerate().skip(1) {
        let ends: Vec<_> = of.urls.iter().map(|url| end(url.id, n)).collect();
        settle::settle(&job.connection, &ends).unwrap();
    }
    let away = leased[20..].iter().map(|of| (of.lease.clone(), parked()));
    lease::release(&job.connection, &away.collect::<Vec<_>>()).unwrap();
    let deep = leased[0].clone();
    let fresh = deep.urls[0].id;

    let mut steps = Vec::new();
    let mut count = |call, work: &mut dyn FnMut(&Connection)| {
        steps.push((call, job.steps_of(work)));
    };
    count("enqueue, known", &mut |c| {
        let told = enqueue::enqueue(c, &[url("deep.org", 5)]).unwrap();
        assert_eq!(told.duplicates, 1);
    });
    count("enqueue, new", &mut |c| {
        let told = enqueue::enqueue(c, &[url("deep.org", 999_999)]).unwrap();
        assert_eq!(told.added, 1);
    });
    count("lease_due", &mut |c| {
        let leased = lease::lease_due(c, "w", 10, 5, LEASE, NOW).unwrap();
        assert_eq!(leased.len(), 10);
    });
    count("more", &mut |c| {
        lease::more(c, &mut deep.lease.clone(), 32, NOW).unwrap();
    });
    count("renew", &mut |c| {
        let lost = lease::renew(c, std::slice::from_ref(&deep.lease), NOW).unwrap();
        assert_eq!(lost, []);
    });
    count("settle, retry", &mut |c| {
        settle::settle(
            c,
            &[Settlement::Retry {
                id: fresh,
                attempts: 1,
            }],
        )
        .unwrap();
    });
    count("settle, deferred", &mut |c| {
        settle::settle(c, &[end(fresh, 1)]).unwrap();
    });
    count("settle, finished", &mut |c| {
        settle::settle(c, &[end(fresh, 0)]).unwrap();
    });
    count("release", &mut |c| {
        let released = [(deep.lease.clone(), Rest::Due(NOW))];
        lease::release(c, &released).unwrap();
    });
    count("release, lost", &mut |c| {
        let lease = Lease {
            scope: "deep.org".to_owned(),
            token: LeaseToken(0),
            until: NOW,
            cursor: Cursor::default(),
        };
        lease::release(c, &[(lease, parked())]).unwrap();
    });
    count("next_due", &mut |c| {
        tell::next_due(c).unwrap();
    });
    count("counts", &mut |c| {
        tell::counts(c).unwrap();
    });
    count("scope_counts", &mut |c| {
        tell::scope_counts(c, Some("h"), 10).unwrap();
    });
    count("records", &mut |c| {
        tell::records(c, Some(UrlId(500)), 10).unwrap();
    });
    count("meta", &mut |c| {
        meta(c, "seq").unwrap();
    });
    count("lease_due, expired", &mut |c| {
        lease::lease_due(c, "w", 1, 1, LEASE, NOW.after(LEASE)).unwrap();
    });
    count("take_over", &mut |c| {
        lease::take_over(c, "w").unwrap();
    });
    steps
}

const LEASE: Duration = Duration::from_secs(60);

struct Job {
    connection: Connection,
    steps: Arc<AtomicU64>,
}

impl Job {
    fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(FORMAT.schema).unwrap();
        Self {
            connection,
            steps: Arc::default(),
        }
    }

    fn steps_of(&mut self, work: &mut dyn FnMut(&Connection)) -> u64 {
        let steps = Arc::clone(&self.steps);
        steps.store(0, Ordering::Relaxed);
        let count = move || {
            steps.fetch_add(1, Ordering::Relaxed);
            false
        };
        self.connection.progress_handler(1, Some(count)).unwrap();
        work(&self.connection);
        self.connection
            .progress_handler(0, None::<fn() -> bool>)
            .unwrap();
        self.steps.load(Ordering::Relaxed)
    }
}

fn url(scope: &str, n: usize) -> NewUrl {
    NewUrl {
        scope: scope.to_owned(),
        url: format!("https://{scope}/{n}"),
        key: None,
        out: None,
        headers: None,
    }
}

fn end(id: UrlId, n: usize) -> Settlement {
    if n.is_multiple_of(2) {
        Settlement::Finished {
            id,
            outcome: "fetched".to_owned(),
            line: "{}".to_owned(),
        }
    } else {
        Settlement::Deferred {
            id,
            not_before: NOW.after(LEASE),
            reason: "hold".to_owned(),
            line: "{}".to_owned(),
        }
    }
}

fn parked() -> Rest {
    Rest::Parked {
        until: NOW.after(LEASE),
        reason: "breaker".to_owned(),
    }
}
