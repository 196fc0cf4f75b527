//! The certificate of an origin.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::error::{Error, ErrorKind};

/// A certificate chain and its key; with it an origin speaks TLS 1.2 and 1.3, and offers HTTP/2 and
/// HTTP/1.1 by ALPN.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the chain (the origin's own certificate first) and the key (PKCS #8, PKCS #1 or SEC 1)
    /// from PEM.
    ///
    /// # Errors
    /// [`ErrorKind::Tls`] where either cannot be read, or they do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, Error> {
        let tls = |error: &dyn std::error::Error| Error::new(ErrorKind::Tls, error.to_string());
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| tls(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| tls(&error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(rustls::DEFAULT_VERSIONS)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| tls(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// The same, but offering these protocols by ALPN only, such as `["http/1.1"]`.
    #[must_use]
    pub fn offering(&self, protocols: &[&str]) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Self {
            config: Arc::new(config),
        }
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
