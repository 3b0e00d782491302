//! Where computers connect to.

use std::net::{IpAddr, Ipv4Addr};

use super::range::Range;

/// The bridge's link port, as computers name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host of the URL, in which an IPv6 address has brackets.
    host: String,
    /// What the host stands for; none of a name that is not looked up here.
    address: Option<IpAddr>,
    /// The port of the URL.
    port: u16,
}

impl Target {
    /// The game asks a name server for names, from wherever it runs. Here only `localhost` is known.
    pub fn new(host: &str, port: u16) -> Self {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = if bare.eq_ignore_ascii_case("localhost") {
            Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
        } else {
            bare.parse::<IpAddr>().ok()
        };
        Self {
            host: if bare.contains(':') {
                format!("[{bare}]")
            } else {
                bare.to_owned()
            },
            // The game's Java makes of ::ffff:1.2.3.4 the address 1.2.3.4.
            address: address.map(|address| address.to_canonical()),
            port,
        }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host of a rule for this target and no other. An IPv6 address is written as a range of one, since the game
    /// compares the text of a rule with its own long form of an address.
    pub fn rule_host(&self) -> String {
        match self.address {
            Some(IpAddr::V4(address)) => address.to_string(),
            Some(address @ IpAddr::V6(_)) => Range::single(address).to_string(),
            None => self.host.clone(),
        }
    }

    /// What computers connect to.
    pub fn url(&self) -> String {
        format!("ws://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_rule_is_the_address_where_it_is_known() {
        for (host, rule, url) in [
            ("127.0.0.1", "127.0.0.1", "ws://127.0.0.1:3001"),
            ("localhost", "127.0.0.1", "ws://localhost:3001"),
            ("[::1]", "::1/128", "ws://[::1]:3001"),
            ("::ffff:10.0.0.7", "10.0.0.7", "ws://[::ffff:10.0.0.7]:3001"),
            ("bridge.lan", "bridge.lan", "ws://bridge.lan:3001"),
        ] {
            let target = Target::new(host, 3001);
            assert_eq!(target.rule_host(), rule);
            assert_eq!(target.url(), url);
        }
    }
}
