//! Searches of PubMed and Europe PMC.

use std::collections::HashSet;

use curtsy_papers::pubmed::{
    DateRange, DateType, Engine, Hits, Order, PubMedSearcher, SearchOptions,
};
use curtsy_papers::retrieve::PaperRetriever;
use curtsy_papers::{Answer, Reason};
use jiff::civil::date;

use crate::world::{self, Answer as Said, Arrival, Fault, Search, World};

const EUTILS: &str = "eutils.ncbi.nlm.nih.gov";

fn searcher(world: &World, query: &str) -> PubMedSearcher {
    PubMedSearcher::builder(world::contact())
        .search_string(query)
        .http_client(world.access())
        .build()
        .unwrap()
}

async fn begin(searcher: &PubMedSearcher, options: &SearchOptions) -> Hits {
    match searcher.search(options).await.unwrap() {
        Answer::Found(hits) => hits,
        other => panic!("{other:?}"),
    }
}

fn all() -> SearchOptions {
    SearchOptions {
        count: None,
        ..SearchOptions::default()
    }
}

async fn ids(hits: &mut Hits) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let page = hits.next_ids().await.unwrap().found().unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().map(ToString::to_string));
    }
}

#[tokio::test]
async fn a_search_of_25_000_hits_is_cut_by_dates_and_loses_and_repeats_none() {
    let world = World::start().await;
    world.set_search(Search::of(25_000));
    let mut hits = begin(&searcher(&world, "herons"), &all()).await;
    assert_eq!(hits.count(), 25_000);
    let ids = ids(&mut hits).await;
    let unique: HashSet<_> = ids.iter().collect();
    assert_eq!(
        (ids.len(), unique.len(), hits.missing()),
        (25_000, 25_000, 0)
    );
    for arrival in world.arrivals_at(EUTILS) {
        // Both dates, or the interface looks at neither.
        assert_eq!(
            arrival.pair("mindate").is_some(),
            arrival.pair("maxdate").is_some()
        );
        let asked = |name| {
            arrival
                .pair(name)
                .map_or(0, |text| text.parse::<u64>().unwrap())
        };
        assert!(asked("retstart") + asked("retmax") <= 9_999);
    }
}

#[tokio::test]
async fn hits_that_no_date_reaches_are_told_as_missing() {
    let world = World::start().await;
    world.set_search(Search::of(12_000).undated(150));
    let mut hits = begin(&searcher(&world, "herons"), &all()).await;
    let ids = ids(&mut hits).await;
    assert_eq!((ids.len(), hits.missing()), (11_850, 150));
}

#[tokio::test]
async fn a_small_part_of_a_large_search_is_not_cut() {
    let world = World::start().await;
    world.set_search(Search::of(25_000));
    let options = SearchOptions {
        count: Some(300),
        ..SearchOptions::default()
    };
    let mut hits = begin(&searcher(&world, "herons"), &options).await;
    let mut articles = Vec::new();
    loop {
        let page = hits.next_articles().await.unwrap().found().unwrap();
        if page.is_empty() {
            break;
        }
        articles.extend(page);
    }
    assert_eq!(
        (articles.len(), hits.count(), hits.missing()),
        (300, 25_000, 0)
    );
    assert_eq!(articles[0].title, "Hit 20024999.");
    let paths: Vec<_> = world
        .arrivals_at(EUTILS)
        .into_iter()
        .map(|arrival| arrival.path)
        .collect();
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["esearch.fcgi", "efetch.fcgi", "efetch.fcgi"]);
}

#[tokio::test]
async fn a_second_search_is_the_same_and_the_users_own_words_bind_first() {
    let world = World::start().await;
    let searcher = searcher(&world, "herons OR egrets");
    let options = SearchOptions {
        only_open_access: true,
        only_case_reports: true,
        order: Order::Relevance,
        date_type: DateType::Entered,
        dates: Some(DateRange::new(Some(date(2020, 1, 1)), None, date(2026, 12, 1)).unwrap()),
        ..SearchOptions::default()
    };
    for _ in 0..2 {
        assert_eq!(begin(&searcher, &options).await.count(), 0);
    }
    let arrivals = world.arrivals_at(EUTILS);
    assert_eq!(arrivals.len(), 2, "nothing is fetched of no hits");
    for arrival in arrivals {
        let pair = |name| arrival.pair(name).unwrap_or_default().to_owned();
        assert_eq!(
            pair("term"),
            "(herons OR egrets) AND (open access[filter] OR free full text[sb]) AND case reports[pt]"
        );
        assert_eq!(
            (pair("sort"), pair("datetype")),
            ("relevance".to_owned(), "edat".to_owned())
        );
        assert_eq!(
            (pair("mindate"), pair("maxdate")),
            ("2020/01/01".to_owned(), "2031/12/31".to_owned())
        );
    }
}

#[tokio::test]
async fn articles_and_books_come_from_the_record_and_a_broken_page_can_be_asked_again() {
    let world = World::start().await;
    world.set_search(Search::of(3));
    let fixture = include_bytes!("../../testdata/eutils_efetch_pubmed.xml").as_slice();
    let efetch = "/entrez/eutils/efetch.fcgi";
    world.fault(Fault::new(EUTILS, efetch, Said::xml(&fixture[..900])).times(1));
    world.fault(Fault::new(EUTILS, efetch, Said::xml(fixture)));
    let mut hits = begin(&searcher(&world, "herons"), &all()).await;
    assert!(matches!(
        hits.next_articles().await.unwrap(),
        Answer::Malformed(_)
    ));
    let articles = hits.next_articles().await.unwrap().found().unwrap();
    let titles: Vec<_> = articles
        .iter()
        .map(|article| article.title.as_str())
        .collect();
    assert_eq!(titles.len(), 3);
    assert_eq!(titles[2], "Herons for beginners");
}

#[tokio::test]
async fn europe_pmc_is_the_other_engine() {
    let world = World::start().await;
    let options = SearchOptions {
        engine: Engine::EuropePmc,
        ..SearchOptions::default()
    };
    world.fault(
        Fault::new(
            "www.ebi.ac.uk",
            "/",
            Said::json(include_bytes!("../../testdata/europepmc_search_core.json").as_slice()),
        )
        .times(1),
    );
    let mut hits = begin(&searcher(&world, "herons"), &options).await;
    let articles = hits.next_articles().await.unwrap().found().unwrap();
    assert_eq!(
        articles[0].doi.as_ref().unwrap().as_str(),
        "10.5555/curtsy.2024.0042"
    );
    assert!(
        hits.next_articles()
            .await
            .unwrap()
            .found()
            .unwrap()
            .is_empty()
    );
    assert_eq!(world.arrivals()[0].pair("query"), Some("(herons)"));
}

#[tokio::test]
async fn a_query_that_is_too_long_for_a_url_is_a_form_and_finds_the_same() {
    let world = World::start().await;
    world.set_search(Search::of(30));
    let words = vec!["herons"; 500].join(" OR ");
    for (engine, host, path, count) in [
        (Engine::PubMed, EUTILS, "/esearch.fcgi", 30),
        (Engine::EuropePmc, "www.ebi.ac.uk", "/searchPOST", 1),
    ] {
        let options = SearchOptions { engine, ..all() };
        let hits = begin(&searcher(&world, &words), &options).await;
        assert_eq!(hits.count(), count, "{path}");
        let arrival = &world.arrivals_at(host)[0];
        assert_eq!(arrival.method, "POST");
        assert!(arrival.path.ends_with(path), "{}", arrival.path);
        let asked = arrival.pair("term").or(arrival.pair("query"));
        assert!(asked.unwrap().contains(&words), "{path}");
    }
}

#[tokio::test]
async fn a_search_that_cannot_be_made_says_why() {
    let world = World::start().await;
    let over = include_bytes!("../../testdata/eutils_esearch_over_limit.json").as_slice();
    world.fault(Fault::new(EUTILS, "/", Said::json(over)).times(1));
    let searcher = searcher(&world, "herons");
    assert!(matches!(
        searcher.search(&all()).await.unwrap(),
        Answer::Malformed(_)
    ));
    world.fault(Fault::new(
        EUTILS,
        "/",
        Said::status(429).header("retry-after", "54000"),
    ));
    match searcher.search(&all()).await.unwrap() {
        Answer::Unavailable(why) => assert_eq!(why.reason, Reason::RateLimited),
        other => panic!("{other:?}"),
    }
    let empty = PubMedSearcher::builder(world::contact())
        .search_string(" ")
        .build();
    assert!(empty.is_err());
}

#[tokio::test]
async fn the_papers_of_a_search_are_asked_for_and_so_is_what_cites_them() {
    let world = World::start().await;
    world.set_search(Search::of(2));
    let access = world.access();
    let searcher = PubMedSearcher::builder(world::contact())
        .search_string("herons")
        .http_client(access.clone())
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let retriever = PaperRetriever::builder(world::contact())
        .http_client(access)
        .download_directory(dir.path())
        .build()
        .unwrap();
    let mut had = Vec::new();
    let options = all();
    let downloaded = searcher.download_articles(&options, &retriever, |article, paper| {
        had.push((article.id(), paper.id, paper.stored.is_some()));
    });
    assert_eq!(downloaded.await.unwrap(), Answer::Found(2));
    let [(first, asked, false), (second, _, false)] = &had[..] else {
        panic!("{had:?}")
    };
    assert_eq!(first.as_ref(), Some(asked));
    assert_ne!(first, second);

    let found = searcher.fetch_cited_by(&all(), |_, _| {}).await;
    assert_eq!(found.unwrap(), Answer::Found(2));
    let linked = |of: &Arrival| of.path.ends_with("elink.fcgi");
    let asked: Vec<_> = world.arrivals_at(EUTILS);
    assert_eq!(asked.iter().filter(|arrival| linked(arrival)).count(), 2);
    world.clear();
    let found = searcher.fetch_references(&all(), |_, _| {}).await;
    assert_eq!(found.unwrap(), Answer::Found(2));
    let asked = world.arrivals_at("www.ebi.ac.uk");
    let listed = |of: &Arrival| of.path.ends_with("/references");
    assert_eq!(asked.iter().filter(|arrival| listed(arrival)).count(), 2);
}

#[tokio::test]
async fn what_follows_a_search_that_is_not_answered_says_so() {
    let world = World::start().await;
    world.fault(Fault::new(EUTILS, "/", Said::new(400, "text/plain", "no")));
    let (searcher, options) = (searcher(&world, "herons"), all());
    let found = searcher.fetch_references(&options, |_, _| panic!("no hits"));
    assert!(matches!(found.await.unwrap(), Answer::Rejected(_)));
}
