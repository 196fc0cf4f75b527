//! Random calls, answered by a driver as the reference answers them.

use std::sync::Arc;

use super::steps::{LEASE, at, counts, deferred, finished, records, url_of};
use crate::memory::MemoryQueue;
use crate::queue::{LeasedScope, Queue, Rest, Settlement, UrlId};

const ROUNDS: usize = 600;

/// The same random calls to both, and the same answers.
pub async fn random_calls_are_answered_as_by_the_reference(queue: Arc<dyn Queue>) {
    let reference: Arc<dyn Queue> = Arc::new(MemoryQueue::new());
    let mut both = Both {
        driver: (queue, Vec::new()),
        reference: (reference, Vec::new()),
    };
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut now = 1;
    for round in 0..ROUNDS {
        now += random.below(4);
        let call = Call::draw(&mut random, now);
        both.make(&call, round).await;
        if round % 3 == 0 {
            both.compare(round).await;
        }
    }
    both.compare(ROUNDS).await;
}

#[derive(Debug)]
enum Call {
    Enqueue {
        scope: u64,
        first: u64,
        urls: u64,
    },
    Lease {
        scopes: usize,
        page: usize,
        now: u64,
    },
    More {
        which: u64,
        page: usize,
        now: u64,
    },
    Renew {
        which: u64,
        now: u64,
    },
    Release {
        which: u64,
        rest: Rest,
    },
    Settle(Vec<Settlement>),
    Reopen,
    TakeOver,
}

impl Call {
    fn draw(random: &mut Random, now: u64) -> Self {
        let which = random.below(8);
        let page = random.below(5) as usize;
        match random.below(20) {
            0..4 => Self::Enqueue {
                scope: random.below(8),
                first: random.below(6),
                urls: random.below(4),
            },
            4..9 => Self::Lease {
                scopes: random.below(3) as usize,
                page,
                now,
            },
            9..11 => Self::More { which, page, now },
            11 => Self::Renew { which, now },
            12..14 => {
                let until = at(now + random.below(30));
                let rest = if random.below(2) == 0 {
                    Rest::Due(until)
                } else {
                    Rest::Parked {
                        until,
                        reason: "breaker".to_owned(),
                    }
                };
                Self::Release { which, rest }
            }
            14..18 => Self::Settle(
                (0..random.below(6))
                    .map(|_| settlement(random, now))
                    .collect(),
            ),
            18 => Self::Reopen,
            _ => Self::TakeOver,
        }
    }
}

fn settlement(random: &mut Random, now: u64) -> Settlement {
    let id = UrlId(random.below(60));
    match random.below(6) {
        0..2 => finished(id, "fetched"),
        2 => finished(id, "failed"),
        3 => Settlement::Retry {
            id,
            attempts: random.below(4) as u32,
        },
        // Some of these are past already.
        _ => deferred(id, at((now + random.below(40)).saturating_sub(5))),
    }
}

/// A queue with the leases it gave.
type Side = (Arc<dyn Queue>, Vec<LeasedScope>);

struct Both {
    driver: Side,
    reference: Side,
}

impl Both {
    async fn make(&mut self, call: &Call, round: usize) {
        let told = make(&mut self.driver, call).await;
        let expected = make(&mut self.reference, call).await;
        assert_eq!(told, expected, "round {round}: {call:?}");
    }

    async fn compare(&self, round: usize) {
        let told = all_of(&*self.driver.0).await;
        let expected = all_of(&*self.reference.0).await;
        assert_eq!(told, expected, "after round {round}");
    }
}

/// Makes the call and writes its answer down.
async fn make((queue, leases): &mut Side, call: &Call) -> String {
    match call {
        Call::Enqueue { scope, first, urls } => {
            let urls = (*first..first + urls).map(|n| {
                let scope = format!("{scope}.org");
                url_of(&scope, &format!("http://{scope}/{n}"))
            });
            format!(
                "{:?}",
                queue.enqueue(urls.collect()).await.expect("enqueue")
            )
        }
        Call::Lease { scopes, page, now } => {
            let leased = queue.lease_due("w", *scopes, *page, LEASE, at(*now)).await;
            let leased = leased.expect("lease_due");
            let told = leased.iter().map(|of| (of.lease.scope(), &of.urls));
            let told = format!("{:?}", told.collect::<Vec<_>>());
            leases.extend(leased);
            told
        }
        Call::More { which, page, now } => match pick(leases, *which) {
            Some(of) => format!(
                "{:?}",
                queue
                    .more(&mut of.lease, *page, at(*now))
                    .await
                    .expect("more")
            ),
            None => String::new(),
        },
        Call::Renew { which, now } => match pick(leases, *which) {
            Some(of) => {
                let lost = queue
                    .renew(std::slice::from_ref(&of.lease), LEASE, at(*now))
                    .await;
                format!("{}", lost.expect("renew").len())
            }
            None => String::new(),
        },
        Call::Release { which, rest } => {
            if let Some(of) = pick(leases, *which) {
                let released = vec![(of.lease.clone(), rest.clone())];
                queue.release(released).await.expect("release");
            }
            String::new()
        }
        Call::Settle(settlements) => {
            format!(
                "{:?}",
                queue.settle(settlements.clone()).await.expect("settle")
            )
        }
        Call::Reopen => format!("{:?}", queue.reopen(&["failed"]).await.expect("reopen")),
        Call::TakeOver => format!("{:?}", queue.take_over("w").await.expect("take_over")),
    }
}

/// One of the last eight leases, most of which are lost.
fn pick(leases: &mut [LeasedScope], which: u64) -> Option<&mut LeasedScope> {
    leases.iter_mut().rev().nth(which as usize)
}

async fn all_of(queue: &dyn Queue) -> String {
    format!(
        "{:#?}\n{:?}\n{:#?}\n{:#?}",
        counts(queue).await,
        queue.next_due().await.expect("next_due"),
        queue.scope_counts(None, usize::MAX).await.expect("scopes"),
        records(queue).await,
    )
}

/// xorshift64*: the same calls in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % bound
    }
}
