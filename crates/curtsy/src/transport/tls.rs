//! TLS: rustls with ring, one configuration for all connections, verification always on.
//!
//! Trusted are the platform's certificates; where a machine has none (a bare container), Mozilla's
//! bundled ones; where the user gives a file, those in it alone, as curl's `--cacert`. Client
//! certificates and early data are not supported.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::{TransportError, TransportErrorKind};
use super::stream::Stream;

/// Makes TLS connections; the configuration is made with the first of them.
pub(super) struct Tls {
    given: Option<Arc<dyn ServerCertVerifier>>,
    http2: bool,
    connectors: OnceCell<Connectors>,
}

#[derive(Clone)]
struct Connectors {
    to_server: TlsConnector,
    to_proxy: TlsConnector,
}

/// Whom a handshake is made with, which decides the protocols that are offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Server,
    /// HTTP/1.1 only, since a tunnel is asked for with its `CONNECT`.
    Proxy,
}

impl Tls {
    /// Trusts the certificates of `pem` and no others, or else the platform's.
    pub(super) fn new(pem: Option<&[u8]>, http2: bool) -> Result<Self, TransportError> {
        Ok(Self {
            given: pem.map(verifier_of_pem).transpose()?,
            http2,
            connectors: OnceCell::new(),
        })
    }

    /// Makes the handshake, and checks that the certificate is valid for `host`.
    pub(super) async fn connect(
        &self,
        host: &str,
        stream: Stream,
        peer: Peer,
    ) -> Result<TlsStream<Stream>, TransportError> {
        let name = ServerName::try_from(host.trim_end_matches('.').to_owned())
            .map_err(|error| TransportError::with_source(TransportErrorKind::Tls, error))?;
        let connectors = self.connectors().await?;
        let connector = match peer {
            Peer::Server => &connectors.to_server,
            Peer::Proxy => &connectors.to_proxy,
        };
        connector
            .connect(name, stream)
            .await
            .map_err(TransportError::from_connect)
    }

    async fn connectors(&self) -> Result<&Connectors, TransportError> {
        self.connectors
            .get_or_try_init(|| async {
                let verifier = match &self.given {
                    Some(given) => Arc::clone(given),
                    // Reading the platform's store takes tens of milliseconds: not on a thread that
                    // paces others.
                    None => tokio::task::spawn_blocking(platform_verifier)
                        .await
                        .map_err(configuration)??,
                };
                connectors_of(verifier, self.http2)
            })
            .await
    }
}

/// Whether both sides settled on HTTP/2.
pub(super) fn speaks_http2(stream: &TlsStream<Stream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

fn connectors_of(
    verifier: Arc<dyn ServerCertVerifier>,
    http2: bool,
) -> Result<Connectors, TransportError> {
    let mut to_server = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(configuration)?
        // "Dangerous" is any verifier that is not a plain list of roots; the platform's is one.
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    to_server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let to_proxy = to_server.clone();
    if http2 {
        to_server.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(Connectors {
        to_server: TlsConnector::from(Arc::new(to_server)),
        to_proxy: TlsConnector::from(Arc::new(to_proxy)),
    })
}

fn platform_verifier() -> Result<Arc<dyn ServerCertVerifier>, TransportError> {
    match rustls_platform_verifier::Verifier::new(provider()) {
        Ok(verifier) => Ok(Arc::new(verifier)),
        Err(error) => {
            tracing::warn!(%error, "no platform certificates: trusting the bundled ones");
            verifier_of_roots(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect())
        }
    }
}

fn verifier_of_pem(pem: &[u8]) -> Result<Arc<dyn ServerCertVerifier>, TransportError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(configuration)?;
        roots.add(certificate).map_err(configuration)?;
    }
    if roots.is_empty() {
        return Err(configuration("no certificate in the PEM data"));
    }
    verifier_of_roots(roots)
}

fn verifier_of_roots(roots: RootCertStore) -> Result<Arc<dyn ServerCertVerifier>, TransportError> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(configuration)?;
    Ok(verifier)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn configuration(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TransportError {
    TransportError::with_source(TransportErrorKind::Configuration, source)
}
