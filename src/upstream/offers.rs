//! What a server offers, as it says itself; and how that is remembered from one run to the next.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::SystemTime,
};

use rmcp::model::{ClientCapabilities, Prompt, Resource, ResourceTemplate, Tool};
use serde::{Deserialize, Serialize};

use super::lint::{self, Fit, Unfit};
use crate::base::store;

/// Everything one server offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offers {
    /// Its tools, by its own names.
    pub tools: Vec<Tool>,
    /// Its prompts, by its own names.
    pub prompts: Vec<Prompt>,
    /// Its resources, by its own URIs.
    pub resources: Vec<Resource>,
    /// Its resource templates, by its own URIs.
    pub templates: Vec<ResourceTemplate>,
    /// Tools whose definition can't be read, each with the reason.
    pub unreadable: Vec<(String, String)>,
    /// What is odd about its lists, each in words that follow its name.
    pub remarks: Vec<String>,
    /// See [`Offers::checked_tools`].
    #[serde(skip)]
    pub(super) checked: Checked,
}

/// Its tools as clients take them; filled in when they are first listed.
#[derive(Debug, Clone, Default)]
pub(super) struct Checked(OnceLock<Vec<Result<Fit, Unfit>>>);

impl PartialEq for Checked {
    // It follows from the tools.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Offers {
    /// Each of its tools, in their order, as clients take it, or why it is withheld. The list of all servers is put
    /// together anew whenever one of them changes, and each schema is checked once.
    pub fn checked_tools(&self) -> &[Result<Fit, Unfit>] {
        let check = || self.tools.iter().map(lint::checked).collect();
        self.checked.0.get_or_init(check)
    }
}

/// What a server offered when it last ran, as kept in the state folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its name, for a person who looks into the folder.
    pub server: String,
    /// The configuration file that it stands in.
    pub file: PathBuf,
    /// When it said so.
    pub listed: SystemTime,
    /// What it said.
    pub offers: Offers,
}

impl Remembered {
    /// What is remembered of the server with this fingerprint, as it was for a client that can be asked this, or for one
    /// that can't be asked anything.
    pub fn load(
        state: &Path,
        fingerprint: &str,
        askable: Option<&ClientCapabilities>,
    ) -> Option<Self> {
        store::read(&file(state, fingerprint, askable))
    }

    /// All that is remembered of it, for whichever client, as one.
    pub fn load_all(state: &Path, fingerprint: &str) -> Option<Self> {
        let entries = fs::read_dir(folder(state)).into_iter().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let rest = path.file_stem()?.to_str()?.strip_prefix(fingerprint)?;
                (rest.is_empty() || rest.starts_with(FOR)).then_some(path)
            })
            .collect();
        files.sort();
        let mut all = files.iter().filter_map(|file| store::read::<Self>(file));
        let mut first = all.next()?;
        for other in all {
            let tools = &mut first.offers.tools;
            for tool in other.offers.tools {
                if !tools.contains(&tool) {
                    tools.push(tool);
                }
            }
        }
        Some(first)
    }

    /// Remembers it. Failing to is no reason to stop: the server is listed again the next time.
    pub fn save(&self, state: &Path, fingerprint: &str, askable: Option<&ClientCapabilities>) {
        let file = file(state, fingerprint, askable);
        if let Err(error) = store::write(&file, self) {
            tracing::warn!(file = %file.display(), %error, "what a server offers can't be remembered");
        }
    }
}

/// What stands in a file's name before what tells for which clients it is, if not for those that can't be asked anything.
const FOR: char = '-';

fn file(state: &Path, fingerprint: &str, askable: Option<&ClientCapabilities>) -> PathBuf {
    let askable = askable.and_then(|askable| serde_json::to_vec(askable).ok());
    let name = match askable {
        Some(askable) => format!("{fingerprint}{FOR}{}", store::hash(&askable)),
        None => fingerprint.to_owned(),
    };
    folder(state).join(format!("{name}.json"))
}

fn folder(state: &Path) -> PathBuf {
    super::kept::folder(state).join("listed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_offered_is_remembered_whole() {
        let state = tempfile::tempdir().unwrap();
        let offers: Offers = serde_json::from_value(json!({
            "tools": [{"name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object", "b": 1, "a": 2},
                "annotations": {"readOnlyHint": true}, "_meta": {"x": 1}}],
            "resources": [{"uri": "a://b", "name": "n", "size": 7}],
            "unreadable": [["u", "why"]],
        }))
        .unwrap();
        let remembered = Remembered {
            server: "s".into(),
            file: "mcp.json".into(),
            listed: SystemTime::now(),
            offers,
        };
        remembered.save(state.path(), "f", None);
        let load = |askable| Remembered::load(state.path(), "f", askable);
        assert_eq!(load(None), Some(remembered.clone()));
        assert_eq!(Remembered::load(state.path(), "g", None), None);

        // For other clients it may be something else.
        let askable: ClientCapabilities = serde_json::from_value(json!({"roots": {}})).unwrap();
        assert_eq!(load(Some(&askable)), None);
        let mut more = remembered.clone();
        let tool = json!({"name": "more", "inputSchema": {"type": "object"}});
        more.offers
            .tools
            .push(serde_json::from_value(tool).unwrap());
        more.save(state.path(), "f", Some(&askable));
        assert_eq!(load(None), Some(remembered));
        assert_eq!(load(Some(&askable)), Some(more));
        let all = Remembered::load_all(state.path(), "f").unwrap();
        let names: Vec<_> = all
            .offers
            .tools
            .iter()
            .map(|tool| tool.name.as_ref())
            .collect();
        assert_eq!(names, ["t", "more"]);
        assert_eq!(Remembered::load_all(state.path(), "g"), None);
    }
}
