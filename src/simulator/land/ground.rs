//! The blocks of the world that are nothing more than blocks.

use std::collections::HashMap;

use super::items::AIR;
use super::place::Position;

/// The lowest place of the world, and the lowest above it.
pub(super) const BOTTOM: i32 = -64;
pub(super) const TOP: i32 = 320;

/// What fills all places between two heights.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) block: String,
    pub(super) from: i32,
    pub(super) to: i32,
}

/// Layers without end sideways, and the blocks that are others than these say.
#[derive(Debug, Clone, Default)]
pub(super) struct Ground {
    pub(super) layers: Vec<Layer>,
    blocks: HashMap<Position, String>,
}

impl Ground {
    /// The name of the block there.
    pub(super) fn get(&self, place: Position) -> &str {
        if let Some(block) = self.blocks.get(&place) {
            return block;
        }
        let here = |layer: &&Layer| (layer.from..=layer.to).contains(&place.y);
        let layer = self.layers.iter().rev().find(here);
        layer.map_or(AIR, |layer| &layer.block)
    }

    pub(super) fn set(&mut self, place: Position, block: &str) {
        self.blocks.insert(place, block.to_owned());
    }
}
