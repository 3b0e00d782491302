//! An example that can be run, and what came of it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::judge::{Came, Miss};
use crate::tools::{
    kit::Item,
    manifest::{Example, What},
};

/// An example that can be run.
pub struct Test {
    /// The manifest that it stands in.
    pub file: PathBuf,
    /// What is tried: the name of a tool or a prompt, or the URI of a resource.
    pub of: String,
    /// The example.
    pub example: Example,
    /// What is tried.
    pub item: Item,
    /// The namespace of its handler, if it has one.
    pub namespace: Option<String>,
    /// How long it may take, but for its computers to link.
    pub time: Duration,
}

/// What came of an example.
#[derive(Debug)]
pub struct Outcome {
    /// What came; nothing if nothing did.
    pub came: Option<Came>,
    /// What was expected and did not come; nothing if all is well.
    pub misses: Vec<Miss>,
    /// What was printed and logged meanwhile.
    pub printed: String,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// Whether all that was expected came.
    pub fn has_passed(&self) -> bool {
        self.misses.is_empty()
    }
}

impl Test {
    /// An example of something that a manifest was made into.
    pub fn new(file: &Path, example: Example, item: Item, what: &What) -> Self {
        Self {
            file: file.to_path_buf(),
            of: item.name(),
            example,
            item,
            namespace: what.namespace().map(str::to_owned),
            time: what.time(),
        }
    }
}
