//! What `.gitignore` files say of a folder's files, each for the folder that it stands in and those below.

use std::collections::BTreeMap;

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

/// What is ignored, by the folders that say something of it: their paths below the first, which is empty.
#[derive(Debug, Clone, Default)]
pub struct Ignored(BTreeMap<String, Gitignore>);

impl Ignored {
    /// Adds what the `.gitignore` of a folder says. A line that can't be read counts for nothing, as with Git.
    pub fn add(&mut self, folder: &str, text: &str) {
        let mut builder = GitignoreBuilder::new("");
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            self.0.insert(folder.to_owned(), rules);
        }
    }

    /// Whether a file or folder is ignored, as far as it is not for a folder above it.
    pub fn is_itself(&self, path: &str, is_folder: bool) -> bool {
        let mut folder = path;
        while !folder.is_empty() {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            let Some(rules) = self.0.get(folder) else {
                continue;
            };
            let below = path
                .strip_prefix(folder)
                .unwrap_or(path)
                .trim_start_matches('/');
            match rules.matched(below, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Whether a file is ignored, or a folder that it is in.
    pub fn is_file(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        above.into_iter().any(|folder| self.is_itself(folder, true)) || self.is_itself(path, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_that_says_something_counts_as_with_git() {
        let mut ignored = Ignored::default();
        ignored.add("", "*.log\n/build/\nold\n!keep.log\n[\n");
        ignored.add("sub", "!*.log\n/only.txt\n");
        for path in [
            "a.log",
            "build/a.lua",
            "deep/old/x.lua",
            "sub/only.txt",
            "old",
        ] {
            assert!(ignored.is_file(path), "{path}");
        }
        for path in [
            "a.lua",
            "keep.log",
            "sub/a.log",
            "deep/build/a.lua",
            "sub/deep/only.txt",
            "only.txt",
        ] {
            assert!(!ignored.is_file(path), "{path}");
        }
    }
}
