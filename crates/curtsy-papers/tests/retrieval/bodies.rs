//! What comes under `application/pdf` and is none, or not all of one.

use curtsy_papers::Reason;
use curtsy_papers::plan::Outcome;

use crate::support::*;
use crate::world::{Answer, Fault, World};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/", $name)).as_slice()
    };
}

/// Whether a folder holds a file that anybody would take for a PDF, or something half done.
fn leaves_a_pdf(folder: &std::path::Path) -> bool {
    files(folder).iter().any(|file| !file.ends_with(".json"))
}

#[tokio::test]
async fn what_is_no_pdf_never_leaves_one_whatever_it_is_called() {
    for (body, reason) in [
        (fixture!("challenge_page.html"), Reason::Walled),
        (fixture!("login_page.html"), Reason::Walled),
        (fixture!("viewer_page.html"), Reason::HtmlInstead),
        (fixture!("landing_page.html"), Reason::HtmlInstead),
        (fixture!("semanticscholar_404.json"), Reason::NotPdf),
        (fixture!("pmc_cloud_nosuchkey.xml"), Reason::NotPdf),
        (b"\x89PNG\r\n\x1a\n0000", Reason::NotPdf),
        (b"Not found", Reason::NotPdf),
        (b"", Reason::Empty),
        (fixture!("paper_truncated.pdf"), Reason::Truncated),
        (&PAPER[..300], Reason::Truncated),
        (b"%PDF-1.4\nstartxref\n9\n%%EOF\n", Reason::NotPdf),
    ] {
        let world = World::start().await;
        only_at_publisher(&world);
        world.fault(Fault::new(JOURNAL, "/articles", Answer::pdf(body)));
        let (paper, folder) = get(&world, DOI).await;
        let verdict = &paper.verdict;
        assert_eq!(
            (verdict.outcome, verdict.reason),
            (Outcome::Failed, Some(reason))
        );
        assert!(
            !leaves_a_pdf(folder.path()),
            "{reason}: {:?}",
            files(folder.path())
        );
        let record = sidecar(folder.path());
        assert_eq!(record["download_success"], false);
        assert_eq!(record["pdf_filepath"], "unavailable");
        assert_eq!(record["curtsy"]["reason"], reason.label());
    }
}

#[tokio::test]
async fn a_pdf_is_one_whatever_its_server_calls_it_and_whatever_stands_before_it() {
    let world = World::start().await;
    only_at_publisher(&world);
    let blanks = [PAPER, &[b' '; 700]].concat();
    for (media_type, body) in [
        ("text/html", PAPER),
        ("application/octet-stream", PAPER),
        ("application/pdf", fixture!("paper_leading_junk.pdf")),
        ("application/pdf", &blanks),
    ] {
        world.fault(Fault::new(JOURNAL, "/articles", Answer::new(200, media_type, body)).times(1));
        let (paper, folder) = get(&world, DOI).await;
        assert_eq!(paper.verdict.outcome, Outcome::Pdf, "{media_type}");
        let stored = std::fs::read(&paper.stored.unwrap().path).unwrap();
        assert_eq!(stored, body);
        assert_eq!(files(folder.path()).len(), 2);
    }
}

#[tokio::test]
async fn a_download_that_broke_off_is_resumed_where_it_did() {
    let world = World::start().await;
    only_at_publisher(&world);
    let cut = Answer::pdf(PAPER).header("etag", "\"paper-1\"").cut_at(200);
    world.fault(Fault::new(JOURNAL, "/articles", cut).times(1));
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    let stored = paper.stored.unwrap();
    assert_eq!(std::fs::read(&stored.path).unwrap(), PAPER);
    let arrivals = world.arrivals_at(JOURNAL);
    let asked: Vec<_> = arrivals
        .iter()
        .filter(|a| a.path.starts_with("/articles"))
        .collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].header("range"), Some("bytes=200-"));
    assert_eq!(asked[1].header("if-range"), Some("\"paper-1\""));
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_fetched_from_its_beginning() {
    let world = World::start().await;
    only_at_publisher(&world);
    let other = vec![b'x'; 200];
    let old = [&b"%PDF-1.4\n"[..], &other, PAPER].concat();
    let cut = Answer::pdf(old).header("etag", "\"paper-0\"").cut_at(150);
    world.fault(Fault::new(JOURNAL, "/articles", cut).times(1));
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(std::fs::read(&paper.stored.unwrap().path).unwrap(), PAPER);
}

#[tokio::test]
async fn a_pdf_with_another_checksum_than_its_source_says_is_refused() {
    let world = World::start().await;
    let other = [PAPER, b"\n"].concat();
    world.fault(Fault::new(
        "pmc-oa-opendata.s3.amazonaws.com",
        "/PMC9900042.2/",
        Answer::pdf(other),
    ));
    world.fault(Fault::new("api.unpaywall.org", "/", Answer::status(404)));
    world.fault(Fault::new(
        "www.ebi.ac.uk",
        "/",
        Answer::json(r#"{"resultList": {"result": []}}"#),
    ));
    world.fault(Fault::new("api.crossref.org", "/", Answer::status(404)));
    world.fault(Fault::new("doi.org", "/10.5555", Answer::status(404)));
    let (paper, folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.reason, Some(Reason::Checksum));
    assert!(!leaves_a_pdf(folder.path()));
}

#[tokio::test]
async fn a_pdf_that_says_it_is_another_work_is_put_aside_where_that_is_asked_for() {
    let naming = |doi: &str| {
        // Before the header, where anything may stand.
        let metadata = format!("<prism:doi>{doi}</prism:doi>\n");
        [metadata.as_bytes(), PAPER].concat()
    };
    for (doi, checks, outcome) in [
        ("10.5555/another", true, Outcome::Failed),
        ("10.5555/another", false, Outcome::Pdf),
        ("10.5555/CURTSY.2024.0042", true, Outcome::Pdf),
    ] {
        let world = World::start().await;
        only_at_publisher(&world);
        world.fault(Fault::new(JOURNAL, "/articles", Answer::pdf(naming(doi))));
        let folder = tempfile::tempdir().unwrap();
        let retriever = builder(&world, folder.path()).check_identity(checks);
        let retriever = retriever.build().unwrap();
        let paper = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(paper.verdict.outcome, outcome, "{doi}, {checks}");
        let is_wrong = paper.verdict.reason == Some(Reason::WrongPaper);
        let suspects = files(folder.path());
        let suspects = suspects
            .iter()
            .filter(|file| file.ends_with(".suspect.pdf"));
        assert_eq!(
            (is_wrong, suspects.count()),
            (outcome == Outcome::Failed, usize::from(is_wrong))
        );
    }
}

#[tokio::test]
async fn a_pdf_that_is_too_large_is_not_read_to_its_end() {
    let world = World::start().await;
    only_at_publisher(&world);
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path())
        .max_size(596)
        .build()
        .unwrap();
    let paper = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(paper.verdict.reason, Some(Reason::TooLarge));
    assert!(!leaves_a_pdf(folder.path()));
}
