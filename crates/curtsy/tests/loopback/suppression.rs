//! R4: a scope that answers 403 is left alone.

use std::sync::Arc;

use curtsy::core::Scope;
use curtsy::store::{HostStore, MemoryStore};

use crate::support::*;

#[tokio::test]
async fn r4_three_403s_in_a_row_suppress_and_nothing_departs_any_more() {
    let origin =
        origin(r#"{"robots": 404, "pages": {"/ok": {"status": 200}}, "page": {"status": 403}}"#)
            .await;
    let client = client(|_| ());
    for (path, synthetic) in [
        ("/1", false),
        ("/2", false),
        ("/ok", false),
        ("/3", false),
        ("/4", false),
        ("/5", false),
        ("/6", true),
        ("/ok", true),
    ] {
        let got = response(client.get(&origin.url(path)).await);
        assert_eq!(got.synthetic, synthetic, "{path}");
        if synthetic {
            assert_eq!((got.status.as_u16(), got.attempts), (403, 0));
            assert!(got.body.collect(1).await.unwrap().is_empty());
        }
    }
    assert_eq!(pages(&origin).len(), 6);
    let scope = Scope::named(&origin.addr().to_string());
    assert!(client.suppressed_scopes()[&scope].contains("403"));
}

#[tokio::test]
async fn r4_what_another_client_lifts_is_lifted_here_too() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    let (one, other) = (on_store(&store, |_| ()), on_store(&store, |_| ()));
    for n in 0..3 {
        response(one.get(&origin.url(&format!("/{n}"))).await);
    }
    assert!(response(one.get(&origin.url("/x")).await).synthetic);
    assert!(response(other.get(&origin.url("/x")).await).synthetic);
    let scope = Scope::named(&origin.addr().to_string());
    assert_eq!(other.lift(&scope).await.map_err(|e| e.kind()), Ok(true));
    assert!(!response(one.get(&origin.url("/x")).await).synthetic);
}

#[tokio::test]
async fn r4_a_403_that_is_a_rate_limit_in_disguise_throttles_and_never_suppresses() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/x": [
            {"status": 403, "headers": [["Retry-After", "1"]]}, {"status": 200}]}}"#,
    )
    .await;
    let client = client(|p| p.suppress_after = Some(1));
    let got = response(client.get(&origin.url("/x")).await);
    assert_eq!((got.status.as_u16(), got.attempts), (200, 2));
    assert!(client.suppressed_scopes().is_empty());
    let arrivals = pages(&origin);
    assert!(arrivals[1].at - arrivals[0].answered.unwrap() >= ms(1095));
}
