//! A search of PubMed, and the papers that it finds, over one access: every host has one pace, whoever asks.
//!
//! ```sh
//! cargo run -p curtsy-papers --example search -- rae@university.edu 'herons[ti]'
//! ```

#![allow(clippy::print_stdout)]

use curtsy_papers::pubmed::{PubMedSearcher, SearchOptions};
use curtsy_papers::retrieve::PaperRetriever;
use curtsy_papers::{Access, Answer, Contact};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let contact: Contact = arguments
        .next()
        .ok_or("who asks? give a mail address")?
        .parse()?;
    let query = arguments.next().ok_or("what for? give a search")?;
    let access = Access::builder(contact.clone()).build()?;
    let searcher = PubMedSearcher::builder(contact.clone())
        .search_string(query)
        .http_client(access.clone())
        .build()?;
    let retriever = PaperRetriever::builder(contact)
        .http_client(access)
        .download_directory("herons")
        .build()?;

    let found = searcher
        .download_articles(
            &SearchOptions::default(),
            &retriever,
            |article, paper| match (paper.stored, paper.verdict.reason) {
                (Some(pdf), _) => println!("{}", pdf.path.display()),
                (None, Some(reason)) => println!("{}: {reason}", article.title),
                (None, None) => {}
            },
        )
        .await?;
    let Answer::Found(papers) = found else {
        return Err("PubMed has not answered".into());
    };
    println!("{papers} papers");
    Ok(())
}
