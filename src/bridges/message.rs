//! What a guest and an owner say to each other, as JSON. No I/O.
//!
//! Two kinds of message: an [`Envelope`] carries a frame of the link protocol for, or from, one computer, untouched;
//! everything else is a [`FromGuest`] or a [`FromOwner`], told apart by its `type`.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::snapshot::JobSnapshot;
use crate::{
    computers::{
        Cancelled, Computer, ComputerKey, Facts, Owner,
        agent_clock::{AgentClock, Reading},
        holder::{ChangeOfHands, KeyMark},
        link::{Link, Terms},
    },
    wire::{
        hello::{AgentPolicy, AgentProgram, Machine},
        limits::DEFAULT_MAX_MESSAGE,
        names::{Boot, RequestId},
    },
};

/// A frame of the link protocol on its way through an owner.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<'a> {
    /// The computer that it is for, or from.
    pub computer_id: ComputerKey,
    /// Which of the computer's links it is meant for, by the owner's count: one for an older link is dropped.
    pub link: u64,
    /// What a request is about; only with requests.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub about: Option<AboutRequest<'a>>,
    /// The frame.
    #[serde(borrow)]
    pub frame: &'a RawValue,
}

/// What an owner has to know of a request that it passes on.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AboutRequest<'a> {
    /// The beginning of its code.
    #[serde(borrow)]
    pub code: std::borrow::Cow<'a, str>,
    /// Whether it holds the turtle.
    pub exclusive: bool,
    /// Whether it is worth a place in lists.
    pub listed: bool,
    /// Whether Lua beside the computers asks for it. Bridges up to 1.0.0 don't tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_script: bool,
    /// For how long it is worth sending, in milliseconds. The frame tells that only to an agent of version 2.
    pub deadline_ms: u64,
    /// Whether a call waits for it.
    #[serde(default)]
    pub attached: bool,
}

/// What an owner reads of a frame that a guest sends.
#[derive(Debug, Deserialize)]
pub struct Outline<'a> {
    /// Its type.
    #[serde(rename = "type", borrow)]
    pub kind: std::borrow::Cow<'a, str>,
    /// The request's id.
    pub id: RequestId,
}

/// What a guest says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum FromGuest {
    /// The first message: who links, and its half of the challenge.
    Guest {
        /// The version of what bridges say to each other.
        protocol: u32,
        /// The product's version, for messages.
        version: String,
        /// Random, never used before.
        nonce: String,
    },
    /// The guest's proof. From here on the owner serves it.
    Proof {
        /// See [`super::secret`].
        proof: String,
        /// Its process id.
        pid: u32,
        /// What the ids of all its requests begin with.
        prefix: String,
        /// Whether it knows [`FromOwner::Label`]. Bridges up to 1.0.0 don't, and would note each in their logs.
        #[serde(default)]
        knows_label: bool,
        /// Whether it knows [`FromOwner::Paused`].
        #[serde(default)]
        knows_paused: bool,
    },
    /// Asks the owner something, to be answered by [`FromOwner::Reply`] with the same number.
    Ask {
        /// The question's number.
        n: u64,
        /// The question.
        question: Question,
    },
    /// Answers a ping.
    Pong {
        /// Its number.
        n: u64,
    },
}

/// What only the owner knows: the jobs of other bridges.
#[derive(Debug, Deserialize, Serialize)]
#[serde(
    tag = "about",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Question {
    /// All jobs, without their output.
    Jobs,
    /// One job, once it has printed past the cursor or has ended, or the time is up.
    Job {
        /// Its id.
        id: RequestId,
        /// From where its output is wanted.
        cursor: u64,
        /// How long to wait, in milliseconds.
        wait_ms: u64,
    },
    /// To stop a job.
    Cancel {
        /// Its id.
        id: RequestId,
        /// How long to wait for word that it stopped, in milliseconds.
        time_ms: u64,
    },
}

/// What an owner says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum FromOwner {
    /// The owner's half of the challenge, with its own proof: a guest tells nothing to one who doesn't know the secret.
    Challenge {
        /// The version of what bridges say to each other.
        protocol: u32,
        /// The product's version, for messages.
        version: String,
        /// Random, never used before.
        nonce: String,
        /// See [`super::secret`].
        proof: String,
    },
    /// The guest's proof was good.
    Welcome {
        /// The owner.
        owner: Owner,
    },
    /// This bridge can't be a guest.
    Refused {
        /// Why, as a sentence.
        error: String,
    },
    /// A computer is linked. Told of all when a guest links, and of each that links later.
    Linked(Introduction),
    /// A computer has another label.
    Label {
        /// Which computer.
        computer_id: ComputerKey,
        /// The label; none if it has none any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A player lets nothing new begin on a computer, or does again.
    Paused {
        /// Which computer.
        computer_id: ComputerKey,
        /// Whether it is paused now.
        paused: bool,
    },
    /// A computer is gone.
    Left {
        /// What it told when it was here, if this guest was never told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        introduction: Option<Introduction>,
        /// Which computer.
        computer_id: ComputerKey,
        /// When it left.
        since: SystemTime,
        /// Why.
        why: String,
    },
    /// A request that was too long for one message has reached its computer.
    Arrived {
        /// The request's id.
        id: RequestId,
    },
    /// How many bridges share the port now, the owner among them.
    Bridges {
        /// The count.
        count: usize,
    },
    /// When computers were last heard from, in seconds before this message.
    Seen {
        /// Computers and their ages.
        ages: Vec<(ComputerKey, u64)>,
        /// What clocks of agents showed lately.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        clocks: Vec<(ComputerKey, ClockReading)>,
    },
    /// The answer to a question.
    Reply {
        /// Its number.
        n: u64,
        /// The answer.
        answer: Reply,
    },
    /// Asks for a pong with the same number.
    Ping {
        /// The number.
        n: u64,
    },
}

/// What an agent's clock showed.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockReading {
    /// In milliseconds since 1970.
    pub at: u64,
    /// How long before this message the owner learned that, in milliseconds.
    pub age_ms: u64,
}

impl From<Reading> for ClockReading {
    fn from(reading: Reading) -> Self {
        let age = reading.came.elapsed().as_millis();
        Self {
            at: reading.at,
            age_ms: u64::try_from(age).unwrap_or(u64::MAX),
        }
    }
}

impl From<ClockReading> for Reading {
    /// The age was under way too: so this is later than it was, and what follows from it is on the safe side.
    fn from(reading: ClockReading) -> Self {
        let (now, age) = (Instant::now(), Duration::from_millis(reading.age_ms));
        Self {
            at: reading.at,
            came: now.checked_sub(age).unwrap_or(now),
        }
    }
}

/// A linked computer, as a guest is told of it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Introduction {
    /// Its number.
    pub computer_id: ComputerKey,
    /// Which of its links this is, by the owner's count.
    pub link: u64,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The agent program, if it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentProgram>,
    /// The machine, if it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// This start of the agent program; none with an agent of version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    /// What is kept of the computer's key. Bridges up to 1.0.0 don't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_mark: Option<KeyMark>,
    /// That the number changed hands lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_hands: Option<ChangeOfHands>,
    /// What the agent can do. Bridges up to 1.0.0 don't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// What the agent lets bridges do. Bridges up to 1.1.0 don't tell, and it refuses by itself what it does not.
    #[serde(default, skip_serializing_if = "AgentPolicy::is_full")]
    pub policy: AgentPolicy,
    /// Whether the player lets nothing new begin on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Where the link came from.
    pub address: SocketAddr,
    /// When it was made.
    pub linked_since: SystemTime,
    /// When the computer was last heard from. Bridges up to 1.0.0 don't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<SystemTime>,
    /// The largest message the agent takes, in bytes.
    pub max_message: usize,
    /// The requests that the agent knew when it linked.
    pub known: Vec<RequestId>,
    /// Whether its agent knows of attached jobs, and the owner passes on that one is detached.
    #[serde(default)]
    pub knows_detach: bool,
    /// The clock of an agent that begins no request after the moment that the request names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReading>,
}

impl Introduction {
    /// What there is to tell of a computer and this link of it.
    pub fn of(computer: &Computer, link: Option<&Link>) -> Self {
        let facts = computer.facts();
        Self {
            computer_id: computer.key,
            link: link.map_or(0, |link| link.terms.serial),
            label: facts.label.clone(),
            agent: facts.agent.clone(),
            machine: facts.machine.clone(),
            boot: facts.boot.clone(),
            key_mark: facts.key_mark.clone(),
            changed_hands: computer.change_of_hands(),
            capabilities: facts.capabilities.clone(),
            policy: facts.policy,
            paused: facts.paused,
            address: facts.address,
            linked_since: facts.linked_since,
            last_seen: Some(facts.last_seen()),
            max_message: link.map_or(0, |link| link.terms.max_message),
            known: computer.known(),
            knows_detach: link.is_some_and(|link| link.terms.knows_detach),
            clock: link
                .and_then(|link| link.terms.clock.as_ref())
                .map(|clock| clock.latest().into()),
        }
    }

    /// What it tells of the computer.
    pub fn facts(&self) -> Facts {
        let facts = Facts {
            key: self.computer_id,
            label: self.label.clone(),
            agent: self.agent.clone(),
            machine: self.machine.clone(),
            boot: self.boot.clone(),
            key_mark: self.key_mark.clone(),
            capabilities: self.capabilities.clone(),
            policy: self.policy,
            paused: self.paused,
            address: self.address,
            linked_since: self.linked_since,
            last_seen: Default::default(),
        };
        match self.last_seen {
            Some(moment) => facts.seen_at(moment),
            None => facts,
        }
    }

    /// The terms of the link that it tells of, as they hold for a bridge at one remove.
    pub fn terms(&self) -> Terms {
        Terms {
            serial: self.link,
            dialect: self.boot.clone().into(),
            max_message: self.max_message.min(DEFAULT_MAX_MESSAGE),
            knows_detach: self.knows_detach,
            clock: self.clock.map(|reading| AgentClock::new(reading.into())),
        }
    }
}

/// An answer of the owner.
#[derive(Debug, Deserialize, Serialize)]
#[serde(
    tag = "about",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Reply {
    /// All jobs, without their output.
    Jobs {
        /// The jobs.
        jobs: Vec<JobSnapshot>,
    },
    /// One job; none if no computer has it.
    Job {
        /// The job.
        job: Option<Box<JobSnapshot>>,
    },
    /// What came of a cancellation.
    Cancelled {
        /// `ended`, `told` or `unreachable`.
        how: Cancelled,
        /// The job as it is now.
        job: Option<Box<JobSnapshot>>,
    },
}

/// A message as it came: one of the two kinds.
#[derive(Debug)]
pub enum Message<'a, T> {
    /// A frame for, or from, a computer.
    Frame(Envelope<'a>),
    /// Anything else.
    Control(T),
}

/// Reads a message.
///
/// # Errors
/// It is neither kind.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<Message<'a, T>> {
    // Envelopes are many and control messages few, so the former are tried first; they have no `type` of their own.
    match serde_json::from_str(text) {
        Ok(envelope) => Ok(Message::Frame(envelope)),
        Err(_) => serde_json::from_str(text).map(Message::Control),
    }
}

/// Writes a control message.
pub fn write(message: &impl Serialize) -> String {
    // All keys are strings, and no number is out of range: it is always JSON.
    serde_json::to_string(message).unwrap_or_default()
}

/// Writes an envelope around a frame that is JSON already.
pub fn envelope(
    computer: ComputerKey,
    link: u64,
    about: Option<&AboutRequest<'_>>,
    frame: &str,
) -> String {
    let about = about.map_or_else(String::new, |about| format!(r#","about":{}"#, write(about)));
    format!(r#"{{"computerId":{computer},"link":{link}{about},"frame":{frame}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::names::ComputerId;

    fn key(number: u64) -> ComputerKey {
        ComputerId(number).into()
    }

    #[test]
    fn an_envelope_carries_its_frame_untouched() {
        let frame = r#"{"type":"output","id":"b7-1","seq":1,"text":"\u00c3\u00a9"}"#;
        let written = envelope(key(3), 7, None, frame);
        match read::<FromOwner>(&written).unwrap() {
            Message::Frame(envelope) => {
                assert_eq!((envelope.computer_id, envelope.link), (key(3), 7));
                assert_eq!(envelope.frame.get(), frame);
            }
            Message::Control(other) => panic!("{other:?}"),
        }
        let about = AboutRequest {
            code: "print('hi')\n".into(),
            exclusive: true,
            listed: true,
            of_script: false,
            deadline_ms: 20_000,
            attached: true,
        };
        let written = envelope(key(3), 7, Some(&about), frame);
        assert!(matches!(
            read::<FromGuest>(&written).unwrap(),
            Message::Frame(Envelope { about: Some(about), .. }) if about.code == "print('hi')\n"
        ));
    }

    #[test]
    fn a_control_message_comes_back_as_it_was() {
        let ask = FromGuest::Ask {
            n: 4,
            question: Question::Job {
                id: "b7-1".into(),
                cursor: 10,
                wait_ms: 500,
            },
        };
        let written = write(&ask);
        assert!(matches!(
            read(&written).unwrap(),
            Message::Control(FromGuest::Ask {
                n: 4,
                question: Question::Job { cursor: 10, .. }
            })
        ));
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"type":"what"}"#,
            r#"{"computerId":1,"link":2}"#,
        ] {
            assert!(read::<FromGuest>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn over_an_owner_of_before_no_job_is_detached() {
        let told = r#"{"type":"linked","computerId":3,"link":7,"boot":"b","address":"127.0.0.1:1","maxMessage":1,
            "linkedSince":{"secs_since_epoch":0,"nanos_since_epoch":0},"known":[]}"#;
        match read::<FromOwner>(told).unwrap() {
            Message::Control(FromOwner::Linked(introduction)) => {
                assert!(!introduction.terms().knows_detach);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_message_that_the_protocol_shows_is_read() {
        let mut shown = 0;
        let mut lines = include_str!("../wire/PROTOCOL.md").lines().peekable();
        while let Some(line) = lines.next() {
            let Some((who, text)) = line.split_once(" → ").filter(|_| line.starts_with("    "))
            else {
                continue;
            };
            let mut text = text.to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with("     ")) {
                text.push_str(more.trim());
            }
            let read = match who.trim() {
                "guest" => read::<FromGuest>(&text).is_ok(),
                "owner" => read::<FromOwner>(&text).is_ok(),
                _ => continue,
            };
            assert!(read, "{who}: {text}");
            shown += 1;
        }
        assert_eq!(shown, 7);
    }
}
