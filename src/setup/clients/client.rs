//! An MCP client, as `clients.toml` describes it.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::paths;
use crate::setup::{
    edit::{Format, Place},
    machine::{Machine, System},
};

/// For whom an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// For the user, everywhere.
    User,
    /// For all who work in this folder: its file may be shared with others.
    Project,
}

/// An MCP client. What its fields mean stands in `clients.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its name on the command line.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// How its files are written.
    pub format: Format,
    /// The key that holds the servers.
    pub container: String,
    /// The key in its file that holds more servers, folder by folder.
    pub(super) folders: Option<String>,
    #[serde(default)]
    user: BySystem,
    #[serde(default)]
    also: BySystem,
    #[serde(default)]
    project: Vec<String>,
    #[serde(default)]
    signs: Vec<String>,
    #[serde(default = "standard")]
    pub(super) stdio: Map<String, Value>,
    #[serde(default = "standard_http")]
    pub(super) http: Map<String, Value>,
    pub(super) no_http: Option<String>,
    pub(super) variable: Option<String>,
    pub(super) variables: Option<String>,
    pub(super) bearer: Option<String>,
    pub(super) command: Option<OwnCommand>,
    pub(super) link: Option<String>,
    /// Where the snippet goes, of a client whose file is not written.
    pub paste: Option<String>,
    /// What is to be done before a change.
    pub first: Option<String>,
    /// What makes it see a change.
    pub restart: String,
}

/// The client's own commands, by their arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCommand {
    /// Its name on `PATH`.
    pub program: String,
    /// Adds an entry that isn't there.
    pub add: Vec<String>,
    /// Removes one.
    pub remove: Vec<String>,
}

/// Paths, which may differ from system to system.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum BySystem {
    Same(Vec<String>),
    #[serde(rename_all = "lowercase")]
    Each {
        #[serde(default)]
        linux: Vec<String>,
        #[serde(default)]
        macos: Vec<String>,
        #[serde(default)]
        windows: Vec<String>,
    },
}

impl Default for BySystem {
    fn default() -> Self {
        Self::Same(Vec::new())
    }
}

impl BySystem {
    fn of(&self, system: System) -> &[String] {
        match (self, system) {
            (Self::Same(paths), _) => paths,
            (Self::Each { linux, .. }, System::Linux) => linux,
            (Self::Each { macos, .. }, System::MacOs) => macos,
            (Self::Each { windows, .. }, System::Windows) => windows,
        }
    }
}

/// The entry of most clients.
fn standard() -> Map<String, Value> {
    keys(&[("command", "$command"), ("env", "$env")])
}

fn standard_http() -> Map<String, Value> {
    keys(&[("url", "$url"), ("headers", "$headers")])
}

fn keys(pairs: &[(&str, &str)]) -> Map<String, Value> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
    pairs.collect()
}

impl Client {
    /// Where an entry of this name stands in its files.
    pub fn place<'a>(&'a self, name: &'a str) -> Place<'a> {
        Place {
            format: self.format,
            container: &self.container,
            name,
        }
    }

    /// Its files on a machine: those that are there, or the one that it would make. None if it has none of that scope.
    pub fn files(&self, machine: &Machine, scope: Scope) -> Vec<PathBuf> {
        if scope == Scope::Project {
            let paths = self.project.iter().map(|path| machine.here.join(path));
            return first_there(paths.collect()).into_iter().collect();
        }
        let paths = self.user.of(machine.system).iter();
        let mut files: Vec<_> =
            first_there(paths.filter_map(|path| paths::one(path, machine)).collect())
                .into_iter()
                .collect();
        let also = self
            .also
            .of(machine.system)
            .iter()
            .flat_map(|path| paths::all(path, machine));
        files.extend(also.filter(|file| file.parent().is_some_and(std::path::Path::is_dir)));
        files
    }

    /// Whether it is installed here, as far as its files or its program show that.
    pub fn is_installed(&self, machine: &Machine) -> bool {
        if self.signs.is_empty() {
            let files = self.files(machine, Scope::User);
            return files
                .iter()
                .any(|file| file.parent().is_some_and(std::path::Path::is_dir));
        }
        self.signs
            .iter()
            .any(|sign| match sign.strip_prefix("program:") {
                Some(program) => machine.find_program(program).is_some(),
                None => paths::one(sign, machine).is_some_and(|path| path.exists()),
            })
    }
}

/// The first path that is there, or else the first.
fn first_there(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let there = paths.iter().find(|path| path.exists());
    there.or(paths.first()).cloned()
}
