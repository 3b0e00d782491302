//! A folder of tools that a test writes as a user would.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::bridge::Bridge;

/// A folder of tools.
pub struct Tools {
    folder: TempDir,
}

impl Tools {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// One with the files of a folder of the repository, which the test may then change.
    pub fn copy_of(name: &str) -> Self {
        let tools = Self::new();
        for entry in fs::read_dir(of_repository(name)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), tools.path().join(entry.file_name())).unwrap();
        }
        tools
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a tool of this name into a folder of its own: a handler on the host that returns what `lua` returns.
    pub fn add(&self, name: &str, lua: &str) {
        self.add_with(name, "", lua);
    }

    /// The same, with further lines of `meta`.
    pub fn add_with(&self, name: &str, meta: &str, lua: &str) {
        self.write(
            &format!("{name}/handler.lua"),
            &format!("return {{ call = function(arguments) {lua} end }}"),
        );
        self.write(
            &format!("{name}/_index.yaml"),
            &manifest(name, "function.lua", meta),
        );
    }

    /// Writes a tool whose handler runs on a computer.
    pub fn add_on_computer(&self, name: &str, lua: &str) {
        self.write(
            &format!("{name}/handler.lua"),
            &format!("return {{ call = function(arguments) {lua} end }}"),
        );
        self.write(
            &format!("{name}/_index.yaml"),
            &manifest(name, "computer.lua", ""),
        );
    }

    /// Removes a tool of [`Tools::add`].
    pub fn remove(&self, name: &str) {
        fs::remove_dir_all(self.folder.path().join(name)).unwrap();
    }

    /// A bridge that has these tools, and these arguments besides, before the session is opened.
    pub fn start(&self, arguments: &[&str]) -> Bridge {
        Bridge::start_with(|command| {
            command.arg("--tools").arg(self.path()).args(arguments);
        })
    }

    /// The same, with a session of the era with `initialize`.
    pub async fn bridge(&self, arguments: &[&str]) -> Bridge {
        let mut bridge = self.start(arguments);
        bridge.initialize("2025-11-25").await;
        bridge
    }
}

/// A manifest of one tool.
pub fn manifest(name: &str, kind: &str, meta: &str) -> String {
    format!(
        "version: \"1.0\"\nnamespace: test\nentries:\n  - name: {name}\n    kind: {kind}\n    source: file://handler.lua\n    \
         method: call\n    meta:\n      mcp.tool: true\n      mcp.name: {name}\n{meta}"
    )
}

/// A folder of the repository.
pub fn of_repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}
