//! Hands on what a handler tells while it runs: to the log, and to whoever waits for it.

use std::time::Duration;

use tokio::time::timeout;

use super::{Level, Listener, Step, legible};
use crate::{
    base::{hidden::secrets, text::one_line},
    computers::ComputerKey,
};

/// How long a client may take to read what it is told meanwhile. One that takes longer is told no more of that call.
pub const TELL_TIME: Duration = Duration::from_secs(1);

/// Hands on what one handler tells.
pub struct Teller<'a> {
    listener: &'a dyn Listener,
    /// What the handler is called: a file's name.
    handler: &'a str,
    /// Where it runs; none: on the host.
    computer: Option<ComputerKey>,
    /// Whether the client takes what it is told.
    hears: bool,
}

impl<'a> Teller<'a> {
    /// Tells this listener of a handler of this name, on the host or on a computer.
    pub fn new(
        listener: &'a dyn Listener,
        handler: &'a str,
        computer: Option<ComputerKey>,
    ) -> Self {
        Self {
            listener,
            handler,
            computer,
            hears: true,
        }
    }

    /// Hands on a line of its log.
    pub async fn log(&mut self, level: Level, text: &str) {
        let text = secrets().hidden(text);
        let text = legible::text(&text).into_owned();
        let line = one_line(&text);
        match &self.computer {
            Some(computer) => {
                tracing::info!(handler = self.handler, %computer, ?level, "{line}");
            }
            None => tracing::info!(handler = self.handler, ?level, "{line}"),
        }
        if self.hears {
            let log = self.listener.log(level, self.handler, text);
            self.hears = timeout(TELL_TIME, log).await.is_ok();
        }
    }

    /// Tells how far it has come. A client that does not read must not hold up the handler.
    pub async fn tell(&mut self, step: Step) {
        if self.hears {
            self.hears = timeout(TELL_TIME, self.listener.tell(step)).await.is_ok();
        }
    }
}
