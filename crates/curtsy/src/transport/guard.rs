//! Which addresses may be connected to.
//!
//! A name says nothing about where it leads: every resolved address is checked, and only one that
//! was checked is connected to, so that a name cannot change its address between the two. Through a
//! proxy the proxy resolves the name; then only a literal address and the names of the machine
//! itself can be told to be private.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::target::Target;

/// Which addresses a checkout may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Any: the caller named this target itself.
    Any,
    /// Public ones only, as for a redirect that a public host sent. A name given with `--resolve` is
    /// permitted.
    PublicOnly,
    /// Public ones, and those of this machine: for tests and mirrors on loopback, from which nothing else that is
    /// private may be reached.
    PublicOrLoopback,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To anybody: see [`is_public`].
    Public,
    /// To this machine: 127.0.0.0/8 or ::1.
    Loopback,
    /// To what only some can reach, or nobody.
    Private,
}

impl Guard {
    pub(super) fn allows(self, reach: Reach) -> bool {
        match self {
            Self::Any => true,
            Self::PublicOnly => reach == Reach::Public,
            Self::PublicOrLoopback => reach != Reach::Private,
        }
    }
}

impl Reach {
    pub(super) fn of(address: IpAddr) -> Self {
        if is_public(address) {
            Self::Public
        } else if address.to_canonical().is_loopback() {
            Self::Loopback
        } else {
            Self::Private
        }
    }
}

/// Whether `address` is one that anybody on the internet may serve from.
///
/// Not public: unspecified, loopback, private, unique-local, shared (carrier NAT), link-local with
/// the metadata services in it, Azure's metadata service, protocol assignments, documentation,
/// benchmarking, multicast, reserved, broadcast, Teredo, site-local, and every IPv6 address outside
/// 2000::/3. Of an address that embeds an IPv4 one (IPv4-mapped, NAT64, 6to4) the embedded one
/// decides. Source: the IANA special-purpose address registries (RFC 6890).
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match a {
        0 | 10 | 127 => true,
        100 => (64..128).contains(&b),
        // The metadata service of Azure, within its own public range.
        168 => address == Ipv4Addr::new(168, 63, 129, 16),
        169 => b == 254,
        172 => (16..32).contains(&b),
        // Protocol assignments, documentation, the retired 6to4 relays, private.
        192 => matches!((b, c), (0, 0) | (0, 2) | (88, 99) | (168, _)),
        // Benchmarking, documentation.
        198 => matches!((b, c), (18 | 19, _) | (51, 100)),
        203 => (b, c) == (0, 113),
        // Multicast, reserved, broadcast.
        224.. => true,
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    let [a, b, ..] = address.segments();
    // Only 2000::/3 is global unicast, less the protocol assignments of 2001::/23 (Teredo, ORCHID)
    // and the two documentation prefixes.
    (0x2000..0x4000).contains(&a)
        && !(a == 0x2001 && b < 0x0200)
        && !(a == 0x2001 && b == 0x0db8)
        && !(a == 0x3fff && b < 0x1000)
}

/// The IPv4 address that a gateway on the way would turn this one into.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b, c, d, e, f) {
        // IPv4-mapped, ::ffff:0:0/96.
        (0, 0, 0, 0, 0, 0xffff) => Some(joined(g, h)),
        // NAT64, 64:ff9b::/96 (RFC 6052): the only way to an IPv4 host from some IPv6 networks.
        (0x64, 0xff9b, 0, 0, 0, 0) => Some(joined(g, h)),
        // 6to4, 2002::/16.
        (0x2002, ..) => Some(joined(b, c)),
        _ => None,
    }
}

/// Where a target that a proxy will resolve can be taken to lead.
pub(super) fn reach_by_name(target: &Target) -> Reach {
    if let Some(address) = target.literal() {
        return Reach::of(address);
    }
    let host = target.host().trim_end_matches('.');
    if host == "localhost" || host.ends_with(".localhost") {
        Reach::Loopback
    } else {
        Reach::Public
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn addresses_that_not_everybody_may_serve_from_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.9",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.7",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2002:c0a8:1::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn addresses_next_to_the_special_ones_are_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.114.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2002:808:808::1",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn behind_a_proxy_only_literals_and_the_machines_own_names_are_told_to_be_private() {
        for (url, public) in [
            ("http://example.org/", true),
            ("http://8.8.8.8/", true),
            ("http://localhost/", false),
            ("http://localhost./", false),
            ("http://a.localhost/", false),
            ("http://notlocalhost/", true),
            ("http://127.1/", false),
            ("http://[::1]/", false),
        ] {
            let target = Target::of(&Url::parse(url).unwrap()).unwrap();
            let reach = reach_by_name(&target);
            assert_eq!(reach == Reach::Public, public, "{url}");
        }
    }

    #[test]
    fn loopback_is_this_machine_and_nothing_else() {
        for (address, loopback) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("0.0.0.0", false),
            ("10.0.0.1", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("1.1.1.1", false),
        ] {
            let reach = Reach::of(address.parse().unwrap());
            assert_eq!(reach == Reach::Loopback, loopback, "{address}");
            let is_public = reach == Reach::Public;
            assert_eq!(Guard::PublicOnly.allows(reach), is_public, "{address}");
            assert_eq!(
                Guard::PublicOrLoopback.allows(reach),
                is_public || loopback,
                "{address}"
            );
        }
    }
}
