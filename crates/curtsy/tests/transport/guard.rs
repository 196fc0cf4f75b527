//! Addresses that may not be connected to.

use curtsy::transport::{Guard, Target, Transport, TransportErrorKind};
use url::Url;

use crate::servers::{Server, builder, constant, fetch, ok, transport};

async fn check_out_public(transport: &Transport, url: &str) -> Result<bool, TransportErrorKind> {
    let target = Target::of(&Url::parse(url).unwrap()).unwrap();
    match transport.check_out(&target, Guard::PublicOnly).await {
        Ok(checkout) => Ok(checkout.is_public()),
        Err(error) => Err(error.kind()),
    }
}

async fn loopback() -> Server {
    constant(ok("", b"body")).await
}

#[tokio::test]
async fn a_private_address_is_refused_however_it_is_written() {
    let server = loopback().await;
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "169.254.169.254",
        "localhost",
    ] {
        let refused = check_out_public(&transport(), &format!("http://{host}:{port}/")).await;
        assert_eq!(refused, Err(TransportErrorKind::RefusedTarget), "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_given_with_resolve_is_permitted_and_counts_as_public() {
    let server = loopback().await;
    let port = server.address.port();
    let entry = format!("Paper.test:{port}:127.0.0.1").parse().unwrap();
    let transport = builder().resolve(entry).build().unwrap();
    let url = format!("http://paper.test:{port}/");
    assert_eq!(check_out_public(&transport, &url).await, Ok(true));
    assert_eq!(
        fetch(&transport, &url.parse().unwrap()).await.unwrap(),
        "body"
    );
    assert_eq!(server.connections(), 1);

    let other = check_out_public(&transport, "http://paper.test:1/").await;
    assert_eq!(
        other,
        Err(TransportErrorKind::Dns),
        "another port is another entry"
    );
}

#[tokio::test]
async fn a_pooled_connection_to_a_private_address_is_not_given_to_whoever_asks_for_a_public_one() {
    let server = loopback().await;
    let transport = transport();
    let url = server.url("/");
    fetch(&transport, &url).await.unwrap();
    let refused = check_out_public(&transport, url.as_str()).await;
    assert_eq!(refused, Err(TransportErrorKind::RefusedTarget));
    let target = Target::of(&url).unwrap();
    let own = transport.check_out(&target, Guard::Any).await.unwrap();
    assert!(own.is_reused() && !own.is_public());
}
