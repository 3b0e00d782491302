//! All that is in the world, as it is now, and who is still to be told of what has changed.

use std::collections::{BTreeMap, BTreeSet};

use super::body::Body;
use super::ground::Ground;
use super::inventory::{Inventory, Stack};
use super::items::{self, AIR};
use super::machine::{Device, Machine};
use super::place::{Direction, Position, Side};
use crate::simulator::clock::Clock;
use crate::simulator::events::Event;
use crate::simulator::shared::Order;

/// How many stacks lie on the ground at most; what is dropped beyond is gone, as in the game after a while.
const LOOSE_LIMIT: usize = 4096;

/// What a computer is to be told or made to do once the world is let go of.
#[derive(Debug)]
pub(super) enum Note {
    Event(Event),
    Power(Order),
}

/// What a peripheral's name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Device(Position),
    Computer(u64),
    /// A modem on a side of the computer itself.
    Radio(Side),
    Socket(Side),
}

/// The world.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) ground: Ground,
    pub(super) devices: BTreeMap<Position, Device>,
    pub(super) bodies: BTreeMap<u64, Body>,
    pub(super) loose: BTreeMap<Position, Vec<Stack>>,
    pub(super) clock: Clock,
    /// How many peripherals of each kind have had a name.
    pub(super) named: BTreeMap<String, u32>,
    /// Where something has changed since all who are near were told.
    pub(super) touched: BTreeSet<Position>,
    /// Turtles whose slots have changed since.
    pub(super) carried: BTreeSet<u64>,
    pub(super) notes: Vec<(u64, Note)>,
}

impl Scene {
    /// A world without anything, whose clock runs so many times faster than the game's.
    pub(super) fn new(speed: f64) -> Self {
        Scene {
            ground: Ground::default(),
            devices: BTreeMap::new(),
            bodies: BTreeMap::new(),
            loose: BTreeMap::new(),
            clock: Clock::new(speed),
            named: BTreeMap::new(),
            touched: BTreeSet::new(),
            carried: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// The computer that is the block there.
    pub(super) fn body_at(&self, place: Position) -> Option<&Body> {
        self.bodies
            .values()
            .find(|body| body.at == place && body.is_block())
    }

    /// The name of what is there.
    pub(super) fn block(&self, place: Position) -> String {
        if let Some(body) = self.body_at(place) {
            return body.block();
        }
        match self.devices.get(&place) {
            Some(device) => device.block.clone(),
            None => self.ground.get(place).to_owned(),
        }
    }

    /// Puts a block there, in place of what gave way to it.
    pub(super) fn put_block(&mut self, place: Position, block: &str, facing: Option<Direction>) {
        match Machine::of(block) {
            Some(machine) => self.put_device(place, block, facing, None, machine),
            None => self.ground.set(place, block),
        }
        self.touched.insert(place);
    }

    /// Puts a block there that does something.
    pub(super) fn put_device(
        &mut self,
        place: Position,
        block: &str,
        facing: Option<Direction>,
        network: Option<String>,
        machine: Machine,
    ) {
        let kind = machine.types(block).into_iter().next();
        let name = kind.map_or_else(String::new, |kind| {
            let number = self.named.entry(kind.clone()).or_default();
            let name = format!("{kind}_{number}");
            *number += 1;
            name
        });
        self.ground.set(place, AIR);
        let device = Device {
            block: block.to_owned(),
            facing,
            network,
            name,
            machine,
        };
        self.devices.insert(place, device);
        self.touched.insert(place);
    }

    /// Takes a block away, and lets fall what it carried.
    pub(super) fn take_block(&mut self, place: Position) {
        self.devices.remove(&place);
        self.ground.set(place, AIR);
        self.touched.insert(place);
        self.let_fall(place);
    }

    /// Lets what stands above an empty place fall, at once.
    pub(super) fn let_fall(&mut self, place: Position) {
        let mut above = place.beside(Direction::Up);
        while items::falls(self.ground.get(above)) && self.is_free(above.beside(Direction::Down)) {
            let block = self.ground.get(above).to_owned();
            let mut bottom = above;
            while bottom.y > super::ground::BOTTOM && self.is_free(bottom.beside(Direction::Down)) {
                bottom = bottom.beside(Direction::Down);
            }
            self.ground.set(above, AIR);
            self.ground.set(bottom, &block);
            self.touched.extend([above, bottom]);
            above = above.beside(Direction::Up);
        }
    }

    /// Puts a block down; one that falls does so.
    pub(super) fn settle_block(&mut self, place: Position) {
        if items::falls(self.ground.get(place)) && self.is_free(place.beside(Direction::Down)) {
            self.let_fall(place.beside(Direction::Down));
        }
    }

    /// Whether a block could be put there.
    pub(super) fn is_free(&self, place: Position) -> bool {
        self.body_at(place).is_none()
            && !self.devices.contains_key(&place)
            && items::gives_way(self.ground.get(place))
    }

    /// Items that lie there from now on.
    pub(super) fn drop_item(&mut self, place: Position, stack: Stack) {
        if self.loose.values().map(Vec::len).sum::<usize>() < LOOSE_LIMIT {
            self.loose.entry(place).or_default().push(stack);
        }
    }

    /// The slots of what is there, of a chest or a turtle.
    pub(super) fn inventory_at(&mut self, place: Position) -> Option<&mut Inventory> {
        let turtle = self.body_at(place).map(|body| body.id);
        if let Some(id) = turtle {
            return self.inventory_of(&Target::Computer(id));
        }
        self.inventory_of(&Target::Device(place))
    }

    /// The slots of a peripheral, if it has some. Whoever asks may change them.
    pub(super) fn inventory_of(&mut self, target: &Target) -> Option<&mut Inventory> {
        let tick = self.clock.tick();
        match target {
            Target::Device(place) => {
                let device = self.devices.get_mut(place)?;
                if let Machine::Furnace(furnace) = &mut device.machine {
                    furnace.advance(tick);
                }
                device.machine.inventory_mut()
            }
            Target::Computer(id) => {
                let body = self.bodies.get_mut(id)?;
                if body.inventory.size() == 0 {
                    return None;
                }
                self.carried.insert(*id);
                Some(&mut body.inventory)
            }
            Target::Radio(_) | Target::Socket(_) => None,
        }
    }

    /// Queues an event for a computer that is on.
    pub(super) fn tell(&mut self, id: u64, event: Event) {
        if self.bodies.get(&id).is_some_and(|body| body.is_on) {
            self.notes.push((id, Note::Event(event)));
        }
    }
}
