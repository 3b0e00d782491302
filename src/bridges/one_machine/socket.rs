//! WebSockets as lines between bridges: the owner's end comes from the link port, the guest's it opened itself.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::extract::ws;
use futures_util::{Sink, SinkExt, Stream, StreamExt, future};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, tungstenite};

use crate::{
    base::{http::intake::Intake, websocket::Failure},
    bridges::channel::{Channel, ChannelBroken},
};

/// The reason in the close frame of a bridge that leaves.
const LEAVES: &str = "this mcp-bridge ends";

/// A guest's WebSocket to the owner.
pub fn of_guest(socket: WebSocketStream<TcpStream>) -> Channel {
    channel(
        socket,
        |text| tungstenite::Message::Text(text.into()),
        tungstenite::Message::Close(Some(tungstenite::protocol::CloseFrame {
            code: tungstenite::protocol::frame::coding::CloseCode::Away,
            reason: LEAVES.into(),
        })),
        |message| match message {
            tungstenite::Message::Text(text) => Taken::Text(text.as_str().to_owned()),
            tungstenite::Message::Close(_) => Taken::Close,
            _ => Taken::Nothing,
        },
    )
}

/// An owner's WebSocket to a guest, whose connection is counted by `intake`.
pub fn of_owner(socket: ws::WebSocket, intake: Arc<Intake>) -> Channel {
    let channel = channel(
        socket,
        |text| ws::Message::Text(text.into()),
        ws::Message::Close(Some(ws::CloseFrame {
            code: ws::close_code::AWAY,
            reason: LEAVES.into(),
        })),
        |message| match message {
            ws::Message::Text(text) => Taken::Text(text.as_str().to_owned()),
            ws::Message::Close(_) => Taken::Close,
            _ => Taken::Nothing,
        },
    );
    Channel {
        intake: Some(intake),
        ..channel
    }
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
    farewell: M,
    taken: impl Fn(M) -> Taken + Send + 'static,
) -> Channel
where
    S: Sink<M, Error = E> + Stream<Item = Result<M, E>> + Send + 'static,
    M: Send + Unpin + 'static,
    E: std::error::Error + Send + 'static,
{
    let broken = |error: E| ChannelBroken(Failure::of(&error).why());
    let (sender, receiver) = socket.split();
    let receiver = receiver
        .map(move |message| Ok(taken(message.map_err(broken)?)))
        .take_while(|message| future::ready(!matches!(message, Ok(Taken::Close))))
        .filter_map(|message| {
            future::ready(match message {
                Ok(Taken::Text(text)) => Some(Ok(text)),
                Ok(Taken::Close | Taken::Nothing) => None,
                Err(broken) => Some(Err(broken)),
            })
        });
    let sender = WithFarewell {
        sink: sender.sink_map_err(broken),
        farewell: Some(farewell),
    };
    Channel {
        sender: Box::pin(sender.with(move |text| future::ready(Ok(written(text))))),
        receiver: Box::pin(receiver),
        intake: None,
    }
}

/// A sink that ends with a message of its own when it is closed.
struct WithFarewell<S, M> {
    sink: S,
    /// None once it was sent.
    farewell: Option<M>,
}

impl<S: Sink<M> + Unpin, M: Unpin> Sink<M> for WithFarewell<S, M> {
    type Error = S::Error;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), S::Error>> {
        self.sink.poll_ready_unpin(context)
    }

    fn start_send(mut self: Pin<&mut Self>, message: M) -> Result<(), S::Error> {
        self.sink.start_send_unpin(message)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), S::Error>> {
        self.sink.poll_flush_unpin(context)
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), S::Error>> {
        if self.farewell.is_some() {
            ready!(self.sink.poll_ready_unpin(context))?;
            if let Some(farewell) = self.farewell.take() {
                self.sink.start_send_unpin(farewell)?;
            }
        }
        self.sink.poll_close_unpin(context)
    }
}
