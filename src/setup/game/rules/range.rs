//! Ranges of addresses, in the notation of CIDR: `127.0.0.0/8`.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use thiserror::Error;

/// All addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The lowest of them.
    first: IpAddr,
    /// How many bits they share.
    bits: u32,
}

/// A text with a `/` that is no range; to the game neither.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no range of addresses such as 127.0.0.0/8")]
pub struct NoRange(String);

impl Range {
    /// Reads `ADDRESS/BITS` as the game does: bits beyond the address's own change nothing, below 0 they mean 0.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NoRange> {
        let parts = text.split_once('/').and_then(|(address, bits)| {
            let address = address.parse::<IpAddr>().ok()?.to_canonical();
            Some((address, bits.parse::<i32>().ok()?))
        });
        let (address, bits) = parts.ok_or_else(|| NoRange(text.to_owned()))?;
        let bits = u32::try_from(bits).unwrap_or(0).min(width(address));
        Ok(Self {
            first: masked(address, bits),
            bits,
        })
    }

    /// One address alone.
    pub fn single(address: IpAddr) -> Self {
        Self {
            first: address,
            bits: width(address),
        }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        width(address) == width(self.first) && masked(address, self.bits) == self.first
    }

    /// The ranges that hold all of this one but an address in it, the lowest first. There is one for each bit that the
    /// range leaves open.
    pub fn without(&self, address: IpAddr) -> Vec<Self> {
        if !self.contains(address) {
            return vec![*self];
        }
        let mut rest: Vec<_> = (self.bits + 1..=width(address))
            .map(|bits| Self {
                first: masked(with_bit_flipped(address, bits), bits),
                bits,
            })
            .collect();
        rest.sort_by_key(|range| range.first);
        rest
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// The number of bits of an address.
fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => Ipv4Addr::BITS,
        IpAddr::V6(_) => Ipv6Addr::BITS,
    }
}

/// The address with all but its first bits 0.
fn masked(address: IpAddr, bits: u32) -> IpAddr {
    let open = width(address) - bits;
    match address {
        // A shift by all bits of a number is none in Rust.
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(open).unwrap_or(0);
            Ipv4Addr::from_bits(four.to_bits() & mask).into()
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(open).unwrap_or(0);
            Ipv6Addr::from_bits(six.to_bits() & mask).into()
        }
    }
}

/// The address with the last of its first bits the other way.
fn with_bit_flipped(address: IpAddr, bits: u32) -> IpAddr {
    let open = width(address) - bits;
    match address {
        IpAddr::V4(four) => Ipv4Addr::from_bits(four.to_bits() ^ (1 << open)).into(),
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() ^ (1 << open)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        Range::parse(text).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_holds_the_addresses_that_share_its_bits() {
        for (text, inside, outside) in [
            ("127.0.0.0/8", "127.255.0.1", "128.0.0.0"),
            ("127.9.9.9/8", "127.0.0.1", "::1"),
            ("172.16.0.0/12", "172.31.255.255", "172.32.0.0"),
            ("fd00::/8", "fd12::1", "fc00::1"),
            ("1.2.3.4/99", "1.2.3.4", "1.2.3.5"),
            ("1.2.3.4/-1", "200.0.0.0", "::"),
            ("::ffff:127.0.0.0/8", "127.0.0.1", "::ffff:127.0.0.1"),
        ] {
            assert!(range(text).contains(address(inside)), "{text} {inside}");
            assert!(!range(text).contains(address(outside)), "{text} {outside}");
        }
    }

    #[test]
    fn what_is_no_range_is_said() {
        for text in [
            "127.0.0.1",
            "localhost/8",
            "127.0.0.1/",
            "127.0.0.1/x",
            "127.1/8",
        ] {
            assert_eq!(Range::parse(text), Err(NoRange(text.to_owned())));
        }
    }

    #[test]
    fn a_range_without_an_address_holds_every_other_one_of_it_once() {
        for (text, hole) in [
            ("127.0.0.0/8", "127.0.0.1"),
            ("192.168.0.0/16", "192.168.255.255"),
            ("fd00::/8", "fd00::abcd"),
            ("0.0.0.0/0", "8.8.8.8"),
        ] {
            let (whole, hole) = (range(text), address(hole));
            let rest = whole.without(hole);
            assert!(!rest.iter().any(|part| part.contains(hole)), "{text}");
            // Together they have as many addresses as are left, and none has one of another's.
            let size = |range: &Range| 1u128.checked_shl(width(range.first) - range.bits).unwrap();
            assert_eq!(
                rest.iter().map(size).sum::<u128>(),
                size(&whole) - 1,
                "{text}"
            );
            for (at, part) in rest.iter().enumerate() {
                assert!(whole.contains(part.first), "{part}");
                assert!(
                    !rest[at + 1..]
                        .iter()
                        .any(|other| other.contains(part.first))
                );
                assert_eq!(range(&part.to_string()), *part);
            }
        }
        assert_eq!(
            range("10.0.0.0/8").without(address("127.0.0.1")),
            [range("10.0.0.0/8")]
        );
        assert_eq!(range("1.2.3.4/32").without(address("1.2.3.4")), []);
    }
}
