//! WebSockets as lines between bridges: the owner's end comes from the link port, the guest's it opened itself.

use axum::extract::ws;
use futures_util::{Sink, SinkExt, Stream, StreamExt, future::ready};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, tungstenite};

use crate::{
    base::websocket::Failure,
    bridges::channel::{Channel, ChannelBroken},
};

/// A guest's WebSocket to the owner.
pub fn of_guest(socket: WebSocketStream<TcpStream>) -> Channel {
    channel(
        socket,
        |text| tungstenite::Message::Text(text.into()),
        |message| match message {
            tungstenite::Message::Text(text) => Taken::Text(text.as_str().to_owned()),
            tungstenite::Message::Close(_) => Taken::Close,
            _ => Taken::Nothing,
        },
    )
}

/// An owner's WebSocket to a guest.
pub fn of_owner(socket: ws::WebSocket) -> Channel {
    channel(
        socket,
        |text| ws::Message::Text(text.into()),
        |message| match message {
            ws::Message::Text(text) => Taken::Text(text.as_str().to_owned()),
            ws::Message::Close(_) => Taken::Close,
            _ => Taken::Nothing,
        },
    )
}

/// What a WebSocket's message is to a bridge.
enum Taken {
    Text(String),
    Close,
    /// Pings, pongs, and binary messages, which no bridge sends.
    Nothing,
}

fn channel<S, M, E>(
    socket: S,
    written: fn(String) -> M,
    taken: impl Fn(M) -> Taken + Send + 'static,
) -> Channel
where
    S: Sink<M, Error = E> + Stream<Item = Result<M, E>> + Send + 'static,
    M: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let broken = |error: E| ChannelBroken(Failure::of(&error).why());
    let (sender, receiver) = socket.split();
    let receiver = receiver
        .map(move |message| Ok(taken(message.map_err(broken)?)))
        .take_while(|message| ready(!matches!(message, Ok(Taken::Close))))
        .filter_map(|message| {
            ready(match message {
                Ok(Taken::Text(text)) => Some(Ok(text)),
                Ok(Taken::Close | Taken::Nothing) => None,
                Err(broken) => Some(Err(broken)),
            })
        });
    let sender = sender
        .sink_map_err(broken)
        .with(move |text| ready(Ok(written(text))));
    Channel {
        sender: Box::pin(sender),
        receiver: Box::pin(receiver),
    }
}
