//! Which configuration counts, of all that may lie in a working folder and in the user's own.
//!
//! Of a project's files the first that exists wins: what stands in it is all that the project configures. The user's
//! own file is always added, below it. Everything that is left out is reported, with its reason.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use jsonc_parser::errors::ParseError;
use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    entry::{Entry, Origin},
    itself,
};
use crate::base::{files, store};

/// The user's own file, in the configuration folder.
pub const USER_FILE: &str = "mcp.json";

/// The project's files, from the first to the last that is looked for.
const PROJECT_FILES: [(Origin, &str); 3] = [
    (Origin::Bridge, ".mcp-bridge/mcp.json"),
    (Origin::Dispatch, ".dispatch/mcp.json"),
    (Origin::Opencode, "opencode.json"),
];

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// A place where servers may be configured, and what is there.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigPlace {
    /// What kind of place it is.
    pub origin: Origin,
    /// The file.
    pub path: PathBuf,
    /// What is there.
    pub content: Content,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// There is no such file.
    Missing,
    /// There is one that can't be used, and this is what is wrong with it.
    Unreadable(String),
    /// Its text.
    Text(String),
}

/// What is configured, all files considered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolution {
    /// The servers, those that are switched off included, in order of their names.
    pub servers: Vec<Entry>,
    /// The project's file that counts, if there is one.
    pub project: Option<ProjectFile>,
    /// What is configured but does not count, because something before it does.
    pub shadowed: Vec<Shadowed>,
    /// The user's own servers among that, in order of their names.
    pub shadowed_servers: Vec<Entry>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Entries that are this very bridge.
    pub itself: Vec<String>,
}

/// A project's file as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    /// The hash of its whole content.
    pub hash: String,
}

/// Something that does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Shadowed {
    /// The file that it stands in.
    pub file: PathBuf,
    /// The server, if it is not the whole file.
    pub server: Option<String>,
    /// The file that counts instead.
    pub by: PathBuf,
}

/// Something that is wrong in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, and where.
    pub text: String,
}

/// Why nothing in a file can be used.
#[derive(Debug, Error)]
enum FileError {
    #[error("is not valid JSON: {0}")]
    Json(#[from] ParseError),
    #[error("must be an object with the key `{0}`")]
    NotAnObject(&'static str),
    #[error("`{0}` must be an object with an entry for each server")]
    NotEntries(&'static str),
}

/// Where servers may be configured for a bridge in the folder `project`, from the first place to the last.
pub fn places(project: &Path, config: Option<&Path>) -> Vec<(Origin, PathBuf)> {
    PROJECT_FILES
        .iter()
        .map(|(origin, name)| (*origin, project.join(name)))
        .chain(config.map(|folder| (Origin::User, folder.join(USER_FILE))))
        .collect()
}

/// Reads all of these places.
pub fn read(project: &Path, config: Option<&Path>) -> Vec<ConfigPlace> {
    places(project, config)
        .into_iter()
        .map(|(origin, path)| ConfigPlace {
            origin,
            content: read_file(&path),
            path,
        })
        .collect()
}

fn read_file(path: &Path) -> Content {
    match files::read_text(path, LARGEST_FILE) {
        Ok(text) => Content::Text(text),
        Err(error) if error.is_missing() => Content::Missing,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

/// What counts of these sources. `own_port` is where this bridge serves MCP over HTTP, if it does.
pub fn resolve(sources: &[ConfigPlace], own_port: Option<u16>) -> Resolution {
    let mut found = Resolution::default();
    let mut names = BTreeSet::new();
    let mut winner: Option<&ConfigPlace> = None;
    for source in sources {
        if let (true, Some(by)) = (source.origin.is_project(), winner) {
            if configures(source) {
                found.shadowed.push(Shadowed {
                    file: source.path.clone(),
                    server: None,
                    by: by.path.clone(),
                });
            }
            continue;
        }
        let text = match &source.content {
            Content::Missing => continue,
            Content::Unreadable(reason) => {
                found.problem(source, reason.clone());
                winner = winner.or(Some(source));
                continue;
            }
            Content::Text(text) => text,
        };
        let entries = match entries(source.origin, text) {
            Ok(Some(entries)) => entries,
            Ok(None) => continue,
            Err(problem) => {
                found.problem(source, problem.to_string());
                if source.origin.is_project() {
                    winner = Some(source);
                }
                continue;
            }
        };
        if source.origin.is_project() {
            winner = Some(source);
            found.project = Some(ProjectFile {
                path: source.path.clone(),
                hash: store::hash(text.as_bytes()),
            });
        }
        for (name, value) in &entries {
            match Entry::read(name, value, source.origin, &source.path) {
                Err(problem) => found.problem(source, format!("the server `{name}` {problem}")),
                Ok(entry) if itself::is_this_bridge(&entry.reach, own_port) => {
                    found.itself.push(name.clone());
                }
                Ok(entry) => {
                    if names.insert(name.clone()) {
                        found.servers.push(entry);
                    } else if let Some(by) = winner {
                        found.shadowed.push(Shadowed {
                            file: source.path.clone(),
                            server: Some(name.clone()),
                            by: by.path.clone(),
                        });
                        found.shadowed_servers.push(entry);
                    }
                }
            }
        }
    }
    found.servers.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Resolution {
    /// The servers that are in force. What is not trusted takes no server of the user's own away.
    pub fn in_force(&self, trusted: bool) -> Vec<&Entry> {
        let own = |entry: &Entry| {
            self.shadowed_servers
                .iter()
                .find(|own| !trusted && own.name == entry.name)
        };
        self.servers
            .iter()
            .map(|entry| own(entry).unwrap_or(entry))
            .collect()
    }

    fn problem(&mut self, source: &ConfigPlace, text: String) {
        self.problems.push(Problem {
            file: source.path.clone(),
            text,
        });
    }
}

/// Whether a source that does not count would configure something.
fn configures(source: &ConfigPlace) -> bool {
    match &source.content {
        Content::Missing => false,
        Content::Unreadable(_) => true,
        Content::Text(text) => !matches!(entries(source.origin, text), Ok(None)),
    }
}

/// The entries that a file's text holds; none for an `opencode.json` without the key.
fn entries(origin: Origin, text: &str) -> Result<Option<Map<String, Value>>, FileError> {
    let keys = match origin {
        Origin::Opencode => &["mcp"][..],
        Origin::Bridge | Origin::Dispatch | Origin::User => &["mcpServers", "mcp"],
    };
    let text = text.trim_start_matches('\u{feff}');
    // Editors and opencode take comments and trailing commas.
    let value: Option<Value> = jsonc_parser::parse_to_serde_value(text, &Default::default())?;
    // A file that was made but not yet written.
    let value = value.unwrap_or_else(|| Value::Object(Map::new()));
    let Value::Object(mut file) = value else {
        return Err(FileError::NotAnObject(keys[0]));
    };
    let found = keys
        .iter()
        .find_map(|key| file.remove(*key).map(|value| (key, value)));
    match found {
        Some((_, Value::Object(entries))) => Ok(Some(entries)),
        Some((key, _)) => Err(FileError::NotEntries(key)),
        None if origin == Origin::Opencode => Ok(None),
        None => Ok(Some(Map::new())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = r#"{"mcpServers": {"one": {"command": "one"}}}"#;
    const TWO: &str = r#"{"mcpServers": {"two": {"command": "two"}}}"#;
    const OPENCODE: &str =
        r#"{"theme": "x", "mcp": {"three": {"type": "local", "command": ["three", "-v"]}}}"#;
    const OWN: &str =
        r#"{"mcpServers": {"own": {"url": "http://own/"}, "one": {"command": "mine"}}}"#;

    /// The sources with these texts: of `.mcp-bridge`, `.dispatch`, opencode and the user.
    fn sources(texts: [Option<&str>; 4]) -> Vec<ConfigPlace> {
        [
            Origin::Bridge,
            Origin::Dispatch,
            Origin::Opencode,
            Origin::User,
        ]
        .into_iter()
        .zip(texts)
        .map(|(origin, text)| ConfigPlace {
            origin,
            path: format!("{origin:?}").into(),
            content: text.map_or(Content::Missing, |text| Content::Text(text.to_owned())),
        })
        .collect()
    }

    fn resolved(texts: [Option<&str>; 4]) -> Resolution {
        resolve(&sources(texts), None)
    }

    fn names(found: &Resolution) -> Vec<&str> {
        found
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect()
    }

    fn files(shadowed: &[Shadowed]) -> Vec<&str> {
        shadowed
            .iter()
            .map(|one| one.file.to_str().unwrap())
            .collect()
    }

    #[test]
    fn the_first_of_a_projects_files_wins_and_the_others_are_shadowed() {
        let all = resolved([Some(ONE), Some(TWO), Some(OPENCODE), None]);
        assert_eq!(names(&all), ["one"]);
        assert_eq!(files(&all.shadowed), ["Dispatch", "Opencode"]);
        assert!(
            all.shadowed
                .iter()
                .all(|one| one.by == Path::new("Bridge") && one.server.is_none())
        );

        let without_first = resolved([None, Some(TWO), Some(OPENCODE), None]);
        assert_eq!(names(&without_first), ["two"]);
        assert_eq!(files(&without_first.shadowed), ["Opencode"]);

        let last = resolved([None, None, Some(OPENCODE), None]);
        assert_eq!(names(&last), ["three"]);
        assert_eq!((last.shadowed, last.problems), (vec![], vec![]));
        assert_eq!(last.project.unwrap().path, Path::new("Opencode"));
    }

    #[test]
    fn the_users_own_file_is_added_below_the_projects() {
        let found = resolved([Some(ONE), None, None, Some(OWN)]);
        assert_eq!(names(&found), ["one", "own"]);
        assert_eq!(found.servers[0].origin, Origin::Bridge);
        let [shadowed] = found.shadowed.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (shadowed.server.as_deref(), shadowed.by.as_path()),
            (Some("one"), Path::new("Bridge"))
        );
        // Unless the user has not agreed to the project's.
        let files = |trusted| -> Vec<_> {
            found
                .in_force(trusted)
                .iter()
                .map(|entry| entry.file.clone())
                .collect()
        };
        assert_eq!(files(true), [Path::new("Bridge"), Path::new("User")]);
        assert_eq!(files(false), [Path::new("User"), Path::new("User")]);
        let alone = resolved([None, None, None, Some(OWN)]);
        assert_eq!(
            (names(&alone), alone.project.is_none()),
            (vec!["one", "own"], true)
        );
    }

    #[test]
    fn an_opencode_file_without_the_key_is_as_good_as_none() {
        let found = resolved([None, None, Some(r#"{"theme": "x"}"#), Some(OWN)]);
        assert_eq!(
            (names(&found), found.project.clone(), found.problems.len()),
            (vec!["one", "own"], None, 0)
        );
        let shadowed = resolved([Some(ONE), None, Some(r#"{"theme": "x"}"#), None]);
        assert!(shadowed.shadowed.is_empty());
    }

    #[test]
    fn an_empty_file_wins_too() {
        for empty in ["", "{}", r#"{"mcpServers": {}}"#, "// nothing yet\n"] {
            let found = resolved([Some(empty), Some(TWO), None, None]);
            assert_eq!(
                (names(&found), found.problems.len()),
                (vec![], 0),
                "{empty}"
            );
            assert_eq!(files(&found.shadowed), ["Dispatch"]);
        }
    }

    #[test]
    fn a_broken_file_is_a_clear_error_and_the_rest_goes_on() {
        for (broken, problem) in [
            ("{\"mcpServers\": {\n  oops", "line 2"),
            ("[]", "`mcpServers`"),
            (r#"{"mcpServers": []}"#, "`mcpServers`"),
        ] {
            let found = resolved([Some(broken), Some(TWO), None, Some(OWN)]);
            assert_eq!(names(&found), ["one", "own"]);
            assert_eq!(found.problems[0].file, Path::new("Bridge"));
            assert!(
                found.problems[0].text.contains(problem),
                "{:?}",
                found.problems
            );
            // What it hides stays hidden: nobody wants another file's servers because of a typing error.
            assert_eq!(files(&found.shadowed), ["Dispatch"]);
        }
        let found = resolved([Some(ONE), None, None, Some("{")]);
        assert_eq!((names(&found), found.problems.len()), (vec!["one"], 1));
    }

    #[test]
    fn a_broken_entry_takes_no_other_down() {
        let found = resolved([
            Some(r#"{"mcpServers": {"bad": {"command": 1}, "good": {"command": "x"}}}"#),
            None,
            None,
            None,
        ]);
        assert_eq!(names(&found), ["good"]);
        assert!(
            found.problems[0]
                .text
                .starts_with("the server `bad` has a `command`"),
            "{:?}",
            found.problems
        );
    }

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text = "\u{feff}{\r\n  // mine\r\n  \"mcpServers\": { \"a\": { \"command\": \"x\", }, }, /* end */ }\r\n";
        assert_eq!(names(&resolved([Some(text), None, None, None])), ["a"]);
    }

    #[test]
    fn an_entry_that_is_this_bridge_is_left_out() {
        let text = r#"{"mcp": {
            "computercraft": {"type": "local", "command": ["mcp-bridge"]},
            "web": {"type": "remote", "url": "http://localhost:3000/mcp"},
            "other": {"type": "local", "command": ["x"]}
        }}"#;
        let found = resolve(&sources([None, None, Some(text), None]), Some(3000));
        assert_eq!(names(&found), ["other"]);
        assert_eq!(found.itself, ["computercraft", "web"]);
    }

    #[test]
    fn the_hash_is_that_of_the_whole_file() {
        let hash = |text| {
            resolved([Some(text), None, None, None])
                .project
                .unwrap()
                .hash
        };
        assert_eq!(hash(ONE), hash(ONE));
        assert_ne!(hash(ONE), hash(&format!("{ONE} ")));
    }

    #[test]
    fn files_are_found_where_they_are_and_odd_ones_are_reported() {
        let project = tempfile::tempdir().unwrap();
        let config = tempfile::tempdir().unwrap();
        fs::create_dir_all(project.path().join(".mcp-bridge")).unwrap();
        fs::create_dir_all(project.path().join("opencode.json")).unwrap();
        fs::write(project.path().join(".mcp-bridge/mcp.json"), ONE).unwrap();
        fs::write(config.path().join("mcp.json"), vec![b' '; 2 * 1024 * 1024]).unwrap();
        let sources = read(project.path(), Some(config.path()));
        let contents: Vec<_> = sources.iter().map(|source| &source.content).collect();
        assert_eq!(contents[0], &Content::Text(ONE.to_owned()));
        assert_eq!(contents[1], &Content::Missing);
        assert!(matches!(contents[2], Content::Unreadable(_)));
        assert!(matches!(contents[3], Content::Unreadable(reason) if reason.contains("1 MiB")));
        let found = resolve(&sources, None);
        assert_eq!((names(&found), found.problems.len()), (vec!["one"], 1));
    }
}
