//! `mcp-bridge tools new`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;

use super::house;
use crate::{
    commands::console::say,
    settings::{Flags, Folders},
    tools::{self, builtin, folder, kit::Kit, manifest::FILE},
};

/// Write a new tool to begin with
#[derive(Debug, Args)]
pub struct New {
    /// Its name
    name: String,

    /// The folder of tools to write it into [default: the one in the configuration folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Make it one that runs on a computer in the game
    #[arg(long)]
    computer: bool,
}

impl New {
    /// Writes it.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        write_new(&self.name, self.folder, self.computer, folders).map(|()| true)
    }
}

fn write_new(
    name: &str,
    folder: Option<PathBuf>,
    computer: bool,
    folders: &Folders,
) -> anyhow::Result<()> {
    let own = folders.own_tools();
    let Some(root) = folder.or_else(|| own.clone()) else {
        bail!("there is no configuration folder here; say where with --folder DIR");
    };
    let tool = root.join(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && name.len() <= 47;
    if !is_name {
        bail!(
            "a tool's name begins with a letter and has only letters, digits, _ and -, 47 at most, not {name}"
        );
    }
    if tool.exists() {
        bail!("{} is there already; nothing was written", tool.display());
    }
    if let Some(origin) = taken(name, own.clone(), &root) {
        bail!("there is a tool {name} already, in {origin}; nothing was written");
    }
    fs::create_dir_all(&tool).with_context(|| format!("{} can't be made", tool.display()))?;
    let (kind, handler) = if computer {
        ("computer.lua", ON_COMPUTER)
    } else {
        ("function.lua", ON_HOST)
    };
    // The example of one on the host needs no computers.
    let (left_out, answer) = if computer {
        ("", "Computer 1 heard: hello")
    } else {
        (ITS_COMPUTERS, "You said: hello")
    };
    let fill = |text: &str| {
        let text = text.replace(left_out, "").replace("NAME", name);
        text.replace("KIND", kind).replace("ANSWER", answer)
    };
    write(&tool.join(FILE), &fill(MANIFEST))?;
    write(&tool.join(format!("{name}.lua")), &fill(handler))?;
    say(&format!("Written: {}", tool.display()));
    let given = if own.is_some_and(|own| own == root) {
        String::new()
    } else {
        format!(" --tools \"{}\"", root.display())
    };
    say(&format!(
        "Try it: mcp-bridge tools run {name}{given} --arg text=hello"
    ));
    say(&format!(
        "Test it: mcp-bridge tools test \"{}\"",
        root.display()
    ));
    say(&match is_watched(&root, folders) {
        true => "A bridge that runs has it within a second.".to_owned(),
        false => format!(
            "A bridge that is started with --tools \"{}\" has it, and what you change there within a second.",
            root.display()
        ),
    });
    Ok(())
}

/// Whether bridges that are started without more look into this folder.
fn is_watched(root: &Path, folders: &Folders) -> bool {
    // Settings that can't be used name no folder.
    let config = house::load(&Flags::default(), folders).ok();
    let set = config.map(|config| config.tools.chosen.folders);
    let all = folders
        .own_tools()
        .into_iter()
        .chain(set.unwrap_or_default());
    let real = |path: &Path| path.canonicalize().ok();
    all.into_iter()
        .any(|folder| folder == root || real(&folder).is_some() && real(&folder) == real(root))
}

/// Where a tool of this name stands, if there is one: built in, or in these folders.
fn taken(name: &str, own: Option<PathBuf>, root: &Path) -> Option<String> {
    let kit = Kit::default();
    let built_in = builtin::offer(&kit, Duration::ZERO);
    let roots = tools::roots(own, &[root.to_path_buf()]);
    let found = folder::Folders::new(roots, kit, &built_in).look();
    let all = built_in.tools.iter().chain(&found.offer.tools);
    let mut of_this_name = all.filter(|tool| tool.definition().name == name);
    of_this_name.next().map(|tool| tool.origin())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("{} can't be written", file.display());
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).open(file);
    let mut opened = opened.with_context(failed)?;
    io::Write::write_all(&mut opened, text.as_bytes()).with_context(failed)
}

/// The line of the manifest's example that has computers.
const ITS_COMPUTERS: &str = "          computers: [computer]\n";

const MANIFEST: &str = include_str!("../../../lua/new-tool/_index.yaml");
const ON_HOST: &str = include_str!("../../../lua/new-tool/on-host.lua");
const ON_COMPUTER: &str = include_str!("../../../lua/new-tool/on-computer.lua");
