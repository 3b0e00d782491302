//! A bad network of bytes between one computer and the link port: it breaks links, loses what goes one way, and stalls.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
    time::sleep,
};

use crate::common::proxy::Way;

/// What becomes of the bytes that go one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Passes,
    /// They wait.
    Stalls,
    /// They are gone, as is all that follows on the same connection.
    Lost,
}

/// How the network is now.
#[derive(Debug, Clone, Copy)]
struct Weather {
    to_computer: Flow,
    to_bridge: Flow,
    /// Whether new connections are taken.
    open: bool,
    /// How often all connections were broken.
    cuts: u32,
}

impl Weather {
    fn flow(&mut self, way: Way) -> &mut Flow {
        match way {
            Way::ToComputer => &mut self.to_computer,
            Way::ToBridge => &mut self.to_bridge,
        }
    }
}

/// A network. What is done to it lasts until the call that does it returns.
pub struct Network {
    /// Where the computer connects.
    pub address: SocketAddr,
    weather: watch::Sender<Weather>,
    task: JoinHandle<()>,
}

impl Drop for Network {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network {
    /// A network before this link port, which passes everything on.
    pub async fn start(port: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let weather = watch::Sender::new(Weather {
            to_computer: Flow::Passes,
            to_bridge: Flow::Passes,
            open: true,
            cuts: 0,
        });
        let now = weather.subscribe();
        let task = tokio::spawn(async move {
            while let Ok((computer, _)) = listener.accept().await {
                // One that is not taken sees its connection close at once.
                if now.borrow().open {
                    tokio::spawn(relay(computer, port, now.clone()));
                }
            }
        });
        Self {
            address,
            weather,
            task,
        }
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        self.weather.send_modify(|weather| weather.cuts += 1);
    }

    /// Breaks all connections, and takes no new ones for so long.
    pub async fn fail(&self, time: Duration) {
        self.weather.send_modify(|weather| weather.open = false);
        self.cut();
        sleep(time).await;
        self.weather.send_modify(|weather| weather.open = true);
    }

    /// Loses all that goes this way for so long, and then breaks all connections.
    pub async fn lose(&self, way: Way, time: Duration) {
        self.set(way, Flow::Lost);
        sleep(time).await;
        self.cut();
        self.set(way, Flow::Passes);
    }

    /// Holds back all that goes this way for so long.
    pub async fn stall(&self, way: Way, time: Duration) {
        self.set(way, Flow::Stalls);
        sleep(time).await;
        self.set(way, Flow::Passes);
    }

    fn set(&self, way: Way, flow: Flow) {
        self.weather
            .send_modify(|weather| *weather.flow(way) = flow);
    }
}

/// One connection, until a side closes it or it is broken.
async fn relay(computer: TcpStream, port: SocketAddr, weather: watch::Receiver<Weather>) {
    let mut broken = weather.clone();
    let cuts = broken.borrow_and_update().cuts;
    // While no bridge listens, the computer sees its connection close.
    let Ok(bridge) = TcpStream::connect(port).await else {
        return;
    };
    let (from_computer, to_computer) = computer.into_split();
    let (from_bridge, to_bridge) = bridge.into_split();
    tokio::select! {
        _ = broken.wait_for(|now| now.cuts != cuts) => {}
        () = pump(from_computer, to_bridge, Way::ToBridge, weather.clone()) => {}
        () = pump(from_bridge, to_computer, Way::ToComputer, weather) => {}
    }
}

/// Carries bytes one way, until there are none any more.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    way: Way,
    mut weather: watch::Receiver<Weather>,
) {
    let mut bytes = vec![0; 16 * 1024];
    let mut loses = false;
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // With a gap in it, what comes later would be no WebSocket.
        loses |= match weather.wait_for(|now| flow(now, way) != Flow::Stalls).await {
            Ok(now) => flow(&now, way) == Flow::Lost,
            Err(_) => return,
        };
        if !loses && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

fn flow(weather: &Weather, way: Way) -> Flow {
    let mut weather = *weather;
    *weather.flow(way)
}
