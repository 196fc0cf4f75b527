//! The commands about papers that download none.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::support::{out, paper, rows, run, said};
use crate::world::{Answer as Said, Fault, Search, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_contact_is_needed_and_no_placeholder() {
    let world = World::start().await;
    let none = paper(&world, &["cite", "10.5555/a"])
        .env_remove("CURTSY_CONTACT")
        .output()
        .unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(
        said(&none).starts_with("curtsy: --contact: is needed"),
        "{}",
        said(&none)
    );
    for (address, why) in [
        ("you@example.com", "is a placeholder"),
        ("you", "is no mail address"),
    ] {
        let refused = run(&world, &["cite", "10.5555/a", "--email", address]);
        assert_eq!(refused.status.code(), Some(2), "{address}");
        assert!(said(&refused).contains(why), "{}", said(&refused));
    }
    assert!(world.arrivals().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_a_table_csv_json_lines_or_identifiers() {
    let world = World::start().await;
    world.set_search(Search::of(12));
    let table = run(&world, &["search", "herons", "-n", "2"]);
    assert_eq!(
        out(&table),
        "20000011  2001                        Hit 20000011.\n20000010  2001                        Hit 20000010.\n"
    );
    assert!(said(&table).contains("2 of 12 hits"), "{}", said(&table));

    let csv = out(&run(&world, &["search", "herons", "-n", "1", "--csv"]));
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("pmid,title,authors,first_author,abstract,")
    );
    assert!(lines.next().unwrap().starts_with("20000011,Hit 20000011.,"));

    let json = rows(&run(&world, &["search", "herons", "-n", "1", "--json"]));
    assert_eq!(
        (&json[0]["pmid"], &json[0]["doi"]),
        (&"20000011".into(), &"10.5555/hit.20000011".into())
    );

    let ids = run(
        &world,
        &[
            "search", "herons", "--ids", "--count", "none", "--from", "1990",
        ],
    );
    assert_eq!(
        (ids.status.code(), out(&ids).lines().count()),
        (Some(0), 12)
    );
    let none = run(&world, &["search", "nothing", "--ids"]);
    assert_eq!((none.status.code(), out(&none)), (Some(0), String::new()));
    let wrong = run(
        &world,
        &["search", "herons", "--from", "2025", "--to", "2024"],
    );
    assert_eq!(wrong.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_converted_line_by_line_and_a_bad_line_is_a_result() {
    let world = World::with_papers(10).await;
    let mut child = paper(&world, &["ids", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let list =
        "# herons\n39900042\n\nhello\n10.5555/WORLD.7 # a comment\nPMC9900042\narXiv:2401.99999\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(list.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let rows = rows(&output);
    let row = |k: usize| {
        ["line", "given", "doi", "pmid", "pmcid", "arxiv", "reason"]
            .map(|name| rows[k][name].clone())
    };
    let null = Json::Null;
    assert_eq!(
        row(0),
        [
            2.into(),
            "39900042".into(),
            "10.5555/curtsy.2024.0042".into(),
            "39900042".into(),
            "PMC9900042".into(),
            null.clone(),
            null.clone()
        ]
    );
    assert_eq!(
        row(1),
        [
            4.into(),
            "hello".into(),
            null.clone(),
            null.clone(),
            null.clone(),
            null.clone(),
            "bad_id".into()
        ]
    );
    assert_eq!(
        (&rows[2]["doi"], &rows[2]["pmid"]),
        (&"10.5555/world.7".into(), &"50000007".into())
    );
    assert_eq!(rows[4]["arxiv"], "2401.99999");
    assert!(
        said(&output).contains("line 4: hello: no identifier in it"),
        "{}",
        said(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn citations_are_printed_and_what_nobody_knows_is_told() {
    let world = World::start().await;
    let bibtex = run(&world, &["cite", "10.5555/curtsy.2024.0042"]);
    assert_eq!(bibtex.status.code(), Some(0), "{}", said(&bibtex));
    assert!(out(&bibtex).starts_with("@article{roe2024waiting,\n"));
    let both = run(
        &world,
        &[
            "cite",
            "10.5555/curtsy.2024.0042",
            "10.5555/nobody",
            "--format",
            "csl-json",
        ],
    );
    assert_eq!(both.status.code(), Some(1));
    let array: Vec<Json> = serde_json::from_str(&out(&both)).unwrap();
    assert_eq!(
        (array.len(), &array[0]["id"]),
        (1, &"roe2024waiting".into())
    );
    assert!(
        said(&both).contains("10.5555/nobody: nobody knows it"),
        "{}",
        said(&both)
    );
    let wrong = run(&world, &["cite", "10.5555/a", "--format", "docx"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn references_and_citing_works_are_listed() {
    let world = World::start().await;
    let refs = run(&world, &["refs", "39900042"]);
    assert_eq!(refs.status.code(), Some(0), "{}", said(&refs));
    let text = out(&refs);
    assert_eq!(
        text.lines().next(),
        Some("2011  Doe J. Patience in waders. J Inv Ornithol  10.5555/ref.one.1")
    );
    assert_eq!(text.lines().count(), 4);
    let citing = run(&world, &["cited-by", "39900042", "--ids"]);
    assert_eq!(out(&citing).lines().count(), 27);
    let json = rows(&run(&world, &["refs", "39900042", "--json"]));
    assert_eq!(
        json[0]["sources"],
        serde_json::json!(["ncbi", "europepmc", "crossref"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_had_later_ends_with_3_and_no_key_is_ever_shown() {
    let world = World::start().await;
    let later = Said::status(429).header("retry-after", "54000");
    world.fault(Fault::new("eutils.ncbi.nlm.nih.gov", "/", later));
    let mut search = paper(&world, &["search", "herons", "-vv"]);
    let output = search.env("NCBI_API_KEY", "ncbi-s3cret").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let told = said(&output);
    assert!(
        told.contains("eutils.ncbi.nlm.nih.gov: rate_limited; not before "),
        "{told}"
    );
    assert!(
        !told.contains("s3cret") && !out(&output).contains("s3cret"),
        "{told}"
    );
    assert_eq!(world.arrivals()[0].pair("api_key"), Some("ncbi-s3cret"));
    let sources = paper(&world, &["sources", "--json"])
        .env("S2_API_KEY", "s2-s3cret")
        .output()
        .unwrap();
    assert!(!out(&sources).contains("s3cret"));
    assert!(out(&sources).contains("\"key_at_hand\":true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_bases_may_stand_in_the_configuration_and_mistakes_are_named() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("curtsy.toml");
    let base = world
        .endpoints()
        .base(curtsy_papers::Provider::Crossref)
        .to_string();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let sources = || {
        let config = file.display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
        command.args([
            "paper", "sources", "--json", "--state", "memory:", "--config", &config,
        ]);
        command.env_remove("OPENALEX_API_KEY").output().unwrap()
    };
    write(&format!(
        "[papers]\nopenalex_api_key = \"oa-s3cret\"\n[papers.base]\ncrossref = \"{base}\"\n"
    ));
    let output = sources();
    let rows = rows(&output);
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(
        (&row("crossref")["base"], &row("openalex")["asked"]),
        (&base.into(), &true.into())
    );
    assert!(!out(&output).contains("s3cret"));
    let mut misspelt = paper(&world, &["sources", "--json"]);
    let told = misspelt
        .env("CURTSY_BASE_CROSREF", "http://a.example")
        .output();
    let told = said(&told.unwrap());
    assert!(
        told.contains("CURTSY_BASE_CROSREF: unknown; did you mean CURTSY_BASE_CROSSREF?"),
        "{told}"
    );
    for (text, complaint) in [
        (
            "[papers]\nopenalex_key = 'x'\n",
            ":2: unknown key openalex_key",
        ),
        (
            "[papers.base]\ncrosref = 'http://a.example'\n",
            ":2: unknown key crosref; did you mean crossref?",
        ),
        (
            "[papers.base]\ncrossref = 'ftp://a.example'\n",
            ":2: crossref: is no base",
        ),
        (
            "[papers]\ns2_api_key = 'a s3cret'\n",
            ":2: s2_api_key: is no key",
        ),
    ] {
        write(text);
        let refused = sources();
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(said(&refused).contains(complaint), "{}", said(&refused));
        assert!(!said(&refused).contains("s3cret"));
    }
}
