//! Who may use the link port: rules on address, Host, Origin and forwarding headers. No I/O.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};
use thiserror::Error;

use crate::base::http::{
    admission::{Refusal, Rules, Words, host},
    authority::{Authority, is_private},
    text,
};

/// Who may use the link port.
#[derive(Debug, Clone)]
pub struct LinkAdmission {
    rules: Rules,
    /// Whether agents must show a token. Without one, links come from this machine and its private networks only.
    token_required: bool,
}

const WORDS: Words = Words {
    port: "the link port",
    request: "link",
    before_unknown_host: "the request comes from a browser, and ",
    add_name: "add it to CC_LINK_NAMES",
    set_token: SET_TOKEN,
};

const SET_TOKEN: &str = "set CC_LINK_TOKEN on the bridge's side and give the agent the same token";

/// Why a link was turned away. The text is the body of the 403 answer.
#[derive(Debug, Error, PartialEq)]
pub enum LinkRefusal {
    /// For a reason that holds at every port.
    #[error(transparent)]
    Common(#[from] Refusal),
    /// A link from the internet, without a token.
    #[error(
        "refused: {0} is not a private address. To link computers over the internet, {SET_TOKEN}."
    )]
    PublicAddress(IpAddr),
    /// A link to a public name, without a token.
    #[error(
        "refused: Host is `{0}`, a public name, so this link came through a tunnel. To allow that, {SET_TOKEN}, or add \
         the name to CC_LINK_NAMES."
    )]
    PublicName(String),
}

impl LinkAdmission {
    /// With the names by which this machine is reached, in lower case.
    pub fn new(token_required: bool, names: Vec<String>) -> Self {
        Self {
            rules: Rules {
                any_address: true,
                names,
                local_pages: false,
                words: &WORDS,
            },
            token_required,
        }
    }

    /// Whether any request with these headers may be answered at all.
    ///
    /// # Errors
    /// It comes from a web page that has no business here.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        // Games before 1.101 send the old name of the header too.
        let Some(origin) = text(headers, &header::ORIGIN)
            .or_else(|| text(headers, &HeaderName::from_static("sec-websocket-origin")))
        else {
            return Ok(());
        };
        self.rules.check_origin(headers, origin)?;
        // A page on a name that its owner pointed at this machine has an Origin equal to Host: only names that can't
        // be pointed here count.
        self.rules.check_host(headers)
    }

    /// Whether a computer at `peer` may link with these headers, before it has shown a token.
    ///
    /// # Errors
    /// No token is required, and the link does not come from this machine or a private network.
    pub fn check_link(&self, headers: &HeaderMap, peer: IpAddr) -> Result<(), LinkRefusal> {
        if self.token_required {
            return Ok(());
        }
        if !is_private(peer) {
            return Err(LinkRefusal::PublicAddress(peer));
        }
        self.rules.check_forwarding(headers)?;
        let host = Authority::parse(host(headers));
        if host.is_public() && !self.rules.names.contains(&host.name) {
            return Err(LinkRefusal::PublicName(host.name));
        }
        Ok(())
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

    fn admission() -> LinkAdmission {
        LinkAdmission::new(false, vec!["bridge.example.org".into()])
    }

    fn origin(host: &str, origin: &str) -> Result<(), Refusal> {
        admission().check_origin(&headers(&[("host", host), ("origin", origin)]))
    }

    fn link(peer: &str, list: &[(&str, &str)]) -> Result<(), LinkRefusal> {
        admission().check_link(&headers(list), peer.parse().unwrap())
    }

    #[test]
    fn no_origin_is_fine() {
        assert_eq!(
            LinkAdmission::new(false, Vec::new())
                .check_origin(&headers(&[("host", "evil.example")])),
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
            Err(Refusal::UnknownHost { .. })
        ));
        assert!(matches!(
            origin("", "http://"),
            Err(Refusal::UnknownHost { .. })
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
                matches!(link(peer, &[]), Err(LinkRefusal::PublicAddress(_))),
                "{peer}"
            );
        }
    }

    #[test]
    fn a_tunnel_is_refused_without_a_token() {
        assert!(matches!(
            link("127.0.0.1", &[("forwarded", "for=1.2.3.4")]),
            Err(LinkRefusal::Common(Refusal::Forwarded { .. }))
        ));
        assert!(matches!(
            link("127.0.0.1", &[("x-forwarded-for", "1.2.3.4")]),
            Err(LinkRefusal::Common(Refusal::Forwarded { .. }))
        ));
        for public in ["abc.tunnel.example:443", "8.8.8.8:3001", "x.com"] {
            assert!(
                matches!(
                    link("127.0.0.1", &[("host", public)]),
                    Err(LinkRefusal::PublicName(_))
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
        let admission = LinkAdmission::new(true, Vec::new());
        let tunnel = headers(&[
            ("x-forwarded-for", "1.2.3.4"),
            ("host", "abc.tunnel.example"),
        ]);
        assert_eq!(
            admission.check_link(&tunnel, "8.8.8.8".parse().unwrap()),
            Ok(())
        );
    }

    #[test]
    fn each_refusal_says_what_to_change() {
        let token = "set CC_LINK_TOKEN on the bridge's side and give the agent the same token";
        for (refusal, words) in [
            (
                origin("10.0.0.1:3001", "null").unwrap_err().to_string(),
                "refused: the Origin header says `null`, which is not this bridge's own address (Host is \
                 `10.0.0.1:3001`). Web pages of other sites may not use the link port."
                    .to_owned(),
            ),
            (
                origin("a.example", "http://a.example").unwrap_err().to_string(),
                "refused: the request comes from a browser, and Host is `a.example`, a name this bridge doesn't know. \
                 If this machine is reached by that name, add it to CC_LINK_NAMES."
                    .to_owned(),
            ),
            (
                link("8.8.8.8", &[]).unwrap_err().to_string(),
                format!(
                    "refused: 8.8.8.8 is not a private address. To link computers over the internet, {token}."
                ),
            ),
            (
                link("::1", &[("forwarded", "")]).unwrap_err().to_string(),
                format!(
                    "refused: the forwarded header says that this link came through a tunnel or proxy. To allow that, \
                     {token}."
                ),
            ),
            (
                link("::1", &[("host", "a.example:1")]).unwrap_err().to_string(),
                format!(
                    "refused: Host is `a.example`, a public name, so this link came through a tunnel. To allow that, \
                     {token}, or add the name to CC_LINK_NAMES."
                ),
            ),
        ] {
            assert_eq!(refusal, words);
        }
    }
}
