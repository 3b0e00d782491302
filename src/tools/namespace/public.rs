//! Which addresses are the internet's, and names that lead to these only.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The networks of IPv4 that are not the internet's, as IANA's registry of special purposes has them, and multicast.
const NOT_PUBLIC_V4: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3),
];

/// Whether an address is the internet's: neither this machine's, nor a private network's, nor for a special purpose.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NOT_PUBLIC_V4.iter().any(|(network, length)| {
        let shift = 32 - length;
        bits >> shift == Ipv4Addr::from(*network).to_bits() >> shift
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, ..] = address.segments();
    let last_four = |segments: [u16; 8]| {
        let bits = (u32::from(segments[6]) << 16) | u32::from(segments[7]);
        Ipv4Addr::from_bits(bits)
    };
    match (first, second) {
        // NAT64 and 6to4 carry an address of IPv4, which counts.
        (0x64, 0xff9b) => third == 0 && is_public_v4(last_four(address.segments())),
        (0x2002, _) => is_public_v4(Ipv4Addr::from_bits(
            (u32::from(second) << 16) | u32::from(third),
        )),
        // Teredo, benchmarks, ORCHID, documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        (0x3fff, 0..=0xfff) => false,
        // All that is given out for the internet begins so.
        _ => first & 0xe000 == 0x2000,
    }
}

/// A name leads to addresses that are not the internet's only.
#[derive(Debug)]
pub struct NotPublic(pub IpAddr);

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no address of the internet", self.0)
    }
}

impl Error for NotPublic {}

/// Finds the addresses of a name.
pub type Lookup = Arc<dyn Fn(String) -> Looked + Send + Sync>;

/// What it finds.
pub type Looked = futures_util::future::BoxFuture<'static, std::io::Result<Vec<SocketAddr>>>;

/// The system's way to find them.
pub fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    })
}

/// Finds the internet's addresses of a name alone. What it finds is what is connected to, so that a name can't lead
/// elsewhere between the look and the connection.
pub struct PublicOnly(pub Lookup);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let looked = (self.0)(name.as_str().to_owned());
        Box::pin(async move {
            let found = looked.await?;
            let (public, other): (Vec<_>, Vec<_>) = found
                .into_iter()
                .partition(|address| is_public(address.ip()));
            match (public.is_empty(), other.first()) {
                (true, Some(address)) => Err(NotPublic(address.ip()).into()),
                _ => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_internet_is_known_from_all_others() {
        for public in [
            "1.1.1.1",
            "172.15.255.255",
            "172.32.0.1",
            "100.63.0.1",
            "223.255.255.1",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "127.0.0.1",
            "127.1.2.3",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.0.1",
            "192.0.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[tokio::test]
    async fn a_name_is_looked_at_anew_each_time_and_leads_to_the_internet_only() {
        let answers = std::sync::Mutex::new(vec![
            vec!["127.0.0.1:0", "10.0.0.1:0"],
            vec!["10.0.0.1:0", "1.1.1.1:0", "[::1]:0"],
            vec!["1.1.1.1:0"],
        ]);
        let lookup: Lookup = Arc::new(move |_| {
            let answer = answers.lock().unwrap().pop().unwrap();
            let found = answer.iter().map(|address| address.parse().unwrap());
            let found = found.collect();
            Box::pin(async move { Ok(found) })
        });
        let public = PublicOnly(lookup);
        let resolve = || public.resolve("api.example.com".parse().unwrap());
        for _ in 0..2 {
            let found: Vec<_> = resolve().await.unwrap().collect();
            assert_eq!(found, ["1.1.1.1:0".parse().unwrap()]);
        }
        let told = resolve().await.err().unwrap().to_string();
        assert_eq!(told, "127.0.0.1 is no address of the internet");
    }
}
