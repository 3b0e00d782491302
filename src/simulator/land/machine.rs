//! Blocks that hold something or do something: chests, furnaces, tanks, monitors, drives, and what carries redstone.

use super::inventory::{Inventory, Stack};
use super::items;
use super::place::Direction;
use crate::simulator::terminal::Terminal;

/// How long a furnace takes for one item, in ticks.
const SMELTING_TICKS: u64 = 200;

/// How long a furnace burns for what takes a turtle one block on, in ticks.
const FIRE_TICKS: u64 = 20;

/// A block with a state of its own.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// The block's name, such as `minecraft:chest`.
    pub(super) block: String,
    pub(super) facing: Option<Direction>,
    /// The wired network that it is on, if it is on one.
    pub(super) network: Option<String>,
    /// Its name there, such as `minecraft:chest_0`.
    pub(super) name: String,
    pub(super) machine: Machine,
}

/// What a device is.
#[derive(Debug, Clone)]
pub(super) enum Machine {
    Chest(Inventory),
    Furnace(Furnace),
    Tank(Tank),
    Energy {
        stored: u32,
        capacity: u32,
    },
    Monitor(Monitor),
    Drive(Option<Floppy>),
    Speaker,
    Lever(bool),
    /// What gives that much redstone, always.
    Source(u8),
    /// Redstone dust, and how much is on it.
    Dust(u8),
    Lamp,
    /// A plant on a field, and how far it has grown. It doesn't grow by itself.
    Crop(u8),
}

impl Machine {
    /// What a block of this name is when it is placed; none: a block and nothing more.
    pub(super) fn of(block: &str) -> Option<Machine> {
        let slots = |size| Some(Machine::Chest(Inventory::new(size)));
        match block.strip_prefix("minecraft:").unwrap_or(block) {
            "chest" | "trapped_chest" | "barrel" | "ender_chest" => slots(27),
            name if name.ends_with("shulker_box") => slots(27),
            "dispenser" | "dropper" => slots(9),
            "hopper" => slots(5),
            "furnace" | "blast_furnace" | "smoker" => Some(Machine::Furnace(Furnace::default())),
            "lever" => Some(Machine::Lever(false)),
            _ if items::ripe_at(block).is_some() => Some(Machine::Crop(0)),
            "redstone_block" | "redstone_torch" => Some(Machine::Source(15)),
            "redstone_wire" => Some(Machine::Dust(0)),
            "redstone_lamp" => Some(Machine::Lamp),
            "computercraft:monitor_normal" => Some(Machine::Monitor(Monitor::new(false, (1, 1)))),
            "computercraft:monitor_advanced" => Some(Machine::Monitor(Monitor::new(true, (1, 1)))),
            "computercraft:disk_drive" => Some(Machine::Drive(None)),
            "computercraft:speaker" => Some(Machine::Speaker),
            _ => None,
        }
    }

    /// The kinds of peripheral it is, the first of which names it; none: it is no peripheral.
    pub(super) fn types(&self, block: &str) -> Vec<String> {
        let of = |kind: &str| vec![block.to_owned(), kind.to_owned()];
        match self {
            Machine::Chest(_) | Machine::Furnace(_) => of("inventory"),
            Machine::Tank(_) => of("fluid_storage"),
            Machine::Energy { .. } => of("energy_storage"),
            Machine::Monitor(_) => vec!["monitor".to_owned()],
            Machine::Drive(_) => vec!["drive".to_owned()],
            Machine::Speaker => vec!["speaker".to_owned()],
            Machine::Lever(_)
            | Machine::Source(_)
            | Machine::Dust(_)
            | Machine::Lamp
            | Machine::Crop(_) => Vec::new(),
        }
    }

    /// Its slots, if it has some.
    pub(super) fn inventory(&self) -> Option<&Inventory> {
        match self {
            Machine::Chest(inventory) => Some(inventory),
            Machine::Furnace(furnace) => Some(&furnace.items),
            _ => None,
        }
    }

    pub(super) fn inventory_mut(&mut self) -> Option<&mut Inventory> {
        match self {
            Machine::Chest(inventory) => Some(inventory),
            Machine::Furnace(furnace) => Some(&mut furnace.items),
            _ => None,
        }
    }
}

/// A furnace. What happened in it is worked out when somebody looks.
#[derive(Debug, Clone)]
pub(super) struct Furnace {
    /// What is to be smelted, fuel, and what has come of it.
    pub(super) items: Inventory,
    /// The tick up to which all is worked out.
    until: u64,
    /// For how many ticks more it burns.
    fire: u64,
    /// For how many ticks it has smelted the present item.
    progress: u64,
}

impl Default for Furnace {
    fn default() -> Self {
        Furnace {
            items: Inventory::new(3),
            until: 0,
            fire: 0,
            progress: 0,
        }
    }
}

impl Furnace {
    /// What would come of the next item, if it has room.
    fn next(&self) -> Option<&'static str> {
        let result = items::smelted(&self.items.get(0)?.name)?;
        (self.items.room(2, result) > 0).then_some(result)
    }

    /// Works out what has happened up to that tick.
    pub(super) fn advance(&mut self, tick: u64) {
        let mut left = tick.saturating_sub(self.until);
        self.until = self.until.max(tick);
        while left > 0 {
            let Some(result) = self.next() else {
                self.progress = 0;
                self.fire = self.fire.saturating_sub(left);
                return;
            };
            if self.fire == 0 {
                let heat = self
                    .items
                    .get(1)
                    .and_then(|stack| items::fuel(&stack.name))
                    .unwrap_or(0);
                if heat == 0 {
                    self.progress = 0;
                    return;
                }
                self.items.take(1, 1);
                self.fire = u64::from(heat) * FIRE_TICKS;
            }
            let step = left.min(self.fire).min(SMELTING_TICKS - self.progress);
            self.fire -= step;
            self.progress += step;
            left -= step;
            if self.progress == SMELTING_TICKS {
                self.progress = 0;
                self.items.take(0, 1);
                self.items.put_into(2, Stack::new(result, 1));
            }
        }
    }
}

/// A tank of one fluid, in thousandths of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tank {
    pub(super) fluid: Option<String>,
    pub(super) amount: u32,
    pub(super) capacity: u32,
}

/// What is in a disk drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Floppy {
    pub(super) id: u32,
    pub(super) label: Option<String>,
}

/// A monitor, of one block or several.
#[derive(Debug, Clone)]
pub(super) struct Monitor {
    pub(super) terminal: Terminal,
    pub(super) is_advanced: bool,
    /// How many blocks it is wide and high.
    blocks: (u32, u32),
    pub(super) scale: f64,
}

impl Monitor {
    pub(super) fn new(is_advanced: bool, blocks: (u32, u32)) -> Self {
        let (width, height) = Monitor::cells(blocks, 1.0);
        Monitor {
            terminal: Terminal::new(width, height),
            is_advanced,
            blocks,
            scale: 1.0,
        }
    }

    /// How many characters there is room for: a block has 64 pixels, of which the border takes 10 each side of all.
    fn cells((width, height): (u32, u32), scale: f64) -> (usize, usize) {
        let fit = |blocks: u32, pixels: f64| {
            ((f64::from(blocks) * 64.0 - 20.0) / (scale * pixels))
                .round()
                .max(1.0) as usize
        };
        (fit(width, 6.0), fit(height, 9.0))
    }

    /// Makes its characters larger or smaller; it is empty then.
    pub(super) fn set_scale(&mut self, scale: f64) {
        self.scale = scale;
        let (width, height) = Monitor::cells(self.blocks, scale);
        self.terminal = Terminal::new(width, height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_furnace_smelts_eight_items_with_one_coal_and_ten_seconds_for_each() {
        let mut furnace = Furnace::default();
        furnace
            .items
            .put_into(0, Stack::new("minecraft:raw_iron", 10));
        furnace.items.put_into(1, Stack::new("minecraft:coal", 1));
        furnace.advance(199);
        assert_eq!(furnace.items.get(2), None);
        furnace.advance(200);
        assert_eq!(
            furnace.items.get(2),
            Some(&Stack::new("minecraft:iron_ingot", 1))
        );
        furnace.advance(100_000);
        assert_eq!(
            furnace.items.get(2),
            Some(&Stack::new("minecraft:iron_ingot", 8))
        );
        assert_eq!(
            furnace.items.get(0),
            Some(&Stack::new("minecraft:raw_iron", 2))
        );
        assert_eq!(furnace.items.get(1), None);
    }

    #[test]
    fn a_monitor_has_room_for_what_the_game_gives_it() {
        assert_eq!(Monitor::new(true, (1, 1)).terminal.size(), (7, 5));
        let mut wall = Monitor::new(true, (8, 6));
        wall.set_scale(0.5);
        assert_eq!(wall.terminal.size(), (164, 81));
    }
}
