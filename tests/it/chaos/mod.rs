//! What bridges do and say while everything around them breaks.
//!
//! - `frames`: a network that loses chosen frames and links. At most once, answered once.
//! - `truth`: networks, computers, bridges and clients break all at once, while an oracle in the game counts what runs.
//!   No answer may claim what the oracle contradicts.
//!
//! What `truth` is made of: `seeded` numbers, of which the `plan` of all calls and faults is drawn; the `network` before
//! each computer; the `world` of computers and `clients`, in which `faults` are carried out; the `oracle`; what answers
//! claim by their `words`, and the `checker`, which compares that with what the oracle counted.

mod checker;
mod clients;
mod faults;
mod frames;
mod network;
mod oracle;
mod plan;
mod seeded;
mod truth;
mod words;
mod world;
