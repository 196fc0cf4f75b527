//! `efetch`: whole records, as XML.
//!
//! <https://www.ncbi.nlm.nih.gov/books/NBK25499/>, <https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd>. Read are
//! articles and books; of their dates `Year` and `MedlineDate`; groups among the authors; labelled abstracts; every
//! reference list. Not read: MeSH headings, grants, chemicals.

use super::article::{Article, Author, Citation, Kind, Section};
use super::esearch::History;
use super::tree::{self, Node};
use crate::id::{Doi, Identifier, Pmid};
use crate::query::Query;
use crate::source::Unreadable;

/// The most records of one call.
pub(crate) const MAX_RECORDS: usize = 200;

/// Asks for records by their PMIDs, at most [`MAX_RECORDS`].
pub(crate) fn query(pmids: &[Pmid]) -> Query {
    let ids: Vec<String> = pmids.iter().map(Pmid::to_string).collect();
    start().pair("id", ids.join(","))
}

/// Asks for some of the records that the server keeps.
pub(crate) fn query_history(history: &History, from: usize, most: usize) -> Query {
    start()
        .pair("WebEnv", &history.environment)
        .pair("query_key", &history.key)
        .pair("retstart", from.to_string())
        .pair("retmax", most.to_string())
}

fn start() -> Query {
    Query::at("efetch.fcgi")
        .pair("db", "pubmed")
        .pair("retmode", "xml")
}

/// The records.
///
/// # Errors
/// It is no answer of this kind, or breaks off.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Article>, Unreadable> {
    let mut all = Vec::new();
    let records = ["PubmedArticle", "PubmedBookArticle"];
    tree::read(body, "PubmedArticleSet", &records, |record| {
        all.push(match record.name() {
            "PubmedArticle" => article(&record),
            _ => book(&record),
        });
    })?;
    Ok(all)
}

fn article(record: &Node) -> Article {
    let none = Node::default();
    let citation = record.at("MedlineCitation").unwrap_or(&none);
    let paper = citation.at("Article").unwrap_or(&none);
    let data = record.at("PubmedData").unwrap_or(&none);
    let types = texts(paper, "PublicationTypeList", "PublicationType");
    let notes = citation.at("CommentsCorrectionsList");
    let retraction = |note: &Node| note.attribute("RefType") == Some("RetractionIn");
    let mut article = Article {
        pmid: parse(citation.text_at("PMID")),
        doi: electronic_doi(paper),
        title: paper.text_at("ArticleTitle").unwrap_or_default(),
        authors: authors(paper),
        sections: sections(paper),
        journal: paper.text_at("Journal/Title"),
        journal_abbreviation: paper
            .text_at("Journal/ISOAbbreviation")
            .or_else(|| citation.text_at("MedlineJournalInfo/MedlineTA")),
        volume: paper.text_at("Journal/JournalIssue/Volume"),
        issue: paper.text_at("Journal/JournalIssue/Issue"),
        pages: paper.text_at("Pagination/MedlinePgn"),
        keywords: texts(citation, "KeywordList", "Keyword"),
        retracted: types.iter().any(|kind| kind == "Retracted Publication")
            || notes.is_some_and(|notes| notes.all("CommentsCorrections").any(retraction)),
        types,
        languages: paper.all("Language").filter_map(Node::text).collect(),
        country: citation.text_at("MedlineJournalInfo/Country"),
        references: data.all("ReferenceList").flat_map(citations).collect(),
        ..Article::default()
    };
    let date = paper
        .at("ArticleDate")
        .or_else(|| paper.at("Journal/JournalIssue/PubDate"));
    (article.date, article.year) = date.map(read_date).unwrap_or_default();
    add_ids(data, &mut article);
    article
}

fn book(record: &Node) -> Article {
    let none = Node::default();
    let document = record.at("BookDocument").unwrap_or(&none);
    let book = document.at("Book").unwrap_or(&none);
    let title = document
        .text_at("ArticleTitle")
        .or_else(|| book.text_at("BookTitle"));
    let mut authors = authors(document);
    if authors.is_empty() {
        authors = self::authors(book);
    }
    let mut article = Article {
        kind: Kind::Book,
        pmid: parse(document.text_at("PMID")),
        title: title.unwrap_or_default(),
        authors,
        sections: sections(document),
        journal: book.text_at("Publisher/PublisherName"),
        pages: document.text_at("Pagination/MedlinePgn"),
        keywords: texts(document, "KeywordList", "Keyword"),
        types: document
            .all("PublicationType")
            .filter_map(Node::text)
            .collect(),
        languages: document.all("Language").filter_map(Node::text).collect(),
        references: document.all("ReferenceList").flat_map(citations).collect(),
        ..Article::default()
    };
    (article.date, article.year) = book.at("PubDate").map(read_date).unwrap_or_default();
    add_ids(document, &mut article);
    article
}

/// The identifiers beside the record itself; those of its references lie deeper.
fn add_ids(parent: &Node, article: &mut Article) {
    let mut ids = Citation::default();
    add_citation_ids(parent, &mut ids);
    article.pmid = article.pmid.or(ids.pmid);
    article.doi = ids.doi.or(article.doi.take());
    article.pmcid = ids.pmcid;
}

fn add_citation_ids(parent: &Node, citation: &mut Citation) {
    for id in parent
        .all("ArticleIdList")
        .flat_map(|list| list.all("ArticleId"))
    {
        let text = id.text();
        match id.attribute("IdType") {
            Some("doi") => citation.doi = citation.doi.take().or_else(|| doi(text)),
            Some("pubmed") => citation.pmid = citation.pmid.or_else(|| parse(text)),
            Some("pmc") => citation.pmcid = citation.pmcid.or_else(|| parse(text)),
            _ => {}
        }
    }
}

fn electronic_doi(paper: &Node) -> Option<Doi> {
    let is_doi =
        |id: &&Node| id.attribute("EIdType") == Some("doi") && id.attribute("ValidYN") != Some("N");
    doi(paper.all("ELocationID").find(is_doi)?.text())
}

fn authors(parent: &Node) -> Vec<Author> {
    // A book has lists of authors and of editors.
    let is_of_authors = |list: &&Node| list.attribute("Type") != Some("editors");
    let lists = parent.all("AuthorList").filter(is_of_authors);
    let author = |author: &Node| {
        if let Some(group) = author.text_at("CollectiveName") {
            return Some(Author::Group { group });
        }
        let fore = author
            .text_at("ForeName")
            .or_else(|| author.text_at("Initials"));
        Some(Author::Person {
            last: author.text_at("LastName")?,
            fore: fore.unwrap_or_default(),
        })
    };
    lists
        .flat_map(|list| list.all("Author"))
        .filter_map(author)
        .collect()
}

fn sections(parent: &Node) -> Vec<Section> {
    let texts = parent.all("Abstract").flat_map(|of| of.all("AbstractText"));
    let section = |part: &Node| {
        Some(Section {
            label: part.attribute("Label").map(str::to_owned),
            text: part.text()?,
        })
    };
    texts.filter_map(section).collect()
}

fn texts(parent: &Node, list: &str, item: &str) -> Vec<String> {
    let items = parent.all(list).flat_map(|list| list.all(item));
    items.filter_map(Node::text).collect()
}

/// A list may hold lists.
fn citations(list: &Node) -> Vec<Citation> {
    let citation = |reference: &Node| {
        let mut citation = Citation {
            text: reference.text_at("Citation"),
            ..Citation::default()
        };
        add_citation_ids(reference, &mut citation);
        citation
    };
    let own = list.all("Reference").map(citation);
    own.chain(list.all("ReferenceList").flat_map(citations))
        .collect()
}

/// A date as far as it is known, and its year.
fn read_date(date: &Node) -> (Option<String>, Option<u16>) {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    if let Some(text) = date.text_at("MedlineDate") {
        // "1998 Dec-1999 Jan", "Winter 2001".
        let digits = text.split(|c: char| !c.is_ascii_digit());
        let year = digits
            .filter(|run| run.len() == 4)
            .find_map(|run| run.parse().ok());
        return (Some(text), year);
    }
    let year: Option<u16> = parse(date.text_at("Year"));
    let Some(year) = year.filter(|year| (1..=9_999).contains(year)) else {
        return (None, None);
    };
    let month = date.text_at("Month").and_then(|text| {
        let named = MONTHS.iter().zip(1..).find(|(name, _)| {
            text.get(..3)
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        let month = named
            .map(|(_, month)| month)
            .or_else(|| text.parse::<u8>().ok());
        month.filter(|month| (1..=12).contains(month))
    });
    let day = parse::<u8>(date.text_at("Day")).filter(|day| (1..=31).contains(day));
    let text = match (month, day) {
        (None, _) => match date.text_at("Season") {
            Some(season) => format!("{year:04} {season}"),
            None => format!("{year:04}"),
        },
        (Some(month), None) => format!("{year:04}-{month:02}"),
        (Some(month), Some(day)) => format!("{year:04}-{month:02}-{day:02}"),
    };
    (Some(text), Some(year))
}

fn parse<T: std::str::FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}

fn doi(text: Option<String>) -> Option<Doi> {
    match parse(text)? {
        Identifier::Doi(doi) => Some(doi),
        Identifier::Arxiv(arxiv) => Some(arxiv.doi()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> Vec<Article> {
        read(include_bytes!("../../testdata/eutils_efetch_pubmed.xml")).unwrap()
    }

    #[test]
    fn an_article_is_read_with_markup_labels_groups_and_all_its_references() {
        let article = &fixture()[0];
        assert_eq!(
            article.title,
            "Waiting politely: queue discipline in marsh herons (Ardea ficta) at 4\u{a0}\u{b0}C."
        );
        assert_eq!(
            article.row().join("|"),
            "39900042|Waiting politely: queue discipline in marsh herons (Ardea ficta) at 4\u{a0}\u{b0}C.|Roe, Rae; \
             Marsh Heron Group|Roe, Rae|AIM: To see whether herons queue. RESULT: They do (p < 0.05).|2024-01-12|2024|\
             Journal of invented ornithology 12(2):101-110|10.5555/curtsy.2024.0042|PMC9900042|queueing|\
             Journal Article|England|eng"
        );
        let dois: Vec<_> = article
            .references
            .iter()
            .map(|of| of.doi.as_ref().map(Doi::as_str))
            .collect();
        assert_eq!(
            dois,
            [Some("10.5555/ref.one.1"), None, Some("10.5555/ref.two.2")]
        );
        assert_eq!(article.references[0].pmid.unwrap().to_string(), "21110001");
    }

    #[test]
    fn print_only_papers_have_a_year_and_books_are_records_too() {
        let all = fixture();
        let print = &all[1];
        assert_eq!(
            (print.date.as_deref(), print.year),
            (Some("1998 Dec-1999 Jan"), Some(1998))
        );
        assert_eq!(
            (print.doi.as_ref(), print.types.as_slice()),
            (None, &["Case Reports".to_owned()][..])
        );
        let book = &all[2];
        assert_eq!(
            (book.kind, book.title.as_str(), book.year),
            (Kind::Book, "Herons for beginners", Some(2022))
        );
        assert_eq!(book.journal.as_deref(), Some("Example Press"));
    }

    #[test]
    fn dates_and_retractions_are_read_in_every_spelling() {
        let record = |inside: &str| {
            let xml = format!(
                "<PubmedArticleSet><PubmedArticle><MedlineCitation>{inside}</MedlineCitation></PubmedArticle>\
                 </PubmedArticleSet>"
            );
            read(xml.as_bytes()).unwrap().remove(0)
        };
        for (date, expected) in [
            (
                "<Year>2024</Year><Month>Feb</Month><Day>3</Day>",
                Some("2024-02-03"),
            ),
            ("<Year>2024</Year><Month>12</Month>", Some("2024-12")),
            (
                "<Year>2024</Year><Season>Winter</Season>",
                Some("2024 Winter"),
            ),
            (
                "<Year>2024</Year><Month>Smarch</Month><Day>40</Day>",
                Some("2024"),
            ),
            ("<Year>MMXX</Year>", None),
            (
                "<MedlineDate>Spring 2001</MedlineDate>",
                Some("Spring 2001"),
            ),
        ] {
            let article = record(&format!(
                "<Article><Journal><JournalIssue><PubDate>{date}</PubDate></JournalIssue></Journal></Article>"
            ));
            assert_eq!(article.date.as_deref(), expected, "{date}");
        }
        let note = "<CommentsCorrectionsList><CommentsCorrections RefType=\"RetractionIn\"/></CommentsCorrectionsList>";
        assert!(record(note).retracted);
        assert!(!record("").retracted);
    }

    #[test]
    fn a_set_that_breaks_off_is_no_answer() {
        let whole = include_bytes!("../../testdata/eutils_efetch_pubmed.xml");
        for length in [0, 1, 500, 3_000, whole.len() - 20] {
            assert_eq!(read(&whole[..length]), Err(Unreadable), "{length}");
        }
        assert_eq!(
            read(b"<eFetchResult><ERROR>x</ERROR></eFetchResult>"),
            Err(Unreadable)
        );
    }
}
