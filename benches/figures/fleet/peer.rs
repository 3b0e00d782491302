//! The peer: a bridge in Node.js, made of the official MCP SDK and `ws`, where npm is at hand.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Result, process::Process};

/// What is installed of it, by its own lock file.
const FILES: [&str; 3] = ["package.json", "package-lock.json", "bridge.mjs"];

/// Where it is; or why it can't be.
pub type Installed = std::result::Result<PathBuf, &'static str>;

/// Installs it below the target folder.
pub fn install() -> Installed {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peer");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures-peer");
    let copied = std::fs::create_dir_all(&folder).and_then(|()| {
        let mut files = FILES.into_iter();
        files.try_for_each(|file| std::fs::copy(sources.join(file), folder.join(file)).map(drop))
    });
    copied.map_err(|_| "the Node bridge can't be written to the target folder")?;
    if folder.join("node_modules/.package-lock.json").exists() {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    npm.args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--silent",
    ]);
    match npm.current_dir(&folder).status() {
        Ok(status) if status.success() => Ok(folder),
        Ok(_) => Err("npm can't install the Node bridge"),
        Err(_) => Err("without npm there is no Node bridge"),
    }
}

/// Starts it.
pub fn start(folder: &Path) -> Result<Process> {
    let mut node = Command::new("node");
    node.arg(folder.join("bridge.mjs"));
    Process::start(node)
}
