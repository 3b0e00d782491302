//! The link port: hands each connection to HTTP, which makes a link of it or answers.

use std::{convert::Infallible, time::Duration};

use tokio::net::TcpListener;

use super::http::Routes;
use crate::base::http::listener::{Bounds, Connections};

/// How much the port takes.
pub const BOUNDS: Bounds = Bounds {
    // Those that have not said hello yet: each that did is a computer's link.
    connections: 16_384,
    // A whole game server may stand behind one address.
    of_one_machine: 16_384,
    // A computer that waits links in the end; one that is refused has to dial again.
    full: None,
    head_time: Duration::from_secs(10),
    head: 16 * 1024,
};

/// Accepts connections for ever, and hands each to HTTP, which answers or makes a link of it.
pub async fn accept(listener: TcpListener, routes: Routes) -> Infallible {
    Connections::new(BOUNDS).accept(&listener, &routes).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{SinkExt, StreamExt};
    use serde_json::{Value, json};
    use tokio::sync::watch;
    use tokio_tungstenite::{connect_async, tungstenite::Message};

    use super::*;
    use crate::{
        commands::computers,
        computers::{reach::Reach, registry::Registry},
        settings::{Config, Flags},
    };

    #[tokio::test]
    async fn one_that_says_no_hello_makes_way_and_one_that_said_it_stays() {
        let config =
            Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), "").unwrap();
        let registry = Arc::new(Registry::followed_by(Vec::new()));
        let (_reach, follow) = watch::channel(Reach::Unknown);
        let routes = computers::routes(&config.link, registry, follow, None);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let connections = Connections::new(Bounds {
            connections: 2,
            ..BOUNDS
        });
        let connected = async {
            let connect = async || connect_async(&url).await.unwrap().0;
            let mut linked = connect().await;
            let mut is_answered = async |frame: Value, by: &str| {
                linked.send(Message::text(frame.to_string())).await.unwrap();
                // The bridge pings meanwhile, too.
                while let Some(answer) = linked.next().await {
                    let answer = answer.unwrap();
                    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
                    if answer["type"] == by {
                        return true;
                    }
                }
                false
            };
            let hello = json!({
                "type": "hello", "computerId": 1, "protocol": 2,
                "agent": {"name": "a", "version": "1"}, "boot": "b",
            });
            assert!(is_answered(hello, "hello-ok").await);
            let mut silent = connect().await;
            let _second = connect().await;
            let _third = connect().await;
            // Without a word: who only took too long to say hello is told so.
            let ended = silent.next().await;
            assert!(matches!(ended, None | Some(Err(_))), "{ended:?}");
            assert!(is_answered(json!({"type": "ping", "n": 1}), "pong").await);
        };
        tokio::select! {
            () = connected => {}
            never = connections.accept(&listener, &routes) => match never {},
        }
    }
}
