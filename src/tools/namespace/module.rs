//! A file of Lua that handlers share, as it was read.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde_json::{Value, json};

/// A module that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Its file.
    pub file: PathBuf,
    /// What it is called in errors.
    pub chunk: String,
    /// Its Lua.
    pub source: String,
}

impl Module {
    /// As a worker gets it.
    pub fn to_json(&self) -> Value {
        json!({ "source": self.source, "chunk": self.chunk })
    }
}

/// Modules by their names, as a handler that works had them: it has them so until one that works with others takes its
/// place. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modules(Arc<BTreeMap<String, Arc<Module>>>);

impl Modules {
    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Module>> {
        self.0.get(name)
    }
}

impl FromIterator<(String, Arc<Module>)> for Modules {
    fn from_iter<T: IntoIterator<Item = (String, Arc<Module>)>>(modules: T) -> Self {
        Self(Arc::new(modules.into_iter().collect()))
    }
}
