//! Which configuration counts, of all that may lie in a working folder and in the user's own.
//!
//! Of a project's files the first that exists wins: what stands in it is all that the project configures. The user's
//! own file is always added, below it. Everything that is left out is reported, with its reason.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use super::{
    document::{Document, Home},
    entry::{Entry, Origin},
    itself, reading,
};
use crate::base::{files, store};

/// The user's own file, in the configuration folder.
pub const USER_FILE: &str = "mcp.json";

/// The project's files, from the first to the last that is looked for.
const PROJECT_FILES: [(Origin, &str); 6] = [
    (Origin::Bridge, ".mcp-bridge/mcp.json"),
    (Origin::Dispatch, ".dispatch/mcp.json"),
    (Origin::Opencode, "opencode.json"),
    (Origin::Opencode, "opencode.jsonc"),
    (Origin::Opencode, ".opencode/opencode.json"),
    (Origin::Opencode, ".opencode/opencode.jsonc"),
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
    /// What counts of it: what is there, or what was there before.
    pub content: Content,
    /// What is wrong with it now, where what was there before still counts.
    pub trouble: Option<String>,
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

/// Something that is wrong in a file, or means nothing here.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.text)
    }
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
            trouble: None,
            path,
        })
        .collect()
}

/// Where a place can't be used now, leaves in force what was there before: a file that is half written, or that can't be
/// read for a moment, stops nothing that runs.
pub fn keep(places: &mut [ConfigPlace], before: &[ConfigPlace]) {
    for place in places {
        // At the start there is nothing that could be kept, and nothing has to be taken apart for it.
        let good = before
            .iter()
            .find(|other| other.path == place.path && matches!(other.content, Content::Text(_)));
        let Some(good) = good else {
            continue;
        };
        let problem = match place.problem() {
            Some(problem) => problem,
            None if place.is_blank() => {
                "is empty (for no servers it has to say so, by `{}`)".to_owned()
            }
            None => continue,
        };
        if good.problem().is_none() && !good.is_blank() {
            place.content = good.content.clone();
            place.trouble = Some(format!("{problem}. What stood there before goes on"));
        }
    }
}

impl ConfigPlace {
    /// Why nothing in it can be used.
    fn problem(&self) -> Option<String> {
        match &self.content {
            Content::Missing => None,
            Content::Unreadable(reason) => Some(reason.clone()),
            Content::Text(text) => Document::of(self.origin, text)
                .err()
                .map(|problem| problem.to_string()),
        }
    }

    /// Whether it was emptied: what an editor does before it writes.
    fn is_blank(&self) -> bool {
        matches!(&self.content, Content::Text(text) if text.trim().is_empty())
    }
}

fn read_file(path: &Path) -> Content {
    match files::read_text(path, LARGEST_FILE) {
        Ok(text) => Content::Text(text),
        Err(error) if error.is_missing() => Content::Missing,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

/// Where in a file of the user's own with this text servers stand.
///
/// # Errors
/// Nothing in it can be used; why not, in words that follow the file's name.
pub fn home(text: &str) -> Result<Home, String> {
    Home::in_text(text).map_err(|problem| problem.to_string())
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
        if let Some(trouble) = &source.trouble {
            found.problem(source, None, trouble.clone());
        }
        let text = match &source.content {
            Content::Missing => continue,
            Content::Unreadable(reason) => {
                found.problem(source, None, reason.clone());
                winner = winner.or(Some(source));
                continue;
            }
            Content::Text(text) => text,
        };
        let document = match Document::of(source.origin, text) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(problem) => {
                found.problem(source, None, problem.to_string());
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
        for entry in found.read(source, &document) {
            if itself::is_this_bridge(&entry.reach, own_port) {
                found.itself.push(entry.name);
            } else if names.insert(entry.name.clone()) {
                found.servers.push(entry);
            } else if let Some(by) = winner {
                found.shadowed.push(Shadowed {
                    file: source.path.clone(),
                    server: Some(entry.name.clone()),
                    by: by.path.clone(),
                });
                found.shadowed_servers.push(entry);
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

    /// The servers of a file, and what is to be said of them.
    fn read(&mut self, source: &ConfigPlace, document: &Document) -> Vec<Entry> {
        for (line, remark) in &document.remarks {
            self.problem(source, Some(*line), remark.clone());
        }
        let mut entries = Vec::new();
        for written in &document.servers {
            let name = &written.name;
            let (mut entry, remarks) =
                match reading::read(name, &written.value, source.origin, &source.path) {
                    Ok(read) => read,
                    Err(problem) => {
                        let text = format!("the server `{name}` {problem}");
                        self.problem(source, Some(written.line), text);
                        continue;
                    }
                };
            entry.enabled &= !document.switches_off(name);
            entry.tools.off.extend(document.switched_off_of(name));
            for (key, remark) in remarks {
                let text = format!("the server `{name}`: {remark}");
                self.problem(source, Some(written.line_of(&key)), text);
            }
            entries.push(entry);
        }
        entries
    }

    fn problem(&mut self, source: &ConfigPlace, line: Option<usize>, text: String) {
        self.problems.push(Problem {
            file: source.path.clone(),
            line,
            text,
        });
    }
}

/// Whether a source that does not count would configure something.
fn configures(source: &ConfigPlace) -> bool {
    match &source.content {
        Content::Missing => false,
        Content::Unreadable(_) => true,
        Content::Text(text) => !matches!(Document::of(source.origin, text), Ok(None)),
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
            trouble: None,
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
    fn what_a_file_said_goes_on_while_it_is_half_written() {
        let before = sources([Some(ONE), None, None, Some(OWN)]);
        for half in ["{\"mcpServers\": {", "[]", "", "\n"] {
            let mut now = sources([Some(half), Some(TWO), None, None]);
            now[3].content = Content::Unreadable("can't be read".to_owned());
            keep(&mut now, &before);
            let found = resolve(&now, None);
            assert_eq!(names(&found), ["one", "own"]);
            assert_eq!(found.project, resolve(&before, None).project);
            let told: Vec<_> = found.problems.iter().map(Problem::to_string).collect();
            assert_eq!(told.len(), 2, "{told:?}");
            assert!(told.iter().all(|told| told.contains("goes on")), "{told:?}");
            // And so at the next look.
            let mut later = sources([Some(half), Some(TWO), None, Some(OWN)]);
            keep(&mut later, &now);
            assert_eq!(names(&resolve(&later, None)), ["one", "own"]);
        }
        // One that was taken away is gone, and one that was never right counts as what it is.
        let mut now = sources([None, None, None, Some("{")]);
        keep(&mut now, &sources([Some(ONE), None, None, Some("[")]));
        assert_eq!(names(&resolve(&now, None)), [""; 0]);
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
        assert!(
            matches!(contents[contents.len() - 1], Content::Unreadable(reason) if reason.contains("1 MiB"))
        );
        let found = resolve(&sources, None);
        assert_eq!((names(&found), found.problems.len()), (vec!["one"], 1));
    }
}
