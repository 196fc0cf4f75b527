//! Plans: robots.txt is read, and nothing else.

use curtsy::core::{Forecast, Interval, Reason, Scope};
use curtsy::{Client, Obstacle, Plan, Planner};

use crate::support::*;

const ROBOTS: &str =
    r#"{"robots": "User-agent: *\nDisallow: /no\nDisallow: /nor\nCrawl-delay: 2\n"}"#;

async fn plan(client: &Client, urls: &[String]) -> Plan {
    let urls: Vec<url::Url> = urls.iter().map(|url| url.parse().unwrap()).collect();
    let mut planner = Planner::new(client.clone());
    for url in &urls {
        planner.note(url).unwrap();
    }
    planner.read_robots(|_| ()).await.unwrap();
    // In two parts, as a long list comes.
    let (first, second) = urls.split_at(urls.len() / 2);
    planner.count(first.to_vec()).await.unwrap();
    planner.count(second.to_vec()).await.unwrap();
    planner.plan().await.unwrap()
}

#[tokio::test]
async fn a_plan_reads_robots_txt_once_an_origin_and_fetches_nothing_else() {
    let (slow, open) = (origin(ROBOTS).await, origin(r#"{"robots": 404}"#).await);
    let client = client(|p| (p.rate, p.burst, p.delay) = (None, 5, Some(Interval::fixed(ms(500)))));
    let mut urls: Vec<String> = (0..40).map(|n| slow.url(&format!("/{n}"))).collect();
    urls.extend(["/no/1", "/no/2", "/nor", "/0", "/1"].map(|path| slow.url(path)));
    urls.extend((0..10).map(|n| open.url(&format!("/{n}"))));
    let plan = plan(&client, &urls).await;

    for server in [&slow, &open] {
        assert_eq!(paths(server), ["/robots.txt"]);
    }
    assert_eq!((plan.duplicates, plan.is_rough), (2, false));
    let [first, second] = &plan.scopes[..] else {
        panic!("{plan:?}")
    };
    assert_eq!(first.scope, Scope::named(&slow.addr().to_string()));
    assert_eq!((first.tally.urls, first.tally.disallowed), (43, 3));
    let rules: Vec<_> = first
        .tally
        .rules
        .iter()
        .map(|r| (r.line, r.rule.as_str(), r.urls))
        .collect();
    assert_eq!(rules, [(2, "Disallow: /no", 2), (3, "Disallow: /nor", 1)]);
    for (scope, interval, reason) in [
        (first, ms(2000), Reason::CrawlDelay),
        (second, ms(500), Reason::ConfiguredDelay),
    ] {
        let Forecast::Departs(course) = scope.forecast else {
            panic!("{scope:?}")
        };
        assert_eq!((course.interval, course.reason), (interval, reason));
        let takes = course.end.since(plan.now);
        // The robots.txt departed a moment before.
        let expected = interval * scope.tally.to_fetch() as u32;
        assert!(takes <= expected && takes > expected - ms(500), "{takes:?}");
    }
}

#[tokio::test]
async fn a_second_plan_asks_for_nothing() {
    let origin = origin(ROBOTS).await;
    let client = client(|_| ());
    for _ in 0..2 {
        plan(&client, &[origin.url("/a"), origin.url("/no")]).await;
    }
    assert_eq!(paths(&origin), ["/robots.txt"]);
}

#[tokio::test]
async fn where_robots_is_not_respected_nothing_departs_at_all() {
    let origin = origin(ROBOTS).await;
    let client = client(|p| p.respect_robots = false);
    let plan = plan(&client, &[origin.url("/no")]).await;
    assert_eq!(plan.scopes[0].tally.to_fetch(), 1);
    assert!(paths(&origin).is_empty());
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_and_the_others_are_planned() {
    let (failing, well) = (
        origin(r#"{"robots": 500}"#).await,
        origin(r#"{"robots": 404}"#).await,
    );
    let client = client(|p| (p.max_retries, p.backoff_base) = (0, ms(1)));
    let gone = format!("http://{}/", nobody());
    let plan = plan(&client, &[gone, failing.url("/"), well.url("/")]).await;
    let obstacle = |at: std::net::SocketAddr| {
        let scope = Scope::named(&at.to_string());
        let found = plan.scopes.iter().find(|plan| plan.scope == scope).unwrap();
        found.tally.obstacle.clone()
    };
    assert!(
        matches!(obstacle(failing.addr()), Some(Obstacle::Deferred(_))),
        "{plan:?}"
    );
    assert_eq!(obstacle(well.addr()), None);
    let failed =
        |plan: &&curtsy::ScopePlan| matches!(plan.tally.obstacle, Some(Obstacle::Failed(_)));
    assert_eq!(plan.scopes.iter().filter(failed).count(), 1, "{plan:?}");
    assert_eq!(paths(&failing), ["/robots.txt"]);
}

#[tokio::test]
async fn what_an_earlier_run_learned_binds_the_plan() {
    let script = r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "100"]]}}"#;
    let origin = origin(script).await;
    let client = client(|p| (p.max_retries, p.honor_retry_after) = (0, false));
    status(&client, &origin.url("/")).await;
    let plan = plan(&client, &[origin.url("/a")]).await;
    let Forecast::Departs(course) = plan.scopes[0].forecast else {
        panic!("{plan:?}")
    };
    assert_eq!(course.first.reason, Reason::ServerHold);
    assert!(course.end.since(plan.now) > ms(99_000), "{course:?}");
    assert_eq!(paths(&origin), ["/robots.txt", "/"]);
}

#[tokio::test]
async fn a_robots_txt_that_would_have_to_be_waited_for_is_not() {
    let script = r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "100"]]}}"#;
    let origin = origin(script).await;
    let store: std::sync::Arc<dyn curtsy::store::HostStore> =
        std::sync::Arc::new(curtsy::store::MemoryStore::new());
    let blunt = on_store(&store, |p| (p.max_retries, p.respect_robots) = (0, false));
    status(&blunt, &origin.url("/")).await;
    let client = on_store(&store, |_| ());
    let plan = plan(&client, &[origin.url("/a")]).await;
    let Some(Obstacle::Deferred(bound)) = plan.scopes[0].tally.obstacle else {
        panic!("{plan:?}")
    };
    assert_eq!(bound.reason, Reason::ServerHold);
    assert_eq!(paths(&origin), ["/"]);
}
