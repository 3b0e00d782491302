//! What is part of the product: each folder of `lua/tools/` is a set of tools, prompts and resources, with its manifest
//! and the Lua that this names.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use include_dir::{Dir, include_dir};

use super::{
    Catalogue, Offer,
    catalogue::fixed,
    entry::Natives,
    host::Workers,
    kit::{Author, Item, Kit},
    manifest::{self, Entry, Problem},
    native,
    policy::Policy,
};

/// All sets. The folder is embedded whole, so that a set, or a handler in Lua, is added by its files alone.
static SETS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/lua/tools");

/// A catalogue of them alone, where no handler runs that needs a process of its own: for tests of what stands before
/// the tools.
pub fn catalogue(probe_time: Duration) -> Arc<Catalogue> {
    let kit = Kit::new(Workers::of(PathBuf::from("no-such-program")));
    let built_in = fixed(offer(&kit, probe_time));
    Catalogue::start(vec![built_in], Policy::default())
}

/// What they offer. A computer has `probe_time` to answer a probe.
pub fn offer(kit: &Kit, probe_time: Duration) -> Offer {
    let (offer, problems) = offer_of(&SETS, kit, probe_time);
    for problem in problems {
        tracing::error!("{problem}");
    }
    offer
}

/// What a folder of such sets offers, and what of it can't be used.
pub fn offer_of(sets: &Dir<'_>, kit: &Kit, probe_time: Duration) -> (Offer, Vec<Problem>) {
    let natives = native::all(&kit.host, probe_time);
    let mut offer = Offer {
        is_ready: true,
        ..Offer::default()
    };
    let mut problems = Vec::new();
    for folder in sets.dirs() {
        let set = Set {
            name: &folder.path().to_string_lossy(),
            folder,
            natives: &natives,
        };
        for made in set.read(kit) {
            match made {
                Ok(item) => item.add_to(&mut offer),
                Err(problem) => problems.push(problem),
            }
        }
    }
    (offer, problems)
}

/// One folder of `lua/tools/`.
struct Set<'a> {
    name: &'a str,
    folder: &'a Dir<'a>,
    natives: &'a Natives,
}

impl Set<'_> {
    /// What its manifest says, each entry made into what it is.
    fn read(&self, kit: &Kit) -> Vec<Result<Item, Problem>> {
        // What users are told of where a built-in tool comes from, on every system.
        let file = PathBuf::from(format!(
            "mcp-bridge's own lua/tools/{}/{}",
            self.name,
            manifest::FILE
        ));
        let problem = |line, reason| Problem {
            file: file.clone(),
            line,
            reason,
        };
        let manifest = self
            .text(manifest::FILE)
            .map_err(|reason| problem(None, reason))
            .and_then(|text| manifest::read(text, &file, true));
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(problem) => return vec![Err(problem)],
        };
        let broken = manifest.broken.into_iter().map(|(_, problem)| Err(problem));
        let made = manifest.entries.into_iter().map(|entry| {
            let line = entry.line;
            self.make(kit, entry, &file)
                .map_err(|reason| problem(Some(line), reason))
        });
        broken.chain(made).collect()
    }

    fn make(&self, kit: &Kit, mut entry: Entry, file: &Path) -> Result<Item, String> {
        if let Some(handler) = entry.what.handler_mut() {
            handler.source = Some(self.text(&handler.file)?.into());
        }
        let author = Author::Product {
            set: self.name,
            natives: self.natives,
        };
        let origin = format!("{}:{}", file.display(), entry.line);
        kit.make(&entry.what, author, origin)
    }

    /// The text of a file of the set.
    fn text(&self, name: &str) -> Result<&str, String> {
        // Files are known by their whole paths.
        self.folder
            .get_file(self.folder.path().join(name))
            .and_then(|file| file.contents_utf8())
            .ok_or_else(|| format!("{name} is not there, or is no UTF-8 text"))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::tools::lint;

    #[test]
    fn every_entry_becomes_a_tool_that_all_clients_take() {
        let (offer, problems) = offer_of(&SETS, &Kit::default(), Duration::from_secs(2));
        assert_eq!(problems, []);
        let mut names = BTreeSet::new();
        for tool in offer.tools {
            let definition = tool.definition();
            assert_eq!(lint::check(definition), [""; 0], "{}", definition.name);
            assert_eq!(
                definition.input_schema.get("additionalProperties"),
                Some(&false.into()),
                "{}",
                definition.name
            );
            let description = definition.description.as_deref().unwrap();
            assert!(description.ends_with('.'), "{description}");
            assert!(
                names.insert(definition.name.to_string()),
                "there are two {}",
                definition.name
            );
        }
    }

    #[test]
    fn the_embedded_sets_are_those_of_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/tools");
        let there: BTreeSet<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| PathBuf::from(entry.unwrap().file_name()))
            .collect();
        let embedded: BTreeSet<_> = SETS
            .dirs()
            .map(|folder| folder.path().to_path_buf())
            .collect();
        // The compiler is not told of a new folder beside the ones it knows.
        assert_eq!(
            embedded, there,
            "a set was added or removed: touch src/tools/builtin.rs"
        );
    }
}
