//! What is written, and what is left alone.

use std::fs;

use curtsy_papers::plan::Outcome;
use curtsy_papers::retrieve::Layout;
use curtsy_papers::{ErrorKind, Reason};
use serde_json::Value;

use crate::support::*;
use crate::world::{Answer, Fault, World};

/// A paper that Unpaywall knows to be closed.
const CLOSED: &str = "10.5555/curtsy.2019.0007";
/// The nine keys that other tools know.
const KEYS: [&str; 9] = [
    "doi",
    "encoded_doi",
    "pmid",
    "id",
    "source_url",
    "all_urls",
    "download_success",
    "pdf_filepath",
    "open_access",
];

#[tokio::test]
async fn a_paper_and_its_record_are_written_as_other_tools_write_them() {
    let world = World::start().await;
    let (paper, folder) = get(&world, "https://doi.org/10.5555/CURTSY.2024.0042").await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    let name = "doi-10%2E5555%2Fcurtsy%2E2024%2E0042";
    assert_eq!(
        files(folder.path()),
        [format!("{name}/{name}.json"), format!("{name}/{name}.pdf")]
    );
    let record = sidecar(folder.path());
    let example: Value =
        serde_json::from_str(include_str!("../../testdata/out_sidecar_success.json")).unwrap();
    for key in KEYS {
        assert!(record.get(key).is_some(), "{key}");
        if !matches!(key, "source_url" | "all_urls" | "pdf_filepath") {
            assert_eq!(record[key], example[key], "{key}");
        }
    }
    assert_eq!(
        record["pdf_filepath"],
        paper.stored.unwrap().path.display().to_string()
    );
    for key in [
        "schema",
        "requested_as",
        "pmcid",
        "title",
        "source",
        "host_type",
        "version",
        "license",
        "retracted",
        "bytes",
        "sha256",
        "content_type",
        "verified",
    ] {
        assert_eq!(record["curtsy"][key], example["curtsy"][key], "{key}");
    }
    let outcomes: Vec<_> = record["curtsy"]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["ok", "ok", "ok", "pdf"]);
    assert_eq!(record.as_object().unwrap().len(), KEYS.len() + 1);
}

#[tokio::test]
async fn a_paper_that_is_there_takes_no_request_and_one_that_is_gone_or_changed_does() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let first = retriever.retrieve(order(DOI)).await.unwrap();
    let path = first.stored.unwrap().path;
    world.clear();
    let again = retriever
        .retrieve(order(&DOI.to_uppercase()))
        .await
        .unwrap();
    assert_eq!(again.verdict.outcome, Outcome::Had);
    assert_eq!(again.stored.as_ref().unwrap().path, path);
    assert_eq!(again.ids.pmid.unwrap().to_string(), "39900042");
    assert!(world.arrivals().is_empty());

    fs::remove_file(&path).unwrap();
    let deleted = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(
        (deleted.verdict.outcome, deleted.stored.unwrap().path),
        (Outcome::Pdf, path.clone())
    );

    // Somebody has written into it: it is theirs.
    let annotated = [PAPER, b"\n% a note\n%%EOF\n"].concat();
    fs::write(&path, &annotated).unwrap();
    let beside = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(beside.verdict.outcome, Outcome::Pdf);
    assert_eq!(fs::read(&path).unwrap(), annotated);
    assert!(
        beside
            .stored
            .unwrap()
            .path
            .display()
            .to_string()
            .ends_with("0042-2.pdf")
    );
}

#[tokio::test]
async fn a_strangers_file_is_neither_taken_nor_touched() {
    let world = World::start().await;
    for (name, text) in [
        ("pdf", &b"<html>somebody's"[..]),
        ("pdf", PAPER),
        ("json", b"{\"doi\": \"tor"),
        ("json", b"{\"mine\": 1}"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let theirs = format!("{}.{name}", stem(folder.path()).display());
        fs::create_dir_all(std::path::Path::new(&theirs).parent().unwrap()).unwrap();
        fs::write(&theirs, text).unwrap();
        let other = folder.path().join("other.pdf");
        fs::write(&other, b"broken").unwrap();
        let retriever = builder(&world, folder.path()).build().unwrap();
        let paper = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(paper.verdict.outcome, Outcome::Pdf, "{name}");
        assert!(
            paper
                .stored
                .unwrap()
                .path
                .display()
                .to_string()
                .ends_with("0042-2.pdf")
        );
        assert_eq!(fs::read(&theirs).unwrap(), text);
        assert_eq!(fs::read(&other).unwrap(), b"broken");
        // The next run takes its own one for what it is.
        world.clear();
        let again = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(again.verdict.outcome, Outcome::Had);
        assert!(world.arrivals().is_empty());
    }
}

#[tokio::test]
async fn a_record_of_another_tool_counts_where_its_pdf_is_whole() {
    let world = World::start().await;
    for (body, outcome) in [
        (PAPER, Outcome::Had),
        (&b"<html>a challenge, saved as a PDF"[..], Outcome::Pdf),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let stem = stem(folder.path());
        fs::create_dir_all(stem.parent().unwrap()).unwrap();
        let (pdf, json) = (
            format!("{}.pdf", stem.display()),
            format!("{}.json", stem.display()),
        );
        fs::write(&pdf, body).unwrap();
        let record = serde_json::json!({"doi": DOI, "encoded_doi": "x", "pmid": null, "id": "x", "source_url": "http://x",
            "all_urls": [], "download_success": true, "pdf_filepath": pdf, "open_access": true});
        fs::write(&json, record.to_string()).unwrap();
        let retriever = builder(&world, folder.path()).build().unwrap();
        let paper = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(paper.verdict.outcome, outcome);
        assert_eq!(fs::read(&pdf).unwrap(), body, "it is not ours to remove");
    }
}

#[tokio::test]
async fn a_try_in_vain_leaves_a_record_and_the_next_one_is_made() {
    let world = World::start().await;
    let closed = include_str!("../../testdata/unpaywall_v2_closed_old_authors.json");
    world.fault(Fault::new("api.unpaywall.org", "/", Answer::json(closed)));
    let (paper, folder) = get(&world, CLOSED).await;
    let verdict = &paper.verdict;
    assert_eq!(
        (verdict.outcome, verdict.reason),
        (Outcome::NotOpen, Some(Reason::Closed))
    );
    let record = files(folder.path());
    assert_eq!(record.len(), 1, "{record:?}");
    let text = fs::read(folder.path().join(&record[0])).unwrap();
    let record: Value = serde_json::from_slice(&text).unwrap();
    let example: Value =
        serde_json::from_str(include_str!("../../testdata/out_sidecar_failure.json")).unwrap();
    for key in [
        "source_url",
        "all_urls",
        "download_success",
        "pdf_filepath",
        "open_access",
        "pmid",
    ] {
        assert_eq!(record[key], example[key], "{key}");
    }
    assert_eq!(record["curtsy"]["retry"], "never");
    assert_eq!(
        record["curtsy"]["not_asked"],
        serde_json::json!(["openalex", "semanticscholar"])
    );
    let retriever = builder(&world, folder.path()).build().unwrap();
    world.clear();
    let again = retriever.retrieve(order(CLOSED)).await.unwrap();
    assert_eq!(again.verdict.outcome, Outcome::NotOpen);
    assert!(!world.arrivals().is_empty());
    assert_eq!(files(folder.path()).len(), 1);
}

#[tokio::test]
async fn a_file_name_is_taken_as_given_and_does_not_leave_the_folder() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| builder(&world, folder.path()).filename(Some(name.to_owned()));
    for name in ["../out.pdf", "/tmp/out.pdf", "a/b.pdf", ".."] {
        let error = named(name).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{name}");
    }
    let retriever = named("herons").build().unwrap();
    retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(files(folder.path()), ["herons.json", "herons.pdf"]);
}

#[tokio::test]
async fn papers_lie_as_the_layout_says() {
    let world = World::start().await;
    let name = "doi-10%2E5555%2Fcurtsy%2E2024%2E0042";
    for (layout, pdf) in [
        (Layout::Flat, format!("{name}.pdf")),
        (Layout::Tree, format!("10%2E5555/{name}/{name}.pdf")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let retriever = builder(&world, folder.path())
            .layout(layout)
            .build()
            .unwrap();
        retriever.retrieve(order(DOI)).await.unwrap();
        assert!(folder.path().join(&pdf).exists(), "{pdf}");
    }
}

#[tokio::test]
async fn an_attempt_that_is_overridden_replaces_its_own_files() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    builder(&world, folder.path())
        .build()
        .unwrap()
        .retrieve(order(DOI))
        .await
        .unwrap();
    world.clear();
    let again = builder(&world, folder.path())
        .override_previous_attempt(true)
        .build()
        .unwrap();
    let paper = again.retrieve(order(DOI)).await.unwrap();
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    assert!(!world.arrivals().is_empty());
    assert_eq!(files(folder.path()).len(), 2);
}

#[tokio::test]
async fn what_a_crash_left_half_done_is_cleared_away() {
    let world = World::start().await;
    only_at_publisher(&world);
    let folder = tempfile::tempdir().unwrap();
    let stem = stem(folder.path());
    fs::create_dir_all(stem.parent().unwrap()).unwrap();
    let name = stem.file_name().unwrap().to_str().unwrap();
    fs::write(
        stem.parent()
            .unwrap()
            .join(format!(".{name}.pdf.curtsy-part")),
        b"%PDF-half",
    )
    .unwrap();
    world.fault(Fault::new(JOURNAL, "/articles", Answer::pdf(PAPER)).times(1));
    builder(&world, folder.path())
        .build()
        .unwrap()
        .retrieve(order(DOI))
        .await
        .unwrap();
    assert_eq!(files(folder.path()).len(), 2);
}

/// The hidden file beside the PDF or its record while that is made.
fn hidden(folder: &std::path::Path, what: &str) -> std::path::PathBuf {
    let stem = stem(folder);
    let name = stem.file_name().unwrap().to_str().unwrap();
    stem.with_file_name(format!(".{name}.{what}"))
}

#[tokio::test]
async fn runs_that_are_at_the_same_paper_spoil_nothing_for_one_another() {
    let world = World::start().await;
    only_at_publisher(&world);
    for again in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let runs: Vec<_> = (0..6)
            .map(|_| {
                let retriever = builder(&world, folder.path());
                let retriever = retriever.override_previous_attempt(again).build().unwrap();
                tokio::spawn(async move { retriever.retrieve(order(DOI)).await })
            })
            .collect();
        let mut ended = 0;
        for run in runs {
            // One that finds its place taken at the last moment may say so, and no more.
            if let Ok(paper) = run.await.unwrap() {
                let path = paper.stored.unwrap().path;
                assert_eq!(fs::read(&path).unwrap(), PAPER, "{}", path.display());
                ended += 1;
            }
        }
        assert!(ended > 0);
        for file in files(folder.path()) {
            assert!(!file.contains("curtsy-"), "{file} is left behind");
            if file.ends_with(".pdf") {
                assert_eq!(fs::read(folder.path().join(file)).unwrap(), PAPER);
            }
        }
    }
}

#[tokio::test]
async fn a_run_that_was_killed_between_the_pdf_and_its_record_has_both_the_next_time() {
    let world = World::start().await;
    // In the place of no record, and of one of a try in vain.
    for earlier in [
        None,
        Some(
            r#"{"download_success": false, "pdf_filepath": "unavailable", "curtsy": {"schema": 1}}"#,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let retriever = builder(&world, folder.path()).build().unwrap();
        retriever.retrieve(order(DOI)).await.unwrap();
        let record = format!("{}.json", stem(folder.path()).display());
        fs::rename(&record, hidden(folder.path(), "json.curtsy-part")).unwrap();
        if let Some(text) = earlier {
            fs::write(&record, text).unwrap();
        }
        world.clear();
        let again = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(again.verdict.outcome, Outcome::Had);
        assert!(world.arrivals().is_empty());
        assert_eq!(files(folder.path()).len(), 2);
        assert_eq!(sidecar(folder.path())["download_success"], true);
    }
}

#[tokio::test]
async fn a_download_that_was_killed_goes_on_where_it_was_and_no_byte_comes_twice() {
    let world = World::start().await;
    only_at_publisher(&world);
    let copy = world.url(JOURNAL, "/articles/0042.pdf");
    for (left, url, ranges) in [
        (&PAPER[..200], copy.as_str(), &[Some("bytes=200-")][..]),
        (PAPER, &copy, &[Some("bytes=597-")]),
        // What a loss of power left unwritten.
        (
            &[&PAPER[..200], &[0; 397]].concat(),
            &copy,
            &[Some("bytes=597-"), None],
        ),
        (b"<html>", &copy, &[Some("bytes=6-"), None]),
        (&PAPER[..200], "https://elsewhere.example/", &[None]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let part = hidden(folder.path(), "pdf.curtsy-part");
        fs::create_dir_all(part.parent().unwrap()).unwrap();
        fs::write(&part, left).unwrap();
        let trail = serde_json::json!({"url": url, "validator": "\"paper-1\"", "content_type": "application/pdf"});
        fs::write(hidden(folder.path(), "pdf.curtsy-trail"), trail.to_string()).unwrap();
        world.clear();
        let retriever = builder(&world, folder.path()).build().unwrap();
        let paper = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(fs::read(&paper.stored.unwrap().path).unwrap(), PAPER);
        let arrivals = world.arrivals_at(JOURNAL);
        let asked = arrivals.iter().filter(|a| a.path.starts_with("/articles"));
        let asked: Vec<_> = asked.map(|arrival| arrival.header("range")).collect();
        assert_eq!(asked, ranges, "{} bytes", left.len());
        assert_eq!(files(folder.path()).len(), 2);
    }
}
