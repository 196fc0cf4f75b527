//! Questions of many papers to one provider, in as few calls as it takes.
//!
//! Whoever asks first has a call made; whoever asks while that is under way goes with the next one, all of them
//! together. So one paper waits for nobody, and of thousands as many share a call as have come up since the last: the
//! slower the provider's rate, the more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::ask::found;
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::{Doi, Identifier};
use crate::query::Query;
use crate::source::{Finding, Ids, europe_pmc, open_alex, semantic_scholar};

/// A provider that answers many questions at once. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Gather<Q> {
    state: Arc<Mutex<State<Q>>>,
}

#[derive(Debug)]
struct State<Q> {
    waiting: Vec<Waiting<Q>>,
    /// Whether a call is under way.
    is_asking: bool,
}

#[derive(Debug)]
struct Waiting<Q> {
    question: Q,
    answer: oneshot::Sender<Result<Asked, Error>>,
}

/// An answer, and how many requests were made for it alone.
pub(super) type Asked = (Answer<Finding>, u32);

/// A question that may share a call.
pub(super) trait Shared: Clone + Send + 'static {
    /// The most of them in one call.
    const MOST: usize;

    /// Asks them all in one call: an answer each, in their order.
    fn call(
        access: &Access,
        questions: &[Self],
    ) -> impl Future<Output = Result<Vec<Answer<Finding>>, Error>> + Send;
}

impl<Q> Default for Gather<Q> {
    fn default() -> Self {
        let state = State {
            waiting: Vec::new(),
            is_asking: false,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }
}

impl<Q: Shared> Gather<Q> {
    /// Asks, together with whoever asks now too.
    pub(super) async fn ask(&self, access: &Access, question: Q) -> Result<Asked, Error> {
        let (answer, answered) = oneshot::channel();
        let begins = {
            let mut state = self.lock();
            state.waiting.push(Waiting { question, answer });
            !std::mem::replace(&mut state.is_asking, true)
        };
        if begins {
            // By a task of its own: whoever asked first may give up, and the others have not.
            tokio::spawn(self.clone().ask_all(access.clone()));
        }
        let answered = answered.await;
        answered.unwrap_or_else(|_| Err(Error::configuration("the runtime is shutting down")))
    }

    async fn ask_all(self, access: Access) {
        loop {
            // Those who are ready at the same time go along.
            tokio::task::yield_now().await;
            let some: Vec<Waiting<Q>> = {
                let mut state = self.lock();
                let count = state.waiting.len().min(Q::MOST);
                if count == 0 {
                    state.is_asking = false;
                    return;
                }
                state.waiting.drain(..count).collect()
            };
            let questions: Vec<Q> = some.iter().map(|one| one.question.clone()).collect();
            let called = Q::call(&access, &questions).await;
            for (at, one) in some.into_iter().enumerate() {
                let answer = match &called {
                    Ok(answers) => answers.get(at).cloned().unwrap_or(Answer::NotFound),
                    Err(error) => {
                        let _ = one.answer.send(Err(error.clone()));
                        continue;
                    }
                };
                let _ = one.answer.send(Ok((answer, u32::from(at == 0))));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question to OpenAlex. In a list goes what has a DOI that cannot be taken for two.
#[derive(Clone, Debug)]
pub(super) struct ToOpenAlex(pub(super) Doi);

impl Shared for ToOpenAlex {
    const MOST: usize = open_alex::MAX_DOIS;

    async fn call(access: &Access, questions: &[Self]) -> Result<Vec<Answer<Finding>>, Error> {
        let dois: Vec<Doi> = questions
            .iter()
            .map(|question| question.0.clone())
            .collect();
        // A single work is free of charge, a list is not.
        if let [doi] = &dois[..] {
            let ids = Ids::from(&Identifier::Doi(doi.clone()));
            let answer = ask(access, Provider::OpenAlex, open_alex::query(&ids)).await?;
            return Ok(vec![answer.and_then(|body| found(open_alex::read(&body)))]);
        }
        let query = Some(open_alex::list_query(&dois));
        let answer = ask(access, Provider::OpenAlex, query).await?;
        let works: Answer<HashMap<Doi, Finding>> =
            answer.and_then(|body| found(open_alex::read_list(&body)));
        Ok(each(&works, &dois, |works, doi| works.get(doi).cloned()))
    }
}

/// A question to Semantic Scholar.
#[derive(Clone, Debug)]
pub(super) struct ToSemanticScholar(pub(super) Identifier);

impl Shared for ToSemanticScholar {
    const MOST: usize = semantic_scholar::MAX_IDS;

    async fn call(access: &Access, questions: &[Self]) -> Result<Vec<Answer<Finding>>, Error> {
        let ids: Vec<Identifier> = questions
            .iter()
            .map(|question| question.0.clone())
            .collect();
        if let [id] = &ids[..] {
            let query = semantic_scholar::query(id);
            let answer = ask(access, Provider::SemanticScholar, query).await?;
            return Ok(vec![
                answer.and_then(|body| found(semantic_scholar::read(&body))),
            ]);
        }
        let query = Some(semantic_scholar::batch_query(&ids));
        let answer = ask(access, Provider::SemanticScholar, query).await?;
        let papers = answer.and_then(|body| found(semantic_scholar::read_batch(&body, ids.len())));
        let places: Vec<usize> = (0..ids.len()).collect();
        Ok(each(&papers, &places, |papers, at| {
            papers.get(*at).cloned().flatten()
        }))
    }
}

/// A question to Europe PMC.
#[derive(Clone, Debug)]
pub(super) struct ToEuropePmc(pub(super) Ids);

impl Shared for ToEuropePmc {
    const MOST: usize = europe_pmc::MAX_PAPERS;

    async fn call(access: &Access, questions: &[Self]) -> Result<Vec<Answer<Finding>>, Error> {
        let all: Vec<Ids> = questions
            .iter()
            .map(|question| question.0.clone())
            .collect();
        let query = europe_pmc::query(&all);
        let answer = ask(access, Provider::EuropePmc, query).await?;
        let bodies = answer.and_then(|body| found(europe_pmc::read(&body, &all)));
        let places: Vec<usize> = (0..all.len()).collect();
        Ok(each(&bodies, &places, |papers, at| {
            papers.get(*at).cloned().flatten()
        }))
    }
}

async fn ask(
    access: &Access,
    provider: Provider,
    query: Option<Query>,
) -> Result<Answer<bytes::Bytes>, Error> {
    match query {
        Some(query) => access.ask(provider, query).await,
        None => Ok(Answer::NotFound),
    }
}

/// The answer to each question, out of the one to all.
fn each<T: Clone, Q>(
    all: &Answer<T>,
    questions: &[Q],
    of: impl Fn(&T, &Q) -> Option<Finding>,
) -> Vec<Answer<Finding>> {
    let of_one = |question: &Q| {
        all.clone().and_then(|all| match of(&all, question) {
            Some(finding) => Answer::Found(finding),
            None => Answer::NotFound,
        })
    };
    questions.iter().map(of_one).collect()
}
