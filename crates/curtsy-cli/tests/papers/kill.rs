//! A batch that is killed again and again loses nothing, fetches nothing twice, and keeps its manners.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{
    QUICK, assert_proved, assert_sums, count, events, files, list, results, rows,
};
use crate::world::{self, Paper, World};

/// The papers whose PDF is there, or the beginning of it.
fn papers_in(folder: &Path) -> Vec<Paper> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let of_papers = names.filter_map(|name| {
        let number = name
            .strip_prefix("doi-10%2E5555%2Fworld%2E")?
            .parse()
            .ok()?;
        let own = folder.join(&name);
        let (pdf, trail) = (
            own.join(format!("{name}.pdf")),
            own.join(format!(".{name}.pdf.curtsy-trail")),
        );
        let is_known = fs::read(trail).is_ok_and(|text| text.ends_with(b"}"));
        (pdf.exists() || is_known).then_some(Paper(number))
    });
    of_papers.collect()
}

/// The paper whose PDF is asked for.
fn paper_of(arrival: &world::Arrival) -> Option<Paper> {
    let file = arrival.path.rsplit('/').next()?.strip_suffix(".pdf")?;
    let number = match file.strip_prefix("PMC") {
        Some(pmcid) => pmcid.split('.').next()?.parse::<u32>().ok()? - 7_000_000,
        None => file.parse().ok()?,
    };
    Some(Paper(number))
}

/// Kills at so many moments.
const KILLS: usize = 20;

/// A hundred and sixty papers at repositories, publishers or nowhere, and forty in PubMed Central.
fn kill_papers() -> Vec<Paper> {
    (0..400).filter(|n| n % 10 >= 5).map(Paper).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_kills_lose_no_paper_and_fetch_no_pdf_twice_and_every_pace_is_kept() {
    let world = World::with_papers(400).await;
    let dir = tempfile::tempdir().unwrap();
    let papers = kill_papers();
    let dois: Vec<String> = papers.iter().map(|paper| paper.doi()).collect();
    list(
        dir.path(),
        &dois.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
        let resolve = world.resolve();
        command.args(["paper", "batch", "list", "-q", "--resolve", &resolve]);
        command.args(["--state", "sqlite:state", "--timeout", "2s"]);
        command.args(QUICK).envs(world.variables());
        command.env("CURTSY_CONTACT", "rae@lab.example");
        command.current_dir(dir.path()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    // The papers that were there or coming in at a kill, and how many requests had arrived by then.
    let mut had = HashMap::new();
    for kill in 0..KILLS {
        let mut job = start();
        // At a moment that moves through what a run does.
        let moment = 100 + 137 * kill as u64 % 700;
        std::thread::sleep(std::time::Duration::from_millis(moment));
        job.kill().unwrap();
        job.wait().unwrap();
        // What it had sent is on its way, if anything is.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let arrived = world.arrivals().len();
        for paper in papers_in(&dir.path().join("PDFs")) {
            had.entry(paper).or_insert(arrived);
        }
    }
    // Of a batch that was killed, too, it is known how far it has come.
    let mut looks = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    looks
        .args(["paper", "report", "--json"])
        .current_dir(dir.path());
    let so_far = rows(&looks.output().unwrap()).remove(0);
    assert_eq!(so_far["unique"], papers.len());
    assert!(so_far["left"].as_u64() > Some(0), "{so_far}");
    let told = fs::read_to_string(dir.path().join("PDFs/papers.jsonl")).unwrap_or_default();
    assert!(
        told.lines().count() < papers.len(),
        "it was killed too late"
    );
    let ended = start().wait().unwrap();
    assert_eq!(ended.code(), Some(1));
    assert_sums(dir.path());
    let rows = results(&dir.path().join("PDFs"));
    assert_eq!(rows.len(), papers.len());
    for (row, paper) in rows.iter().zip(&papers) {
        assert_eq!(row["given"], paper.doi());
        let is_had = matches!(row["outcome"].as_str(), Some("pdf" | "had"));
        assert_eq!(is_had, paper.copy() != world::Copy::None, "{row}");
        if let Some(file) = row["file"].as_str() {
            let pdf = fs::read(dir.path().join("PDFs").join(file)).unwrap();
            assert!(
                pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF\n"),
                "{file}"
            );
        }
    }
    // A PDF and a record each, and nothing half done beside them.
    let all = files(&dir.path().join("PDFs"));
    let pdfs = all.iter().filter(|file| file.ends_with(".pdf")).count();
    assert_eq!(pdfs, papers.len() * 4 / 5);
    // What has begun to come in is gone on with, and what is there is not asked for again.
    for (at, arrival) in world.arrivals().iter().enumerate() {
        if let Some(paper) = paper_of(arrival).filter(|_| arrival.header("range").is_none()) {
            let again = had.get(&paper).is_some_and(|arrived| at >= *arrived);
            assert!(!again, "{paper:?} was fetched again");
        }
    }
    // No provider was asked faster than it publishes, over all kills.
    let endpoints = world.endpoints();
    for provider in curtsy_papers::Provider::ALL {
        let host = endpoints.base(provider).host_str().unwrap();
        let interval = provider.endpoint().pace.interval();
        world::assert_paced(&world.arrivals_at(host), interval);
    }
    let log = events(&dir.path().join("PDFs/.curtsy/audit.jsonl"));
    let arrived = world.arrivals().len();
    assert!(count(&log, "departure") >= arrived, "{arrived} arrived");
    assert_proved(dir.path());
}
