//! The record of a work, from whoever registered it.

use curtsy_papers::cite::{self, Bibliography, Format};
use curtsy_papers::{Answer, Identifier, Reason};

use crate::world::{Answer as Said, Fault, World};

fn id(text: &str) -> Identifier {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_work_is_asked_of_one_agency_after_the_other_until_one_knows_it() {
    let world = World::start().await;
    let access = world.access();
    for (given, asked, title) in [
        (
            "10.5555/curtsy.2024.0042",
            vec!["api.crossref.org"],
            "Waiting politely: queue discipline in marsh herons",
        ),
        (
            "10.5555/data.77",
            vec!["api.crossref.org", "api.datacite.org"],
            "Heron queue observations",
        ),
        (
            "9900043",
            vec![
                "pmc.ncbi.nlm.nih.gov",
                "eutils.ncbi.nlm.nih.gov",
                "eutils.ncbi.nlm.nih.gov",
            ],
            "A print paper with no DOI and no electronic date",
        ),
    ] {
        world.clear();
        let item = cite::fetch(&access, &id(given))
            .await
            .unwrap()
            .found()
            .unwrap();
        assert_eq!(item.title, title);
        let hosts: Vec<_> = world
            .arrivals()
            .into_iter()
            .map(|arrival| arrival.host)
            .collect();
        assert_eq!(hosts, asked, "{given}");
    }
}

#[tokio::test]
async fn where_neither_crossref_nor_datacite_knows_it_the_resolver_leads_to_who_does() {
    let world = World::start().await;
    let unknown = || Said::status(404);
    world.fault(Fault::new("api.crossref.org", "/", unknown()));
    let access = world.access();
    let item = cite::fetch(&access, &id("10.5555/curtsy.2024.0042"))
        .await
        .unwrap()
        .found()
        .unwrap();
    let entry = Bibliography::of_one(Format::Bibtex, &item);
    assert!(entry.starts_with("@article{roe2024waiting,"), "{entry}");
    let asked = world.arrivals_at("doi.org");
    assert_eq!(
        asked[0].header("accept"),
        Some("application/vnd.citationstyles.csl+json")
    );
    assert_eq!(
        cite::fetch(&access, &id("10.5555/nobody")).await.unwrap(),
        Answer::NotFound
    );
}

#[tokio::test]
async fn that_nobody_knows_a_work_is_said_only_where_everybody_could_be_asked() {
    let world = World::start().await;
    let later = Said::status(429).header("retry-after", "54000");
    world.fault(Fault::new("api.datacite.org", "/", later));
    match cite::fetch(&world.access(), &id("10.5555/nobody"))
        .await
        .unwrap()
    {
        Answer::Unavailable(why) => assert_eq!(why.reason, Reason::RateLimited),
        other => panic!("{other:?}"),
    }
}
