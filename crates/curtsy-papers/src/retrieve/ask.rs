//! A question on its way to its source, and the answer read.

use bytes::Bytes;
use curtsy::{Reply, Request};
use http::HeaderValue;
use http::StatusCode;
use http::header::ACCEPT;
use url::Url;

use super::PaperRetriever;
use super::gather::{Asked, ToEuropePmc, ToOpenAlex, ToSemanticScholar};
use crate::answer::{Answer, Unavailable};
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::{Identifier, Pmcid};
use crate::pdf::{Body, Page};
use crate::plan::Question;
use crate::query::Query;
use crate::source::{
    Finding, Ids, Unreadable, crossref, datacite, doi, idconv, landing_page, open_alex, pmc_cloud,
    unpaywall,
};

impl PaperRetriever {
    /// Asks a question.
    pub(super) async fn ask(&self, question: &Question) -> Result<Asked, Error> {
        let access = &self.shared.access;
        let gather = &self.shared.gather;
        let answer = match question {
            Question::EuropePmc(ids) => {
                let question = ToEuropePmc(ids.clone());
                return gather.europe_pmc.ask(access, question).await;
            }
            Question::OpenAlex(Ids { doi: Some(doi), .. }) if open_alex::fits_list(doi) => {
                let question = ToOpenAlex(doi.clone());
                return gather.open_alex.ask(access, question).await;
            }
            Question::SemanticScholar(id) => {
                let question = ToSemanticScholar(id.clone());
                return gather.semantic_scholar.ask(access, question).await;
            }
            Question::Handle(id) => self.handle(id).await?,
            Question::Convert(id) => self.convert(id).await?,
            Question::PmcVersions(pmcid) => self.pmc_versions(*pmcid).await?,
            Question::PmcMetadata(version) => self.pmc_metadata(*version).await?,
            Question::Unpaywall(doi) => self.unpaywall(unpaywall::query(doi)).await?,
            Question::OpenAlex(ids) => {
                let query = open_alex::query(ids);
                self.look_up(Provider::OpenAlex, query, open_alex::read)
                    .await?
            }
            Question::Resolver(number, doi) => self.resolver(*number, doi).await?,
            Question::Crossref(doi) => {
                let today = today(self.shared.access.client().now());
                let read = |body: &[u8]| crossref::read(body, today);
                self.look_up(Provider::Crossref, Some(crossref::query(doi)), read)
                    .await?
            }
            Question::DataCite(doi) => {
                self.look_up(
                    Provider::DataCite,
                    Some(datacite::query(doi)),
                    datacite::read,
                )
                .await?
            }
            Question::Page(url) => self.page(url).await?,
        };
        Ok((answer, 1))
    }

    async fn look_up(
        &self,
        provider: Provider,
        query: Option<Query>,
        read: impl FnOnce(&[u8]) -> Result<Finding, Unreadable>,
    ) -> Result<Answer<Finding>, Error> {
        let Some(query) = query else {
            return Ok(Answer::NotFound);
        };
        let answer = self.shared.access.ask(provider, query).await?;
        Ok(answer.and_then(|body| found(read(&body))))
    }

    async fn handle(&self, id: &Identifier) -> Result<Answer<Finding>, Error> {
        let Some(query) = doi::handle_query(id) else {
            return Ok(Answer::NotFound);
        };
        let answer = self.shared.access.ask(Provider::Doi, query).await?;
        Ok(answer.and_then(|body| match doi::read_handle(&body) {
            Ok(doi::Handle::Registered(_)) => Answer::Found(Finding::default()),
            Ok(doi::Handle::Alias(doi)) => named(Ids {
                doi: Some(doi),
                ..Ids::default()
            }),
            Ok(doi::Handle::Unknown) => Answer::NotFound,
            Err(_) => Answer::Malformed("no answer of the handle system"),
        }))
    }

    async fn convert(&self, id: &Identifier) -> Result<Answer<Finding>, Error> {
        let answers = self.convert_all(std::slice::from_ref(id)).await?;
        Ok(answers.and_then(|answer| match answer.of(id) {
            Some(ids) => named(ids.clone()),
            None => Answer::NotFound,
        }))
    }

    /// Asks the ID converter about many papers at once.
    pub(crate) async fn convert_all(
        &self,
        ids: &[Identifier],
    ) -> Result<Answer<idconv::Answer>, Error> {
        let Some(query) = idconv::query(ids) else {
            return Ok(Answer::NotFound);
        };
        let answer = self.shared.access.ask(Provider::IdConverter, query).await?;
        Ok(answer.and_then(|body| found(idconv::read(&body))))
    }

    async fn pmc_versions(&self, pmcid: Pmcid) -> Result<Answer<Finding>, Error> {
        let query = pmc_cloud::versions_query(pmcid);
        let answer = self.shared.access.ask(Provider::PmcCloud, query).await?;
        Ok(
            answer.and_then(|body| match pmc_cloud::read_versions(&body, pmcid) {
                Ok(Some(version)) => named(Ids {
                    pmcid: Some(version),
                    ..Ids::default()
                }),
                Ok(None) => Answer::NotFound,
                Err(_) => Answer::Malformed("no list of versions"),
            }),
        )
    }

    async fn pmc_metadata(&self, version: Pmcid) -> Result<Answer<Finding>, Error> {
        let base = self.shared.access.endpoints().base(Provider::PmcCloud);
        let read = |body: &[u8]| pmc_cloud::read_metadata(body, base, version);
        let query = pmc_cloud::metadata_query(version);
        self.look_up(Provider::PmcCloud, Some(query), read).await
    }

    /// A contact that Unpaywall does not take ends the run: no paper would be answered for.
    async fn unpaywall(&self, query: Query) -> Result<Answer<Finding>, Error> {
        match self
            .look_up(Provider::Unpaywall, Some(query), unpaywall::read)
            .await?
        {
            Answer::Rejected(StatusCode::UNPROCESSABLE_ENTITY) => Err(Error::configuration(
                "Unpaywall does not take the contact address: give one that reaches you",
            )),
            answer => Ok(answer),
        }
    }

    /// The address is the user's; what it names is the word of its server.
    async fn resolver(
        &self,
        number: usize,
        doi: &crate::id::Doi,
    ) -> Result<Answer<Finding>, Error> {
        let Some(resolver) = self.shared.resolvers.get(number) else {
            return Ok(Answer::NotFound);
        };
        if let Some(location) = resolver.direct(doi) {
            return Ok(Answer::Found(Finding {
                locations: vec![location],
                ..Finding::default()
            }));
        }
        let Some(url) = resolver.url(doi) else {
            return Ok(Answer::NotFound);
        };
        let request = Request::get(url.as_str())?;
        let answer = self.visit(request, &url).await?;
        Ok(
            answer.and_then(|(at, body)| match resolver.read(&body, &at) {
                Ok(Some(location)) => Answer::Found(Finding {
                    locations: vec![location],
                    ..Finding::default()
                }),
                Ok(None) => Answer::NotFound,
                Err(Unreadable) => Answer::Malformed("not what its pointer leads into"),
            }),
        )
    }

    async fn page(&self, url: &Url) -> Result<Answer<Finding>, Error> {
        let request = self.shared.access.get(url)?;
        let answer = self.visit(request, url).await?;
        Ok(answer.and_then(|(at, body)| {
            if let Body::Html(Page::Challenge | Page::Login) = Body::of(&body) {
                return Answer::Unavailable(Unavailable::walled(&at));
            }
            let page = landing_page::read(&body, &at);
            match page.pdfs.is_empty() {
                true => Answer::NotFound,
                false => Answer::Found(Finding {
                    ids: page.ids,
                    open: Some(true),
                    locations: page.pdfs,
                    ..Finding::default()
                }),
            }
        }))
    }

    /// Fetches a page as far as it is read.
    async fn visit(&self, request: Request, url: &Url) -> Result<Answer<(Url, Bytes)>, Error> {
        let request = request.header(
            ACCEPT,
            HeaderValue::from_static("text/html,application/json;q=0.9,*/*;q=0.1"),
        );
        let mut response = match self.shared.access.client().execute(request).await {
            Ok(Reply::Response(response)) => response,
            Ok(Reply::Disallowed(no)) => {
                return Ok(Answer::Unavailable(Unavailable::robots(&no.url)));
            }
            Ok(Reply::Deferred(later)) => {
                return Ok(Answer::Unavailable(Unavailable::deferred(&later)));
            }
            Err(error) => return Unavailable::failed(error, url).map(Answer::Unavailable),
        };
        if let Some(refused) = Unavailable::refused(&response) {
            return Ok(Answer::Unavailable(refused));
        }
        match response.status.as_u16() {
            200..300 => {}
            404 | 410 => return Ok(Answer::NotFound),
            _ => return Ok(Answer::Rejected(response.status)),
        }
        let mut body = Vec::new();
        while body.len() < landing_page::MAX_PAGE {
            match response.body.chunk().await {
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => break,
                Err(error) => {
                    return Unavailable::failed(error, &response.url).map(Answer::Unavailable);
                }
            }
        }
        Ok(Answer::Found((response.url, body.into())))
    }
}

pub(super) fn found<T>(read: Result<T, Unreadable>) -> Answer<T> {
    match read {
        Ok(found) => Answer::Found(found),
        Err(Unreadable) => Answer::Malformed("not what it answers with"),
    }
}

fn named(ids: Ids) -> Answer<Finding> {
    Answer::Found(Finding {
        ids,
        ..Finding::default()
    })
}

/// The day by the client's clock, in UTC.
fn today(now: curtsy::core::Timestamp) -> jiff::civil::Date {
    let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let now = jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::MAX);
    jiff::tz::Offset::UTC.to_datetime(now).date()
}
