//! The servers as a source for a command that somebody enters: nothing is read or started until a tool is called that may
//! be one of theirs.

use std::sync::Arc;

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use tokio::sync::watch;

use super::Upstream;
use crate::tools::{Client, Offer, Source};

/// That source.
pub struct ByName {
    upstream: Upstream,
    /// The sets of the servers that are configured.
    sets: Vec<String>,
}

impl ByName {
    /// That of these servers, of which `sets` are the names of their sets.
    pub fn new(upstream: Upstream, sets: Vec<String>) -> Self {
        Self { upstream, sets }
    }
}

impl Source for ByName {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        let first = Offer {
            is_ready: true,
            sets: self.sets.clone(),
            ..Offer::default()
        };
        let (sender, offers) = watch::channel(Arc::new(first));
        let mut follow = Source::follow(&self.upstream);
        // Ends with the catalogue or the servers.
        tokio::spawn(async move {
            while follow.changed().await.is_ok() {
                let offer = follow.borrow_and_update().clone();
                if sender.send(offer).is_err() {
                    return;
                }
            }
        });
        offers
    }

    fn brings<'a>(&'a self, client: Client, tool: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        self.upstream.manager.begin();
        self.upstream
            .bring(client, tool)
            .map_err(|why| why.to_string())
            .boxed()
    }
}
