//! `batch` and `report`.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::support::{
    QUICK, assert_proved, assert_sums, batch, command, count, events, files, list, out, report,
    results, rows, said,
};
use crate::world::{Answer as Said, Fault, Paper, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_messy_list_ends_in_a_row_a_paper_and_sums_that_match() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let messy = include_str!("../../../curtsy-papers/testdata/batch_input_messy.txt");
    list(dir.path(), &messy.lines().collect::<Vec<_>>());
    let first = batch(&world, dir.path(), &[]);
    assert_eq!(first.status.code(), Some(1), "{}", said(&first));
    assert_sums(dir.path());
    let rows = results(&dir.path().join("PDFs"));
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                row["line"],
                text("given"),
                text("outcome"),
                text("reason")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "2 10.5555/curtsy.2024.0042 pdf -",
            "4 PMID: 39900042 had -",
            "6 doi:10.5555/curtsy.2019.0007 not_open closed",
            "7 not a doi failed bad_id",
            "8 10.48550/arXiv.2401.99999 pdf -",
            "9 PMC9900050 not_open closed",
        ]
    );
    let names: Vec<&str> =
        "line,given,id,doi,pmid,pmcid,arxiv,outcome,reason,retry,source,file,sha256,attempts,host,\
         status,link"
            .split(',')
            .collect();
    for row in &rows {
        assert!(names.iter().all(|name| row.get(name).is_some()), "{row}");
        if let Some(file) = row["file"].as_str() {
            assert!(dir.path().join("PDFs").join(file).exists(), "{file}");
        }
    }
    let sums = report(dir.path());
    let sample = include_str!("../../../curtsy-papers/testdata/out_report.json");
    let sample: Json = serde_json::from_str(sample).unwrap();
    for key in sample.as_object().unwrap().keys() {
        // Those of the sample are called otherwise, or stand in the log.
        let is_ours = !matches!(key.as_str(), "run" | "already_had");
        assert_eq!(sums.get(key).is_some(), is_ours, "{key}");
    }
    assert_eq!(
        (&sums["lines"], &sums["duplicates"], &sums["bad_ids"]),
        (&7.into(), &1.into(), &1.into())
    );
    assert_eq!(sums["by_source"]["pmc-cloud"], 1);
    let failures = fs::read_to_string(dir.path().join("PDFs/failures.csv")).unwrap();
    let mut lines = failures.lines();
    let sample = include_str!("../../../curtsy-papers/testdata/out_failures.csv");
    assert_eq!(lines.next(), sample.lines().next());
    assert!(
        failures.contains("7,not a doi,,bad_id,never,,,"),
        "{failures}"
    );
    // All that was asked stands in the log.
    let log = events(&dir.path().join("PDFs/.curtsy/audit.jsonl"));
    assert_eq!(count(&log, "departure"), world.arrivals().len());
    assert_proved(dir.path());

    // Run again, nobody is asked, and what is new in the list is.
    world.clear();
    let again = batch(&world, dir.path(), &["--json"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(world.arrivals().is_empty());
    let printed = crate::support::rows(&again);
    assert_eq!((printed.len(), &printed[0]["pdf"]), (1, &2.into()));
    list(dir.path(), &["PMC9900042", "pmc9900042"]);
    let more = batch(&world, dir.path(), &[]);
    assert_eq!(more.status.code(), Some(1));
    assert_sums(dir.path());
    assert_eq!(results(&dir.path().join("PDFs")).len(), 7);
    let sums = report(dir.path());
    assert_eq!(
        (&sums["lines"], &sums["duplicates"]),
        (&2.into(), &1.into())
    );
    assert!(
        world
            .arrivals()
            .iter()
            .all(|arrival| !arrival.path.contains("pdf"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_counts_and_asks_nobody() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let mut lines: Vec<String> = (0..1_000).map(|n| Paper(n).doi()).collect();
    lines.extend((0..500).map(|n| format!("arXiv:2401.{n:05}")));
    list(
        dir.path(),
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let planned = batch(&world, dir.path(), &["--plan"]);
    assert_eq!(planned.status.code(), Some(0), "{}", said(&planned));
    let text = out(&planned);
    assert!(text.contains("pmc.ncbi.nlm.nih.gov: 5 requests"), "{text}");
    // 500 papers of arXiv, one in 15 s.
    assert!(
        text.contains("arxiv.org: 500 requests, 2 h 4 min"),
        "{text}"
    );
    let rows = rows(&batch(&world, dir.path(), &["--plan", "--json"]));
    assert!(
        rows.iter()
            .any(|row| row["name"] == "unpaywall" && row["requests"] == 1_000)
    );
    assert!(world.arrivals().is_empty() && !dir.path().join("PDFs").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_to_wait_ends_with_3_and_is_taken_up_when_due_and_what_failed_on_demand() {
    let world = World::with_papers(20).await;
    let dir = tempfile::tempdir().unwrap();
    // In a repository that wants to be left alone, at a publisher that refuses, and in PubMed Central.
    let papers = [6, 8, 0].map(|n| Paper(n).doi());
    list(
        dir.path(),
        &papers.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let wait = Said::status(503).header("retry-after", "4");
    world.fault(Fault::new("r6.example.edu", "/6.pdf", wait).times(1));
    world.fault(Fault::new("p8.example.org", "/8.pdf", Said::status(403)).times(1));
    // A store that lasts, since a hold outlives the process.
    let run = |arguments: &[&str]| {
        let all = [
            &["--max-retry-after", "1", "--state", "sqlite:state"],
            arguments,
        ]
        .concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
        command.args(["paper", "batch", "list", "--resolve", &world.resolve()]);
        command.args(QUICK).args(all).current_dir(dir.path());
        command
            .env("CURTSY_CONTACT", "rae@lab.example")
            .envs(world.variables());
        command.output().unwrap()
    };
    let first = run(&[]);
    assert_eq!(first.status.code(), Some(3), "{}", said(&first));
    assert!(
        out(&first).contains("run the same again after 20"),
        "{}",
        out(&first)
    );
    assert!(
        out(&first).contains("r6.example.edu is left alone until"),
        "{}",
        out(&first)
    );
    assert_sums(dir.path());
    let failed = &results(&dir.path().join("PDFs"))[1];
    assert_eq!(
        (
            &failed["reason"],
            &failed["host"],
            &failed["status"],
            &failed["retry"]
        ),
        (
            &"walled".into(),
            &"p8.example.org".into(),
            &403.into(),
            &"by hand".into()
        )
    );
    let listed = |what: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
        command
            .args(["paper", "report", what, "--json"])
            .current_dir(dir.path());
        rows(&command.output().unwrap())
    };
    assert_eq!(listed("--failures").len(), 2);
    let later = listed("--retry-later");
    assert_eq!(
        (later.len(), &later[0]["doi"]),
        (1, &papers[0].as_str().into())
    );

    // Too early: nobody is asked, in particular not who wants to be left alone.
    world.clear();
    let early = run(&[]);
    assert_eq!(early.status.code(), Some(3));
    assert!(world.arrivals().is_empty());
    let waited = run(&["--wait"]);
    assert_eq!(waited.status.code(), Some(1), "{}", said(&waited));
    assert_sums(dir.path());
    assert_eq!(
        (
            report(dir.path())["pdf"].as_u64(),
            report(dir.path())["deferred"].as_u64()
        ),
        (Some(2), Some(0))
    );
    assert!(world.arrivals_at("p8.example.org").is_empty());

    // One refusal is enough to leave a publisher alone; a person may say that it was none.
    world.clear();
    for reason in ["--retry-failed=timeout", "--retry-failed=walled"] {
        let again = run(&[reason]);
        assert_eq!(again.status.code(), Some(1), "{}", said(&again));
        assert_sums(dir.path());
    }
    assert!(world.arrivals_at("p8.example.org").is_empty());
    let scope = format!("p8.example.org:{}", world.addr().port());
    let mut lift = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    lift.args(["state", "lift", &scope, "--state", "sqlite:state"]);
    let lifted = lift.current_dir(dir.path()).output().unwrap();
    assert_eq!(lifted.status.code(), Some(0), "{}", said(&lifted));
    let again = run(&["--retry-failed"]);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    assert_sums(dir.path());
    assert_eq!(report(dir.path())["pdf"], 3);
    let wrong = run(&["--retry-failed=weather"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        said(&wrong).contains("is none of closed, embargoed"),
        "{}",
        said(&wrong)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_refused_before_anything_is_made_or_asked() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    list(dir.path(), &["10.5555/curtsy.2024.0042"]);
    for (arguments, contact, why) in [
        (
            &["--no-polite-mode"][..],
            "rae@lab.example",
            "only with --i-own-these-hosts",
        ),
        (&[], "", "--contact: is needed"),
        (&[], "you@example.com", "is a placeholder"),
        (
            &["nothing.txt"],
            "rae@lab.example",
            "nothing.txt: there is no such file, and it is no identifier",
        ),
        (
            &["-H", "Cookie: mine"],
            "rae@lab.example",
            "is for URLs that you list yourself",
        ),
    ] {
        let mut command = command(&world, dir.path(), arguments);
        let refused = command.env("CURTSY_CONTACT", contact).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(said(&refused).contains(why), "{}", said(&refused));
        assert_eq!(said(&refused).lines().count(), 1, "{}", said(&refused));
    }
    assert!(world.arrivals().is_empty() && !dir.path().join("PDFs").exists());
    // A contact that Unpaywall itself refuses concerns every paper.
    world.fault(Fault::new(
        "api.unpaywall.org",
        "/",
        Said::new(422, "application/json", "{}"),
    ));
    list(dir.path(), &["10.5555/a", "10.5555/b"]);
    let refused = batch(&world, dir.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("does not take the contact address"),
        "{}",
        said(&refused)
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_batch_ends_its_downloads_says_so_and_goes_on_the_next_time() {
    let world = World::with_papers(40).await;
    let dir = tempfile::tempdir().unwrap();
    let papers: Vec<String> = (0..40).map(|n| Paper(n).doi()).collect();
    list(
        dir.path(),
        &papers.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let mut command = command(&world, dir.path(), &QUICK);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while files(&dir.path().join("PDFs")).len() < 4 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", said(&stopped));
    assert!(
        said(&stopped).contains("the rest is taken up next time"),
        "{}",
        said(&stopped)
    );
    assert_sums(dir.path());
    assert!(report(dir.path())["left"].as_u64() > Some(0));
    let ended = batch(&world, dir.path(), &[]);
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    assert_sums(dir.path());
    assert_eq!(report(dir.path())["pdf"], 36);
    assert_no_pdf_twice(&world);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_a_days_cap_is_deferred_until_the_day_is_over() {
    let world = World::with_papers(100).await;
    let dir = tempfile::tempdir().unwrap();
    let dois: Vec<String> = (0..8).map(|n| Paper(10 * n + 6).doi()).collect();
    list(
        dir.path(),
        &dois.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let host = format!("api.unpaywall.org:{}", world.addr().port());
    let file = format!("[scopes.\"{host}\"]\nday_cap = 3\n");
    fs::write(dir.path().join("curtsy.toml"), file).unwrap();
    let capped = batch(&world, dir.path(), &[]);
    assert_eq!(capped.status.code(), Some(3), "{}", said(&capped));
    assert_eq!(world.arrivals_at("api.unpaywall.org").len(), 3);
    assert_sums(dir.path());
    let sums = report(dir.path());
    assert_eq!((&sums["pdf"], &sums["deferred"]), (&3.into(), &5.into()));
    assert_eq!(sums["by_reason"]["quota_spent"], 5);
    assert_eq!(sums["hold"][0]["host"], "api.unpaywall.org");
    assert_proved(dir.path());
}

/// The most memory that a process has had so far, in MiB.
#[cfg(target_os = "linux")]
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_with_the_list() {
    let world = World::start().await;
    let mut peaks = Vec::new();
    for count in [1_000, 10_000] {
        let dir = tempfile::tempdir().unwrap();
        // Nobody has to be asked about these, so that it is over soon; each is a row of the results all the same.
        let lines: Vec<String> = (0..count).map(|n| format!("no identifier {n}")).collect();
        fs::write(dir.path().join("list"), lines.join("\n")).unwrap();
        let mut command = command(&world, dir.path(), &["-q"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let mut peak = 0;
        let ended = loop {
            peak = peak.max(peak_memory(child.id()).unwrap_or_default());
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert_eq!(ended.code(), Some(1));
        assert_sums(dir.path());
        assert_eq!(report(dir.path())["bad_ids"], count);
        peaks.push(peak);
    }
    assert!(peaks[1] < 150 && peaks[1] < peaks[0] + 50, "{peaks:?} MiB");
}

/// No PDF was sent twice.
fn assert_no_pdf_twice(world: &World) {
    let mut sent: Vec<String> = world
        .arrivals()
        .into_iter()
        .filter(|arrival| arrival.path.ends_with(".pdf") && arrival.header("range").is_none())
        .map(|arrival| format!("{}{}", arrival.host, arrival.path))
        .collect();
    sent.sort();
    let twice: Vec<_> = sent.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
