//! All examples of some folders of tools, and running them.

use std::{num::NonZero, sync::Arc, thread, time::Duration};

use futures_util::{Stream, StreamExt, stream};

use super::{
    run::run,
    test::{Outcome, Test},
};
use crate::{
    settings::{Config, LinkConfig},
    tools::{
        Catalogue, builtin,
        folder::{Folders, Root},
        kit::{Item, Kit},
        look::Look,
        manifest::What,
        policy::Policy,
        source::fixed,
    },
};

/// How many examples run at once at most: each may have threads and a process of its own.
const MOST_AT_ONCE: usize = 8;

/// Folders whose examples are run, again and again.
pub struct Suites {
    kit: Kit,
    folders: Folders,
    link: LinkConfig,
    probe_time: Duration,
}

/// The examples of the folders as they are at one moment.
pub struct Suite {
    /// What there is: what is built in, and what is in the folders. Nothing is switched off.
    pub catalogue: Arc<Catalogue>,
    /// The examples, in the order of their manifests.
    pub tests: Vec<Test>,
    /// What the manifests have, with examples or without, in their order.
    pub things: Vec<(What, Item)>,
    /// What was found.
    pub look: Look,
    /// How computers would link.
    pub link: LinkConfig,
}

impl Suites {
    /// The examples of these folders.
    pub fn new(roots: Vec<Root>, config: &Config) -> Self {
        let kit = Kit::default();
        let probe_time = config.probe_timeout;
        let built_in = builtin::offer(&kit, probe_time);
        // Nobody else comes to that port.
        let link = LinkConfig {
            token: None,
            ..config.link.clone()
        };
        Self {
            folders: Folders::new(roots, kit.clone(), &built_in),
            kit,
            link,
            probe_time,
        }
    }

    /// Looks anew. To be called in the runtime.
    pub async fn look(&mut self) -> Suite {
        let look = self.folders.look_closely().await;
        let sources = vec![
            fixed(builtin::offer(&self.kit, self.probe_time)),
            fixed(look.offer.clone()),
        ];
        let tests = self.folders.made().flat_map(|(file, entry, item)| {
            let examples = entry.what.examples().iter();
            examples.map(move |example| Test::new(file, example.clone(), item.clone(), &entry.what))
        });
        let things = self
            .folders
            .made()
            .map(|(_, entry, item)| (entry.what.clone(), item.clone()));
        Suite {
            things: things.collect(),
            tests: tests.collect(),
            catalogue: Catalogue::start(sources, Policy::default()),
            look,
            link: self.link.clone(),
        }
    }
}

impl Suite {
    /// Runs these of its examples, some at once; what comes of them comes in their order.
    pub fn run<'a>(
        &'a self,
        tests: impl IntoIterator<Item = &'a Test> + 'a,
    ) -> impl Stream<Item = (&'a Test, Outcome)> + 'a {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let runs = tests
            .into_iter()
            .map(move |test| async move { (test, run(test, &self.catalogue, &self.link).await) });
        stream::iter(runs).buffered(processors.min(MOST_AT_ONCE))
    }
}
