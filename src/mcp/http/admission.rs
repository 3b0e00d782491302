//! Who may use MCP over HTTP: rules on Host, Origin, forwarding headers and the bearer token. No I/O.
//!
//! A web page can reach every port of the machine that shows it: directly, or by a name that its owner points there
//! (DNS rebinding). So Host must be a name or address that nobody can point at this machine, and Origin one that is
//! no other site's.

use axum::http::{HeaderMap, HeaderName, header};
use thiserror::Error;

use crate::{
    link::admission::{Authority, FORWARDING, text},
    settings::Token,
};

/// What the owner has set.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whether only this machine reaches the port.
    pub loopback: bool,
    /// What every client must show. Without one, the port is for this machine's own programs.
    pub token: Option<Token>,
    /// Names by which this machine is reached, in lower case. They count only where a token is asked for.
    pub names: Vec<String>,
}

/// Why a request was turned away. The text is the body of the 403 answer.
#[derive(Debug, Error, PartialEq)]
pub enum Refusal {
    /// A name that may be one of a web page's owner.
    #[error(
        "refused: Host is `{0}`, a name this bridge doesn't know. If this machine is reached by that name, set \
         MCP_TOKEN and add the name to CC_LINK_NAMES."
    )]
    UnknownHost(String),
    /// A page of another site.
    #[error(
        "refused: the Origin header says `{origin}`, which is not this bridge's own address (Host is `{host}`). Web \
         pages of other sites may not use it."
    )]
    ForeignOrigin {
        /// The Origin header.
        origin: String,
        /// The Host header.
        host: String,
    },
    /// A request through a tunnel or proxy, without a token.
    #[error(
        "refused: the {0} header says that this request came through a tunnel or proxy. To allow that, set MCP_TOKEN \
         and give the client the same token."
    )]
    Forwarded(HeaderName),
}

/// A request that does not show the token. The text is the body of the 401 answer.
#[derive(Debug, Error, PartialEq)]
pub enum Unauthorized {
    /// It shows none.
    #[error(
        "this bridge wants a token: send the header `Authorization: Bearer TOKEN` with what its MCP_TOKEN is."
    )]
    Missing,
    /// It shows another.
    #[error("the bearer token is wrong: it must be what the bridge's MCP_TOKEN is.")]
    Wrong,
}

impl Policy {
    /// Whether a request with these headers may be answered at all.
    ///
    /// # Errors
    /// It comes from a web page that has no business here, or from elsewhere though there is no token.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, &header::HOST).unwrap_or_default();
        let authority = Authority::parse(host);
        let known = authority.is_loopback()
            || !self.loopback && authority.is_ip()
            || self.token.is_some() && self.names.contains(&authority.name);
        if !known {
            return Err(Refusal::UnknownHost(host.to_owned()));
        }
        if let Some(origin) = text(headers, &header::ORIGIN) {
            let page = Authority::of_origin(origin);
            // A page of this machine's own is what another program here shows: it could as well be no page.
            let own = page == authority || page.is_loopback() && authority.is_loopback();
            if !own {
                return Err(Refusal::ForeignOrigin {
                    origin: origin.to_owned(),
                    host: host.to_owned(),
                });
            }
        }
        match FORWARDING.iter().find(|name| headers.contains_key(*name)) {
            Some(name) if self.token.is_none() => Err(Refusal::Forwarded(name.clone())),
            _ => Ok(()),
        }
    }

    /// Whether a request with these headers shows the token, if there is one.
    ///
    /// # Errors
    /// It does not.
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Unauthorized> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let Some(shown) = text(headers, &header::AUTHORIZATION) else {
            return Err(Unauthorized::Missing);
        };
        // RFC 9110, section 11.1: the scheme's case does not count.
        match shown.split_once(' ') {
            Some((scheme, shown))
                if scheme.eq_ignore_ascii_case("bearer") && token.matches(shown.trim()) =>
            {
                Ok(())
            }
            _ => Err(Unauthorized::Wrong),
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

    fn policy(loopback: bool, token: Option<&str>) -> Policy {
        Policy {
            loopback,
            token: token.map(Token::new),
            names: vec!["bridge.example.org".into()],
        }
    }

    #[test]
    fn on_loopback_only_names_of_loopback_are_known() {
        let policy = policy(true, None);
        for host in [
            "localhost:3000",
            "LOCALHOST",
            "127.0.0.1:3000",
            "127.1.2.3",
            "[::1]:3000",
        ] {
            assert_eq!(policy.check(&headers(&[("host", host)])), Ok(()), "{host}");
        }
        for host in [
            "evil.example:3000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.1.4:3000",
            "0.0.0.0:3000",
            "bridge.example.org",
            "",
        ] {
            assert!(
                matches!(
                    policy.check(&headers(&[("host", host)])),
                    Err(Refusal::UnknownHost(_))
                ),
                "{host}"
            );
        }
        assert!(policy.check(&HeaderMap::new()).is_err());
    }

    #[test]
    fn with_a_token_configured_names_are_known_and_addresses_where_others_reach_it() {
        for (loopback, host, known) in [
            (true, "bridge.example.org", true),
            (true, "192.168.1.4:3000", false),
            (false, "192.168.1.4:3000", true),
            (false, "[fd00::1]:3000", true),
            (false, "Bridge.Example.Org:443", true),
            (false, "evil.example", false),
        ] {
            let policy = policy(loopback, Some("t"));
            assert_eq!(
                policy.check(&headers(&[("host", host)])).is_ok(),
                known,
                "{host}"
            );
        }
    }

    #[test]
    fn a_page_of_this_machine_is_no_other_sites() {
        let policy = policy(true, None);
        for (host, origin, own) in [
            ("127.0.0.1:3000", "http://127.0.0.1:3000", true),
            ("127.0.0.1:3000", "http://localhost:6274", true),
            ("localhost:3000", "http://[::1]:80", true),
            ("127.0.0.1:3000", "http://evil.example", false),
            ("127.0.0.1:3000", "http://localhost.evil.example", false),
            ("127.0.0.1:3000", "null", false),
            ("127.0.0.1:3000", "", false),
        ] {
            let list = [("host", host), ("origin", origin)];
            assert_eq!(policy.check(&headers(&list)).is_ok(), own, "{origin}");
        }
    }

    #[test]
    fn elsewhere_a_page_must_be_the_bridges_own() {
        let policy = policy(false, Some("t"));
        for (origin, own) in [
            ("http://192.168.1.4:3000", true),
            ("http://localhost:6274", false),
            ("http://192.168.1.4:8080", false),
        ] {
            let list = [("host", "192.168.1.4:3000"), ("origin", origin)];
            assert_eq!(policy.check(&headers(&list)).is_ok(), own, "{origin}");
        }
    }

    #[test]
    fn a_tunnel_needs_a_token() {
        for name in ["forwarded", "x-forwarded-for"] {
            let list = headers(&[("host", "localhost"), (name, "1.2.3.4")]);
            assert!(matches!(
                policy(true, None).check(&list),
                Err(Refusal::Forwarded(_))
            ));
            assert_eq!(policy(true, Some("t")).check(&list), Ok(()));
        }
    }

    #[test]
    fn the_token_is_shown_as_a_bearer_token() {
        let policy = policy(false, Some("s3cret"));
        for (shown, result) in [
            ("Bearer s3cret", Ok(())),
            ("bearer  s3cret", Ok(())),
            ("Bearer s3cres", Err(Unauthorized::Wrong)),
            ("Bearer", Err(Unauthorized::Wrong)),
            ("Bearer ", Err(Unauthorized::Wrong)),
            ("Basic s3cret", Err(Unauthorized::Wrong)),
            ("s3cret", Err(Unauthorized::Wrong)),
        ] {
            assert_eq!(
                policy.check_token(&headers(&[("authorization", shown)])),
                result,
                "{shown}"
            );
        }
        assert_eq!(
            policy.check_token(&HeaderMap::new()),
            Err(Unauthorized::Missing)
        );
    }
}
