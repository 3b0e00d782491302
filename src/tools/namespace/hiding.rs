//! Whoever waits for the answer of a call that was given secrets: what they are told meanwhile has none of them in it.

use futures_util::future::BoxFuture;
use rmcp::model::JsonObject;

use crate::{
    base::hidden::secrets,
    tools::{
        Level, Listener, Step,
        hearer::{Logged, Severity},
        listener::Printed,
    },
};

/// See the module.
pub struct Hiding<'a> {
    /// Who waits.
    pub listener: &'a dyn Listener,
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
            message: secrets().hidden(&step.message).into_owned(),
            ..step
        })
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        let text = secrets().hidden(&text).into_owned();
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
            text: &secrets().hidden(printed.text),
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
