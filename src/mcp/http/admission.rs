//! Who may use MCP over HTTP: rules on Host, Origin, forwarding headers and the bearer token. No I/O.

use axum::http::{HeaderMap, header};
use thiserror::Error;

use crate::base::{
    http::{
        admission::{Refusal, Rules, Words},
        text,
    },
    token::Token,
};

/// Who may use the MCP port.
#[derive(Debug, Clone)]
pub struct HttpAdmission {
    rules: Rules,
    /// What every client must show.
    token: Option<Token>,
    /// Whether that is a token that nobody can guess. Else the port is for this machine's own programs.
    is_guarded: bool,
}

const NO_TOKEN: Words = words(
    "set MCP_TOKEN and add the name to CC_LINK_NAMES",
    "set MCP_TOKEN and give the client the same token",
);

const SHORT_TOKEN: Words = words(
    "set MCP_TOKEN to a random text of 16 characters or more and add the name to CC_LINK_NAMES",
    "set MCP_TOKEN to a random text of 16 characters or more, and give the client the same token",
);

/// Of a token that is long enough: that another is wanted would be said in vain.
const GOOD_TOKEN: Words = words(
    "add the name to CC_LINK_NAMES",
    "give the client the same token",
);

const fn words(add_name: &'static str, set_token: &'static str) -> Words {
    Words {
        port: "it",
        request: "request",
        before_unknown_host: "",
        add_name,
        set_token,
    }
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

impl HttpAdmission {
    /// For a port that only this machine reaches (`loopback`), or others too. `names` are those by which this machine is
    /// reached, in lower case; they count only where a token that is long enough is asked for.
    pub fn new(loopback: bool, token: Option<Token>, names: &[String]) -> Self {
        let is_guarded = token.as_ref().is_some_and(Token::is_long_enough);
        let names = if is_guarded { names } else { &[] };
        Self {
            rules: Rules {
                any_address: !loopback,
                names: names.to_vec(),
                // What another program here shows could as well be no page.
                local_pages: true,
                words: match token {
                    None => &NO_TOKEN,
                    Some(_) if is_guarded => &GOOD_TOKEN,
                    Some(_) => &SHORT_TOKEN,
                },
            },
            token,
            is_guarded,
        }
    }

    /// Whether a request with these headers may be answered at all.
    ///
    /// # Errors
    /// It comes from a web page that has no business here, or from elsewhere though there is no token that is long enough.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.rules.check_host(headers)?;
        if let Some(origin) = text(headers, &header::ORIGIN) {
            self.rules.check_origin(headers, origin)?;
        }
        if self.is_guarded {
            return Ok(());
        }
        self.rules.check_forwarding(headers)
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
    use axum::http::HeaderName;

    use super::*;

    const LONG: &str = "0123456789abcdef";

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn admission(loopback: bool, token: Option<&str>) -> HttpAdmission {
        HttpAdmission::new(
            loopback,
            token.map(Token::new),
            &["bridge.example.org".into()],
        )
    }

    #[test]
    fn on_loopback_only_names_of_loopback_are_known() {
        let admission = admission(true, None);
        for host in [
            "localhost:3000",
            "LOCALHOST",
            "127.0.0.1:3000",
            "127.1.2.3",
            "[::1]:3000",
        ] {
            assert_eq!(
                admission.check(&headers(&[("host", host)])),
                Ok(()),
                "{host}"
            );
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
                    admission.check(&headers(&[("host", host)])),
                    Err(Refusal::UnknownHost { .. })
                ),
                "{host}"
            );
        }
        assert!(admission.check(&HeaderMap::new()).is_err());
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
            let admission = admission(loopback, Some(LONG));
            assert_eq!(
                admission.check(&headers(&[("host", host)])).is_ok(),
                known,
                "{host}"
            );
        }
    }

    #[test]
    fn a_page_of_this_machine_is_no_other_sites() {
        let admission = admission(true, None);
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
            assert_eq!(admission.check(&headers(&list)).is_ok(), own, "{origin}");
        }
    }

    #[test]
    fn elsewhere_a_page_must_be_the_bridges_own() {
        let admission = admission(false, Some(LONG));
        for (origin, own) in [
            ("http://192.168.1.4:3000", true),
            ("http://localhost:6274", false),
            ("http://192.168.1.4:8080", false),
        ] {
            let list = [("host", "192.168.1.4:3000"), ("origin", origin)];
            assert_eq!(admission.check(&headers(&list)).is_ok(), own, "{origin}");
        }
    }

    #[test]
    fn a_tunnel_needs_a_token() {
        for name in ["forwarded", "x-forwarded-for"] {
            let list = headers(&[("host", "localhost"), (name, "1.2.3.4")]);
            assert!(matches!(
                admission(true, None).check(&list),
                Err(Refusal::Forwarded { .. })
            ));
            assert_eq!(admission(true, Some(LONG)).check(&list), Ok(()));
            let refused = admission(true, Some("s3cret")).check(&list).unwrap_err();
            assert!(
                refused
                    .to_string()
                    .ends_with("set MCP_TOKEN to a random text of 16 characters or more, and give the client the same token."),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_known_is_answered_with_what_is_left_to_do() {
        let asked = headers(&[("host", "a.example:1")]);
        for (token, says_token) in [("short", true), ("17-characters-1234", false)] {
            let refusal = admission(false, Some(token)).check(&asked).unwrap_err();
            let refusal = refusal.to_string();
            assert!(
                refusal.contains("add the name to CC_LINK_NAMES"),
                "{refusal}"
            );
            assert_eq!(refusal.contains("MCP_TOKEN"), says_token, "{refusal}");
        }
    }

    #[test]
    fn the_token_is_shown_as_a_bearer_token() {
        let admission = admission(false, Some("s3cret"));
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
                admission.check_token(&headers(&[("authorization", shown)])),
                result,
                "{shown}"
            );
        }
        assert_eq!(
            admission.check_token(&HeaderMap::new()),
            Err(Unauthorized::Missing)
        );
    }

    #[test]
    fn each_refusal_says_what_to_change() {
        for (list, words) in [
            (
                [("host", "a.example:1"), ("x-other", "")],
                "refused: Host is `a.example:1`, a name this bridge doesn't know. If this machine is reached by that \
                 name, set MCP_TOKEN and add the name to CC_LINK_NAMES.",
            ),
            (
                [("host", "[::1]:3000"), ("origin", "http://a.example")],
                "refused: the Origin header says `http://a.example`, which is not this bridge's own address (Host is \
                 `[::1]:3000`). Web pages of other sites may not use it.",
            ),
            (
                [("host", "localhost"), ("x-forwarded-for", "1.2.3.4")],
                "refused: the x-forwarded-for header says that this request came through a tunnel or proxy. To allow \
                 that, set MCP_TOKEN and give the client the same token.",
            ),
        ] {
            let refusal = admission(true, None).check(&headers(&list)).unwrap_err();
            assert_eq!(refusal.to_string(), words);
        }
    }
}
