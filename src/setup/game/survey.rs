//! All of the game on this machine, and what to change of it so that computers reach the bridge.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use crate::{
    base::text::one_line,
    setup::{change::Change, file::Found, machine::Machine, refusal::Refusal},
};

use super::{
    config::{
        close::close,
        computer_settings,
        format::Format,
        open::{Added, Switch, Wish, open},
        view::View,
    },
    found::{
        emulators,
        instance::{ConfigFile, Instance, Scope},
        launchers,
    },
    open_world::{is_open, state::Open},
    rules::filter::{Action, Filter},
};

/// How many rules are named that count once HTTP is on.
const SHOWN_RULES: usize = 3;

/// What there is of the game on this machine, or in a folder.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    pub instances: Vec<Instance>,
    /// CCEmuX's configuration.
    pub ccemux: Option<ConfigFile>,
    /// CraftOS-PC's folder, where nothing is to be done.
    pub craftos_pc: Option<PathBuf>,
}

/// What was added to a file, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub format: Format,
    pub added: Vec<Added>,
}

impl Survey {
    /// Everything in the usual places.
    pub fn of(machine: &Machine) -> Self {
        Self {
            instances: launchers::find(machine),
            ccemux: emulators::ccemux(machine).map(ccemux),
            craftos_pc: emulators::craftos_pc(machine),
        }
    }

    /// What is in a folder that somebody named.
    pub fn of_folder(folder: &Path) -> Self {
        let file = folder.join("ccemux.json");
        Self {
            instances: launchers::find_in(folder),
            ccemux: file.is_file().then(|| ccemux(file)),
            craftos_pc: None,
        }
    }

    /// Whether there is nothing that computers could run in.
    pub fn has_no_computers(&self) -> bool {
        self.ccemux.is_none()
            && self.craftos_pc.is_none()
            && !self.instances.iter().any(Instance::has_computers)
    }
}

fn ccemux(path: PathBuf) -> ConfigFile {
    ConfigFile {
        path,
        format: Format::Ccemux,
        scope: Scope::AllWorlds,
    }
}

/// What a configuration file says.
///
/// # Errors
/// It can't be read, or not as the game would.
pub fn view(file: &ConfigFile) -> Result<View, Refusal> {
    let found = Found::read(&file.path)?;
    file.format
        .read(found.text())
        .map_err(|refusal| refusal.of(&file.path))
}

/// The change of a configuration file after which computers reach the bridge, and what it adds; none if they do already.
///
/// # Errors
/// The file can't be read, or it is not clear where in it the change would go.
pub fn opening(file: &ConfigFile, wish: &Wish) -> Result<Option<(Change, Noted)>, Refusal> {
    let found = Found::read(&file.path)?;
    let opened = open(found.text(), file.format, wish).map_err(|refusal| refusal.of(&file.path))?;
    if opened.added.is_empty() {
        return Ok(None);
    }
    let mut change = Change::new(found, Some(opened.text));
    change.secrets.extend(wish.token.clone());
    change.secrets.extend(token_in(&change.before, file.format));
    let noted = Noted {
        format: file.format,
        added: opened.added,
    };
    Ok(Some((change, noted)))
}

/// What else a change lets computers reach, since it turns on what was off: the file's other rules, which count from then
/// on. None if it turns nothing on, or they allow nothing.
pub fn opened_too(file: &ConfigFile, noted: &Noted) -> Option<String> {
    let switched = noted.added.iter().find_map(|added| match added {
        Added::Switch(Switch::Http) => Some("HTTP"),
        Added::Switch(Switch::Websockets) => Some("WebSockets"),
        _ => None,
    })?;
    let allowed: Vec<_> = match view(file).ok()?.filter() {
        Filter::Rules(rules) => rules
            .into_iter()
            .filter(|rule| rule.action == Some(Action::Allow))
            .map(|rule| (rule.host, rule.line))
            .collect(),
        Filter::Lists(lists) => {
            let entries = lists.allowed.into_iter();
            entries.map(|entry| (entry.host, entry.line)).collect()
        }
    };
    let shown = allowed.iter().take(SHOWN_RULES);
    let mut words: Vec<_> = shown
        .map(|(host, line)| format!("`{}` is allowed, line {line}", one_line(host)))
        .collect();
    match allowed.len() {
        0 => return None,
        count if count > SHOWN_RULES => words.push(format!("and {} more", count - SHOWN_RULES)),
        _ => {}
    }
    Some(format!(
        "{switched} was off in {}; with it on, the other rules of this file count too: {}.",
        file.path.display(),
        words.join("; ")
    ))
}

/// The change that takes out of a file what was added to it.
///
/// # Errors
/// It can't be read any more. A file that is gone has nothing of ours in it.
pub fn closing(path: &Path, format: Format, added: &[Added]) -> Result<Option<Change>, Refusal> {
    let found = Found::read(path)?;
    let Some(text) = &found.text else {
        return Ok(None);
    };
    let closed = close(text, format, added).map_err(|refusal| refusal.of(path))?;
    let mut change = Change::taking_out(found, Some(closed));
    change.secrets.extend(token_in(&change.before, format));
    Ok((!change.is_nothing()).then_some(change))
}

/// The token that new computers have by a file.
fn token_in(found: &Found, format: Format) -> Option<String> {
    let view = format.read(found.text()).ok()?;
    let token = view.computer_setting(computer_settings::TOKEN)?;
    Some(token.to_owned())
}

/// The game that a configuration file belongs to, with the worlds that read it.
pub fn game_of(path: &Path, format: Format) -> Option<(Instance, ConfigFile)> {
    let folder = path.parent()?;
    let above = folder.parent()?;
    let instance = launchers::find_in(above).into_iter().next()?;
    let scope = if folder.ends_with("serverconfig") {
        Scope::World(instance.worlds.first()?.name.clone())
    } else if folder.ends_with("defaultconfigs") {
        Scope::NewWorlds
    } else {
        Scope::AllWorlds
    };
    let path = path.to_path_buf();
    Some((
        instance,
        ConfigFile {
            path,
            format,
            scope,
        },
    ))
}

/// A world that may be open, so that the game would undo a change of the file that it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTheWay {
    pub world: String,
    pub open: Open,
}

/// The world that keeps a file from being changed now, if one does.
pub fn in_the_way(instance: &Instance, file: &ConfigFile, now: SystemTime) -> Option<InTheWay> {
    let log = instance.folder.join("logs/latest.log");
    let reads = |name: &str| match &file.scope {
        Scope::World(world) => world == name,
        Scope::AllWorlds => true,
        Scope::NewWorlds => false,
    };
    instance
        .worlds
        .iter()
        .filter(|world| reads(&world.name))
        .map(|world| InTheWay {
            world: world.name.clone(),
            open: is_open(&world.folder, &log, now),
        })
        .find(|way| way.open != Open::No)
}
