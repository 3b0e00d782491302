//! Patterns for hosts, as they stand in the game's rules and lists.

use std::net::IpAddr;

use super::{
    range::{NoRange, Range},
    target::Target,
};

/// What `$private` stands for: loopback, private, link-local and the like. Each version of the game means a little more
/// by it than the one before; this is the most that any means.
const PRIVATE: [&str; 15] = [
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.192/32",
    "192.168.0.0/16",
    "224.0.0.0/4",
    "::/128",
    "::1/128",
    "fd00::/8",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

/// The text of a rule for private addresses.
pub const PRIVATE_HOST: &str = "$private";

/// Which hosts a rule, or an entry of a list, is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A name or an address as text, in which `*` stands for any letters.
    Name {
        text: String,
        /// Whether upper and lower case are the same.
        any_case: bool,
    },
    /// Addresses.
    Range(Range),
    /// `$private`.
    Private,
}

/// Whether a pattern is about a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Yes,
    No,
    /// It depends on the address, which is not known here.
    Perhaps,
}

impl Pattern {
    /// Reads the host of a rule.
    ///
    /// # Errors
    /// It looks like a range and is none.
    pub fn of_rule(text: &str) -> Result<Self, NoRange> {
        if text.contains('/') {
            Range::parse(text).map(Self::Range)
        } else if text.eq_ignore_ascii_case(PRIVATE_HOST) {
            Ok(Self::Private)
        } else {
            Ok(Self::Name {
                text: text.to_owned(),
                any_case: true,
            })
        }
    }

    /// Reads an entry of the older lists, which know no `$private`.
    ///
    /// # Errors
    /// It looks like a range and is none. The game leaves such an entry out.
    pub fn of_list(text: &str) -> Result<Self, NoRange> {
        if text.contains('/') {
            Range::parse(text).map(Self::Range)
        } else {
            Ok(Self::Name {
                text: text.to_owned(),
                any_case: false,
            })
        }
    }

    /// Whether a computer that connects to the target meets this pattern, by the host it names or by its address.
    pub fn matches(&self, target: &Target) -> Match {
        if self.names(target.host()) {
            return Match::Yes;
        }
        match (self, target.address()) {
            (Self::Name { .. }, None) => Match::No,
            (Self::Range(_) | Self::Private, None) => Match::Perhaps,
            (_, Some(address)) if self.covers(address) => Match::Yes,
            (_, Some(_)) => Match::No,
        }
    }

    /// Whether it is about a host of this name, whatever its address.
    pub fn names(&self, host: &str) -> bool {
        match self {
            Self::Name { text, any_case } => wildcard(text, host, *any_case),
            Self::Range(_) | Self::Private => false,
        }
    }

    /// Whether it is about the address, or about the IPv4 address in a 6to4 one.
    fn covers(&self, address: IpAddr) -> bool {
        let inner = match address {
            IpAddr::V6(six) if six.segments()[0] == 0x2002 => {
                let [_, _, a, b, c, d, ..] = six.octets();
                Some(IpAddr::from([a, b, c, d]))
            }
            _ => None,
        };
        std::iter::once(address)
            .chain(inner)
            .any(|address| match self {
                Self::Name { .. } => self.names(&as_java_writes(address)),
                Self::Range(range) => range.contains(address),
                Self::Private => private().any(|range| range.contains(address)),
            })
    }

    /// What is left of a pattern of addresses without one of them. None of a name.
    pub fn without(&self, address: IpAddr) -> Option<Vec<Range>> {
        match self {
            Self::Name { .. } => None,
            Self::Range(range) => Some(range.without(address)),
            Self::Private => Some(private().flat_map(|range| range.without(address)).collect()),
        }
    }
}

fn private() -> impl Iterator<Item = Range> {
    PRIVATE.iter().filter_map(|text| Range::parse(text).ok())
}

/// An address as Java shows it: IPv6 without `::`.
fn as_java_writes(address: IpAddr) -> String {
    match address {
        IpAddr::V4(four) => four.to_string(),
        IpAddr::V6(six) => {
            let parts: Vec<_> = six
                .segments()
                .iter()
                .map(|part| format!("{part:x}"))
                .collect();
            parts.join(":")
        }
    }
}

/// Whether a text is like a pattern, in which each `*` stands for any letters, also for none.
fn wildcard(pattern: &str, text: &str, any_case: bool) -> bool {
    if any_case {
        let (pattern, text) = (pattern.to_ascii_lowercase(), text.to_ascii_lowercase());
        return wildcard(&pattern, &text, false);
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, target: &str) -> Match {
        Pattern::of_rule(host)
            .unwrap()
            .matches(&Target::new(target, 3001))
    }

    #[test]
    fn all_private_ranges_can_be_read() {
        assert_eq!(private().count(), PRIVATE.len());
    }

    #[test]
    fn a_name_matches_by_its_text_or_by_the_text_of_the_address() {
        for (host, target) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1", "localhost"),
            ("LocalHost", "localhost"),
            ("*", "anything.example"),
            ("127.*.1", "127.0.0.1"),
            ("*.lan", "bridge.lan"),
            ("*bridge*", "my.bridge.lan"),
            ("0:0:0:0:0:0:0:1", "::1"),
        ] {
            assert_eq!(rule(host, target), Match::Yes, "{host} {target}");
        }
        for (host, target) in [
            ("127.0.0.1", "127.0.0.10"),
            ("localhost", "127.0.0.1"),
            ("*.lan", "lan"),
            ("a*a", "a"),
            ("127.0.0", "127.0.0.1"),
            ("127x0.0.1", "127.0.0.1"),
            // The game writes it at full length.
            ("::1", "::1"),
        ] {
            assert_eq!(rule(host, target), Match::No, "{host} {target}");
        }
    }

    #[test]
    fn private_addresses_are_known_and_a_name_may_stand_for_one() {
        for target in [
            "127.0.0.1",
            "localhost",
            "10.1.2.3",
            "172.20.0.1",
            "192.168.1.20",
            "169.254.1.1",
            "100.100.1.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:192.168.0.1",
            "2002:c0a8:0001::1",
        ] {
            assert_eq!(rule("$Private", target), Match::Yes, "{target}");
        }
        for target in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:db8::1"] {
            assert_eq!(rule("$private", target), Match::No, "{target}");
        }
        assert_eq!(rule("$private", "bridge.lan"), Match::Perhaps);
        assert_eq!(rule("10.0.0.0/8", "bridge.lan"), Match::Perhaps);
    }

    #[test]
    fn the_older_lists_tell_cases_apart_and_have_no_private() {
        let matches = |entry: &str| {
            let target = Target::new("localhost", 3001);
            Pattern::of_list(entry).unwrap().matches(&target)
        };
        assert_eq!(matches("LOCALHOST"), Match::No);
        assert_eq!(matches("$private"), Match::No);
        assert_eq!(matches("127.0.0.0/8"), Match::Yes);
    }
}
