//! Which computer: a world and a number in it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::wire::names::ComputerId;

/// Which computer of all that this bridge may reach.
///
/// Written as its number alone while its world is the unnamed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputerKey {
    /// The game that it is in.
    pub world: World,
    /// Its number there.
    pub number: ComputerId,
}

/// A game: the computers of two can have the same numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum World {
    /// The one whose computers link to this machine's bridges.
    #[default]
    Unnamed,
}

impl ComputerKey {
    /// A key as programs write it: a whole number (`12`, `12.0`) of the unnamed world.
    pub fn from_json(value: &Value) -> Option<Self> {
        ComputerId::from_json(value).map(Self::from)
    }
}

impl From<ComputerId> for ComputerKey {
    /// The computer of this number in the unnamed world.
    fn from(number: ComputerId) -> Self {
        Self {
            world: World::default(),
            number,
        }
    }
}

impl fmt::Display for ComputerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.world {
            World::Unnamed => self.number.fmt(f),
        }
    }
}

impl Serialize for ComputerKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.world {
            World::Unnamed => self.number.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ComputerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ComputerId::deserialize(deserializer).map(Self::from)
    }
}
