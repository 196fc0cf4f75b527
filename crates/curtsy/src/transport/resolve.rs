//! From a host to the addresses that may be connected to.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::error::{TransportError, TransportErrorKind};
use super::guard::{Guard, Reach};

/// One `--resolve HOST:PORT:ADDR[,ADDR]…`: addresses to use for a host and port instead of asking
/// the resolver.
///
/// As in curl: IPv6 addresses may stand in brackets, the host `*` means every host at that port, and
/// a leading `+` (which in curl makes the entry expire) is accepted and means nothing here. Removing
/// an entry (`-HOST:PORT`) is not supported, as there is no cache to remove it from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl FromStr for Resolve {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| {
            TransportError::with_source(
                TransportErrorKind::Configuration,
                "a resolve entry is HOST:PORT:ADDRESS[,ADDRESS]",
            )
        })
    }
}

fn parse(text: &str) -> Option<Resolve> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (host, rest) = match text.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once("]:")?,
        None => text.split_once(':')?,
    };
    let (port, addresses) = rest.split_once(':')?;
    let addresses = addresses
        .split(',')
        .map(|address| {
            let bare = address
                .strip_prefix('[')
                .and_then(|inner| inner.strip_suffix(']'));
            bare.unwrap_or(address).parse().ok()
        })
        .collect::<Option<Vec<IpAddr>>>()?;
    (!host.is_empty()).then_some(Resolve {
        host: host.to_ascii_lowercase(),
        port: port.parse().ok()?,
        addresses,
    })
}

/// Looks hosts up: first among the entries given with [`Resolve`], then with the system's resolver.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    overrides: HashMap<(String, u16), Vec<IpAddr>>,
}

/// Where a host may be reached.
pub(super) struct Addresses {
    /// In the order of preference; never empty.
    pub(super) addresses: Vec<SocketAddr>,
    /// Given by the user, who thereby permits them whatever they are.
    pub(super) permitted: bool,
}

impl Resolver {
    /// Later entries for the same host and port replace earlier ones, as in curl.
    pub(super) fn new(entries: Vec<Resolve>) -> Self {
        Self {
            overrides: entries
                .into_iter()
                .map(|entry| ((entry.host, entry.port), entry.addresses))
                .collect(),
        }
    }

    /// The addresses of `host` that `guard` allows.
    ///
    /// # Errors
    /// `Dns` where there is none, `RefusedTarget` where the guard allows none of them.
    pub(super) async fn look_up(
        &self,
        host: &str,
        literal: Option<IpAddr>,
        port: u16,
        guard: Guard,
    ) -> Result<Addresses, TransportError> {
        if let Some(addresses) = self.override_for(host, port) {
            return Ok(Addresses {
                addresses: with_port(addresses, port),
                permitted: true,
            });
        }
        let found = match literal {
            Some(address) => vec![SocketAddr::new(address, port)],
            None => tokio::net::lookup_host((host, port))
                .await
                .map_err(|error| TransportError::with_source(TransportErrorKind::Dns, error))?
                .collect(),
        };
        if found.is_empty() {
            return Err(TransportError::new(TransportErrorKind::Dns));
        }
        let addresses: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| guard.allows(Reach::of(address.ip())))
            .collect();
        if addresses.is_empty() {
            return Err(TransportError::new(TransportErrorKind::RefusedTarget));
        }
        Ok(Addresses {
            addresses,
            permitted: false,
        })
    }

    fn override_for(&self, host: &str, port: u16) -> Option<&[IpAddr]> {
        if self.overrides.is_empty() {
            return None;
        }
        self.overrides
            .get(&(host.to_owned(), port))
            .or_else(|| self.overrides.get(&("*".to_owned(), port)))
            .map(Vec::as_slice)
    }
}

fn with_port(addresses: &[IpAddr], port: u16) -> Vec<SocketAddr> {
    addresses
        .iter()
        .map(|&address| SocketAddr::new(address, port))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolve_entry_is_read_as_curl_reads_it() {
        for (text, host, port, addresses) in [
            (
                "example.org:80:127.0.0.1",
                "example.org",
                80,
                &["127.0.0.1"][..],
            ),
            ("Example.ORG:443:[::1]", "example.org", 443, &["::1"]),
            ("a.test:80:::1", "a.test", 80, &["::1"]),
            (
                "+a.test:80:10.0.0.1,[::1]",
                "a.test",
                80,
                &["10.0.0.1", "::1"],
            ),
            ("*:80:127.0.0.2", "*", 80, &["127.0.0.2"]),
            ("[::1]:80:127.0.0.2", "::1", 80, &["127.0.0.2"]),
        ] {
            let entry: Resolve = text.parse().unwrap();
            assert_eq!(entry.host, host, "{text}");
            assert_eq!(entry.port, port, "{text}");
            let expected: Vec<IpAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(entry.addresses, expected, "{text}");
        }
        for text in [
            "",
            "example.org",
            "example.org:80",
            "example.org:80:",
            "example.org:99999:127.0.0.1",
            "example.org:80:localhost",
            ":80:127.0.0.1",
            "-example.org:80",
        ] {
            let error = text.parse::<Resolve>().unwrap_err();
            assert_eq!(error.kind(), TransportErrorKind::Configuration, "{text}");
        }
    }

    #[tokio::test]
    async fn a_literal_is_checked_and_an_override_is_permitted() {
        let resolver = Resolver::new(vec!["a.test:80:127.0.0.1".parse().unwrap()]);
        let loopback = "127.0.0.1".parse().unwrap();

        let refused = resolver
            .look_up("127.0.0.1", Some(loopback), 80, Guard::PublicOnly)
            .await;
        assert_eq!(
            refused.err().map(|error| error.kind()),
            Some(TransportErrorKind::RefusedTarget)
        );

        let allowed = resolver
            .look_up("127.0.0.1", Some(loopback), 80, Guard::Any)
            .await
            .unwrap();
        assert!(!allowed.permitted);

        let given = resolver
            .look_up("a.test", None, 80, Guard::PublicOnly)
            .await
            .unwrap();
        assert!(given.permitted);
        assert_eq!(given.addresses, ["127.0.0.1:80".parse().unwrap()]);
    }
}
