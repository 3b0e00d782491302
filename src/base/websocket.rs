//! What goes wrong with a WebSocket, in a person's words: the library's own speak of the protocol.

use std::{error::Error, io};

use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

/// How a WebSocket failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The connection broke off: the other end is gone, or the network is.
    BrokeOff,
    /// A message is longer than may be.
    TooLong,
    /// Something else, as a sentence's end.
    Other(String),
}

impl Failure {
    /// What an error of a WebSocket library means, whichever it is wrapped in.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<tungstenite::Error>() {
                return Self::of_library(error);
            }
            cause = error.source();
        }
        Self::Other(error.to_string())
    }

    fn of_library(error: &tungstenite::Error) -> Self {
        use tungstenite::Error;
        match error {
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Protocol(
                ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing,
            ) => Self::BrokeOff,
            Error::Io(error) => Self::of_network(error),
            Error::Capacity(_) => Self::TooLong,
            Error::Protocol(_) | Error::Utf8(_) | Error::AttackAttempt => {
                Self::Other(format!("what came is not WebSocket: {error}"))
            }
            other => Self::Other(other.to_string()),
        }
    }

    fn of_network(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof => Self::BrokeOff,
            // See `base::http::intake`.
            io::ErrorKind::QuotaExceeded => Self::Other(
                "more came of a message that was not whole than there is room for".to_owned(),
            ),
            _ => Self::Other(format!("the network failed: {error}")),
        }
    }

    /// As a sentence's end.
    pub fn why(self) -> String {
        match self {
            Self::BrokeOff => "the connection broke off".to_owned(),
            Self::TooLong => "a message was too long".to_owned(),
            Self::Other(why) => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_gone_is_told_without_the_librarys_words() {
        let reset = tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake);
        assert_eq!(Failure::of(&reset), Failure::BrokeOff);
        // As the HTTP library hands it on.
        assert_eq!(Failure::of(&axum::Error::new(reset)), Failure::BrokeOff);
        let io = |kind: io::ErrorKind| Failure::of(&tungstenite::Error::Io(kind.into()));
        assert_eq!(io(io::ErrorKind::ConnectionReset), Failure::BrokeOff);
        assert!(
            io(io::ErrorKind::HostUnreachable)
                .why()
                .starts_with("the network failed: ")
        );
        let odd = tungstenite::Error::Protocol(ProtocolError::UnmaskedFrameFromClient);
        assert!(
            Failure::of(&odd)
                .why()
                .starts_with("what came is not WebSocket")
        );
    }
}
