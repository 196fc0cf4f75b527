//! `--resolve HOST:PORT:ADDR`, as in curl.

use std::fmt;
use std::net::IpAddr;

use serde_json::{Value as Json, json};

use super::Value;

/// The addresses to use for a host and port in place of what the name system says. IPv6 addresses may
/// stand in brackets, several addresses are separated by commas, and `*` means every host at that port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolve {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Value for Resolve {
    const SEPARATORS: &'static [char] = &['\n'];

    fn read(text: &str) -> Result<Self, String> {
        parse(text).ok_or_else(|| {
            format!("{text:?} is no HOST:PORT:ADDR, as example.org:443:127.0.0.1 or example.org:443:[::1]")
        })
    }

    fn show(&self) -> Json {
        json!(self.to_string())
    }
}

fn parse(text: &str) -> Option<Resolve> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once("]:")?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest)
        }
        None => text.split_once(':')?,
    };
    let known = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '*');
    if host.is_empty() || !host.chars().all(known) {
        return None;
    }
    let (port, addresses) = rest.split_once(':')?;
    Some(Resolve {
        host: host.to_lowercase(),
        port: port.parse().ok().filter(|port| *port > 0)?,
        addresses: addresses.split(',').map(address).collect::<Option<_>>()?,
    })
}

fn address(text: &str) -> Option<IpAddr> {
    match text.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}:", self.host, self.port)?;
        } else {
            write!(f, "{}:{}:", self.host, self.port)?;
        }
        for (n, address) in self.addresses.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            match address {
                IpAddr::V4(address) => write!(f, "{comma}{address}")?,
                IpAddr::V6(address) => write!(f, "{comma}[{address}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn an_entry_is_host_port_and_addresses() {
        for (text, shown) in [
            ("example.org:443:127.0.0.1", "example.org:443:127.0.0.1"),
            ("Example.ORG:80:[::1]", "example.org:80:[::1]"),
            ("example.org:80:::1", "example.org:80:[::1]"),
            ("example.org:80:2001:db8::7", "example.org:80:[2001:db8::7]"),
            ("[2001:db8::1]:80:127.0.0.1", "[2001:db8::1]:80:127.0.0.1"),
            ("*:8080:127.0.0.1", "*:8080:127.0.0.1"),
            ("a:1:127.0.0.1,[::1]", "a:1:127.0.0.1,[::1]"),
        ] {
            let entry: Resolve = read(text).unwrap();
            assert_eq!(entry.to_string(), shown, "{text}");
            assert_eq!(read(shown), Ok(entry), "{shown}");
        }
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for text in [
            "",
            "example.org",
            "example.org:443",
            "example.org:443:",
            "example.org::127.0.0.1",
            "example.org:0:127.0.0.1",
            "example.org:65536:127.0.0.1",
            "example.org:443:localhost",
            "example.org:443:127.0.0.1,",
            "example.org:443:[127.0.0.1]",
            "example.org:443:[::1",
            ":443:127.0.0.1",
            "[example.org]:443:127.0.0.1",
            "http://example.org:443:127.0.0.1",
            "exa mple.org:443:127.0.0.1",
        ] {
            assert!(read::<Resolve>(text).is_err(), "{text}");
        }
    }
}
