//! What a simulated computer is: its kind, its version of the mod, its limits and what it may reach.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The four blocks and items that run Lua in the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A plain computer: 51×19 cells.
    #[default]
    Computer,
    /// A turtle: 39×13 cells and the `turtle` API.
    Turtle,
    /// A pocket computer: 26×20 cells and the `pocket` API.
    Pocket,
    /// A command computer: 51×19 cells, always advanced, and the `commands` API.
    Command,
}

impl Kind {
    /// The width and height of its terminal, in cells.
    pub fn terminal_size(self) -> (usize, usize) {
        match self {
            Kind::Computer | Kind::Command => (51, 19),
            Kind::Turtle => (39, 13),
            Kind::Pocket => (26, 20),
        }
    }

    /// Its name as written on a command line and in labels.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Computer => "computer",
            Kind::Turtle => "turtle",
            Kind::Pocket => "pocket",
            Kind::Command => "command",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Kind::Computer, Kind::Turtle, Kind::Pocket, Kind::Command]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// The text names no kind of computer.
#[derive(Debug, thiserror::Error)]
#[error("there is no kind of computer called `{0}`: choose computer, turtle, pocket or command")]
pub struct UnknownKind(String);

/// A version of CC:Tweaked, and of the Minecraft around it.
///
/// It decides what differs between the games people play: text transcoding, key codes, functions that came
/// later. Written as `1.113.1`; a short form such as `1.89` stands for the last release of that line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    /// The Minecraft version named in `_HOST`.
    minecraft: String,
}

impl Version {
    /// `major.minor.patch` of the mod in a given Minecraft.
    pub fn new(major: u32, minor: u32, patch: u32, minecraft: &str) -> Self {
        Version {
            major,
            minor,
            patch,
            minecraft: minecraft.to_owned(),
        }
    }

    /// Whether it is this version of the mod or a later one.
    pub fn at_least(&self, major: u32, minor: u32, patch: u32) -> bool {
        (self.major, self.minor, self.patch) >= (major, minor, patch)
    }

    /// The text of `_HOST`, such as `ComputerCraft 1.113.1 (Minecraft 1.20.1)`.
    pub fn host(&self) -> String {
        format!("ComputerCraft {self} (Minecraft {})", self.minecraft)
    }

    /// From 1.109 Lua strings reach a socket and a file as they are; before, they are transcoded.
    pub fn raw_text(&self) -> bool {
        self.at_least(1, 109, 0)
    }

    /// Minecraft 1.12 numbers keys as LWJGL 2 does, later ones as GLFW does.
    pub fn lwjgl2_keys(&self) -> bool {
        self.minecraft.starts_with("1.12") || self.minecraft.starts_with("1.8")
    }
}

impl Default for Version {
    fn default() -> Self {
        Version::new(1, 113, 1, "1.20.1")
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || UnknownVersion(text.to_owned());
        let parts: Vec<u32> = text
            .split('.')
            .map(|part| part.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let (major, minor, patch) = match parts[..] {
            [1, 89] => (1, 89, 2),
            [1, 101] => (1, 101, 3),
            [1, 113] => (1, 113, 1),
            [major, minor] => (major, minor, 0),
            [major, minor, patch] => (major, minor, patch),
            _ => return Err(wrong()),
        };
        let minecraft = match (major, minor) {
            (1, ..90) => "1.12.2",
            (1, ..98) => "1.15.2",
            (1, ..102) => "1.16.5",
            (1, ..109) => "1.19.4",
            (1, ..116) => "1.20.1",
            _ => "1.21.1",
        };
        Ok(Version::new(major, minor, patch, minecraft))
    }
}

/// The text is no version of the mod.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no version of CC:Tweaked: write it like 1.113.1, 1.101 or 1.89")]
pub struct UnknownVersion(String);

/// How long Lua may run, and how much it may keep. The defaults are the game's.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// How long one event may be worked on before `Too long without yielding` is thrown. 7 s in the game.
    pub event_time: Duration,
    /// How long after that the computer is powered off. 1.5 s in the game.
    pub grace_time: Duration,
    /// How long `http` waits for a connection, unless the program says otherwise. 30 s in the game.
    pub http_timeout: Duration,
    /// Bytes of the computer's own disk. 1,000,000 in the game.
    pub disk_bytes: u64,
    /// Bytes of Lua memory. The game has no such limit; it keeps a runaway program from taking the host with it.
    pub memory_bytes: usize,
    /// Sockets open at once. 4 in the game.
    pub websockets: usize,
    /// Longest message either way, in bytes. 131,072 in the game.
    pub message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            event_time: Duration::from_secs(7),
            grace_time: Duration::from_millis(1500),
            http_timeout: Duration::from_secs(30),
            disk_bytes: 1_000_000,
            memory_bytes: 256 << 20,
            websockets: 4,
            message_bytes: 128 * 1024,
        }
    }
}

/// What the server's configuration lets a computer reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpRules {
    /// `http.enabled`: without it there is no `http` API at all.
    pub enabled: bool,
    /// `http.websocket_enabled`.
    pub websockets: bool,
    /// Whether loopback, private and link-local addresses may be reached. The game's own default is no; the
    /// simulator's is yes, as in a game whose owner has made the edit that the bridge needs.
    pub private_addresses: bool,
}

impl Default for HttpRules {
    fn default() -> Self {
        HttpRules {
            enabled: true,
            websockets: true,
            private_addresses: true,
        }
    }
}

/// Everything that makes one simulated computer.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputerOptions {
    /// Its number, `os.getComputerID()`.
    pub id: u64,
    /// Its label, `os.getComputerLabel()`.
    pub label: Option<String>,
    /// What it is. A command computer is always advanced.
    pub kind: Kind,
    /// Whether it has colours, a mouse and `multishell`.
    pub advanced: bool,
    /// Which version of the game it behaves as.
    pub version: Version,
    /// What a turtle has in its tank at the start; none: it needs no fuel.
    pub fuel: Option<u32>,
    /// Files on its disk at the start, each a path such as `startup.lua` and its content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether a drive with a floppy stands on its left: 125,000 bytes at `/disk`, where `files` may lie too.
    pub floppy: bool,
    /// Its limits.
    pub limits: Limits,
    /// What it may reach.
    pub http: HttpRules,
    /// How many times faster than the game its clock runs: 20 makes a tick 2.5 ms. It changes no order.
    pub clock_speed: f64,
}

impl Default for ComputerOptions {
    fn default() -> Self {
        ComputerOptions {
            id: 0,
            label: None,
            kind: Kind::Computer,
            advanced: true,
            version: Version::default(),
            fuel: Some(1000),
            files: Vec::new(),
            floppy: false,
            limits: Limits::default(),
            http: HttpRules::default(),
            clock_speed: 1.0,
        }
    }
}

impl ComputerOptions {
    /// An advanced computer with this number and nothing on its disk.
    pub fn new(id: u64) -> Self {
        ComputerOptions {
            id,
            ..ComputerOptions::default()
        }
    }

    /// The same with a file on its disk.
    pub fn with_file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.to_owned(), content.into()));
        self
    }

    /// Whether the game would build it as an advanced one.
    pub(super) fn is_advanced(&self) -> bool {
        self.advanced || self.kind == Kind::Command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_version_stands_for_the_last_release_of_its_line() {
        let old: Version = "1.89".parse().expect("a version");
        assert_eq!(old.host(), "ComputerCraft 1.89.2 (Minecraft 1.12.2)");
        assert!(old.lwjgl2_keys() && !old.raw_text());
        let new: Version = "1.113".parse().expect("a version");
        assert_eq!(new, Version::default());
        assert!("banana".parse::<Version>().is_err());
    }

    #[test]
    fn a_kind_is_read_by_its_name() {
        assert_eq!("turtle".parse::<Kind>().expect("a kind"), Kind::Turtle);
        assert!("tortoise".parse::<Kind>().is_err());
    }
}
