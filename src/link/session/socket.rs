//! One computer's connection: text in, text out, and its close.

use std::{future::poll_fn, task::Poll, time::Duration};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::SinkExt;
use tokio::time::timeout;

use crate::{
    base::{http::intake::Intake, websocket::Failure},
    wire::{
        ending::{Ending, HelloError, SEND_TIME, clip_reason},
        outgoing,
    },
};

/// How long the bridge waits for the other side to take notice of a close.
const CLOSE_TIME: Duration = Duration::from_millis(500);

/// What a peer sends before the payload of a control frame, in bytes (RFC 6455, section 5.2).
const CONTROL_HEADER: usize = 6;

/// The next text message; none for a control frame.
pub async fn next_text(
    socket: &mut WebSocket,
    intake: &Intake,
) -> Result<Option<Utf8Bytes>, Ending> {
    match socket.recv().await {
        Some(Ok(Message::Text(text))) => {
            intake.whole();
            Ok(Some(text))
        }
        Some(Ok(Message::Binary(_))) => Err(Ending::Binary),
        Some(Ok(Message::Ping(payload) | Message::Pong(payload))) => {
            intake.beside(CONTROL_HEADER + payload.len());
            Ok(None)
        }
        Some(Ok(Message::Close(close))) => {
            Err(Ending::ClosedByAgent(close.map(|close| {
                (close.code, close.reason.as_str().to_owned())
            })))
        }
        Some(Err(error)) => Err(failed(&error)),
        None => Err(Ending::BrokeOff),
    }
}

fn failed(error: &axum::Error) -> Ending {
    match Failure::of(error) {
        Failure::BrokeOff => Ending::BrokeOff,
        Failure::TooLong => Ending::TooLarge,
        Failure::Other(why) => Ending::Broken(why),
    }
}

/// Sends a message, as fast as the agent reads it.
pub async fn say(socket: &mut WebSocket, message: String) -> Result<(), Ending> {
    let message = Message::Text(message.into());
    // The socket is flushed after each message, so it is ready for the next.
    poll_fn(|context| socket.poll_ready_unpin(context))
        .await
        .and_then(|()| socket.start_send_unpin(message))
        .map_err(|error| failed(&error))?;
    // Most go out at once, without a timer.
    let at_once = poll_fn(|context| Poll::Ready(socket.poll_flush_unpin(context))).await;
    let sent = match at_once {
        Poll::Ready(sent) => Ok(sent),
        Poll::Pending => {
            let flushed = poll_fn(|context| socket.poll_flush_unpin(context));
            Box::pin(timeout(SEND_TIME, flushed)).await
        }
    };
    match sent {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => Err(Ending::NotReading),
    }
}

/// Tells the agent why, closes, and gives it a moment to read that.
pub async fn close(mut socket: Box<WebSocket>, ending: &Ending, hello_error: Option<HelloError>) {
    let Some(code) = ending.close_code() else {
        return;
    };
    let farewell = async {
        if let Some(told) = &hello_error {
            socket
                .send(Message::Text(outgoing::hello_error(told).into()))
                .await
                .ok()?;
        }
        let reason = clip_reason(&ending.why());
        socket
            .send(Message::Close(Some(CloseFrame {
                code,
                reason: reason.into(),
            })))
            .await
            .ok()?;
        // Closing with unread data would reset the connection, and the farewell would be lost with it.
        while let Some(Ok(_)) = socket.recv().await {}
        Some(())
    };
    let _ = timeout(CLOSE_TIME, farewell).await;
}
