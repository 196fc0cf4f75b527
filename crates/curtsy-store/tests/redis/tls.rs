//! Redis over TLS.

use curtsy_store::{HostStore, RedisStore, StoreErrorKind, Version};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::processes::{URL, child};
use crate::server::{Server, free_port};

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn rediss_is_tls_by_the_systems_authorities() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut ca = CertificateParams::new([]).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = Issuer::from_params(&ca, &ca_key);
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &issuer).unwrap();
    std::fs::write(file("ca.pem"), ca_certificate.pem()).unwrap();
    std::fs::write(file("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(file("certificate.pem"), certificate.pem()).unwrap();
    let port = free_port().to_string();
    let [ca, key, certificate] = ["ca.pem", "key.pem", "certificate.pem"].map(file);
    let server = Server::start(&[
        "--tls-port",
        &port,
        "--tls-auth-clients",
        "no",
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
    ]);
    // The authorities are read from the environment of a process.
    let mut child = child("tls::child_stores");
    let ended = child
        .env("SSL_CERT_FILE", &ca)
        .env(URL, format!("rediss://localhost:{port}"))
        .status();
    assert!(ended.unwrap().success());
    let there = RedisStore::open(&server.url().parse().unwrap())
        .await
        .unwrap()
        .keys("")
        .await;
    assert_eq!(there.unwrap(), ["scope:a.org"]);

    let plain = format!("redis://127.0.0.1:{port}").parse().unwrap();
    let error = RedisStore::open(&plain).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains("is it rediss://"), "{error}");
}

#[tokio::test]
#[ignore = "a child of rediss_is_tls_by_the_systems_authorities"]
async fn child_stores() {
    // By itself it has nothing to do.
    let Ok(url) = std::env::var(URL) else { return };
    let store = RedisStore::open(&url.parse().unwrap()).await.unwrap();
    let stored = store.compare_and_swap("scope:a.org", Version::ABSENT, b"x".to_vec());
    stored.await.unwrap();
}
