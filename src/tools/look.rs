//! What a look at folders of tools finds.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use super::{
    Offer,
    manifest::{Namespace, Problem},
    trials::Untried,
};

/// What was found.
#[derive(Default)]
pub struct Look {
    /// What can be used.
    pub offer: Offer,
    /// What can't.
    pub problems: Vec<Problem>,
    /// A file seemed to be half written: look again in a moment.
    pub is_unsettled: bool,
    /// Handlers of which it is not known whether they work, for `Folders::try_handlers`. A new one is offered all the same; a
    /// changed one waits, while its last good version goes on.
    pub untried: Vec<Untried>,
    /// The namespaces of all manifests that were read.
    pub namespaces: Vec<Arc<Namespace>>,
    /// The files of all handlers.
    pub(super) handlers: BTreeSet<PathBuf>,
}

impl Look {
    /// Tells of what may be wrong; several entries may have one file.
    pub(super) fn doubt(&mut self, doubts: Vec<Problem>) {
        for doubt in doubts {
            if !self.problems.contains(&doubt) {
                self.problems.push(doubt);
            }
        }
    }
}
