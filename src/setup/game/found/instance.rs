//! One game folder: an instance of a launcher, or a server, with its worlds and its configuration files.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::Value;

use crate::{base::files, setup::game::config::format::Format};

use super::{
    jar::{self, Mod},
    version::Version,
};

/// The mod's configuration, from Minecraft 1.15 on.
const SERVER_CONFIG: &str = "computercraft-server.toml";

/// The same for Minecraft 1.13 and 1.14, and the first versions for 1.15.
const COMMON_CONFIG: &str = "config/computercraft-common.toml";

/// The same up to Minecraft 1.12.2.
const OLD_CONFIG: &str = "config/ComputerCraft.cfg";

/// A launcher's own file about an instance has fewer bytes.
const LARGEST_PAPER: u64 = 64 * 1024 * 1024;

/// More worlds than these are not looked at.
const MOST_WORLDS: usize = 200;

/// A game folder.
#[derive(Debug, Clone)]
pub struct Instance {
    /// As its launcher shows it, or the folder's name.
    pub name: String,
    /// Whose it is; `server` of a server.
    pub launcher: String,
    /// Where `mods/` and `config/` are.
    pub folder: PathBuf,
    /// The Minecraft that it runs, if that is known.
    pub minecraft: Option<Version>,
    /// ComputerCraft, if it is among the mods.
    pub computercraft: Option<Mod>,
    pub is_server: bool,
    /// The one that was played last comes first.
    pub worlds: Vec<World>,
}

/// A world on this disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// Its folder's name.
    pub name: String,
    pub folder: PathBuf,
    /// When it was written last.
    pub written: Option<SystemTime>,
}

/// A configuration file of the mod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub format: Format,
    /// What it is for.
    pub scope: Scope,
}

/// What a configuration file is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The world of this name.
    World(String),
    /// All worlds that have no file of their own.
    AllWorlds,
    /// Worlds that are yet to be made.
    NewWorlds,
}

impl Instance {
    /// Whether a folder looks like a game folder.
    pub fn is_one(folder: &Path) -> bool {
        let has = |name: &str| folder.join(name).is_dir();
        is_server(folder)
            || has("saves")
            || has("mods") && has("config")
            || has("mods") && has("logs")
    }

    /// Looks at a game folder. `papers`: the folder in which its launcher keeps what it knows of it.
    pub fn look(folder: &Path, papers: &Path, launcher: &str) -> Self {
        let computercraft = jar::find(&folder.join("mods"));
        let told = told(papers);
        let is_server = is_server(folder);
        let minecraft = told
            .minecraft
            .or_else(|| computercraft.as_ref()?.minecraft.clone());
        Self {
            name: told.name.unwrap_or_else(|| name_of(papers)),
            launcher: if is_server { "server" } else { launcher }.to_owned(),
            folder: folder.to_path_buf(),
            minecraft,
            computercraft,
            is_server,
            worlds: if is_server {
                server_world(folder).into_iter().collect()
            } else {
                worlds_in(&folder.join("saves"))
            },
        }
    }

    /// Whether computers can be in its worlds.
    pub fn has_computers(&self) -> bool {
        self.computercraft.is_some() || !self.config_files().is_empty()
    }

    /// The version of ComputerCraft.
    pub fn version(&self) -> Option<&Version> {
        self.computercraft.as_ref()?.version.as_ref()
    }

    /// The configuration files that there are and that hold, the worlds' own first.
    pub fn config_files(&self) -> Vec<ConfigFile> {
        let mut found: Vec<_> = self
            .worlds
            .iter()
            .filter_map(|world| self.config_of(world))
            .collect();
        found.extend(self.config_of_all());
        let defaults = self.folder.join("defaultconfigs").join(SERVER_CONFIG);
        found.extend(self.existing(defaults, self.toml(), Scope::NewWorlds));
        found
    }

    /// The file that a world has of its own, if it does.
    pub fn config_of(&self, world: &World) -> Option<ConfigFile> {
        if matches!(self.era(), Some(Era::Shared | Era::Forge)) {
            return None;
        }
        let path = world.folder.join("serverconfig").join(SERVER_CONFIG);
        self.existing(path, self.toml(), Scope::World(world.name.clone()))
    }

    /// The file that holds for all worlds that have none of their own, if there is one.
    pub fn config_of_all(&self) -> Option<ConfigFile> {
        let config = self.folder.join("config").join(SERVER_CONFIG);
        let common = self.folder.join(COMMON_CONFIG);
        let old = self.folder.join(OLD_CONFIG);
        let all = Scope::AllWorlds;
        let server = || self.existing(config, self.toml(), all.clone());
        let common = || self.existing(common, self.toml(), all.clone());
        let old = || self.existing(old, Format::Forge, all.clone());
        match self.era() {
            // Files of an older version stay when the game is updated, and mean nothing.
            Some(Era::Own) => server(),
            Some(Era::Shared) => common(),
            Some(Era::Forge) => old(),
            None => server().or_else(common).or_else(old),
        }
    }

    fn existing(&self, path: PathBuf, format: Format, scope: Scope) -> Option<ConfigFile> {
        path.is_file().then_some(ConfigFile {
            path,
            format,
            scope,
        })
    }

    /// How this version reads TOML. One that is not known is taken for a later one: older ones pass the port over.
    fn toml(&self) -> Format {
        Format::Toml {
            knows_ports: self
                .version()
                .is_none_or(|version| version.is_from(&[1, 93])),
        }
    }

    fn era(&self) -> Option<Era> {
        let minecraft = self.minecraft.as_ref()?;
        if !minecraft.is_from(&[1, 13]) {
            return Some(Era::Forge);
        }
        if !minecraft.is_from(&[1, 15]) {
            return Some(Era::Shared);
        }
        let early = self
            .version()
            .is_some_and(|version| !version.is_from(&[1, 88]));
        Some(if early { Era::Shared } else { Era::Own })
    }
}

/// Where a version keeps its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    /// In Forge's own format, up to Minecraft 1.12.2.
    Forge,
    /// In one file for all worlds.
    Shared,
    /// In a file of each world, with NeoForge in one for all beside it.
    Own,
}

/// A folder's own name.
fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .unwrap_or(folder.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn is_server(folder: &Path) -> bool {
    folder.join("server.properties").is_file()
}

/// The world of a server, if it has been made.
fn server_world(folder: &Path) -> Option<World> {
    let properties = files::read_text(&folder.join("server.properties"), LARGEST_PAPER).ok()?;
    let level = properties
        .lines()
        .find_map(|line| line.trim().strip_prefix("level-name="))
        .map(str::trim)
        .filter(|level| !level.is_empty())
        .unwrap_or("world");
    world(&folder.join(level))
}

fn worlds_in(saves: &Path) -> Vec<World> {
    let entries = fs::read_dir(saves).into_iter().flatten();
    let mut worlds: Vec<_> = entries
        .filter_map(|entry| world(&entry.ok()?.path()))
        .take(MOST_WORLDS)
        .collect();
    worlds.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.name.cmp(&b.name)));
    worlds
}

/// A folder as a world, if it is one.
fn world(folder: &Path) -> Option<World> {
    let level = fs::metadata(folder.join("level.dat")).ok()?;
    Some(World {
        name: name_of(folder),
        folder: folder.to_path_buf(),
        written: level.modified().ok(),
    })
}

/// What a launcher tells of an instance.
#[derive(Debug, Default)]
struct Told {
    name: Option<String>,
    minecraft: Option<Version>,
}

fn told(papers: &Path) -> Told {
    let json = |name: &str| -> Value {
        files::read_text(&papers.join(name), LARGEST_PAPER)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut told = Told::default();
    // Prism, MultiMC and theirs.
    if let Ok(ini) = files::read_text(&papers.join("instance.cfg"), LARGEST_PAPER) {
        told.name = ini_value(&ini, "name");
        let pack = json("mmc-pack.json");
        let components = pack["components"].as_array().into_iter().flatten();
        told.minecraft = components
            .filter(|component| component["uid"] == "net.minecraft")
            .find_map(|component| Version::parse(component["version"].as_str()?));
        return told;
    }
    // CurseForge.
    let curse = json("minecraftinstance.json");
    if curse.is_object() {
        told.name = text(&curse["name"]);
        told.minecraft = curse["gameVersion"].as_str().and_then(Version::parse);
        return told;
    }
    // ATLauncher, FTB, GDLauncher: what each calls the same.
    let instance = json("instance.json");
    told.name = text(&instance["launcher"]["name"]).or_else(|| text(&instance["name"]));
    told.minecraft = ["id", "mcVersion"]
        .iter()
        .find_map(|key| Version::parse(instance[*key].as_str()?));
    told
}

/// A value of a file of `name=value` lines.
pub(super) fn ini_value(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(given, _)| given.trim() == name)
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration files of a game with these files, as `path scope format`.
    fn configs(files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let instance = Instance::look(folder.path(), folder.path(), "x");
        let line = |file: &ConfigFile| {
            let path = file.path.strip_prefix(folder.path()).unwrap();
            format!(
                "{} {:?} {:?}",
                path.to_string_lossy().replace('\\', "/"),
                file.scope,
                file.format
            )
        };
        instance.config_files().iter().map(line).collect()
    }

    const SERVER: &str = "saves/W/serverconfig/computercraft-server.toml";

    #[test]
    fn each_version_has_its_file_and_those_of_older_ones_mean_nothing() {
        let left = [
            "config/computercraft-common.toml",
            "config/ComputerCraft.cfg",
            "saves/W/level.dat",
            SERVER,
        ];
        let with = |jar: &str| {
            let jar = format!("mods/{jar}");
            configs(&[&left[..], &[jar.as_str()]].concat())
        };
        let own = |knows_ports: bool| {
            format!("{SERVER} World(\"W\") Toml {{ knows_ports: {knows_ports} }}")
        };
        let common = "config/computercraft-common.toml AllWorlds Toml { knows_ports: false }";
        assert_eq!(with("cc-tweaked-1.20.1-forge-1.113.1.jar"), [own(true)]);
        assert_eq!(with("cc-tweaked-1.16.5-1.93.0.jar"), [own(true)]);
        assert_eq!(with("cc-tweaked-1.15.2-1.90.0.jar"), [own(false)]);
        assert_eq!(with("cc-tweaked-1.15.2-1.87.0.jar"), [common]);
        assert_eq!(with("cc-tweaked-1.14.4-1.89.2.jar"), [common]);
        assert_eq!(
            with("cc-tweaked-1.12.2-1.89.2.jar"),
            ["config/ComputerCraft.cfg AllWorlds Forge"]
        );
    }

    #[test]
    fn neoforge_has_one_for_all_worlds_beside_those_of_single_ones_and_packs_have_one_for_new_ones()
    {
        assert_eq!(
            configs(&[
                "mods/cc-tweaked-1.21.1-neoforge-1.116.0.jar",
                "saves/W/level.dat",
                SERVER,
                "config/computercraft-server.toml",
                "defaultconfigs/computercraft-server.toml",
            ]),
            [
                format!("{SERVER} World(\"W\") Toml {{ knows_ports: true }}").as_str(),
                "config/computercraft-server.toml AllWorlds Toml { knows_ports: true }",
                "defaultconfigs/computercraft-server.toml NewWorlds Toml { knows_ports: true }",
            ]
        );
    }

    #[test]
    fn a_version_that_is_not_known_shows_by_its_file() {
        assert_eq!(
            configs(&["config/ComputerCraft.cfg", "saves/W/level.dat"]),
            ["config/ComputerCraft.cfg AllWorlds Forge"]
        );
        assert_eq!(configs(&["saves/W/level.dat"]), [""; 0]);
    }
}
