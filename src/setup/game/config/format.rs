//! The formats of the game's configuration files.

use serde::{Deserialize, Serialize};

use crate::setup::{refusal::Refusal, splice::line_end};

use super::{ccemux, forge, toml, view::View};

/// How a configuration file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// From Minecraft 1.13 on. `knows_ports`: whether this version of the mod reads the port of a rule.
    Toml { knows_ports: bool },
    /// `ComputerCraft.cfg`, up to Minecraft 1.12.2.
    Forge,
    /// CCEmuX's `ccemux.json`.
    Ccemux,
}

impl Format {
    /// What a file says. The text has no byte-order mark.
    ///
    /// # Errors
    /// It is not in this format, or says something else than the game would write.
    pub fn read(self, text: &str) -> Result<View, Refusal> {
        match self {
            Self::Toml { knows_ports } => toml::read(text, knows_ports),
            Self::Forge => forge::read(text),
            Self::Ccemux => ccemux::read(text),
        }
    }

    /// A text as it stands in such a file.
    pub fn quoted(self, text: &str) -> String {
        match self {
            Self::Toml { .. } => toml::quoted(text),
            Self::Forge => text.to_owned(),
            Self::Ccemux => ccemux::quoted(text),
        }
    }

    /// What stands between two entries of a list on one line.
    pub fn comma(self) -> &'static str {
        match self {
            Self::Toml { .. } | Self::Ccemux => ",",
            Self::Forge => "",
        }
    }

    /// Entries as they stand in a list, after one another. `before`: the text up to the place of the first.
    pub fn entries(self, before: &str, hosts: &[String]) -> String {
        let hosts: Vec<_> = hosts.iter().map(|host| self.quoted(host)).collect();
        hosts.join(&self.between(before))
    }

    /// What stands between an entry and the next. Where an entry begins its line, so does the next.
    pub fn between(self, before: &str) -> String {
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        if line.trim().is_empty() && before.contains('\n') {
            format!("{}{}{line}", self.comma(), line_end(before))
        } else {
            format!("{} ", self.comma())
        }
    }
}
