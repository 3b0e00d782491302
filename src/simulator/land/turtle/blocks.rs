//! What turtles do with blocks: dig them, place them, look at them.

use super::super::data::Datum;
use super::super::ground::{BOTTOM, TOP};
use super::super::inventory::Stack;
use super::super::items;
use super::super::machine::{Device, Machine};
use super::super::place::{Direction, Position};
use super::acting::{Act, Acted, Outcome};

impl Act<'_> {
    pub(super) fn dig(&mut self, place: Position) -> Acted {
        if !self.body.has_tool() {
            return Err("No tool to dig with");
        }
        let block = self.scene.block(place);
        if block == items::AIR || items::is_liquid(&block) {
            return Err("Nothing to dig here");
        }
        if items::is_unbreakable(&block) {
            return Err("Cannot break unbreakable block");
        }
        if self.scene.body_at(place).is_some() {
            // The game would break it, and its programs with it. Here none goes.
            return Err("Cannot break protected block");
        }
        let mut crop = None;
        let contents: Vec<Stack> = match self.scene.devices.get(&place) {
            Some(Device {
                machine: Machine::Crop(age),
                ..
            }) => {
                crop = Some(items::harvested(&block, *age));
                Vec::new()
            }
            Some(device) => device
                .machine
                .inventory()
                .map(|inventory| inventory.stacks().map(|(_, stack)| stack.clone()).collect())
                .unwrap_or_default(),
            None => Vec::new(),
        };
        self.scene.take_block(place);
        match crop {
            Some(harvest) => {
                for (item, count) in harvest {
                    self.keep(Stack::new(item, count));
                }
            }
            None => {
                if let Some((item, count)) = items::dropped(&block) {
                    self.keep(Stack::new(&item, count));
                }
            }
        }
        for stack in contents {
            self.keep(stack);
        }
        Ok(Outcome::Done)
    }

    pub(super) fn place(&mut self, place: Position, direction: Direction) -> Acted {
        let Some(stack) = self.selected().cloned() else {
            return Err("No items to place");
        };
        if let Some(outcome) = self.pour(place, &stack.name) {
            return outcome;
        }
        let block = match items::planted(&stack.name) {
            Some(plant) => {
                let below = self.scene.block(place.beside(Direction::Down));
                (below == "minecraft:farmland").then_some(plant)
            }
            None => items::placed(&stack.name),
        };
        let Some(block) = block else {
            return Err("Cannot place item here");
        };
        if !self.scene.is_free(place) || !(BOTTOM..TOP).contains(&place.y) {
            return Err("Cannot place block here");
        }
        let facing = match direction {
            Direction::Up | Direction::Down => self.body.facing,
            sideways => sideways,
        };
        self.scene.put_block(place, block, Some(facing.opposite()));
        self.scene.settle_block(place);
        let selected = self.body.selected;
        self.change(|body| drop(body.inventory.take(selected, 1)));
        Ok(Outcome::Done)
    }

    /// What a bucket does; none: it is no bucket.
    fn pour(&mut self, place: Position, item: &str) -> Option<Acted> {
        let block = self.scene.block(place);
        let (block, bucket) = match item {
            "minecraft:bucket" if block == "minecraft:water" => {
                (items::AIR, "minecraft:water_bucket")
            }
            "minecraft:bucket" if block == "minecraft:lava" => {
                (items::AIR, "minecraft:lava_bucket")
            }
            "minecraft:water_bucket" => ("minecraft:water", "minecraft:bucket"),
            "minecraft:lava_bucket" => ("minecraft:lava", "minecraft:bucket"),
            _ => return None,
        };
        if !self.scene.is_free(place) {
            return Some(Err("Cannot place item here"));
        }
        self.scene.put_block(place, block, None);
        let selected = self.body.selected;
        self.change(|body| drop(body.inventory.take(selected, 1)));
        self.keep(Stack::new(bucket, 1));
        Some(Ok(Outcome::Done))
    }

    pub(super) fn compare(&self, place: Position) -> Outcome {
        let block = self.scene.block(place);
        let same = match self.selected() {
            None => block == items::AIR,
            Some(stack) => stack.name == block,
        };
        Outcome::Answer(vec![same.into()])
    }

    pub(super) fn inspect(&self, place: Position) -> Outcome {
        let block = self.scene.block(place);
        if block == items::AIR {
            return Outcome::Answer(vec![false.into(), "No block to inspect".into()]);
        }
        let mut state = Vec::new();
        let facing = match (self.scene.body_at(place), self.scene.devices.get(&place)) {
            (Some(body), _) => Some(body.facing),
            (None, Some(device)) => {
                state.extend(state_of(device));
                device.facing
            }
            (None, None) => None,
        };
        if let Some(facing) = facing {
            state.push(("facing", facing.name().into()));
        }
        if items::is_liquid(&block) {
            state.push(("level", 0.0.into()));
        }
        let tags = items::tags(&block);
        let tags = tags.into_iter().map(|tag| (tag.into(), true.into()));
        let told = Datum::table(vec![
            ("name", block.into()),
            ("state", Datum::table(state)),
            ("tags", Datum::Table(tags.collect())),
        ]);
        Outcome::Answer(vec![true.into(), told])
    }
}

/// What else is told of a block.
fn state_of(device: &Device) -> Option<(&'static str, Datum)> {
    match &device.machine {
        Machine::Lever(on) => Some(("powered", (*on).into())),
        Machine::Crop(age) => Some(("age", u32::from(*age).into())),
        Machine::Dust(power) => Some(("power", u32::from(*power).into())),
        _ => None,
    }
}
