//! The papers that are under way.

use std::collections::{HashMap, VecDeque};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use curtsy::core::Timestamp;
use curtsy::store::queue::MAX_PAGE;
use curtsy::store::{Lease, LeasedScope, Page, QueuedUrl, Rest, Settlement, UrlId};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::report::PAPERS;
use super::{ARXIV, ARXIV_JOBS, BAD, LEASE, Origin, Shared, WORKER, failed, word};
use crate::answer::Answer;
use crate::error::Error;
use crate::id::Identifier;
use crate::plan::{Outcome, Verdict};
use crate::reason::Reason;
use crate::retrieve::Order;
use crate::source::{Ids, idconv};

/// Takes papers up until none is due.
pub(super) async fn work(shared: &Arc<Shared>, jobs: usize) -> Result<(), Error> {
    let mut lanes: JoinSet<Result<(), Error>> = JoinSet::new();
    let leased = shared
        .queue
        .lease_due(WORKER, 2, MAX_PAGE, LEASE, shared.now())
        .await;
    for leased in leased.map_err(failed)? {
        let width = match leased.lease.scope() {
            ARXIV => ARXIV_JOBS,
            _ => jobs.max(1),
        };
        let lane = Lane::new(Arc::clone(shared), leased, width);
        lanes.spawn(lane.run());
    }
    let mut first = Ok(());
    while let Some(ended) = lanes.join_next().await {
        let ended =
            ended.unwrap_or_else(|error| Err(Error::disk("a paper", std::io::Error::other(error))));
        if ended.is_err() && first.is_ok() {
            // The others could go on, but nothing of theirs would be complete.
            shared.retriever.access().client().close();
            first = ended;
        }
    }
    first
}

/// Papers of one scope.
struct Lane {
    shared: Arc<Shared>,
    lease: Lease,
    width: usize,
    /// Papers out of the queue of which nobody was asked yet.
    fresh: VecDeque<QueuedUrl>,
    /// Those of which the converter was asked.
    waiting: VecDeque<QueuedUrl>,
    converted: HashMap<UrlId, Answer<Ids>>,
    /// The names of the papers that are under way. A paper with one of them waits until that is had, or not.
    busy: HashMap<Identifier, UrlId>,
    held: Vec<QueuedUrl>,
    more: bool,
    renewed: Timestamp,
}

/// The end of a paper, as the queue is told of it.
struct End {
    id: UrlId,
    settlement: Settlement,
    outcome: Outcome,
    row: Value,
    /// Whether it had been deferred before.
    was_deferred: bool,
}

impl Lane {
    fn new(shared: Arc<Shared>, leased: LeasedScope, width: usize) -> Self {
        Self {
            renewed: shared.now(),
            shared,
            lease: leased.lease,
            width,
            fresh: leased.urls.into(),
            waiting: VecDeque::new(),
            converted: HashMap::new(),
            busy: HashMap::new(),
            held: Vec::new(),
            more: true,
        }
    }

    async fn run(mut self) -> Result<(), Error> {
        let worked = self.work().await;
        let released = vec![(self.lease.clone(), Rest::Due(Timestamp::EPOCH))];
        self.shared.queue.release(released).await.map_err(failed)?;
        worked
    }

    /// Once something went wrong, or it is stopped, no paper is taken up any more, and those that are under way come to
    /// their end.
    async fn work(&mut self) -> Result<(), Error> {
        let mut under_way: JoinSet<Result<End, Error>> = JoinSet::new();
        let mut ended = self.refill().await;
        loop {
            while ended.is_ok() && under_way.len() < self.width {
                if self.waiting.is_empty() {
                    ended = self.refill().await;
                }
                let Some(queued) = self.waiting.pop_front() else {
                    break;
                };
                let names = self.names(&queued);
                if names.iter().any(|name| self.busy.contains_key(name)) {
                    self.held.push(queued);
                    continue;
                }
                self.busy
                    .extend(names.into_iter().map(|name| (name, queued.id)));
                let converted = self.converted.remove(&queued.id);
                let shared = Arc::clone(&self.shared);
                under_way.spawn(Box::pin(retrieve(shared, queued, converted)));
            }
            let Some(first) = under_way.join_next().await else {
                return ended;
            };
            let mut ends = Vec::new();
            let mut next = Some(first);
            while let Some(joined) = next {
                let end = joined.unwrap_or_else(|error| {
                    Err(Error::disk("a paper", std::io::Error::other(error)))
                });
                match end {
                    Ok(end) => ends.push(end),
                    Err(error) => {
                        self.shared.retriever.access().client().close();
                        ended = ended.and(Err(error));
                    }
                }
                next = under_way.try_join_next();
            }
            let over: Vec<UrlId> = ends.iter().map(|end| end.id).collect();
            self.settle(ends).await?;
            self.busy.retain(|_, id| !over.contains(id));
            self.waiting.extend(std::mem::take(&mut self.held));
            self.renew().await?;
        }
    }

    /// What a paper is called, as far as is known before it is under way.
    fn names(&self, queued: &QueuedUrl) -> Vec<Identifier> {
        let Ok(id) = queued.url.parse::<Identifier>() else {
            return Vec::new();
        };
        let mut ids = Ids::from(&id);
        if let Some(Answer::Found(known)) = self.converted.get(&queued.id) {
            ids.learn(known);
        }
        ids.names()
    }

    /// Takes papers out of the queue, and has them converted in calls as large as there may be.
    async fn refill(&mut self) -> Result<(), Error> {
        while self.more && self.fresh.len() < idconv::MAX_IDS {
            let now = self.shared.now();
            let page = self.shared.queue.more(&mut self.lease, MAX_PAGE, now).await;
            match page.map_err(failed)? {
                Page::Urls(urls) if !urls.is_empty() => self.fresh.extend(urls),
                Page::Urls(_) | Page::Lost => self.more = false,
            }
        }
        let whole = self.fresh.len() - self.fresh.len() % idconv::MAX_IDS;
        let count = if whole == 0 { self.fresh.len() } else { whole };
        let some: Vec<QueuedUrl> = self.fresh.drain(..count).collect();
        // One alone asks for itself, if it is not there already.
        if self.lease.scope() != ARXIV && some.len() > 1 {
            self.convert(&some).await?;
        }
        self.waiting.extend(some);
        Ok(())
    }

    async fn convert(&mut self, some: &[QueuedUrl]) -> Result<(), Error> {
        for kind in ["doi", "pmid"] {
            let papers: Vec<(UrlId, Identifier)> = some
                .iter()
                .filter_map(|queued| Some((queued.id, queued.url.parse::<Identifier>().ok()?)))
                .filter(|(_, id)| id.kind() == kind)
                .collect();
            let ids: Vec<Identifier> = papers.iter().map(|(_, id)| id.clone()).collect();
            let mut papers = papers.iter();
            for ids in idconv::calls(&ids) {
                let answer = self.shared.retriever.convert_all(ids).await?;
                for (number, id) in papers.by_ref().take(ids.len()) {
                    let of_paper = answer.clone().and_then(|answer| match answer.of(id) {
                        Some(ids) => Answer::Found(ids.clone()),
                        None => Answer::NotFound,
                    });
                    self.converted.insert(*number, of_paper);
                }
            }
        }
        Ok(())
    }

    /// The PDFs and records are on the disk by now.
    async fn settle(&mut self, ends: Vec<End>) -> Result<(), Error> {
        let mut settlements = Vec::with_capacity(ends.len());
        let mut lines = String::new();
        let ended = &self.shared.counters.ended;
        for end in ends {
            ended[end.outcome as usize].fetch_add(1, Ordering::Relaxed);
            if end.was_deferred {
                ended[Outcome::Deferred as usize].fetch_sub(1, Ordering::Relaxed);
            }
            lines.push_str(&end.row.to_string());
            lines.push('\n');
            settlements.push(end.settlement);
        }
        self.shared
            .queue
            .settle(settlements)
            .await
            .map_err(failed)?;
        self.shared.audit.keep_tail(&*self.shared.queue).await?;
        let path = self.shared.folder.join(PAPERS);
        let written = OpenOptions::new().create(true).append(true).open(path);
        let written = written.and_then(|mut file| file.write_all(lines.as_bytes()));
        written.map_err(|error| Error::disk(PAPERS, error))
    }

    async fn renew(&mut self) -> Result<(), Error> {
        let now = self.shared.now();
        if now.since(self.renewed) > LEASE / 4 {
            let leases = std::slice::from_ref(&self.lease);
            self.shared
                .queue
                .renew(leases, LEASE, now)
                .await
                .map_err(failed)?;
            self.renewed = now;
        }
        Ok(())
    }
}

/// One paper, from the queue to its end.
async fn retrieve(
    shared: Arc<Shared>,
    queued: QueuedUrl,
    converted: Option<Answer<Ids>>,
) -> Result<End, Error> {
    let before: Option<Value> = queued
        .line
        .as_deref()
        .and_then(|line| serde_json::from_str(line).ok());
    let was_deferred = before.is_some_and(|row| row["outcome"] == Outcome::Deferred.label());
    let origin = queued
        .headers
        .as_deref()
        .and_then(|text| serde_json::from_str::<Origin>(text).ok());
    let origin = origin.unwrap_or_else(|| Origin {
        line: 0,
        given: queued.url.clone(),
    });
    let id = match queued.url.starts_with(BAD) {
        true => None,
        false => queued.url.parse::<Identifier>().ok(),
    };
    let Some(id) = id else {
        let verdict = Verdict::failed(Reason::BadId);
        let row = json!({
            "line": origin.line, "given": origin.given, "id": null, "doi": null, "pmid": null, "pmcid": null,
            "arxiv": null, "outcome": verdict.outcome, "reason": Reason::BadId.label(), "retry": verdict.retry,
            "source": null, "file": null, "sha256": null, "attempts": 0, "host": null, "status": null, "link": null,
        });
        return Ok(End {
            id: queued.id,
            settlement: settlement(queued.id, &verdict, &row),
            outcome: verdict.outcome,
            row,
            was_deferred,
        });
    };
    let paper = shared.retriever.retrieve(Order {
        id,
        given: origin.given,
        converted,
    });
    let paper = paper.await?;
    let mut row = paper.row(origin.line);
    if let Some(stored) = &paper.stored {
        row["file"] = shared.relative(&stored.path).into();
    }
    Ok(End {
        id: queued.id,
        settlement: settlement(queued.id, &paper.verdict, &row),
        outcome: paper.verdict.outcome,
        row,
        was_deferred,
    })
}

fn settlement(id: UrlId, verdict: &Verdict, row: &Value) -> Settlement {
    match (verdict.outcome, verdict.until()) {
        (Outcome::Deferred, Some(not_before)) => Settlement::Deferred {
            id,
            not_before,
            reason: verdict
                .reason
                .unwrap_or(Reason::Deferred)
                .label()
                .to_owned(),
            line: row.to_string(),
        },
        _ => Settlement::Finished {
            id,
            outcome: word(verdict),
            line: row.to_string(),
        },
    }
}
