//! Hosts and ports as Host and Origin headers write them, and which of them are this machine, near it, or public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The host and port of a Host or Origin header. A missing port is the scheme's own, 80 for both.
#[derive(Debug, PartialEq)]
pub struct Authority {
    /// The name or address, in lower case and without brackets.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Authority {
    /// Reads a Host header.
    pub fn parse(text: &str) -> Self {
        let text = text.trim_end_matches('/');
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port))
                if !name.ends_with(':') && (!name.contains(':') || name.ends_with(']')) =>
            {
                // A port that is none makes the authority equal to nothing valid.
                (name, port.parse().unwrap_or(0))
            }
            _ => (text, 80),
        };
        let name = name
            .trim_matches(['[', ']'])
            .trim_end_matches('.')
            .to_ascii_lowercase();
        Self { name, port }
    }

    /// Reads an Origin header.
    pub fn of_origin(text: &str) -> Self {
        Self::parse(text.split_once("://").map_or(text, |(_, rest)| rest))
    }

    /// Whether it is an address, of any machine.
    pub fn is_ip(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }

    /// Whether it can only be the machine that asks.
    pub fn is_loopback(&self) -> bool {
        let address = self.name.parse::<IpAddr>();
        address.map_or(self.name == "localhost", |address| {
            address.to_canonical().is_loopback()
        })
    }

    /// Whether a Host header with it can only have come from outside: a public address, or a name of the public DNS.
    pub fn is_public(&self) -> bool {
        /// Names that no public DNS server resolves (RFC 6762, RFC 8375, RFC 2606, and what home routers use).
        const LOCAL_SUFFIXES: [&str; 9] = [
            "local",
            "localhost",
            "lan",
            "home",
            "internal",
            "localdomain",
            "test",
            "intranet",
            "arpa",
        ];
        if let Ok(address) = self.name.parse::<IpAddr>() {
            // 0.0.0.0 and :: reach this machine itself.
            return !is_private(address)
                && address != IpAddr::V4(Ipv4Addr::UNSPECIFIED)
                && address != IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        }
        match self.name.rsplit_once('.') {
            Some((_, suffix)) => !LOCAL_SUFFIXES.contains(&suffix),
            None => false,
        }
    }
}

/// Loopback, link-local, RFC 1918, RFC 4193 and carrier-grade NAT (RFC 6598) addresses.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || is_shared(v4)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

fn is_shared(v4: Ipv4Addr) -> bool {
    let [first, second, ..] = v4.octets();
    first == 100 && (64..128).contains(&second)
}
