//! `get`, `find` and `verify`.

use std::fs;

use crate::support::{count, events, files, lines, out, paper, rows, run, said};
use crate::world::{Answer as Said, Fault, World};

const DOI: &str = "10.5555/curtsy.2024.0042";
const NAME: &str = "doi-10%2E5555%2Fcurtsy%2E2024%2E0042";

#[tokio::test(flavor = "multi_thread")]
async fn get_prints_the_path_and_leaves_the_pdf_its_record_and_the_log() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("papers");
    let into = folder.display().to_string();
    let first = run(&world, &["get", DOI, "-o", &into]);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    let path = format!("{into}/{NAME}/{NAME}.pdf");
    assert_eq!(out(&first), format!("{path}\n"));
    assert!(said(&first).ends_with("a verified PDF from pmc-cloud\n"));
    assert_eq!(
        files(&folder),
        [format!("{NAME}/{NAME}.json"), format!("{NAME}/{NAME}.pdf")]
    );
    // Whatever arrived stands in the log as a departure, and the log is of one chain.
    let log = events(&folder.join(".curtsy/audit.jsonl"));
    assert_eq!(count(&log, "departure"), world.arrivals().len());
    assert_eq!(
        (count(&log, "run_started"), count(&log, "run_ended")),
        (1, 1)
    );
    assert!(log.iter().zip(1..).all(|(event, seq)| event["seq"] == seq));

    world.clear();
    let again = run(&world, &["get", DOI, "-o", &into, "--json"]);
    assert_eq!(again.status.code(), Some(0));
    let row = &rows(&again)[0];
    assert_eq!(
        (&row["outcome"], &row["given"]),
        (&"had".into(), &DOI.into())
    );
    assert!(world.arrivals().is_empty());
    let quiet = run(&world, &["get", DOI, "-o", &into, "-q", "--again"]);
    assert_eq!(
        (out(&quiet), said(&quiet)),
        (format!("{path}\n"), String::new())
    );
    assert!(!world.arrivals().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_paper_is_get_with_all_the_flags_of_the_tool_it_follows() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let bare = |arguments: &[&str]| {
        let mut command = paper(&world, arguments);
        command.current_dir(dir.path()).env_remove("CURTSY_CONTACT");
        command.output().unwrap()
    };
    let email = ["--email", "rae@lab.example"];
    let got = bare(
        &[
            &email[..],
            &[
                "--doi",
                DOI,
                "--dwn-dir",
                "x",
                "--filename",
                "herons.pdf",
                "--override",
            ],
            &[
                "--respect-robots-txt",
                "--no-suppress-403",
                "--no-polite-mode",
                "--allow-scihub",
                "false",
            ],
        ]
        .concat(),
    );
    assert_eq!(got.status.code(), Some(0), "{}", said(&got));
    assert_eq!(out(&got), "x/herons.pdf\n");
    assert_eq!(files(&dir.path().join("x")), ["herons.json", "herons.pdf"]);
    let pmid = bare(&[&email[..], &["--pmid", "39900042"]].concat());
    assert_eq!(out(&pmid), "PDFs/pmid-39900042/pmid-39900042.pdf\n");
    for (arguments, why) in [
        (
            &["--doi", DOI, "--allow-scihub", "true"][..],
            "without the right holders' leave",
        ),
        (
            &["--doi", DOI, "--filename", "../x.pdf"],
            "leads out of the folder",
        ),
        (&["--doi", "39900042"], "is an identifier of another kind"),
        (&["--doi", "hello"], "--doi hello: no identifier in it"),
        (&["--no-polite-mode"], "no paper is named"),
        (&[DOI, "39900042", "--name", "x"], "there are several"),
        (&[DOI, "--source", "library"], "is none of arxiv, idconv,"),
        (
            &[DOI, "--resolver", "https://l.example/"],
            "with {doi} in it",
        ),
    ] {
        world.clear();
        let refused = bare(&[&email[..], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(said(&refused).contains(why), "{}", said(&refused));
        assert_eq!(said(&refused).lines().count(), 1, "{}", said(&refused));
        assert!(world.arrivals().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paper_that_is_not_had_says_why_in_a_line_with_a_way_out() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let get = |arguments: &[&str]| {
        let mut command = paper(&world, &[&["get"], arguments].concat());
        command.current_dir(dir.path()).output().unwrap()
    };
    let closed = get(&["10.5555/curtsy.2019.0007"]);
    assert_eq!(
        (closed.status.code(), out(&closed)),
        (Some(1), String::new())
    );
    assert_eq!(
        said(&closed),
        "curtsy: 10.5555/curtsy.2019.0007: closed: No source knows an open copy: \
         https://doi.org/10.5555/curtsy.2019.0007\n"
    );
    let unknown = get(&["10.5555/nobody", "-q"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).contains("unknown_id: The registry does not know this DOI"));
    let several = get(&["hello", DOI]);
    assert_eq!(
        (several.status.code(), out(&several).lines().count()),
        (Some(1), 1)
    );
    assert!(said(&several).starts_with("curtsy: hello: no identifier in it,"));

    let later = Said::status(429).header("retry-after", "54000");
    for host in ["api.unpaywall.org", "pmc.ncbi.nlm.nih.gov", "www.ebi.ac.uk"] {
        world.fault(Fault::new(host, "/", later.clone()));
    }
    let deferred = get(&["10.5555/closed.1", "--json"]);
    assert_eq!(deferred.status.code(), Some(3));
    assert!(
        said(&deferred).contains("; not before 20"),
        "{}",
        said(&deferred)
    );
    assert_eq!(rows(&deferred)[0]["outcome"], "deferred");

    // Nobody there at all.
    let mut command = paper(
        &world,
        &["get", "10.5555/closed.1", "--max-retries", "0", "-q"],
    );
    for (name, _) in world.variables() {
        command.env(name, "http://127.0.0.1:9/x");
    }
    let alone = command.current_dir(dir.path()).output().unwrap();
    assert_eq!(alone.status.code(), Some(1));
    assert_eq!(said(&alone).lines().count(), 1, "{}", said(&alone));
    assert!(
        said(&alone).contains("unavailable: A source could not be asked"),
        "{}",
        said(&alone)
    );
    assert!(said(&alone).contains("try again later"), "{}", said(&alone));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_papers_come_from_the_file_and_a_resolver_in_it_finds_the_copy() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    for host in ["api.unpaywall.org", "pmc.ncbi.nlm.nih.gov", "www.ebi.ac.uk"] {
        world.fault(Fault::new(host, "/", Said::status(404)));
    }
    for (url, body) in [
        (
            "/json",
            Said::json(r#"{"pdf": "https://store.example.edu/own.pdf"}"#),
        ),
        (
            "/html",
            Said::html("<a class=dl href='https://store.example.edu/own.pdf'>x</a>"),
        ),
        ("/none", Said::json("{}")),
    ] {
        world.fault(Fault::new("library.example.edu", url, body));
    }
    let library = |path: &str| world.url("library.example.edu", path);
    let (none, json) = (library("/none"), library("/json?key=s3cret&id={doi}"));
    for (resolvers, flag) in [
        (
            format!("['{none}?id={{doi}} -> /pdf', '{json} -> /pdf']"),
            None,
        ),
        (
            format!("'{none}?id={{doi}} -> /pdf'"),
            Some(format!("{} -> a.dl", library("/html/{doi}"))),
        ),
    ] {
        let file = format!(
            "[fetch]\nheader = 'Cookie: mine'\n[papers]\nout_dir = 'mine'\nlayout = 'flat'\nresolver = {resolvers}\nncbi_api_key = 's3cret-key'\n"
        );
        fs::write(dir.path().join("curtsy.toml"), file).unwrap();
        let mut command = paper(&world, &["get", DOI, "--again"]);
        if let Some(flag) = &flag {
            command.args(["--resolver", flag]);
        }
        let got = command.current_dir(dir.path()).output().unwrap();
        assert_eq!(got.status.code(), Some(0), "{}", said(&got));
        assert_eq!(out(&got), format!("mine/{NAME}.pdf\n"));
        assert!(said(&got).contains("from resolver"), "{}", said(&got));
    }
    // Headers for URLs of the user's own are none for whoever has papers.
    assert!(
        world
            .arrivals()
            .iter()
            .all(|arrival| arrival.header("cookie").is_none())
    );
    let shown = |command: &[&str]| {
        let mut shown = std::process::Command::new(env!("CARGO_BIN_EXE_curtsy"));
        shown.args(command).env("CURTSY_STATE", "memory:");
        shown.env("OPENALEX_API_KEY", "s3cret-oa");
        let output = shown.current_dir(dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        out(&output)
    };
    fs::write(
        dir.path().join("curtsy.toml"),
        format!("[papers]\nresolver = '{json} -> /pdf'\ns2_api_key = 's3cret-key'\nprefer = 'published'\n"),
    )
    .unwrap();
    let settings = shown(&["config", "show"]);
    for line in [
        "prefer = \"published\"",
        "# s2_api_key is set, and not shown",
        "# environment, OPENALEX_API_KEY",
        "/json?key=***&id={doi} -> /pdf\"]  # file, line 2",
    ] {
        assert!(settings.contains(line), "{line}: {settings}");
    }
    let sources = shown(&["paper", "sources"]);
    assert!(sources.contains("key=***&id={doi} -> /pdf"), "{sources}");
    assert!(sources.contains("10/s, 100000 a day"), "{sources}");
    for text in [
        settings,
        sources,
        shown(&["config", "show", "--json"]),
        shown(&["paper", "sources", "--json"]),
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn citations_lie_beside_the_pdfs_or_all_in_one_file() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let get = |arguments: &[&str]| {
        let mut command = paper(
            &world,
            &[&["get", DOI, "arXiv:2401.99999"], arguments].concat(),
        );
        command.current_dir(dir.path()).output().unwrap()
    };
    let beside = get(&["--layout", "flat", "--cite", "bibtex"]);
    // Nobody in this world has a record of the preprint.
    assert_eq!(beside.status.code(), Some(1), "{}", said(&beside));
    assert!(
        said(&beside).contains("no citation of arxiv:2401.99999: nobody knows it"),
        "{}",
        said(&beside)
    );
    let bib = dir.path().join(format!("PDFs/{NAME}.bib"));
    assert!(
        fs::read_to_string(&bib)
            .unwrap()
            .starts_with("@article{roe2024waiting,")
    );
    fs::write(&bib, "mine").unwrap();
    world.clear();
    get(&["--layout", "flat", "--cite", "bibtex"]);
    assert_eq!(fs::read_to_string(&bib).unwrap(), "mine");
    let asked = world.arrivals_at("api.crossref.org");
    assert!(
        asked.iter().all(|arrival| !arrival.path.contains("0042")),
        "it is there already"
    );

    let one = get(&[
        "--layout",
        "flat",
        "--cite",
        "ris",
        "--cite-file",
        "all.ris",
    ]);
    assert_eq!(one.status.code(), Some(1));
    let all = fs::read_to_string(dir.path().join("all.ris")).unwrap();
    assert!(
        all.starts_with("TY  - JOUR\n") || all.starts_with("TY  - JOUR\r\n"),
        "{all}"
    );
    assert_eq!(
        files(dir.path())
            .iter()
            .filter(|file| file.ends_with(".ris"))
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn find_lists_copies_and_verify_says_what_files_are() {
    let world = World::start().await;
    let found = run(&world, &["find", DOI]);
    assert_eq!(found.status.code(), Some(0));
    assert!(out(&found).lines().count() >= 4, "{}", out(&found));
    assert!(
        out(&found).contains("\tpdf\tpmc-cloud\tCC BY\t"),
        "{}",
        out(&found)
    );
    let closed = run(&world, &["find", "10.5555/curtsy.2019.0007", "--json"]);
    assert_eq!(
        (closed.status.code(), out(&closed)),
        (Some(1), String::new())
    );

    let dir = tempfile::tempdir().unwrap();
    let into = dir.path().display().to_string();
    run(&world, &["get", DOI, "-o", &into]);
    fs::write(dir.path().join("other.pdf"), "<html>a challenge").unwrap();
    let verify = |json: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_curtsy"));
        command
            .args(["paper", "verify", &into])
            .args(json.split_whitespace());
        command.output().unwrap()
    };
    let text = verify("");
    assert_eq!(text.status.code(), Some(1));
    assert!(
        out(&text).contains("a whole PDF, 1 page, as its record says"),
        "{}",
        out(&text)
    );
    assert!(
        out(&text).contains("came in place of a PDF"),
        "{}",
        out(&text)
    );
    let rows = lines(&out(&verify("--json")));
    assert_eq!(rows.len(), 2);
    fs::remove_file(dir.path().join("other.pdf")).unwrap();
    assert_eq!(verify("").status.code(), Some(0));
}
