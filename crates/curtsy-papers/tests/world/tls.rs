//! A certificate for every host of the world, and an authority that vouches for it.

use std::sync::Arc;

use curtsy_papers::{Endpoints, Provider};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

pub(super) struct Certified {
    pub(super) authority: String,
    pub(super) acceptor: TlsAcceptor,
}

/// Publishers of the fixtures.
const SITES: [&str; 3] = ["journal.example.org", "repo.example.edu", "www.example.org"];

pub(super) fn certified() -> Certified {
    let root_key = KeyPair::generate().unwrap();
    let mut root = CertificateParams::new(Vec::new()).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = root.self_signed(&root_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let endpoints = Endpoints::default();
    let of_provider = |provider| endpoints.base(provider).host_str().unwrap().to_owned();
    let mut names: Vec<String> = Provider::ALL.into_iter().map(of_provider).collect();
    names.extend(SITES.map(str::to_owned));
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &Issuer::new(root, root_key))
        .unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    Certified {
        authority,
        acceptor: TlsAcceptor::from(Arc::new(config)),
    }
}
