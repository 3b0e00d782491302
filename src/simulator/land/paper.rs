//! What a world file can say, as it stands there.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

pub(super) type Place = [i32; 3];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paper {
    #[serde(default)]
    pub(super) layer: Vec<Spanned<LayerEntry>>,
    #[serde(default)]
    pub(super) fill: Vec<Spanned<FillEntry>>,
    #[serde(default)]
    pub(super) block: Vec<Spanned<BlockEntry>>,
    #[serde(default)]
    pub(super) computer: Vec<Spanned<ComputerEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayerEntry {
    pub(super) block: String,
    pub(super) from: i32,
    pub(super) to: i32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FillEntry {
    pub(super) block: String,
    pub(super) from: Place,
    pub(super) to: Place,
    /// How far plants of a field have grown.
    pub(super) age: Option<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockEntry {
    pub(super) block: String,
    pub(super) at: Place,
    pub(super) facing: Option<String>,
    pub(super) network: Option<String>,
    #[serde(default)]
    pub(super) items: Vec<ItemEntry>,
    /// How many slots it has.
    pub(super) slots: Option<usize>,
    /// A tank's fluid, how much of it and how much at most.
    pub(super) fluid: Option<String>,
    pub(super) amount: Option<u32>,
    pub(super) capacity: Option<u32>,
    /// How much energy it holds.
    pub(super) energy: Option<u32>,
    /// A monitor's width and height in blocks.
    pub(super) size: Option<[u32; 2]>,
    /// How far a plant of a field has grown.
    pub(super) age: Option<u8>,
    /// Whether a lever is on.
    pub(super) on: Option<bool>,
    /// A drive's floppy.
    pub(super) disk: Option<DiskEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemEntry {
    pub(super) item: String,
    #[serde(default = "one")]
    pub(super) count: u32,
    pub(super) slot: Option<usize>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiskEntry {
    #[serde(default)]
    pub(super) id: u32,
    pub(super) label: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComputerEntry {
    pub(super) id: u64,
    pub(super) kind: Option<String>,
    pub(super) label: Option<String>,
    pub(super) version: Option<String>,
    pub(super) advanced: Option<bool>,
    pub(super) at: Place,
    pub(super) facing: Option<String>,
    /// A number, or `"unlimited"`.
    pub(super) fuel: Option<FuelEntry>,
    #[serde(default)]
    pub(super) items: Vec<ItemEntry>,
    /// What a turtle has on each side.
    pub(super) left: Option<String>,
    pub(super) right: Option<String>,
    /// `wireless` or `ender`.
    pub(super) modem: Option<String>,
    pub(super) network: Option<String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    pub(super) program: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum FuelEntry {
    Level(u32),
    Word(String),
}
