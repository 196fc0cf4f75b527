//! Retrievers for the world, and looks at what they leave.

use std::path::{Path, PathBuf};

use curtsy::Policies;
use curtsy::core::Interval;
use curtsy_papers::Access;
use curtsy_papers::retrieve::{Order, Paper, PaperRetriever, PaperRetrieverBuilder};
use curtsy_papers::site_policy;
use serde_json::Value;
use tempfile::TempDir;

use crate::world::{self, Answer, Fault, World};

/// The paper of the fixtures.
pub(crate) const DOI: &str = "10.5555/curtsy.2024.0042";
pub(crate) const PAPER: &[u8] = include_bytes!("../../testdata/paper.pdf");
/// Where the one copy of the paper is that Unpaywall knows, once [`only_at_publisher`] has been called.
pub(crate) const JOURNAL: &str = "journal.example.org";

/// An access that keeps the rates of interfaces and waits for no site.
pub(crate) fn access(world: &World) -> Access {
    let mut site = site_policy();
    site.rate_limit = Interval::fixed(std::time::Duration::ZERO);
    Access::builder(world::contact())
        .policies(Policies::new(site.build().unwrap()))
        .endpoints(world.endpoints())
        .client(world.client())
        .build()
        .unwrap()
}

pub(crate) fn builder(world: &World, folder: &Path) -> PaperRetrieverBuilder {
    PaperRetriever::builder(world::contact())
        .http_client(access(world))
        .download_directory(folder)
}

pub(crate) fn order(id: &str) -> Order {
    Order {
        given: id.to_owned(),
        ..Order::from(id.parse::<curtsy_papers::Identifier>().unwrap())
    }
}

/// Gets a paper in a folder of its own.
pub(crate) async fn get(world: &World, id: &str) -> (Paper, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(world, folder.path()).build().unwrap();
    let paper = retriever.retrieve(order(id)).await.unwrap();
    (paper, folder)
}

/// A paper that is in no library, with one copy at a publisher.
pub(crate) fn only_at_publisher(world: &World) {
    at_publisher(world, &["https://journal.example.org/articles/0042.pdf"]);
}

/// A paper that is in no library, with these copies at publishers.
pub(crate) fn at_publisher(world: &World, urls: &[&str]) {
    let place = |url: &&str| serde_json::json!({"url_for_pdf": url, "host_type": "publisher"});
    let places: Vec<Value> = urls.iter().map(place).collect();
    let record = serde_json::json!({"doi": DOI, "is_oa": true, "oa_locations": places});
    world.fault(Fault::new(
        "api.unpaywall.org",
        "/v2/10.5555/curtsy",
        Answer::json(record.to_string()),
    ));
    world.fault(Fault::new(
        "pmc.ncbi.nlm.nih.gov",
        "/",
        Answer::json(r#"{"status": "ok", "records": []}"#),
    ));
    world.fault(Fault::new(
        "www.ebi.ac.uk",
        "/",
        Answer::json(r#"{"resultList": {"result": []}}"#),
    ));
    world.fault(Fault::new("api.crossref.org", "/", Answer::status(404)));
    world.fault(Fault::new("api.datacite.org", "/", Answer::status(404)));
    world.fault(Fault::new("doi.org", "/10.5555", Answer::status(404)));
}

/// All files under a folder, relative to it, in order.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, into);
            } else {
                into.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, folder, &mut all);
    all.sort();
    all
}

pub(crate) fn stem(folder: &Path) -> PathBuf {
    let name = "doi-10%2E5555%2Fcurtsy%2E2024%2E0042";
    folder.join(name).join(name)
}

pub(crate) fn sidecar(folder: &Path) -> Value {
    let text = std::fs::read(stem(folder).with_extension("json").as_path());
    let text = text.or_else(|_| std::fs::read(format!("{}.json", stem(folder).display())));
    serde_json::from_slice(&text.unwrap()).unwrap()
}
