//! What may follow a search: the papers of its hits, what they cite, and what cites them.

use super::article::Article;
use super::search::{PubMedSearcher, SearchOptions};
use crate::answer::Answer;
use crate::error::Error;
use crate::id::Identifier;
use crate::references::{ReferenceRetriever, References};
use crate::retrieve::{Paper, PaperRetriever};

impl PubMedSearcher {
    /// Searches, and gets the paper of each hit that has a DOI or a PMID, one after another; `each` is called with it
    /// and what became of it. Let the retriever share this searcher's [`Access`](crate::Access), so that every host
    /// has one pace. For thousands there is [`Batch`](crate::batch::Batch).
    ///
    /// The answer is how many papers were asked for; or why the search went no further, after those that `each` has
    /// seen.
    ///
    /// # Errors
    /// The engine itself failed, or the disk.
    pub async fn download_articles(
        &self,
        options: &SearchOptions,
        retriever: &PaperRetriever,
        mut each: impl FnMut(&Article, Paper),
    ) -> Result<Answer<u64>, Error> {
        self.follow(options, async |article, id| {
            let paper = retriever.retrieve(id.into()).await?;
            each(article, paper);
            Ok(())
        })
        .await
    }

    /// Searches, and finds what each hit with a DOI or a PMID cites; answers as
    /// [`download_articles`](Self::download_articles).
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn fetch_references(
        &self,
        options: &SearchOptions,
        mut each: impl FnMut(&Article, References),
    ) -> Result<Answer<u64>, Error> {
        self.follow(options, async |article, id| {
            each(
                article,
                self.references(article, id)?.fetch_references().await?,
            );
            Ok(())
        })
        .await
    }

    /// Searches, and finds what cites each hit with a DOI or a PMID; answers as
    /// [`download_articles`](Self::download_articles).
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn fetch_cited_by(
        &self,
        options: &SearchOptions,
        mut each: impl FnMut(&Article, References),
    ) -> Result<Answer<u64>, Error> {
        self.follow(options, async |article, id| {
            each(
                article,
                self.references(article, id)?.fetch_cited_by().await?,
            );
            Ok(())
        })
        .await
    }

    fn references(&self, of: &Article, id: Identifier) -> Result<ReferenceRetriever, Error> {
        ReferenceRetriever::builder(self.access.contact().clone())
            .http_client(self.access.clone())
            .id(id)
            .ids(of.ids())
            .build()
    }

    /// Does it for one hit after another; the answer is for how many.
    async fn follow(
        &self,
        options: &SearchOptions,
        mut act: impl AsyncFnMut(&Article, Identifier) -> Result<(), Error>,
    ) -> Result<Answer<u64>, Error> {
        let mut hits = match self.search(options).await? {
            Answer::Found(hits) => hits,
            other => return Ok(other.map(|_| 0)),
        };
        let mut followed = 0;
        loop {
            let articles = match hits.next_articles().await? {
                Answer::Found(articles) => articles,
                other => return Ok(other.map(|_| 0)),
            };
            if articles.is_empty() {
                return Ok(Answer::Found(followed));
            }
            for article in articles {
                if let Some(id) = article.id() {
                    act(&article, id).await?;
                    followed += 1;
                }
            }
        }
    }
}
