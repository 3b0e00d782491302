//! Where launchers keep their instances. A launcher is data: a new one is one more entry of [`LAUNCHERS`].

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    base::files,
    setup::machine::{Machine, System},
};

use super::instance::{Instance, ini_value};

/// How many folders are looked into for instances, in each of a launcher's places.
const MOST_INSTANCES: usize = 500;

/// A launcher's own settings have fewer bytes.
const LARGEST_SETTINGS: u64 = 4 * 1024 * 1024;

/// Where inside an instance the game folder may be, if it is not the instance itself.
const INSIDE: [&str; 3] = ["minecraft", ".minecraft", "instance"];

/// A launcher and its places.
struct Launcher {
    name: &'static str,
    /// Its folder, by system.
    roots: &'static [(System, Base, &'static str)],
    /// The folders below it in which instances stand; an empty one is the root itself.
    below: &'static [&'static str],
    /// A setting by which the user has moved them.
    moved: Option<Moved>,
}

/// What a place is relative to.
#[derive(Debug, Clone, Copy)]
enum Base {
    Home,
    /// `XDG_DATA_HOME`.
    Data,
    /// `Application Support`.
    Support,
    /// `%APPDATA%`.
    Roaming,
    /// `%LOCALAPPDATA%`.
    Local,
}

/// A file in a launcher's folder that names another folder for instances.
#[derive(Debug, Clone, Copy)]
enum Moved {
    /// `key=folder`.
    Ini(&'static str, &'static str),
    /// `{"key": "folder"}`, in any of these files.
    Json(&'static [&'static str], &'static str),
    /// The file is the folder's name; instances stand in this one of it.
    Text(&'static str, &'static str),
    /// Mojang's profiles, each of which may have a game folder of its own.
    Profiles(&'static [&'static str]),
}

use Base::{Data, Home, Local, Roaming, Support};
use System::{Linux, MacOs, Windows};

const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Minecraft",
        roots: &[
            (Linux, Home, ".minecraft"),
            (Linux, Home, ".var/app/com.mojang.Minecraft/.minecraft"),
            (MacOs, Support, "minecraft"),
            (Windows, Roaming, ".minecraft"),
        ],
        // TLauncher has game folders in `versions`.
        below: &["", "versions"],
        moved: Some(Moved::Profiles(&[
            "launcher_profiles.json",
            "launcher_profiles_microsoft_store.json",
        ])),
    },
    Launcher {
        name: "Prism Launcher",
        roots: &[
            (Linux, Data, "PrismLauncher"),
            (
                Linux,
                Home,
                ".var/app/org.prismlauncher.PrismLauncher/data/PrismLauncher",
            ),
            (MacOs, Support, "PrismLauncher"),
            (Windows, Roaming, "PrismLauncher"),
        ],
        below: &["instances"],
        moved: Some(Moved::Ini("prismlauncher.cfg", "InstanceDir")),
    },
    Launcher {
        name: "PolyMC",
        roots: &[
            (Linux, Data, "PolyMC"),
            (MacOs, Support, "PolyMC"),
            (Windows, Roaming, "PolyMC"),
        ],
        below: &["instances"],
        moved: Some(Moved::Ini("polymc.cfg", "InstanceDir")),
    },
    Launcher {
        name: "MultiMC",
        roots: &[
            (Linux, Data, "multimc"),
            // A whole path takes the place of the home folder.
            (MacOs, Home, "/Applications/MultiMC.app/Data"),
            (Windows, Home, "MultiMC"),
            (Windows, Home, "Desktop/MultiMC"),
            (Windows, Home, "Downloads/MultiMC"),
        ],
        below: &["instances"],
        moved: Some(Moved::Ini("multimc.cfg", "InstanceDir")),
    },
    Launcher {
        name: "CurseForge",
        roots: &[
            (Linux, Home, "Documents/curseforge/minecraft"),
            (MacOs, Home, "Documents/curseforge/minecraft"),
            (Windows, Home, "curseforge/minecraft"),
        ],
        below: &["Instances"],
        moved: None,
    },
    Launcher {
        name: "Modrinth App",
        roots: &[
            (Linux, Data, "ModrinthApp"),
            (MacOs, Support, "ModrinthApp"),
            (Windows, Roaming, "ModrinthApp"),
        ],
        below: &["profiles"],
        moved: None,
    },
    Launcher {
        name: "ATLauncher",
        roots: &[
            (Linux, Data, "ATLauncher"),
            (Linux, Home, ".atlauncher"),
            (MacOs, Support, ".atlauncher"),
            (Windows, Roaming, "ATLauncher"),
            (Windows, Roaming, ".atlauncher"),
        ],
        below: &["instances"],
        moved: None,
    },
    Launcher {
        name: "GDLauncher",
        roots: &[
            (Linux, Data, "gdlauncher_carbon"),
            (MacOs, Support, "gdlauncher_carbon"),
            (Windows, Roaming, "gdlauncher_carbon"),
        ],
        below: &["data/instances"],
        moved: Some(Moved::Text("runtime_path_override", "instances")),
    },
    Launcher {
        name: "FTB App",
        roots: &[
            (Linux, Home, ".ftba"),
            (MacOs, Support, ".ftba"),
            (Windows, Home, ".ftba"),
            (Windows, Local, ".ftba"),
        ],
        below: &["instances"],
        moved: Some(Moved::Json(
            &["storage/settings.json", "bin/settings.json"],
            "instanceLocation",
        )),
    },
    Launcher {
        name: "Technic",
        roots: &[
            (Linux, Home, ".technic"),
            (MacOs, Support, "technic"),
            (Windows, Roaming, ".technic"),
        ],
        below: &["modpacks"],
        moved: None,
    },
];

/// All instances of all launchers in their usual places.
pub fn find(machine: &Machine) -> Vec<Instance> {
    let mut found = Found::default();
    for launcher in LAUNCHERS {
        for (system, base, folder) in launcher.roots {
            if *system == machine.system {
                let root = base.on(machine).join(folder);
                launcher.look(&root, &mut found);
            }
        }
    }
    // A server is often set up by hand, in the folder that one works in.
    if Instance::is_one(&machine.here) {
        found.add(&machine.here, &machine.here, "here");
    }
    found.instances
}

/// What there is in a folder that somebody named: a game folder, a world, an instance, or a folder of them.
pub fn find_in(folder: &Path) -> Vec<Instance> {
    let mut found = Found::default();
    if folder.join("level.dat").is_file() {
        // A world: it belongs to the game two folders above, or to the server that it stands in.
        let above = folder.parent().filter(|saves| saves.ends_with("saves"));
        let game = match above {
            Some(saves) => saves.parent(),
            None => folder.parent(),
        };
        if let Some(game) = game.filter(|game| Instance::is_one(game)) {
            found.add(game, game, "folder");
            for instance in &mut found.instances {
                instance.worlds.retain(|world| world.folder == folder);
            }
        }
        return found.instances;
    }
    if !found.add_instance(folder, "folder") {
        found.add_all_in(folder, "folder");
        if found.instances.is_empty() {
            found.add_all_in(&folder.join("instances"), "folder");
        }
    }
    found.instances
}

impl Base {
    fn on(self, machine: &Machine) -> PathBuf {
        match self {
            Self::Home => machine.home.clone(),
            Self::Data => machine.xdg_data(),
            Self::Support => machine.application_support(),
            Self::Roaming => machine.app_data(),
            Self::Local => machine.local_app_data(),
        }
    }
}

impl Launcher {
    fn look(&self, root: &Path, found: &mut Found) {
        if !root.is_dir() {
            return;
        }
        for below in self.below {
            if below.is_empty() {
                if Instance::is_one(root) {
                    found.add(root, root, self.name);
                }
            } else {
                found.add_all_in(&root.join(below), self.name);
            }
        }
        match self.moved {
            None => {}
            Some(Moved::Ini(file, key)) => {
                if let Some(folder) = settings(root, file).and_then(|text| ini_value(&text, key)) {
                    found.add_all_in(&root.join(folder), self.name);
                }
            }
            Some(Moved::Json(names, key)) => {
                for file in names {
                    if let Some(folder) = json(root, file)[key].as_str() {
                        found.add_all_in(&root.join(folder), self.name);
                    }
                }
            }
            Some(Moved::Text(file, below)) => {
                if let Some(folder) = settings(root, file) {
                    found.add_all_in(&root.join(folder.trim()).join(below), self.name);
                }
            }
            Some(Moved::Profiles(names)) => {
                for file in names {
                    let profiles = json(root, file)["profiles"].take();
                    let profiles = profiles.as_object().into_iter().flatten();
                    for folder in profiles.filter_map(|(_, profile)| profile["gameDir"].as_str()) {
                        let folder = root.join(folder);
                        if Instance::is_one(&folder) {
                            found.add(&folder, &folder, self.name);
                        }
                    }
                }
            }
        }
    }
}

fn settings(root: &Path, file: &str) -> Option<String> {
    files::read_text(&root.join(file), LARGEST_SETTINGS).ok()
}

fn json(root: &Path, file: &str) -> Value {
    settings(root, file)
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// What was found so far.
#[derive(Default)]
struct Found {
    instances: Vec<Instance>,
    /// The game folders of these, links followed.
    seen: BTreeSet<PathBuf>,
}

impl Found {
    /// Each game folder once: launchers share some.
    fn add(&mut self, folder: &Path, papers: &Path, launcher: &str) {
        let whole = folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_path_buf());
        if self.seen.insert(whole) {
            self.instances
                .push(Instance::look(folder, papers, launcher));
        }
    }

    /// Adds a launcher's instance, if the folder is one.
    fn add_instance(&mut self, folder: &Path, launcher: &str) -> bool {
        let inside = INSIDE.iter().map(|inside| folder.join(inside));
        let game = std::iter::once(folder.to_path_buf())
            .chain(inside)
            .find(|game| Instance::is_one(game));
        if let Some(game) = &game {
            self.add(game, folder, launcher);
        }
        game.is_some()
    }

    fn add_all_in(&mut self, folder: &Path, launcher: &str) {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut folders: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .take(MOST_INSTANCES)
            .collect();
        folders.sort();
        for folder in folders {
            self.add_instance(&folder, launcher);
        }
    }
}

#[cfg(test)]
mod tests;
