//! Who may use the link port: rules on address, Host, Origin and forwarding headers. No I/O.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderName, header};
use thiserror::Error;

/// What the link port's owner has set.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Whether agents must show a token. Without one, links come from this machine and its private networks only.
    pub token_required: bool,
    /// Names by which this machine is reached, in lower case.
    pub names: Vec<String>,
}

/// Why a request was turned away. The text is the body of the 403 answer.
#[derive(Debug, Error, PartialEq)]
pub enum Refusal {
    /// A page of another site, or a page that made its own name point here.
    #[error(
        "refused: the Origin header says `{origin}`, which is not this bridge's own address (Host is `{host}`). Web \
         pages of other sites may not use the link port."
    )]
    ForeignOrigin {
        /// The Origin header.
        origin: String,
        /// The Host header.
        host: String,
    },
    /// The same, when the page's name itself is unknown.
    #[error(
        "refused: the request comes from a browser, and Host is `{0}`, a name this bridge doesn't know. If this \
         machine is reached by that name, add it to CC_LINK_NAMES."
    )]
    UnknownName(String),
    /// A link from the internet, without a token.
    #[error(
        "refused: {0} is not a private address. To link computers over the internet, set CC_LINK_TOKEN on the \
         bridge's side and give the agent the same token."
    )]
    PublicAddress(IpAddr),
    /// A link through a tunnel or proxy, without a token.
    #[error(
        "refused: the {0} header says that this link came through a tunnel or proxy. To allow that, set \
         CC_LINK_TOKEN on the bridge's side and give the agent the same token."
    )]
    Forwarded(HeaderName),
    /// A link to a public name, without a token.
    #[error(
        "refused: Host is `{0}`, a public name, so this link came through a tunnel. To allow that, set CC_LINK_TOKEN \
         on the bridge's side and give the agent the same token, or add the name to CC_LINK_NAMES."
    )]
    PublicName(String),
}

/// Whether any request with these headers may be answered at all.
///
/// # Errors
/// It comes from a web page that has no business here.
pub fn check_origin(headers: &HeaderMap, policy: &Policy) -> Result<(), Refusal> {
    // Games before 1.101 send the old name of the header too.
    let Some(origin) = text(headers, &header::ORIGIN)
        .or_else(|| text(headers, &HeaderName::from_static("sec-websocket-origin")))
    else {
        return Ok(());
    };
    let host = text(headers, &header::HOST).unwrap_or_default();
    if Authority::of_origin(origin) != Authority::parse(host) {
        return Err(Refusal::ForeignOrigin {
            origin: origin.to_owned(),
            host: host.to_owned(),
        });
    }
    // A page on a name that its owner pointed at this machine has an Origin equal to Host: only names that can't
    // be pointed here count.
    let name = Authority::parse(host).name;
    if is_ip(&name) || name == "localhost" || policy.names.contains(&name) {
        Ok(())
    } else {
        Err(Refusal::UnknownName(host.to_owned()))
    }
}

/// Whether a computer at `peer` may link with these headers, before it has shown a token.
///
/// # Errors
/// No token is required, and the link does not come from this machine or a private network.
pub fn check_link(headers: &HeaderMap, peer: IpAddr, policy: &Policy) -> Result<(), Refusal> {
    if policy.token_required {
        return Ok(());
    }
    if !is_private(peer) {
        return Err(Refusal::PublicAddress(peer));
    }
    for name in FORWARDING {
        if headers.contains_key(&name) {
            return Err(Refusal::Forwarded(name));
        }
    }
    let host = Authority::parse(text(headers, &header::HOST).unwrap_or_default()).name;
    if is_public_name(&host) && !policy.names.contains(&host) {
        return Err(Refusal::PublicName(host));
    }
    Ok(())
}

/// A header as text.
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    // A header that is no text is still a header: it must not pass as absent.
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

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
        is_ip(&self.name)
    }

    /// Whether it can only be the machine that asks.
    pub fn is_loopback(&self) -> bool {
        let address = self.name.parse::<IpAddr>();
        address.map_or(self.name == "localhost", |address| {
            address.to_canonical().is_loopback()
        })
    }
}

/// The headers by which proxies and tunnels say whom they speak for.
pub const FORWARDING: [HeaderName; 2] = [
    header::FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
];

fn is_ip(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok()
}

/// Loopback, link-local, RFC 1918, RFC 4193 and carrier-grade NAT (RFC 6598) addresses.
fn is_private(address: IpAddr) -> bool {
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

/// Whether a Host header can only have come from outside: a public IP address, or a name of the public DNS.
fn is_public_name(name: &str) -> bool {
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
    if let Ok(address) = name.parse::<IpAddr>() {
        // 0.0.0.0 and :: reach this machine itself.
        return !is_private(address)
            && address != IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            && address != IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    }
    match name.rsplit_once('.') {
        Some((_, suffix)) => !LOCAL_SUFFIXES.contains(&suffix),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn origin(host: &str, origin: &str) -> Result<(), Refusal> {
        let policy = Policy {
            token_required: false,
            names: vec!["bridge.example.org".into()],
        };
        check_origin(&headers(&[("host", host), ("origin", origin)]), &policy)
    }

    fn link(peer: &str, list: &[(&str, &str)]) -> Result<(), Refusal> {
        let policy = Policy {
            token_required: false,
            names: vec!["bridge.example.org".into()],
        };
        check_link(&headers(list), peer.parse().unwrap(), &policy)
    }

    #[test]
    fn no_origin_is_fine() {
        assert_eq!(
            check_origin(&headers(&[("host", "evil.example")]), &Policy::default()),
            Ok(())
        );
    }

    #[test]
    fn an_old_games_origin_is_the_bridges_own_address() {
        for host in [
            "192.168.1.20:3001",
            "localhost:3001",
            "[::1]:3001",
            "bridge.example.org:3001",
        ] {
            assert_eq!(origin(host, &format!("http://{host}")), Ok(()), "{host}");
        }
        assert_eq!(
            origin("Bridge.Example.Org", "http://bridge.example.org:80"),
            Ok(())
        );
        assert_eq!(origin("127.0.0.1", "http://127.0.0.1:80"), Ok(()));
    }

    #[test]
    fn another_sites_page_is_refused() {
        for foreign in [
            "http://evil.example",
            "null",
            "http://127.0.0.1:8080",
            "https://localhost",
            "http://127.0.0.1:3001.evil.example",
            "",
        ] {
            assert!(
                matches!(
                    origin("127.0.0.1:3001", foreign),
                    Err(Refusal::ForeignOrigin { .. })
                ),
                "{foreign}"
            );
        }
    }

    #[test]
    fn a_name_pointed_at_this_machine_is_refused_though_origin_and_host_agree() {
        assert!(matches!(
            origin("evil.example:3001", "http://evil.example:3001"),
            Err(Refusal::UnknownName(_))
        ));
        assert!(matches!(
            origin("", "http://"),
            Err(Refusal::UnknownName(_))
        ));
    }

    #[test]
    fn links_come_from_this_machine_and_private_networks() {
        for peer in [
            "127.0.0.1",
            "::1",
            "10.1.2.3",
            "172.16.0.9",
            "192.168.1.4",
            "169.254.1.1",
            "100.64.0.1",
            "fd00::1",
            "fe80::1",
            "::ffff:192.168.1.4",
        ] {
            assert_eq!(
                link(peer, &[("host", "192.168.1.20:3001")]),
                Ok(()),
                "{peer}"
            );
        }
        for peer in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(
                matches!(link(peer, &[]), Err(Refusal::PublicAddress(_))),
                "{peer}"
            );
        }
    }

    #[test]
    fn a_tunnel_is_refused_without_a_token() {
        assert!(matches!(
            link("127.0.0.1", &[("forwarded", "for=1.2.3.4")]),
            Err(Refusal::Forwarded(_))
        ));
        assert!(matches!(
            link("127.0.0.1", &[("x-forwarded-for", "1.2.3.4")]),
            Err(Refusal::Forwarded(_))
        ));
        for public in ["abc.tunnel.example:443", "8.8.8.8:3001", "x.com"] {
            assert!(
                matches!(
                    link("127.0.0.1", &[("host", public)]),
                    Err(Refusal::PublicName(_))
                ),
                "{public}"
            );
        }
        for local in [
            "localhost:3001",
            "gaming-pc:3001",
            "gaming-pc.local",
            "nas.lan",
            "0.0.0.0:3001",
            "bridge.example.org",
        ] {
            assert_eq!(link("127.0.0.1", &[("host", local)]), Ok(()), "{local}");
        }
    }

    #[test]
    fn with_a_token_required_any_address_may_try() {
        let policy = Policy {
            token_required: true,
            names: Vec::new(),
        };
        let tunnel = headers(&[
            ("x-forwarded-for", "1.2.3.4"),
            ("host", "abc.tunnel.example"),
        ]);
        assert_eq!(
            check_link(&tunnel, "8.8.8.8".parse().unwrap(), &policy),
            Ok(())
        );
    }
}
