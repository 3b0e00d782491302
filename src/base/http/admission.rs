//! The rules on Host, Origin and forwarding headers that stand at both ports' doors. No I/O.
//!
//! A web page can reach every port of the machine that shows it: directly, or by a name that its owner points there
//! (DNS rebinding). So Host must be a name or address that nobody can point at this machine, and Origin one that is
//! no other site's. Which rule a port asks for, and when, it says itself.

use axum::http::{HeaderMap, HeaderName, header};
use thiserror::Error;

use super::{authority::Authority, text};

/// What a port calls itself and its settings, to those whom it turns away.
#[derive(Debug, PartialEq)]
pub struct Words {
    /// What pages of other sites may not use.
    pub port: &'static str,
    /// What comes to the port and is turned away.
    pub request: &'static str,
    /// What is said first of a request under a name that is unknown.
    pub before_unknown_host: &'static str,
    /// How its owner makes a name known.
    pub add_name: &'static str,
    /// How its owner opens it to others than this machine and its neighbours.
    pub set_token: &'static str,
}

/// One port's rules.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whether Host may be the address of any machine, not only one that must be the asking machine's own.
    pub any_address: bool,
    /// Names that Host may be, in lower case.
    pub names: Vec<String>,
    /// Whether pages of this machine's other ports may use this one.
    pub local_pages: bool,
    /// The port's words.
    pub words: &'static Words,
}

/// Why a request was turned away. The text is the body of the 403 answer.
#[derive(Debug, Error, PartialEq)]
pub enum Refusal {
    /// A name that may be one of a web page's owner.
    #[error(
        "refused: {}Host is `{host}`, a name this bridge doesn't know. If this machine is reached by that name, {}.",
        .words.before_unknown_host, .words.add_name
    )]
    UnknownHost {
        /// The Host header.
        host: String,
        /// The port's words.
        words: &'static Words,
    },
    /// A page of another site.
    #[error(
        "refused: the Origin header says `{origin}`, which is not this bridge's own address (Host is `{host}`). Web \
         pages of other sites may not use {}.",
        .words.port
    )]
    ForeignOrigin {
        /// The Origin header.
        origin: String,
        /// The Host header.
        host: String,
        /// The port's words.
        words: &'static Words,
    },
    /// It came through a tunnel or proxy.
    #[error(
        "refused: the {header} header says that this {} came through a tunnel or proxy. To allow that, {}.",
        .words.request, .words.set_token
    )]
    Forwarded {
        /// The header that says so.
        header: HeaderName,
        /// The port's words.
        words: &'static Words,
    },
}

/// The headers by which proxies and tunnels say whom they speak for.
const FORWARDING: [HeaderName; 8] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("ngrok-trace-id"),
];

impl Rules {
    /// Whether the port is known by what Host says.
    ///
    /// # Errors
    /// It is a name that may be pointed here by anybody.
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = host(headers);
        let authority = Authority::parse(host);
        let known = authority.is_loopback()
            || self.any_address && authority.is_ip()
            || self.names.contains(&authority.name);
        if known {
            Ok(())
        } else {
            Err(Refusal::UnknownHost {
                host: host.to_owned(),
                words: self.words,
            })
        }
    }

    /// Whether a page of this origin is the port's own, or may use it all the same.
    ///
    /// # Errors
    /// It is a page of another site.
    pub fn check_origin(&self, headers: &HeaderMap, origin: &str) -> Result<(), Refusal> {
        let host = host(headers);
        let (page, own) = (Authority::of_origin(origin), Authority::parse(host));
        if page == own || self.local_pages && page.is_loopback() && own.is_loopback() {
            Ok(())
        } else {
            Err(Refusal::ForeignOrigin {
                origin: origin.to_owned(),
                host: host.to_owned(),
                words: self.words,
            })
        }
    }

    /// Whether the request comes straight from the one who asks.
    ///
    /// # Errors
    /// A tunnel or proxy stands between.
    pub fn check_forwarding(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match FORWARDING.iter().find(|name| headers.contains_key(*name)) {
            Some(header) => Err(Refusal::Forwarded {
                header: header.clone(),
                words: self.words,
            }),
            None => Ok(()),
        }
    }
}

/// The Host header, as text; empty if there is none.
pub fn host(headers: &HeaderMap) -> &str {
    text(headers, &header::HOST).unwrap_or_default()
}
