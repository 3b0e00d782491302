//! A call of a handler that asks the bridge for something, and what it may have.

use std::time::Duration;

use tokio::time::Instant;

use super::record::Record;
use crate::tools::{
    Context,
    couriers::Couriers,
    listener::{Belongs, Printed},
    namespace::Visit,
};

/// How long before its call's end a handler has all answers at the latest, so that it can tell of them; a fourth of what
/// is left, if that is less.
pub const TO_TELL: Duration = Duration::from_secs(2);

/// What a handler may do beside computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// It may run Lua on computers, unless the bridge is read-only: a person wrote it.
    OfItsAuthor,
    /// It may do what the client may: the client's model wrote it.
    OfItsClient,
}

/// How long the computers of one question have.
#[derive(Clone, Copy)]
pub struct Time {
    /// Each of them; then it is stopped.
    pub each: Duration,
    /// Until when that is waited for.
    pub until: Instant,
}

/// Who asks.
pub struct Asker<'a> {
    /// What its call has at hand.
    pub context: Context<'a>,
    /// What it may do.
    pub rights: Rights,
    /// How its Lua gets to computers.
    pub couriers: &'a Couriers,
    /// When its call is ended.
    pub deadline: Instant,
    /// Where what comes back is noted.
    pub record: &'a Record,
    /// How it asks for what its namespace has.
    pub visit: &'a Visit<'a>,
}

impl Asker<'_> {
    /// Takes note of what the handler printed, and hands it on.
    pub fn print(&self, text: &str, is_cut: bool) {
        self.record.print(text, is_cut);
        let listener = self.context.listener;
        if !listener.wants_output() {
            return;
        }
        let cut = "\n[What is printed after this is not shown]\n";
        for text in [Some(text), is_cut.then_some(cut)].into_iter().flatten() {
            listener.print(Printed {
                text,
                on: None,
                // A script's own depth is 1.
                belongs: match (self.rights, self.context.depth) {
                    (Rights::OfItsClient, ..=1) => Belongs::ToAnswer,
                    _ => Belongs::ToAuthor,
                },
            });
        }
    }
}
