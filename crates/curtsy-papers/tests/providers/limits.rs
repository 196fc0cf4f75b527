//! How often providers are asked, and what they say of that themselves.

use curtsy::Policies;
use curtsy::core::Scope;
use curtsy_papers::{Access, Answer, Keys, Provider, Query, Reason, site_policy};

use crate::access::{hosts, keys, questions, with_keys};
use crate::world::{self, Answer as Said, Arrival, Fault, World};

#[tokio::test]
async fn no_provider_is_asked_faster_than_it_publishes() {
    let world = World::start().await;
    let access = with_keys(&world);
    let mut tasks = Vec::new();
    for (provider, query) in questions() {
        let pace = provider
            .endpoint()
            .pace_with_key
            .unwrap_or(provider.endpoint().pace);
        // About three seconds' worth, all at once.
        let count = (3.0 * pace.rate()).ceil().clamp(2.0, 20.0) as usize;
        for _ in 0..count {
            let (access, query) = (access.clone(), query.clone());
            tasks.push(tokio::spawn(async move {
                access.ask(provider, query).await.unwrap()
            }));
        }
    }
    for task in tasks {
        assert!(matches!(task.await.unwrap(), Answer::Found(_)));
    }
    for (provider, host) in hosts(&world) {
        let endpoint = provider.endpoint();
        let pace = endpoint.pace_with_key.unwrap_or(endpoint.pace);
        let arrivals: Vec<Arrival> = world.arrivals_at(&host);
        let is_asked = !matches!(provider, Provider::Arxiv | Provider::EuropePmcSite);
        assert_eq!(arrivals.len() >= 2, is_asked, "{provider}");
        world::assert_paced(&arrivals, pace.interval());
    }
}

#[tokio::test]
async fn bases_on_one_loopback_host_keep_their_own_rates() {
    let world = World::start().await;
    // As a mirror or a stand-in has them: one address, a path for each.
    let paths = [
        (Provider::Crossref, "/crossref", 12),
        (Provider::Doi, "/doi", 6),
        (Provider::Ncbi, "/eutils", 4),
        (Provider::SemanticScholar, "/s2", 2),
    ];
    let mut endpoints = world.endpoints();
    for (provider, path, _) in paths {
        let base = format!("http://{}{path}", world.addr());
        endpoints = endpoints.with_base(provider, &base).unwrap();
    }
    world.fault(Fault::new("127.0.0.1", "/", Said::json("{}")));
    let access = Access::builder(world::contact())
        .endpoints(endpoints)
        .keys(Keys {
            ncbi: None,
            ..keys()
        })
        .client(world.client())
        .build()
        .unwrap();
    let mut tasks = Vec::new();
    for (provider, _, count) in paths {
        for n in 0..count {
            let access = access.clone();
            let query = Query::at("x").pair("n", n.to_string());
            tasks.push(tokio::spawn(
                async move { access.ask(provider, query).await },
            ));
        }
    }
    for task in tasks {
        assert!(matches!(task.await.unwrap().unwrap(), Answer::Found(_)));
    }
    let all = world.arrivals_at("127.0.0.1");
    let mut ends = Vec::new();
    for (provider, path, count) in paths {
        let mut own = all.clone();
        own.retain(|arrival| arrival.path.starts_with(path));
        assert_eq!(own.len(), count, "{provider}");
        world::assert_paced(&own, provider.endpoint().pace.interval());
        ends.push(own[1].at);
    }
    // The slowest of them holds none of the others.
    assert!(ends[..3].iter().all(|at| *at < ends[3]), "{ends:?}");
}

#[tokio::test]
async fn what_a_day_may_have_is_kept_and_the_rest_is_put_off_until_it_is_over() {
    let world = World::start().await;
    let mut own = site_policy();
    own.day_cap = Some(2);
    let host = Scope::of(world.endpoints().base(Provider::Unpaywall)).unwrap();
    let policies = Policies::new(site_policy().build().unwrap());
    let access = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .policies(policies.with_scope(host, own.build().unwrap()))
        .client(world.client())
        .build()
        .unwrap();
    let ask = async || {
        let query = Query::at("10.5555/curtsy.2024.0042");
        access.ask(Provider::Unpaywall, query).await.unwrap()
    };
    assert!(matches!(ask().await, Answer::Found(_)));
    assert!(matches!(ask().await, Answer::Found(_)));
    let Answer::Unavailable(why) = ask().await else {
        panic!("a third one of two")
    };
    assert_eq!(why.reason, Reason::QuotaSpent);
    let wait = why.until.unwrap().since(access.client().now()).as_secs();
    assert!((86_000..98_000).contains(&wait), "{wait} s");
    assert_eq!(world.arrivals_at("api.unpaywall.org").len(), 2);
}

/// An answer as it goes over the wire.
fn recorded(text: &str) -> Said {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let answer = Said::new(status.parse().unwrap(), "application/json", body);
    let fields = lines.filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| *name != "content-type")
        .fold(answer, |answer, (name, value)| answer.header(name, value))
}

#[tokio::test]
async fn what_providers_say_of_their_limits_is_read_and_kept() {
    let world = World::start().await;
    let budget = include_str!("../../testdata/openalex_headers_429.txt");
    let polite = include_str!("../../testdata/crossref_headers.txt");
    let unknown = include_str!("../../testdata/crossref_404.txt");
    world.fault(Fault::new("api.openalex.org", "/", recorded(budget)));
    world.fault(Fault::new(
        "api.crossref.org",
        "/works/y",
        recorded(unknown),
    ));
    world.fault(Fault::new("api.crossref.org", "/", recorded(polite)));
    let access = with_keys(&world);
    let Answer::Unavailable(why) = access
        .ask(Provider::OpenAlex, Query::at("works/doi:10.5555/x"))
        .await
        .unwrap()
    else {
        panic!("its budget is spent")
    };
    let wait = why.until.unwrap().since(access.client().now()).as_secs();
    assert!((53_990..=54_061).contains(&wait), "{wait} s");
    assert!(matches!(
        why.reason,
        Reason::RateLimited | Reason::QuotaSpent
    ));
    let again = access.ask(Provider::OpenAlex, Query::at("works/doi:10.5555/y"));
    assert!(matches!(again.await.unwrap(), Answer::Unavailable(_)));
    assert_eq!(
        world.arrivals_at("api.openalex.org").len(),
        1,
        "a day's budget is not asked for twice"
    );

    let known = access
        .ask(Provider::Crossref, Query::at("works/x"))
        .await
        .unwrap();
    assert!(matches!(known, Answer::Found(_)));
    let missing = access
        .ask(Provider::Crossref, Query::at("works/y"))
        .await
        .unwrap();
    assert_eq!(missing, Answer::NotFound);
    let scope = access.endpoints().scope(Provider::Crossref);
    let state = access.client().state(&scope).await.unwrap();
    let limits: Vec<_> = state.quotas().iter().map(|quota| quota.limit).collect();
    assert_eq!(limits, [Some(10)], "with its dashes and its unit");
}
