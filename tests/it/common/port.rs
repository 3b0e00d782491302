//! Ports that processes of one test open one after another, or at the same time.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    process,
    sync::atomic::{AtomicU16, Ordering},
};

/// The first of the ports that are tried, and how many they are. They are below those that systems hand out to whoever
/// wants any free one, so that nobody gets one of them by chance.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port of loopback on which nobody listens but those whom a test tells of it, as long as this is kept.
pub struct Port {
    number: u16,
    /// The same number of UDP, which nobody wants. It is held for as long as nobody may listen on the port itself, and
    /// so tells other tests, also of other runs on this machine, that the port is taken.
    _claim: UdpSocket,
}

impl Port {
    pub fn reserve() -> Self {
        static TRIED: AtomicU16 = AtomicU16::new(0);
        // Runs at the same time begin elsewhere, so that they seldom try the same.
        let start = process::id() as u16;
        for _ in 0..COUNT {
            let tried = start.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
            let number = FIRST + tried % COUNT;
            let Ok(claim) = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)) else {
                continue;
            };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Self {
                    number,
                    _claim: claim,
                };
            }
        }
        panic!("none of {COUNT} ports is free");
    }

    pub fn number(&self) -> u16 {
        self.number
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}
