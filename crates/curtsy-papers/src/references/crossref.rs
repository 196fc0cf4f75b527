//! The references that a publisher gave Crossref.

use serde_json::Value;

use super::{Reference, doi_in};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::Field;
use crate::id::Doi;
use crate::source::{Unreadable, crossref, object};

pub(super) async fn fetch(access: &Access, doi: &Doi) -> Result<Answer<Vec<Reference>>, Error> {
    let answer = access.ask(Provider::Crossref, crossref::query(doi)).await?;
    Ok(answer.read(read))
}

pub(crate) fn read(body: &[u8]) -> Result<Vec<Reference>, Unreadable> {
    let answer = object(body)?;
    let work = answer.part("message");
    if !work.is_object() {
        return Err(Unreadable);
    }
    Ok(work.list("reference").iter().map(reference).collect())
}

/// Here the author is the first one's family name.
fn reference(entry: &Value) -> Reference {
    let text = entry.text("unstructured");
    Reference {
        doi: entry.parse("DOI").or_else(|| doi_in(text.as_deref()?)),
        title: entry
            .text("article-title")
            .or_else(|| entry.text("volume-title")),
        authors: entry.text("author").into_iter().collect(),
        journal: entry.text("journal-title"),
        year: entry
            .text("year")
            .and_then(|year| year.get(..4)?.parse().ok()),
        text,
        ..Reference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_a_text_and_an_entry_may_be_nothing_else() {
        let all = read(include_bytes!("../../testdata/crossref_work.json")).unwrap();
        assert_eq!(all[0].doi.as_ref().unwrap().as_str(), "10.5555/ref.one.1");
        assert_eq!(
            (all[0].authors.join(";").as_str(), all[0].year),
            ("Doe", Some(2011))
        );
        assert_eq!(
            all[1].text.as_deref(),
            Some("Anon. The heron book. Example Press, 1999.")
        );
    }
}
