//! The world around simulated computers: blocks, things that computers are attached to, turtles that move among them.
//!
//! Everything stands under one lock, and what computers are told of its changes is told after that is free again: an
//! action of a turtle is one change, so that two turtles that meet find the world either before or after the other's.

mod attachments;
mod body;
mod data;
mod file;
mod ground;
mod inventory;
mod items;
mod machine;
mod methods;
mod modems;
mod noticing;
mod paper;
mod place;
mod recipes;
mod redstone;
mod scene;
mod screens;
mod slice;
mod storage;
mod turtle;

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, Weak};

use self::body::Body;
use self::machine::{Floppy, Machine};
use self::noticing::{look_around, settle};
use self::place::Direction;
use self::scene::{Note, Scene};
use super::events::Event;
use super::options::{ComputerOptions, Kind};
use super::shared::{Shared, lock};
use super::terminal::Terminal;

pub(super) use self::data::{Datum, carried};
pub use self::file::{Resident, WrongLand};
pub use self::place::Position;
pub(super) use self::place::Side;
pub(super) use self::turtle::Done;

/// Where a computer stands whose world was not described: on nothing, in the midst of it.
const MIDST: Position = Position::new(0, 64, 0);

/// What is under a name that a computer asks for.
pub(super) struct Called {
    /// What came of it: results, or the game's words.
    pub(super) result: Result<Vec<Datum>, String>,
}

/// A world of blocks, and of the things in it that computers use.
pub struct Land {
    scene: Mutex<Scene>,
    /// The computers that are told of it, by number.
    computers: Mutex<BTreeMap<u64, Weak<Shared>>>,
}

impl std::fmt::Debug for Land {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Land").finish_non_exhaustive()
    }
}

impl Land {
    fn of(scene: Scene) -> Arc<Self> {
        Arc::new(Land {
            scene: Mutex::new(scene),
            computers: Mutex::default(),
        })
    }

    /// Reads a world file: the world, and the computers that are to be started in it.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn read(text: &str) -> Result<(Arc<Self>, Vec<Resident>), WrongLand> {
        let (mut scene, residents) = file::read(text)?;
        look_around(&mut scene);
        redstone::update(&mut scene);
        scene.notes.clear();
        Ok((Land::of(scene), residents))
    }

    /// An empty world for one computer, with a drive on its left if it is to have a floppy.
    pub(super) fn alone(options: &ComputerOptions) -> Arc<Self> {
        let mut scene = Scene::new(options.clock_speed);
        let mut body = Body::new(options.id, options.kind, options.is_advanced(), MIDST);
        if options.kind == Kind::Turtle {
            body.fuel = options.fuel;
        }
        scene.bodies.insert(options.id, body);
        if options.floppy {
            let machine = Machine::Drive(Some(Floppy { id: 0, label: None }));
            let place = MIDST.beside(Direction::West);
            scene.put_device(place, "computercraft:disk_drive", None, None, machine);
        }
        look_around(&mut scene);
        Land::of(scene)
    }

    /// Makes a computer one of those that are told of the world. One that has no place yet stands in the midst.
    pub(super) fn join(&self, options: &ComputerOptions, shared: &Arc<Shared>) {
        lock(&self.computers).insert(options.id, Arc::downgrade(shared));
        self.change(|scene| {
            let body = scene.bodies.entry(options.id).or_insert_with(|| {
                Body::new(options.id, options.kind, options.is_advanced(), MIDST)
            });
            body.sees_inventories = options.version.at_least(1, 94, 0);
            look_around(scene);
        });
    }

    /// Changes the world as one step, then tells whom it concerns.
    fn change<R>(&self, change: impl FnOnce(&mut Scene) -> R) -> R {
        let (result, notes) = self.change_quietly(change);
        self.tell(notes);
        result
    }

    /// Changes the world as one step; what is still to be told.
    fn change_quietly<R>(&self, change: impl FnOnce(&mut Scene) -> R) -> (R, Vec<(u64, Note)>) {
        let mut scene = lock(&self.scene);
        let result = change(&mut scene);
        settle(&mut scene);
        let notes = mem::take(&mut scene.notes);
        (result, notes)
    }

    /// Tells computers what concerns them. The world has been let go of by then.
    fn tell(&self, notes: Vec<(u64, Note)>) {
        for (id, note) in notes {
            let shared = lock(&self.computers).get(&id).and_then(Weak::upgrade);
            match (shared, note) {
                (Some(shared), Note::Event(event)) => {
                    let events = Arc::clone(&shared.status().events);
                    events.push(event);
                }
                (Some(shared), Note::Power(order)) => shared.order(order),
                (None, _) => {}
            }
        }
    }

    fn look<R>(&self, look: impl FnOnce(&Scene) -> R) -> R {
        look(&lock(&self.scene))
    }

    /// What a body tells; none if there is no such computer.
    fn ask<R>(&self, id: u64, ask: impl FnOnce(&Scene, &Body) -> R) -> Option<R> {
        self.look(|scene| scene.bodies.get(&id).map(|body| ask(scene, body)))
    }

    /// A computer was switched on or off.
    pub(super) fn set_on(&self, id: u64, is_on: bool) {
        self.change(|scene| {
            if let Some(body) = scene.bodies.get_mut(&id) {
                body.reset(is_on);
                let at = body.at;
                scene.touched.insert(at);
            }
        });
    }

    /// Has what goes on by itself go so many times faster than in the game, as computers do by
    /// [`ComputerOptions::clock_speed`].
    pub fn set_clock_speed(&self, speed: f64) {
        self.change(|scene| scene.clock.set_speed(speed));
    }

    /// Stops and restarts what goes on by itself.
    pub(super) fn set_paused(&self, paused: bool) {
        self.change(|scene| {
            if paused {
                scene.clock.pause()
            } else {
                scene.clock.resume()
            }
        });
    }

    /// Lets a turtle do something; what came of it, and the events that its programs get after they know that.
    pub(super) fn act(&self, id: u64, action: &str, args: &[Datum]) -> (Done, Vec<Event>) {
        let (done, notes) = self.change_quietly(|scene| {
            scene.carried.insert(id);
            turtle::act(scene, id, action, args)
        });
        let mut own = Vec::new();
        let mut others = Vec::new();
        for (to, note) in notes {
            match note {
                Note::Event(event) if to == id => own.push(event),
                note => others.push((to, note)),
            }
        }
        self.tell(others);
        (done, own)
    }

    /// What a turtle's program asks without waiting.
    pub(super) fn read_turtle(
        &self,
        id: u64,
        question: &str,
        slot: Option<usize>,
    ) -> Option<Datum> {
        self.ask(id, |_, body| turtle::read(body, question, slot))?
    }

    /// The names of the peripherals of a computer.
    pub(super) fn names(&self, id: u64) -> Vec<String> {
        self.ask(id, attachments::names).unwrap_or_default()
    }

    /// The kinds of the peripheral of that name, and its methods; none: there is no such.
    pub(super) fn peripheral(
        &self,
        id: u64,
        name: &str,
    ) -> Option<(Vec<String>, Vec<&'static str>)> {
        self.ask(id, |scene, body| {
            let target = attachments::find(scene, body, name)?;
            let types = attachments::types(scene, body, &target);
            Some((types, methods::names(scene, &target)))
        })?
    }

    /// Whether a method of it takes a tick of the game.
    pub(super) fn takes_a_tick(&self, id: u64, name: &str, method: &str) -> bool {
        self.ask(id, |scene, body| {
            let target = attachments::find(scene, body, name);
            target.is_some_and(|target| methods::takes_a_tick(scene, &target, method))
        })
        .unwrap_or(false)
    }

    /// Calls a peripheral's method.
    pub(super) fn call(&self, id: u64, name: &str, method: &str, args: &[Datum]) -> Called {
        if method == "getLabel"
            && let Some(other) = self.computer_called(id, name)
        {
            let other = lock(&self.computers).get(&other).and_then(Weak::upgrade);
            let label = other.and_then(|other| lock(&other.label).clone());
            return Called {
                result: Ok(vec![label.map_or(Datum::Nil, Datum::Text)]),
            };
        }
        let result = self.change(|scene| methods::call(scene, id, name, method, args));
        Called { result }
    }

    /// The number of the computer that is the peripheral of that name.
    fn computer_called(&self, id: u64, name: &str) -> Option<u64> {
        self.ask(id, |scene, body| {
            match attachments::find(scene, body, name) {
                Some(scene::Target::Computer(other)) => Some(other),
                _ => None,
            }
        })?
    }

    /// Sends a message, the event's only argument, from the modem on that side.
    pub(super) fn transmit(
        &self,
        id: u64,
        side: Side,
        channel: i64,
        reply: i64,
        message: &Event,
    ) -> Result<(), String> {
        let channels = (modems::channel(channel)?, modems::channel(reply)?);
        self.change(|scene| modems::transmit(scene, id, side, channels, message));
        Ok(())
    }

    /// The name of the drive whose floppy a computer has at `/disk`.
    pub(super) fn drive(&self, id: u64) -> Option<String> {
        self.ask(id, |scene, body| {
            let place = methods::mounted(scene, id)?;
            attachments::names(scene, body).into_iter().find(|name| {
                attachments::find(scene, body, name) == Some(scene::Target::Device(place))
            })
        })?
    }

    /// What comes in at a side: redstone, then bundled.
    pub(super) fn redstone_in(&self, id: u64, side: Side) -> (u8, u16) {
        self.ask(id, |_, body| {
            (
                body.inputs[side as usize],
                body.bundled_inputs[side as usize],
            )
        })
        .unwrap_or_default()
    }

    /// What goes out at a side: redstone, then bundled.
    pub(super) fn redstone_out(&self, id: u64, side: Side) -> (u8, u16) {
        self.ask(id, |_, body| {
            (
                body.outputs[side as usize],
                body.bundled_outputs[side as usize],
            )
        })
        .unwrap_or_default()
    }

    /// Puts out redstone at a side, or what goes out on bundled cables.
    pub(super) fn put_redstone(
        &self,
        id: u64,
        side: Side,
        power: Option<u8>,
        bundled: Option<u16>,
    ) {
        self.change(|scene| {
            let Some(body) = scene.bodies.get_mut(&id) else {
                return;
            };
            let n = side as usize;
            body.outputs[n] = power.unwrap_or(body.outputs[n]);
            body.bundled_outputs[n] = bundled.unwrap_or(body.bundled_outputs[n]);
            let at = body.at;
            scene.touched.insert(at);
        });
    }

    /// The name of the block there, such as `minecraft:stone`, or `minecraft:air`.
    pub fn block(&self, place: Position) -> String {
        self.look(|scene| scene.block(place))
    }

    /// What is in the slots of a chest there, or of what else has slots: slots from 1, names and counts.
    pub fn items(&self, place: Position) -> Vec<(usize, String, u32)> {
        self.change(|scene| scene.inventory_at(place).map(|inventory| listed(inventory)))
            .unwrap_or_default()
    }

    /// What a turtle carries: slots from 1, names and counts.
    pub fn carried(&self, id: u64) -> Vec<(usize, String, u32)> {
        self.ask(id, |_, body| listed(&body.inventory))
            .unwrap_or_default()
    }

    /// How many of an item there are in all chests, furnaces and turtles.
    pub fn count(&self, item: &str) -> u32 {
        self.look(|scene| {
            let chests = scene
                .devices
                .values()
                .filter_map(|device| device.machine.inventory());
            let turtles = scene.bodies.values().map(|body| &body.inventory);
            chests
                .chain(turtles)
                .map(|inventory| inventory.count(item))
                .sum()
        })
    }

    /// Where a computer is, and which way it looks: `north`, `east`, `south` or `west`.
    pub fn computer(&self, id: u64) -> Option<(Position, &'static str)> {
        self.ask(id, |_, body| (body.at, body.facing.name()))
    }

    /// How much fuel a turtle has; none: it needs none, or there is no such.
    pub fn fuel(&self, id: u64) -> Option<u32> {
        self.ask(id, |_, body| body.fuel)?
    }

    /// What the monitor there shows.
    pub fn monitor(&self, place: Position) -> Option<Terminal> {
        self.look(|scene| match &scene.devices.get(&place)?.machine {
            Machine::Monitor(monitor) => Some(monitor.terminal.clone()),
            _ => None,
        })
    }

    /// Flips the lever there, as a player does; what it is then, or none if there is no lever.
    pub fn flip(&self, place: Position) -> Option<bool> {
        self.change(|scene| {
            let device = scene.devices.get_mut(&place)?;
            let Machine::Lever(on) = &mut device.machine else {
                return None;
            };
            *on = !*on;
            let now = *on;
            scene.touched.insert(place);
            Some(now)
        })
    }

    /// How far the plant there has grown, such as 7; none: it is no plant of a field.
    pub fn age(&self, place: Position) -> Option<u8> {
        self.look(|scene| match scene.devices.get(&place)?.machine {
            Machine::Crop(age) => Some(age),
            _ => None,
        })
    }

    /// Whether a lamp there is lit.
    pub fn is_lit(&self, place: Position) -> bool {
        self.look(|scene| {
            let device = scene.devices.get(&place).map(|device| &device.machine);
            matches!(device, Some(Machine::Lamp)) && redstone::is_lit(scene, place)
        })
    }

    /// A picture of one height around a place, in lines of characters, and what these mean.
    pub fn slice(&self, middle: Position, width: usize, height: usize) -> Vec<String> {
        self.look(|scene| slice::draw(scene, middle, width, height))
    }
}

fn listed(inventory: &inventory::Inventory) -> Vec<(usize, String, u32)> {
    inventory
        .stacks()
        .map(|(slot, stack)| (slot + 1, stack.name.clone(), stack.count))
        .collect()
}
