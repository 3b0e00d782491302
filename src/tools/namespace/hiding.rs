//! Whoever waits for the answer of a call that was given secrets: what they are told meanwhile has none of them in it.

use futures_util::future::BoxFuture;
use rmcp::model::JsonObject;

use super::secrets::Handed;
use crate::tools::{
    Level, Listener, Step,
    hearer::{Logged, Severity},
    listener::Printed,
};

/// See the module.
pub struct Hiding<'a> {
    /// Who waits.
    pub listener: &'a dyn Listener,
    /// What the call was given.
    pub handed: &'a Handed,
}

impl Listener for Hiding<'_> {
    fn listens(&self) -> bool {
        self.listener.listens()
    }

    fn is_behind(&self) -> bool {
        self.listener.is_behind()
    }

    fn tell(&self, step: Step) -> BoxFuture<'_, ()> {
        self.listener.tell(Step {
            message: self.handed.hidden(&step.message).into_owned(),
            ..step
        })
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        let text = self.handed.hidden(&text).into_owned();
        self.listener.log(level, logger, text)
    }

    fn wants_output(&self) -> bool {
        self.listener.wants_output()
    }

    fn shows_output(&self) -> bool {
        self.listener.shows_output()
    }

    fn print(&self, printed: Printed<'_>) {
        self.listener.print(Printed {
            text: &self.handed.hidden(printed.text),
            ..printed
        });
    }

    fn hears(&self) -> Option<Severity> {
        self.listener.hears()
    }

    fn hear(&self, logged: Logged) -> BoxFuture<'_, ()> {
        self.listener.hear(logged)
    }

    fn attached(&self) -> Option<&JsonObject> {
        self.listener.attached()
    }
}
