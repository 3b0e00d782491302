//! What the user has agreed to: project configurations, as they are, and the definitions of tools, as first seen.
//!
//! A project comes from somebody else, and its configuration names programs to run. A server comes from somebody else
//! too, and what it says of its tools reaches the model: a definition that changes later may be an attack on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{offers::Offers, sources::ProjectFile};
use crate::base::store;

/// A project's file that the user has agreed to.
#[derive(Debug, Serialize, Deserialize)]
struct Agreement {
    file: PathBuf,
    hash: String,
}

/// Whether the user has agreed to this file as it is.
pub fn is_trusted(state: &Path, file: &ProjectFile) -> bool {
    let path = real(&file.path);
    store::read::<Agreement>(&agreement(state, &path))
        .is_some_and(|agreed| agreed.file == path && agreed.hash == file.hash)
}

/// Notes that the user agrees to this file as it is.
///
/// # Errors
/// The state folder can't be written.
pub fn trust(state: &Path, file: &ProjectFile) -> io::Result<()> {
    let path = real(&file.path);
    let agreed = Agreement {
        file: path.clone(),
        hash: file.hash.clone(),
    };
    store::write(&agreement(state, &path), &agreed)
}

/// One file for each agreement: two processes that write at once can't undo each other's.
fn agreement(state: &Path, path: &Path) -> PathBuf {
    let name = store::hash(path.as_os_str().as_encoded_bytes());
    super::kept::folder(state)
        .join("trusted")
        .join(format!("{name}.json"))
}

/// The path with links followed, so that a project has one name.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The accepted definitions of one server's tools, by its own names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pins {
    /// The server's name, for a person who looks into the folder.
    pub server: String,
    /// What each tool's definition was when it was accepted.
    pub tools: BTreeMap<String, Value>,
}

impl Pins {
    /// The pins of the server with this fingerprint.
    pub fn load(state: &Path, fingerprint: &str) -> Self {
        store::read(&pins_file(state, fingerprint)).unwrap_or_default()
    }

    /// Keeps them.
    ///
    /// # Errors
    /// The state folder can't be written.
    pub fn save(&self, state: &Path, fingerprint: &str) -> io::Result<()> {
        store::write(&pins_file(state, fingerprint), self)
    }

    /// The tools whose definition is no longer the accepted one. Those that were never seen before are accepted by
    /// this; the second value says whether there were any.
    pub fn judge(&mut self, offers: &Offers) -> (BTreeSet<String>, bool) {
        let mut changed = BTreeSet::new();
        let mut seen_first = false;
        for tool in &offers.tools {
            let now = pinned(tool);
            match self.tools.get(tool.name.as_ref()) {
                Some(accepted) if *accepted == now => {}
                Some(_) => {
                    changed.insert(tool.name.to_string());
                }
                None => {
                    self.tools.insert(tool.name.to_string(), now);
                    seen_first = true;
                }
            }
        }
        (changed, seen_first)
    }

    /// Accepts the definitions as they are now.
    pub fn accept(&mut self, offers: &Offers) {
        for tool in &offers.tools {
            self.tools.insert(tool.name.to_string(), pinned(tool));
        }
    }
}

fn pins_file(state: &Path, fingerprint: &str) -> PathBuf {
    super::kept::folder(state)
        .join("pins")
        .join(format!("{fingerprint}.json"))
}

/// Judges what a server offers by its pins in the state folder, and pins what was never seen before.
pub fn changed_tools(
    state: &Path,
    fingerprint: &str,
    server: &str,
    offers: &Offers,
) -> BTreeSet<String> {
    let mut pins = Pins::load(state, fingerprint);
    let (changed, seen_first) = pins.judge(offers);
    if seen_first {
        pins.server = server.to_owned();
        if let Err(error) = pins.save(state, fingerprint) {
            tracing::warn!(server, %error, "the definitions of a server's tools can't be pinned");
        }
    }
    changed
}

/// What of a tool's definition is pinned: all that a model or a client's policy goes by.
pub fn pinned(tool: &Tool) -> Value {
    json!({
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &'static str, description: &'static str) -> Tool {
        Tool::new(name, description, std::sync::Arc::default())
    }

    fn offers(tools: Vec<Tool>) -> Offers {
        Offers {
            tools,
            ..Offers::default()
        }
    }

    #[test]
    fn a_projects_file_is_trusted_as_it_is_and_where_it_is() {
        let state = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let file = |name: &str, hash: &str| ProjectFile {
            path: project.path().join(name),
            hash: hash.to_owned(),
        };
        fs::write(project.path().join("a"), "").unwrap();
        let first = file("a", "1");
        assert!(!is_trusted(state.path(), &first));
        trust(state.path(), &first).unwrap();
        assert!(is_trusted(state.path(), &first));
        assert!(is_trusted(state.path(), &file("./a", "1")));
        assert!(!is_trusted(state.path(), &file("a", "2")));
        assert!(!is_trusted(state.path(), &file("b", "1")));
        trust(state.path(), &file("a", "2")).unwrap();
        assert!(!is_trusted(state.path(), &first));
    }

    #[test]
    fn a_definition_is_pinned_when_first_seen_and_a_change_is_found() {
        let state = tempfile::tempdir().unwrap();
        let judged = |offers: &Offers| changed_tools(state.path(), "f", "s", offers);
        assert!(judged(&offers(vec![tool("a", "1"), tool("b", "1")])).is_empty());
        // One changes, one goes, one comes.
        let later = offers(vec![tool("a", "2"), tool("c", "1")]);
        assert_eq!(judged(&later), ["a".to_owned()].into());
        assert_eq!(judged(&later), ["a".to_owned()].into());
        // What was gone is judged by what it was.
        assert_eq!(
            judged(&offers(vec![tool("b", "2")])),
            ["b".to_owned()].into()
        );

        let mut pins = Pins::load(state.path(), "f");
        pins.accept(&later);
        pins.save(state.path(), "f").unwrap();
        assert!(judged(&later).is_empty());
        let hints = rmcp::model::ToolAnnotations::new().read_only(true);
        assert_eq!(
            judged(&offers(vec![tool("a", "2").with_annotations(hints)])),
            ["a".to_owned()].into()
        );
    }
}
