//! Through a proxy the pace is still the server's own.

use curtsy::clock::Clock;
use curtsy::core::Scope;
use curtsy::transport::{Proxies, Transport};

use crate::support::*;

#[tokio::test]
async fn robots_and_pages_go_through_the_proxy_and_each_server_has_its_own_scope() {
    let proxy = origin(r#"{"robots": "User-agent: *\nDisallow: /no\n"}"#).await;
    let proxies = Proxies::none().with_url(&proxy.url(""));
    let transport = Transport::builder(Clock::system()).proxies(proxies);
    let client = builder(fast(|_| ()))
        .transport(transport.build().unwrap())
        .build()
        .unwrap();
    for host in ["one.invalid", "two.invalid"] {
        assert_eq!(status(&client, &format!("http://{host}/x?y")).await, 200);
        disallowed(client.get(&format!("http://{host}/no")).await);
        let scope = Scope::named(host);
        assert_eq!(
            client.state(&scope).await.unwrap().departures(),
            2,
            "{host}"
        );
    }
    let hosts: Vec<_> = proxy
        .arrivals()
        .into_iter()
        .map(|a| a.host.unwrap())
        .collect();
    assert_eq!(
        hosts,
        ["one.invalid", "one.invalid", "two.invalid", "two.invalid"]
    );
}
