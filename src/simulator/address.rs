//! Where an `http` URL points, and whether the game's rules let a computer go there.

use std::net::{IpAddr, SocketAddr};

use tokio_tungstenite::tungstenite::http::Uri;

use super::options::HttpRules;

/// A URL taken apart, without its fragment, which never goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// Path and query, at least `/`.
    pub(super) path: String,
}

/// Which API asks, since their rules for schemes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    WebSocket,
}

const MALFORMED: &str = "URL malformed";

impl Address {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// The game's own text: `URL malformed`, `Invalid scheme 'x'`, `Must specify http or https`.
    pub(super) fn parse(url: &str, expected: Scheme) -> Result<Self, String> {
        let url = url.split('#').next().unwrap_or_default();
        let parse = |text: &str| text.parse::<Uri>().map_err(|_| MALFORMED.to_owned());
        let (scheme, uri) = match (url.split_once("://"), expected) {
            (Some((scheme, _)), Scheme::Http) => (scheme.to_ascii_lowercase(), parse(url)?),
            (None, Scheme::Http) => return Err("Must specify http or https".to_owned()),
            (Some((scheme, rest)), Scheme::WebSocket) if !rest.is_empty() => {
                (scheme.to_ascii_lowercase(), parse(url)?)
            }
            // Without a scheme, or with nothing after it, all of it is taken for what follows `ws://`.
            (_, Scheme::WebSocket) => ("ws".to_owned(), parse(&format!("ws://{url}"))?),
        };
        let (allowed, default_port) = match (expected, scheme.as_str()) {
            (Scheme::Http, "http") | (Scheme::WebSocket, "ws") => (true, 80),
            (Scheme::Http, "https") | (Scheme::WebSocket, "wss") => (true, 443),
            _ => (false, 0),
        };
        if !allowed {
            return Err(match expected {
                Scheme::Http => format!("Invalid protocol '{scheme}'"),
                Scheme::WebSocket => format!("Invalid scheme '{scheme}'"),
            });
        }
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or(MALFORMED)?
            .to_owned();
        // The parser checks a port's digits only when it is asked for.
        let written = uri.authority().and_then(|authority| {
            authority
                .as_str()
                .rsplit_once(':')
                .map(|(_, port)| port)
                .filter(|port| !port.ends_with(']'))
        });
        let port = match (uri.port_u16(), written) {
            (Some(port), _) => port,
            (None, None | Some("")) => default_port,
            (None, Some(_)) => return Err(MALFORMED.to_owned()),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Address {
            scheme,
            host,
            port,
            path,
        })
    }

    /// Whether it asks for TLS, which the simulator does not speak.
    pub(super) fn is_secure(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "wss")
    }

    /// The value of a Host header.
    pub(super) fn host_header(&self) -> String {
        let default = if self.is_secure() { 443 } else { 80 };
        if self.port == default {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Looks the name up, and applies the rules to what it stands for.
    ///
    /// # Errors
    /// `Unknown host`, `Domain not permitted`.
    pub(super) async fn resolve(&self, rules: HttpRules) -> Result<Vec<SocketAddr>, String> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let found = tokio::net::lookup_host((host, self.port)).await;
        let addresses: Vec<SocketAddr> = found.map_err(|_| "Unknown host")?.collect();
        if addresses.is_empty() {
            return Err("Unknown host".to_owned());
        }
        if !rules.private_addresses && addresses.iter().any(|address| is_private(address.ip())) {
            return Err("Domain not permitted".to_owned());
        }
        Ok(addresses)
    }
}

/// Whether the game's `$private` rule covers it: loopback, private, link-local, carrier-grade NAT, unspecified.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_multicast()
                || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_stays_off_the_wire() {
        let address = Address::parse("ws://127.0.0.1:3001#a1b2", Scheme::WebSocket).expect("a URL");
        assert_eq!(
            (address.host.as_str(), address.port, address.path.as_str()),
            ("127.0.0.1", 3001, "/")
        );
        let address = Address::parse("ws://h/x?y=1#z", Scheme::WebSocket).expect("a URL");
        assert_eq!((address.port, address.path.as_str()), (80, "/x?y=1"));
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_games_own_words() {
        let refused = |url| Address::parse(url, Scheme::WebSocket).expect_err("wrong");
        assert_eq!(refused("http://h:1"), "Invalid scheme 'http'");
        assert_eq!(refused("ws://a b"), "URL malformed");
        assert_eq!(refused("ws://h:port"), "URL malformed");
        assert_eq!(refused("ws://h:99999"), "URL malformed");
        assert_eq!(refused("x y"), "URL malformed");
        assert_eq!(
            Address::parse("h", Scheme::Http).expect_err("wrong"),
            "Must specify http or https"
        );
    }

    #[test]
    fn an_address_without_a_scheme_is_taken_for_a_websockets() {
        let address = Address::parse("localhost:3001", Scheme::WebSocket).expect("a URL");
        assert_eq!((address.scheme.as_str(), address.port), ("ws", 3001));
    }

    #[test]
    fn the_private_rule_covers_all_private_addresses() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.1.20",
            "169.254.0.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
        ] {
            assert!(
                is_private(private.parse().expect("an address")),
                "{private}"
            );
        }
        assert!(!is_private("1.1.1.1".parse().expect("an address")));
    }
}
