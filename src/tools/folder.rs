//! Folders of tools: every manifest at or below them, and the Lua it names. What can't be used keeps its last good
//! version.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    Offer, builtin,
    bundled::{bundled, check_lua, problem},
    files,
    kit::{Author, Item, Kit, code_of},
    look::Look,
    manifest::{self, Entry, Handler, Namespace, Problem},
    trials::{Trials, Untried},
};
use crate::base::{
    files::{self as any_files, FileError},
    store,
};

/// Larger files are not read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// A file that was changed this lately may still be half written.
const SETTLES: Duration = Duration::from_millis(40);

/// How often a look is taken anew because of that.
const MOST_SETTLING: usize = 10;

/// A folder of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it is.
    pub path: PathBuf,
    /// Whether a person named it: then it has to be there.
    pub is_named: bool,
}

/// Folders of tools, and what was last good in them.
pub struct Folders {
    roots: Vec<Root>,
    kit: Kit,
    /// What is taken, by kind and name, and where: that is what is built in.
    taken: BTreeMap<(&'static str, String), String>,
    /// By manifest.
    last: BTreeMap<PathBuf, Vec<Made>>,
    trials: Trials,
}

/// An entry that was made into something.
#[derive(Clone)]
struct Made {
    entry: Entry,
    item: Item,
    /// Whether its handler is known to work, as it is here.
    is_tried: bool,
    /// The names of the modules that go to computers with its handler.
    modules: BTreeSet<String>,
}

impl Folders {
    /// These folders, an earlier one winning over a later one. `built_in` has the names that are taken already.
    pub fn new(roots: Vec<Root>, kit: Kit, built_in: &Offer) -> Self {
        let tools = built_in.tools.iter().map(|tool| {
            let name = tool.definition().name.to_string();
            (("tool", name), tool.origin())
        });
        let prompts = built_in
            .prompts
            .iter()
            .map(|prompt| ("prompt", prompt.definition().name.clone()));
        let resources = built_in
            .resources
            .iter()
            .map(|resource| ("resource", resource.uri().to_owned()));
        let others = prompts
            .chain(resources)
            .map(|key| (key, builtin::ITSELF.to_owned()));
        Self {
            roots,
            kit,
            taken: tools.chain(others).collect(),
            last: BTreeMap::new(),
            trials: Trials::default(),
        }
    }

    /// What the last look found: each manifest's entries, and what they were made into.
    pub fn made(&self) -> impl Iterator<Item = (&Path, &Entry, &Item)> {
        self.last.iter().flat_map(|(file, entries)| {
            entries
                .iter()
                .map(|made| (file.as_path(), &made.entry, &made.item))
        })
    }

    /// Reads everything anew.
    pub fn look(&mut self) -> Look {
        let mut look = Look::default();
        let mut made = Vec::new();
        for root in self.roots.clone() {
            let manifests = match files::look(&root.path) {
                Ok(found) => {
                    look.problems.extend(found.passed_over);
                    found.manifests
                }
                Err(error) => {
                    let is_missing = error.kind() == io::ErrorKind::NotFound;
                    if root.is_named || !is_missing {
                        look.problems.push(Problem {
                            file: root.path.clone(),
                            line: None,
                            reason: format!("this folder of tools can't be read: {error}"),
                        });
                    }
                    if !is_missing {
                        let last = self.last.iter();
                        let below = last.filter(|(file, _)| file.starts_with(&root.path));
                        made.extend(below.map(|(file, made)| (file.clone(), made.clone())));
                    }
                    continue;
                }
            };
            for file in manifests {
                let entries = self.read(&root.path, &file, &mut look);
                made.push((file, entries));
            }
        }
        self.last = made.iter().cloned().collect();
        // A manifest that may be half written was not read: what it has is not known to be gone.
        if !look.is_unsettled {
            self.trials.keep(&look.handlers);
        }
        look.offer = self.offer(made, &mut look.problems);
        look
    }

    /// Reads everything anew, and loads the handlers, so that those that can't work are among the problems.
    pub async fn look_closely(&mut self) -> Look {
        let mut look = self.look();
        for _ in 0..MOST_SETTLING {
            let untried = std::mem::take(&mut look.untried);
            if !untried.is_empty() {
                self.try_handlers(untried).await;
            } else if look.is_unsettled {
                tokio::time::sleep(SETTLES).await;
            } else {
                break;
            }
            look = self.look();
        }
        look
    }

    /// Loads handlers of a look. The next one knows what came of it.
    pub async fn try_handlers(&mut self, untried: Vec<Untried>) {
        self.trials.run(untried, &self.kit.host).await;
    }

    /// One manifest's entries; the last good ones of those that can't be used now.
    fn read(&self, root: &Path, file: &Path, look: &mut Look) -> Vec<Made> {
        let last = self.last.get(file);
        let last_of = |name: &str| {
            last.into_iter()
                .flatten()
                .find(|made| made.entry.name == name)
                // It was offered before it was tried.
                .filter(|made| made.is_tried || !self.is_bad(file, &made.entry))
                .cloned()
        };
        let text = match self.text_of(file, last.is_some(), look) {
            Ok(Some(text)) => text,
            Ok(None) => return last.cloned().unwrap_or_default(),
            Err(error) => {
                look.problems.push(problem(file, None, error.to_string()));
                return last.cloned().unwrap_or_default();
            }
        };
        let manifest = match manifest::read(&text, file, false) {
            Ok(manifest) => manifest,
            Err(problem) => {
                look.problems.push(problem);
                return last.cloned().unwrap_or_default();
            }
        };
        let namespace = Arc::new(Namespace {
            spec: manifest.namespace,
            manifest: file.to_path_buf(),
            hash: store::hash(text.as_bytes()),
            root: root.to_path_buf(),
        });
        look.namespaces.push(namespace.clone());
        let mut all = Vec::new();
        for (name, problem) in manifest.broken {
            look.problems.push(problem);
            all.extend(name.and_then(|name| last_of(&name)));
        }
        look.problems.extend(manifest.doubts);
        for mut entry in manifest.entries {
            let known = last_of(&entry.name);
            if let Some(handler) = entry.what.handler_mut() {
                handler.namespace = Some(namespace.clone());
            }
            let usable = self.fill_in(file, &mut entry, known.as_ref(), look);
            let usable = usable.and_then(|modules| {
                let Some(modules) = modules else {
                    return Ok(None);
                };
                let is_tried = self.tried(file, &mut entry, look)?;
                // A new one is used before it was tried.
                Ok((is_tried || known.is_none()).then_some((modules, is_tried)))
            });
            let (modules, is_tried) = match usable {
                Ok(Some(usable)) => usable,
                Ok(None) => {
                    all.extend(known);
                    continue;
                }
                Err(problem) => {
                    look.problems.push(problem);
                    all.extend(known);
                    continue;
                }
            };
            match known {
                Some(known) if known.entry == entry => all.push(Made { is_tried, ..known }),
                known => match self
                    .kit
                    .make(&entry.what, Author::User, origin(file, &entry))
                {
                    Ok(item) => all.push(Made {
                        entry,
                        item,
                        is_tried,
                        modules,
                    }),
                    Err(error) => {
                        look.problems
                            .push(problem(file, Some(entry.line), error.to_string()));
                        all.extend(known);
                    }
                },
            }
        }
        all
    }

    /// A file's text; none if it may be half written, and there is a last good version of it.
    fn text_of(
        &self,
        file: &Path,
        has_last: bool,
        look: &mut Look,
    ) -> Result<Option<String>, FileError> {
        let (opened, metadata) = any_files::open(file)?;
        let changed = metadata.modified().ok();
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        if age.is_some_and(|age| age < SETTLES) {
            look.is_unsettled = true;
            if has_last {
                return Ok(None);
            }
        }
        let bytes = any_files::read_opened(opened, &metadata, MAX_FILE)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(FileError::NoText),
        }
    }

    /// Reads the Lua that an entry names, and gives the names of the modules that go to computers with it; none if there is
    /// no whole version of it.
    fn fill_in(
        &self,
        manifest: &Path,
        entry: &mut Entry,
        last: Option<&Made>,
        look: &mut Look,
    ) -> Result<Option<BTreeSet<String>>, Problem> {
        let is_on_computer = entry.what.runs_on_computer();
        let has_last = last.is_some();
        let mut modules = BTreeSet::new();
        let Some(handler) = entry.what.handler_mut() else {
            return Ok(Some(modules));
        };
        let file = path_of(manifest, handler);
        let line = handler.line;
        let text = self.text_of(&file, has_last, look).map_err(|reason| {
            problem(
                manifest,
                Some(line),
                format!("its handler {} {reason}", file.display()),
            )
        })?;
        let Some(text) = text else {
            return Ok(None);
        };
        check_lua(&text, &handler.file).map_err(|(line, reason)| problem(&file, line, reason))?;
        handler.source = Some(match &handler.namespace {
            Some(namespace) if is_on_computer => {
                let mut doubts = Vec::new();
                let read = |file: &Path| self.text_of(file, has_last, look);
                let last = last.map_or(&modules, |made| &made.modules);
                let whole = bundled(&text, &file, namespace, last, read, &mut doubts);
                look.doubt(doubts);
                let Some(whole) = whole? else {
                    return Ok(None);
                };
                modules = whole.modules;
                whole.text.into()
            }
            _ => text.into(),
        });
        Ok(Some(modules))
    }

    /// Whether an entry's handler was tried, if that can be: then it gets the modules that it works with. One that was not is
    /// among those to be.
    fn tried(&self, manifest: &Path, entry: &mut Entry, look: &mut Look) -> Result<bool, Problem> {
        let Some(handler) = entry.what.handler_on_host() else {
            return Ok(true);
        };
        let file = path_of(manifest, handler);
        look.handlers.insert(file.clone());
        match self.trials.verdict(&file, handler) {
            Some(Ok(modules)) => {
                if let Some(handler) = entry.what.handler_mut() {
                    handler.modules = modules.clone();
                }
                Ok(true)
            }
            Some(Err(unusable)) => Err(match unusable.line {
                Some(line) => problem(&file, Some(line), unusable.reason.clone()),
                None => problem(
                    manifest,
                    Some(handler.line),
                    format!("its handler {}: {}", file.display(), unusable.reason),
                ),
            }),
            None => {
                let code = code_of(handler)
                    .map_err(|error| problem(manifest, Some(handler.line), error.to_string()))?;
                look.untried.push(Untried { file, code });
                Ok(false)
            }
        }
    }

    /// Whether an entry's handler was tried, and does not work.
    fn is_bad(&self, manifest: &Path, entry: &Entry) -> bool {
        entry.what.handler_on_host().is_some_and(|handler| {
            let verdict = self.trials.verdict(&path_of(manifest, handler), handler);
            matches!(verdict, Some(Err(_)))
        })
    }

    /// Everything that was made, without what clashes with something before it.
    fn offer(&self, made: Vec<(PathBuf, Vec<Made>)>, problems: &mut Vec<Problem>) -> Offer {
        let mut offer = Offer {
            is_ready: true,
            ..Offer::default()
        };
        let mut taken = self.taken.clone();
        for (file, entries) in made {
            for Made { entry, item, .. } in entries {
                let (kind, name) = (item.kind(), item.name());
                let place = origin(&file, &entry);
                if let Some(other) = taken.get(&(kind, name.clone())) {
                    problems.push(problem(
                        &file,
                        Some(entry.line),
                        format!(
                            "the {kind} {name} is defined twice: here and in {other}. That one is used, and this one is \
                             not; rename one of them"
                        ),
                    ));
                    continue;
                }
                taken.insert((kind, name), place);
                item.add_to(&mut offer);
            }
        }
        offer
    }
}

/// Where an entry stands, in words.
fn origin(file: &Path, entry: &Entry) -> String {
    format!("{}:{}", file.display(), entry.line)
}

fn path_of(manifest: &Path, handler: &Handler) -> PathBuf {
    handler.path_from(manifest.parent().unwrap_or(Path::new("")))
}
