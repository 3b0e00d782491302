//! Which handlers were loaded to see whether they work, and what came of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    host::{Code, HostHandler, Loaded, Unusable},
    manifest::{Handler, Namespace},
    namespace::{Modules, Required},
};

/// What came of trying handlers.
#[derive(Default)]
pub struct Trials(BTreeMap<Key, Tried>);

/// A handler.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Its file.
    file: PathBuf,
    /// The function of the table that this returns.
    method: String,
    /// Its manifest and folder of tools, which say where it finds what it requires.
    place: Option<(PathBuf, PathBuf)>,
}

struct Tried {
    source: Arc<str>,
    /// The files that it required.
    required: Required,
    verdict: Result<Modules, Unusable>,
}

/// A handler that is to be tried.
pub struct Untried {
    /// Its file.
    pub file: PathBuf,
    /// What it is.
    pub code: Code,
}

impl Key {
    fn new(file: &Path, method: &str, namespace: Option<&Namespace>) -> Self {
        Self {
            file: file.to_path_buf(),
            method: method.to_owned(),
            place: namespace.map(|one| (one.manifest.clone(), one.root.clone())),
        }
    }
}

impl Trials {
    /// What came of trying a handler of this file, as its source and what it requires are now: the modules that it works
    /// with, or why it does not. None if it was not tried.
    pub fn verdict(&self, file: &Path, handler: &Handler) -> Option<&Result<Modules, Unusable>> {
        let namespace = handler.namespace.as_deref();
        let tried = self.0.get(&Key::new(file, &handler.method, namespace))?;
        let beside = file.parent().unwrap_or(Path::new(""));
        let is_same = handler.source.as_ref() == Some(&tried.source)
            && namespace.is_none_or(|namespace| tried.required.is_current(beside, namespace));
        is_same.then_some(&tried.verdict)
    }

    /// Tries these.
    pub async fn run(&mut self, untried: Vec<Untried>, host: &HostHandler) {
        let (files, codes): (Vec<_>, Vec<_>) = untried
            .into_iter()
            .map(|Untried { file, code }| (file, code))
            .unzip();
        let all = host.load(&codes).await;
        for ((file, code), Loaded { verdict, required }) in files.into_iter().zip(codes).zip(all) {
            let namespace = code.home.as_ref().map(|home| home.namespace.as_ref());
            let key = Key::new(&file, &code.method.unwrap_or_default(), namespace);
            let tried = Tried {
                source: code.source,
                verdict: verdict.map(|()| required.modules()),
                required,
            };
            self.0.insert(key, tried);
        }
    }

    /// Forgets those of all other files.
    pub fn keep(&mut self, files: &BTreeSet<PathBuf>) {
        self.0.retain(|key, _| files.contains(&key.file));
    }
}
