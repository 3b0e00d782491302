//! Who may use the link port: rules on address, Host, Origin and forwarding headers. No I/O.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};
use thiserror::Error;

use crate::base::{
    http::{
        admission::{Refusal, Rules, Words, host},
        authority::{Authority, is_private},
        text,
    },
    token::Token,
};

/// Who may use the link port.
#[derive(Debug, Clone)]
pub struct LinkAdmission {
    rules: Rules,
    /// Whether agents must show a token that nobody can guess. Else links come from this machine and its private
    /// networks only.
    is_guarded: bool,
    /// What is said of the token to those who are turned away.
    token: &'static TokenWords,
}

/// What is said of the token.
#[derive(Debug, PartialEq)]
struct TokenWords {
    port: Words,
    /// Follows what is wrong with an address or name.
    so_far: &'static str,
}

const NO_TOKEN: TokenWords = TokenWords {
    port: words("set CC_LINK_TOKEN on the bridge's side and give the agent the same token"),
    so_far: "",
};

const SHORT_TOKEN: TokenWords = TokenWords {
    port: words(
        "set CC_LINK_TOKEN on the bridge's side to a random text of 16 characters or more, and give the agent the same \
         token",
    ),
    so_far: ", and the bridge's token has fewer than 16 characters, so that it could be guessed",
};

const fn words(set_token: &'static str) -> Words {
    Words {
        port: "the link port",
        request: "link",
        before_unknown_host: "the request comes from a browser, and ",
        add_name: "add it to CC_LINK_NAMES",
        set_token,
    }
}

/// Why a link was turned away. The text is the body of the 403 answer.
#[derive(Debug, Error, PartialEq)]
pub enum LinkRefusal {
    /// For a reason that holds at every port.
    #[error(transparent)]
    Common(#[from] Refusal),
    /// A link from the internet, without a token that keeps others out.
    #[error(
        "refused: {address} is not a private address{so_far}. To link computers over the internet, {set_token}."
    )]
    PublicAddress {
        /// Where it comes from.
        address: IpAddr,
        /// What is wrong with the token.
        so_far: &'static str,
        /// What to do.
        set_token: &'static str,
    },
    /// A link to a public name, without such a token.
    #[error(
        "refused: Host is `{name}`, a public name, so this link came through a tunnel{so_far}. To allow that, \
         {set_token}, or add the name to CC_LINK_NAMES."
    )]
    PublicName {
        /// The name.
        name: String,
        /// What is wrong with the token.
        so_far: &'static str,
        /// What to do.
        set_token: &'static str,
    },
}

/// A question about the bridge itself came under a name that anybody may have pointed here. The text is the body of the
/// 403 answer.
#[derive(Debug, Error, PartialEq)]
#[error(
    "refused: Host is `{0}`, a name this bridge doesn't know. If this machine is reached by that name, add it to \
     CC_LINK_NAMES."
)]
pub struct StrangeName(String);

impl LinkAdmission {
    /// For a port where agents must show this token. `names` are those by which this machine is reached, in lower case.
    pub fn new(token: Option<&Token>, names: Vec<String>) -> Self {
        let token_words = match token {
            None => &NO_TOKEN,
            Some(_) => &SHORT_TOKEN,
        };
        Self {
            rules: Rules {
                any_address: true,
                names,
                local_pages: false,
                words: &token_words.port,
            },
            is_guarded: token.is_some_and(Token::is_long_enough),
            token: token_words,
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
    /// No token that is long enough is required, and the link does not come from this machine or a private network.
    pub fn check_link(&self, headers: &HeaderMap, peer: IpAddr) -> Result<(), LinkRefusal> {
        if self.is_guarded {
            return Ok(());
        }
        let (so_far, set_token) = (self.token.so_far, self.token.port.set_token);
        if !is_private(peer) {
            return Err(LinkRefusal::PublicAddress {
                address: peer,
                so_far,
                set_token,
            });
        }
        self.rules.check_forwarding(headers)?;
        let host = Authority::parse(host(headers));
        if host.is_public() && !self.rules.names.contains(&host.name) {
            return Err(LinkRefusal::PublicName {
                name: host.name,
                so_far,
                set_token,
            });
        }
        Ok(())
    }

    /// Whether a question about the bridge itself may be answered: not to a web page whose owner pointed its name here,
    /// which sends no Origin to its own site. No public server resolves names of a private network.
    ///
    /// # Errors
    /// Host is a public name that this bridge doesn't know.
    pub fn check_name(&self, headers: &HeaderMap) -> Result<(), StrangeName> {
        let host = Authority::parse(host(headers));
        if host.is_ip() || !host.is_public() || self.rules.names.contains(&host.name) {
            Ok(())
        } else {
            Err(StrangeName(host.name))
        }
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
        LinkAdmission::new(None, vec!["bridge.example.org".into()])
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
            LinkAdmission::new(None, Vec::new())
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
                matches!(link(peer, &[]), Err(LinkRefusal::PublicAddress { .. })),
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
        for header in [
            "x-forwarded-for",
            "via",
            "x-real-ip",
            "cf-connecting-ip",
            "ngrok-trace-id",
        ] {
            assert!(matches!(
                link("127.0.0.1", &[(header, "1.2.3.4")]),
                Err(LinkRefusal::Common(Refusal::Forwarded { .. }))
            ));
        }
        for public in ["abc.tunnel.example:443", "8.8.8.8:3001", "x.com"] {
            assert!(
                matches!(
                    link("127.0.0.1", &[("host", public)]),
                    Err(LinkRefusal::PublicName { .. })
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
        let token = Token::new("0123456789abcdef");
        let admission = LinkAdmission::new(Some(&token), Vec::new());
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
    fn a_token_that_can_be_guessed_is_for_private_networks() {
        let token = Token::new("0123456789abcde");
        let admission = LinkAdmission::new(Some(&token), vec!["bridge.example.org".into()]);
        let check = |peer: &str, list: &[(&str, &str)]| {
            let checked = admission.check_link(&headers(list), peer.parse().unwrap());
            checked.map_err(|refusal| refusal.to_string())
        };
        let token = "set CC_LINK_TOKEN on the bridge's side to a random text of 16 characters or more, and give the \
                     agent the same token";
        let short =
            "and the bridge's token has fewer than 16 characters, so that it could be guessed";
        for (peer, list, refused) in [
            ("127.0.0.1", [("host", "localhost:3001")], None),
            ("192.168.1.4", [("host", "bridge.example.org")], None),
            (
                "8.8.8.8",
                [("host", "192.168.1.20:3001")],
                Some(format!(
                    "refused: 8.8.8.8 is not a private address, {short}. To link computers over the internet, {token}."
                )),
            ),
            (
                "127.0.0.1",
                [("x-forwarded-for", "8.8.8.8")],
                Some(format!(
                    "refused: the x-forwarded-for header says that this link came through a tunnel or proxy. To allow \
                     that, {token}."
                )),
            ),
            (
                "127.0.0.1",
                [("host", "a.example")],
                Some(format!(
                    "refused: Host is `a.example`, a public name, so this link came through a tunnel, {short}. To \
                     allow that, {token}, or add the name to CC_LINK_NAMES."
                )),
            ),
        ] {
            assert_eq!(check(peer, &list).err(), refused, "{peer} {list:?}");
        }
    }

    #[test]
    fn what_the_bridge_says_of_itself_is_for_names_that_nobody_else_can_point_here() {
        let check = |host: &str| admission().check_name(&headers(&[("host", host)]));
        for known in [
            "127.0.0.1:3001",
            "8.8.8.8:3001",
            "[::1]:3001",
            "localhost",
            "gaming-pc:3001",
            "nas.lan",
            "bridge.example.org:3001",
            "",
        ] {
            assert_eq!(check(known), Ok(()), "{known}");
        }
        for strange in [
            "evil.example:3001",
            "127.0.0.1.evil.example",
            "LOCALHOST.evil.example",
        ] {
            let words = check(strange).unwrap_err().to_string();
            assert!(
                words.starts_with("refused: Host is `")
                    && words.ends_with("add it to CC_LINK_NAMES."),
                "{words}"
            );
        }
        assert_eq!(admission().check_name(&HeaderMap::new()), Ok(()));
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
