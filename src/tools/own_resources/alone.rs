//! A call that no client waits for, by which the bridge looks after something by itself. It finds no tools.

use std::future::ready;

use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    computers::Fleet,
    tools::{
        Hold, Level, Listener, Notes, Step,
        manifest::PromptSpec,
        search::Searched,
        tool::{Context, Found, Others},
    },
};

/// Whoever waits for it, and whatever else there is for them.
struct Nobody;

/// What such a call has at hand.
pub fn context<'a>(fleet: &'a Fleet, notes: &'a Notes) -> Context<'a> {
    Context {
        fleet,
        others: &Nobody,
        listener: &Nobody,
        notes,
        call: None,
        stand_in: None,
        depth: 0,
    }
}

impl Listener for Nobody {
    fn listens(&self) -> bool {
        false
    }

    fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn log(&self, _: Level, _: &str, _: String) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

impl Others for Nobody {
    fn wait(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn wait_for<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        ready(Ok(())).boxed()
    }

    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Found> {
        ready(Found::Nothing).boxed()
    }

    fn reachable(&self) -> Vec<String> {
        Vec::new()
    }

    fn search<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Searched> {
        ready(Searched::default()).boxed()
    }

    fn extended(&self, _: &str) -> Option<PromptSpec> {
        None
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn paused(&self) -> BoxFuture<'_, Option<Hold>> {
        ready(None).boxed()
    }
}
