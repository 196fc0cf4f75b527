//! TLS with a certificate authority made on the fly.

use std::sync::Arc;

use curtsy::transport::{Transport, TransportErrorKind};
use http::Version;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::servers::{Server, builder, failure, fetch, head, ok, read_head, server};

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Accepts TLS for `names`, with these protocols by ALPN.
    pub(crate) fn acceptor(&self, names: &[&str], protocols: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|protocol| protocol.as_bytes().to_vec())
            .collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A transport that trusts this authority alone and finds `secure.test` at the server.
    pub(crate) fn transport(&self, server: &Server) -> Transport {
        builder()
            .ca_certificates(self.pem.as_str())
            .resolve(resolve_to(server))
            .build()
            .unwrap()
    }
}

pub(crate) fn resolve_to(server: &Server) -> curtsy::transport::Resolve {
    format!("*:{}:127.0.0.1", server.address.port())
        .parse()
        .unwrap()
}

pub(crate) fn https(host: &str, server: &Server) -> Url {
    format!("https://{host}:{}/", server.address.port())
        .parse()
        .unwrap()
}

/// Serves HTTP/1.1 over TLS.
pub(crate) async fn tls_server(acceptor: TlsAcceptor) -> Server {
    server(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.ok()?;
            while read_head(&mut stream).await.is_some() {
                stream.write_all(&ok("", b"secured")).await.ok()?;
                stream.flush().await.ok()?;
            }
            None
        }
    })
    .await
}

#[tokio::test]
async fn a_server_under_the_given_authority_is_trusted_and_its_connection_kept() {
    let authority = Authority::new();
    let server = tls_server(authority.acceptor(&["secure.test"], &["h2x", "http/1.1"])).await;
    let transport = authority.transport(&server);
    for _ in 0..3 {
        let head = head(&transport, &https("secure.test", &server))
            .await
            .unwrap();
        assert_eq!(head.version, Version::HTTP_11);
        assert_eq!(head.body.collect(100).await.unwrap(), "secured");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_literal_address_can_be_certified_too() {
    let authority = Authority::new();
    let server = tls_server(authority.acceptor(&["127.0.0.1"], &[])).await;
    let transport = authority.transport(&server);
    let body = fetch(&transport, &https("127.0.0.1", &server))
        .await
        .unwrap();
    assert_eq!(body, "secured");
}

#[tokio::test]
async fn another_authority_another_name_and_the_platforms_trust_are_refused() {
    let authority = Authority::new();
    let server = tls_server(authority.acceptor(&["secure.test"], &[])).await;
    let url = https("secure.test", &server);

    let stranger = Authority::new().transport(&server);
    assert_eq!(failure(&stranger, &url).await, TransportErrorKind::Tls);

    let other_name = https("other.test", &server);
    let kind = failure(&authority.transport(&server), &other_name).await;
    assert_eq!(kind, TransportErrorKind::Tls);

    // With the platform's certificates, or the bundled ones where there are none.
    let platform = builder().resolve(resolve_to(&server)).build().unwrap();
    assert_eq!(failure(&platform, &url).await, TransportErrorKind::Tls);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_failure_of_tls() {
    let server = crate::servers::once("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let transport = Authority::new().transport(&server);
    // Answers once it has read what looks like an empty line to it, or hangs up at the end.
    let plain = crate::servers::server(|mut stream, _| async move {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .ok()
    })
    .await;
    let resolve = resolve_to(&plain);
    drop((server, transport));
    let transport = builder().resolve(resolve).build().unwrap();
    let kind = failure(&transport, &https("secure.test", &plain)).await;
    assert_eq!(kind, TransportErrorKind::Tls);
}

#[tokio::test]
async fn pem_data_without_a_certificate_is_an_error_of_configuration() {
    for pem in [
        "",
        "nonsense",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let error = builder().ca_certificates(pem).build().unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Configuration, "{pem}");
    }
}

#[tokio::test]
async fn a_body_cut_off_without_a_farewell_is_cut_short() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(&["secure.test"], &[]);
    let server = server(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.ok()?;
            read_head(&mut stream).await?;
            // No length, so only TLS's close_notify could tell that this is all.
            stream
                .write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf")
                .await
                .ok()?;
            stream.flush().await.ok()
        }
    })
    .await;
    let transport = authority.transport(&server);
    let kind = failure(&transport, &https("secure.test", &server)).await;
    assert_eq!(kind, TransportErrorKind::BodyCutShort);
}
