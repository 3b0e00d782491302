//! What is checked: one entry for each check, with its name, its group, and the function that looks.

use serde::Serialize;

use super::{finding::Finding, patient::Patient};

/// One thing that is looked at.
#[derive(Debug)]
pub struct Check {
    /// What it is called on the command line and in JSON. It stays the same from version to version.
    pub id: &'static str,
    /// Where it stands.
    pub group: Group,
    /// What it looks at, for the list.
    pub about: &'static str,
    /// Looks. Nothing found: there is nothing of the kind.
    pub look: fn(&Patient) -> Vec<Finding>,
}

/// What checks are about, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// This program and its own files.
    Program,
    /// The link port.
    Link,
    /// MCP clients on this machine.
    Clients,
    /// The game on this machine.
    Game,
    /// The computers that are linked.
    Computers,
}

impl Group {
    /// As it is shown, and named on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Link => "link",
            Self::Clients => "clients",
            Self::Game => "game",
            Self::Computers => "computers",
        }
    }
}
