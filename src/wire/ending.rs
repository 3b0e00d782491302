//! Why a link ends, and what each side is told of it. No I/O.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use thiserror::Error;

use super::limits;
use crate::base::text::timestamp;

/// How long a new connection has to say hello.
pub const HELLO_TIME: Duration = Duration::from_secs(10);

/// How long a frame may take to go out before the computer counts as no longer reading.
pub const SEND_TIME: Duration = Duration::from_secs(10);

/// The link has ended.
#[derive(Debug, Error)]
#[error("the link has ended")]
pub struct LinkEnded;

/// Why a session ends.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The agent closed, with its code and reason if it gave any.
    ClosedByAgent(Option<(u16, String)>),
    /// Code that ran there rebooted the computer, or shut it down.
    Halted,
    /// The connection broke off without a word. The game says none when an agent or a computer goes.
    BrokeOff,
    /// The link failed otherwise; how, as a sentence's end.
    Broken(String),
    /// No hello came in time.
    NoHello,
    /// The hello can't be read.
    BadHello(String),
    /// More than this many bytes came, and no hello among them.
    LongHello(usize),
    /// The hello's token is missing or wrong.
    BadToken,
    /// The same start of the agent linked anew, from there.
    Replaced(SocketAddr),
    /// Another computer has the number, and is there.
    Taken {
        /// Where it linked from.
        by: SocketAddr,
        /// Since when.
        since: SystemTime,
        /// Within what time it will be known that it is dead; none if it lives, or nothing but its connection can tell.
        decided_in: Option<Duration>,
    },
    /// A message over the limit came.
    TooLarge,
    /// A binary message came.
    Binary,
    /// More frames came than anyone asked for.
    Flood,
    /// There is no room for what the agent tells of its jobs.
    Crowded,
    /// It sent long messages, for whose like its link keeps room, which others need.
    InTheWay,
    /// The agent no longer reads.
    NotReading,
    /// Nothing came from the agent for this many seconds.
    Silent(u64),
    /// It was linked to another bridge, which tells this of it.
    Elsewhere(String),
    /// This bridge leaves.
    Leaving,
}

impl Ending {
    /// As the end of the sentence "it left: …".
    pub fn why(&self) -> String {
        match self {
            Self::ClosedByAgent(None) => "its agent closed the link".to_owned(),
            Self::ClosedByAgent(Some((code, reason))) if reason.is_empty() => {
                format!("its agent closed the link (code {code})")
            }
            Self::ClosedByAgent(Some((code, reason))) => {
                format!("its agent closed the link: {reason} (code {code})")
            }
            Self::Halted => "code that ran on it rebooted it, or shut it down".to_owned(),
            Self::BrokeOff => "the connection broke off (agent stopped, computer off or unloaded, or network down)"
                .to_owned(),
            Self::Broken(reason) => reason.clone(),
            Self::NoHello => format!("no hello came within {} s", HELLO_TIME.as_secs()),
            Self::BadHello(reason) => reason.clone(),
            Self::LongHello(most) => {
                format!("it sent more than {most} bytes, and no hello among them that could be read")
            }
            Self::BadToken => "the link token is missing or wrong".to_owned(),
            Self::Replaced(by) => format!("its agent linked anew from {by}"),
            Self::Taken { by, since, .. } => format!(
                "another computer of the same number is linked from {by} since {}",
                timestamp(*since)
            ),
            Self::TooLarge => format!(
                "it sent a message over {} bytes",
                limits::DEFAULT_MAX_MESSAGE
            ),
            Self::Binary => {
                "it sent a binary message, which the link protocol does not use".to_owned()
            }
            Self::Flood => "it sent more frames than anyone asked for".to_owned(),
            Self::Crowded => {
                "other computers hold all the room there is for jobs that no bridge here asked for".to_owned()
            }
            Self::InTheWay => {
                "others need the room that its long messages took; its agent links again".to_owned()
            }
            Self::NotReading => format!("it took nothing for {} s", SEND_TIME.as_secs()),
            Self::Silent(seconds) => format!("nothing came from it for {seconds} s"),
            Self::Elsewhere(why) => why.clone(),
            Self::Leaving => "the mcp-bridge that held the link port has ended".to_owned(),
        }
    }

    /// The WebSocket close code, if the bridge is the one who closes. 4400 and up follow HTTP's status codes.
    pub fn close_code(&self) -> Option<u16> {
        match self {
            Self::ClosedByAgent(_)
            | Self::BrokeOff
            | Self::Broken(_)
            | Self::NotReading
            | Self::Elsewhere(_) => None,
            Self::Halted => Some(1000),
            Self::Silent(_) | Self::Leaving => Some(1001),
            Self::Binary => Some(1003),
            Self::TooLarge | Self::LongHello(_) => Some(1009),
            Self::BadHello(_) => Some(4400),
            Self::BadToken => Some(4401),
            Self::NoHello => Some(4408),
            Self::Replaced(_) | Self::Taken { .. } => Some(4409),
            Self::Flood | Self::Crowded | Self::InTheWay => Some(4429),
        }
    }

    /// The hello-error that tells the agent.
    pub fn hello_error(&self) -> Option<HelloError> {
        match self {
            Self::BadHello(reason) => Some(HelloError::final_of(format!(
                "{reason}. Update the agent from this bridge: /mcp-computer.lua"
            ))),
            Self::BadToken => Some(HelloError::final_of(
                "the link token is missing or wrong. Give the agent the token that the bridge has in CC_LINK_TOKEN: \
                 mcp-computer <url> --token TOKEN"
                    .to_owned(),
            )),
            Self::Replaced(_) => Some(HelloError {
                error: self.why(),
                retry: true,
                retry_after: None,
            }),
            Self::Taken { decided_in, .. } => Some(HelloError {
                error: format!("{}, and only one can be", self.why()),
                retry: true,
                retry_after: *decided_in,
            }),
            _ => None,
        }
    }
}

/// What a `hello-error` says.
#[derive(Debug)]
pub struct HelloError {
    /// What is wrong, and what to do.
    pub error: String,
    /// Whether trying again can help. Without it, the agent stops.
    pub retry: bool,
    /// After what time it is worth a try at the latest.
    pub retry_after: Option<Duration>,
}

impl HelloError {
    fn final_of(error: String) -> Self {
        Self {
            error,
            retry: false,
            retry_after: None,
        }
    }
}

/// A close frame's reason has at most 123 bytes (RFC 6455, section 5.5).
pub fn clip_reason(why: &str) -> String {
    const MOST: usize = 123;
    why.char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= MOST)
        .map(|(_, c)| c)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_reason_is_cut_between_characters() {
        let long = "é".repeat(100);
        let reason = clip_reason(&long);
        assert_eq!(reason.len(), 122);
        assert!(long.starts_with(&reason));
    }
}
