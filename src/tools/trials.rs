//! Which handlers were loaded to see whether they work, and what came of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    host::{Code, HostHandler, Loaded, Unusable},
    manifest::Handler,
    namespace::ModuleRead,
};

/// A handler: its file, and the function of the table that this returns.
type Key = (PathBuf, String);

/// What came of trying handlers.
#[derive(Default)]
pub struct Trials(BTreeMap<Key, Tried>);

struct Tried {
    source: Arc<str>,
    /// The files that it required.
    modules: Vec<ModuleRead>,
    verdict: Result<(), Unusable>,
}

/// A handler that is to be tried.
pub struct Untried {
    /// Its file.
    pub file: PathBuf,
    /// What it is.
    pub code: Code,
}

impl Trials {
    /// What came of trying a handler of this file, as its source is now; none if it was not tried.
    pub fn verdict(&self, file: &Path, handler: &Handler) -> Option<&Result<(), Unusable>> {
        let tried = self.0.get(&(file.to_path_buf(), handler.method.clone()))?;
        let is_same = handler.source.as_ref() == Some(&tried.source)
            && tried.modules.iter().all(ModuleRead::is_current);
        is_same.then_some(&tried.verdict)
    }

    /// Tries these.
    pub async fn run(&mut self, untried: Vec<Untried>, host: &HostHandler) {
        let (files, codes): (Vec<_>, Vec<_>) = untried
            .into_iter()
            .map(|Untried { file, code }| (file, code))
            .unzip();
        let all = host.load(&codes).await;
        for ((file, code), Loaded { verdict, modules }) in files.into_iter().zip(codes).zip(all) {
            let method = code.method.unwrap_or_default();
            let source = code.source;
            let tried = Tried {
                source,
                modules,
                verdict,
            };
            self.0.insert((file, method), tried);
        }
    }

    /// Forgets those of all other files.
    pub fn keep(&mut self, files: &BTreeSet<PathBuf>) {
        self.0.retain(|(file, _), _| files.contains(file));
    }
}
