//! Why a tool must not be called, and how that is told.

/// Why a tool must not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A person did not choose it.
    ByPolicy(&'static str),
    /// A person has paused what could change something, or may have; see [`Hold`](super::hold::Hold).
    ByPause(String),
    /// Something is wrong with it.
    Withheld(String),
}

impl Refusal {
    /// The reason alone.
    pub fn reason(&self) -> &str {
        match self {
            Self::ByPolicy(reason) => reason,
            Self::ByPause(reason) | Self::Withheld(reason) => reason,
        }
    }

    /// That the tool of this name is refused, and why; a sentence without its full stop.
    pub fn of(&self, name: &str) -> String {
        match self {
            Self::ByPolicy(reason) => format!("{name} is refused: {reason}"),
            Self::ByPause(reason) => format!("{name} was not called: {reason}"),
            Self::Withheld(reason) => format!("The tool {name} is withheld: {reason}"),
        }
    }
}
