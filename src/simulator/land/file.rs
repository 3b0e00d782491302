//! World files: TOML that says what there is. README.md describes them.

use std::collections::BTreeSet;
use std::ops::Range;

use thiserror::Error;

use super::body::{Body, Radio, Socket};
use super::ground::{BOTTOM, Layer, TOP};
use super::inventory::{Inventory, Stack};
use super::items::{max_count, whole_name};
use super::machine::{Floppy, Machine, Monitor, Tank};
use super::paper::{
    BlockEntry, ComputerEntry, FillEntry, FuelEntry, ItemEntry, LayerEntry, Paper, Place,
};
use super::place::{Direction, Position, Side};
use super::scene::Scene;
use crate::simulator::options::{ComputerOptions, Kind, Version};

/// How many blocks all boxes of a file may have together.
const BLOCK_LIMIT: i64 = 200_000;

/// How many computers a file may have.
const COMPUTER_LIMIT: usize = 1000;

/// A computer that is to be started in the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Resident {
    /// What it is.
    pub options: ComputerOptions,
    /// What it runs; none: the agent.
    pub program: Option<String>,
}

/// What is wrong with a world file, and in which line.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct WrongLand {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

fn position([x, y, z]: Place) -> Position {
    Position::new(x, y, z)
}

/// Reads a world file.
///
/// # Errors
/// What is wrong, and in which line.
pub(super) fn read(text: &str) -> Result<(Scene, Vec<Resident>), WrongLand> {
    let wrong = |span: Option<Range<usize>>, problem: &str| {
        let before = text
            .get(..span.map_or(0, |span| span.start))
            .unwrap_or(text);
        WrongLand {
            line: before.matches('\n').count() + 1,
            problem: problem.lines().collect::<Vec<_>>().join(", "),
        }
    };
    let paper: Paper =
        toml::from_str(text).map_err(|error| wrong(error.span(), error.message()))?;
    let mut scene = Scene::new(1.0);
    let mut residents = Vec::new();
    let mut room = BLOCK_LIMIT;
    for entry in paper.layer {
        let span = entry.span();
        layer(&mut scene, entry.into_inner()).map_err(|problem| wrong(Some(span), &problem))?;
    }
    for entry in paper.fill {
        let span = entry.span();
        fill(&mut scene, entry.into_inner(), &mut room)
            .map_err(|problem| wrong(Some(span), &problem))?;
    }
    for entry in paper.block {
        let span = entry.span();
        block(&mut scene, entry.into_inner()).map_err(|problem| wrong(Some(span), &problem))?;
    }
    let mut taken = BTreeSet::new();
    for entry in paper.computer {
        let span = entry.span();
        let id = entry.get_ref().id;
        let resident = if taken.len() >= COMPUTER_LIMIT {
            Err(format!("There are more than {COMPUTER_LIMIT} computers."))
        } else if taken.insert(id) {
            computer(&mut scene, entry.into_inner())
        } else {
            Err(format!("There is a computer {id} already."))
        };
        residents.push(resident.map_err(|problem| wrong(Some(span), &problem))?);
    }
    Ok((scene, residents))
}

fn layer(scene: &mut Scene, entry: LayerEntry) -> Result<(), String> {
    if entry.from > entry.to {
        return Err("`from` is the lower height, `to` the higher.".to_owned());
    }
    scene.ground.layers.push(Layer {
        block: whole_name(&entry.block),
        from: entry.from,
        to: entry.to,
    });
    Ok(())
}

fn fill(scene: &mut Scene, entry: FillEntry, room: &mut i64) -> Result<(), String> {
    let length = |n: usize| i64::from(entry.to[n]) - i64::from(entry.from[n]) + 1;
    if (0..3).any(|n| length(n) < 1) {
        return Err("Each number of `to` is at least that of `from`.".to_owned());
    }
    let blocks = (0..3).try_fold(1i64, |all, n| all.checked_mul(length(n)));
    *room -= blocks.unwrap_or(i64::MAX).min(BLOCK_LIMIT + 1);
    if *room < 0 {
        return Err(format!(
            "All boxes together have more than {BLOCK_LIMIT} blocks; use a [[layer]]."
        ));
    }
    let block = whole_name(&entry.block);
    let crop = match (entry.age, Machine::of(&block)) {
        (age, Some(Machine::Crop(_))) => Some(Machine::Crop(age.unwrap_or(0))),
        (Some(_), _) => {
            return Err(format!(
                "{block} is no plant of a field, so it has no `age`."
            ));
        }
        (None, _) => None,
    };
    for x in entry.from[0]..=entry.to[0] {
        for y in entry.from[1]..=entry.to[1] {
            for z in entry.from[2]..=entry.to[2] {
                let place = Position::new(x, y, z);
                match &crop {
                    Some(crop) => scene.put_device(place, &block, None, None, crop.clone()),
                    None => scene.ground.set(place, &block),
                }
            }
        }
    }
    Ok(())
}

fn facing(name: Option<&str>) -> Result<Option<Direction>, String> {
    name.map(|name| {
        Direction::sideways(name).ok_or_else(|| {
            format!("`{name}` is no way to look: choose north, east, south or west.")
        })
    })
    .transpose()
}

/// The place, if nothing stands there yet.
fn free(scene: &Scene, at: Place) -> Result<Position, String> {
    let place = position(at);
    if !(BOTTOM..TOP).contains(&place.y) {
        return Err(format!(
            "The world reaches from height {BOTTOM} to {}.",
            TOP - 1
        ));
    }
    if scene.devices.contains_key(&place) || scene.body_at(place).is_some() {
        return Err(format!("At {place} something stands already."));
    }
    Ok(place)
}

fn put(inventory: &mut Inventory, entries: Vec<ItemEntry>) -> Result<(), String> {
    for entry in entries {
        let name = whole_name(&entry.item);
        let stack = Stack::new(&name, entry.count);
        let left = match entry.slot {
            Some(slot) if slot >= 1 => inventory.put_into(slot - 1, stack),
            Some(_) => return Err("Slots are counted from 1.".to_owned()),
            None => {
                let mut left = entry.count;
                while left > 0 {
                    let some = left.min(max_count(&name));
                    if inventory.put(0, Stack::new(&name, some)).is_some() {
                        break;
                    }
                    left -= some;
                }
                (left > 0).then(|| Stack::new(&name, left))
            }
        };
        if let Some(left) = left {
            return Err(format!(
                "There is no room for {} {}.",
                left.count, left.name
            ));
        }
    }
    Ok(())
}

fn block(scene: &mut Scene, entry: BlockEntry) -> Result<(), String> {
    let place = free(scene, entry.at)?;
    let name = whole_name(&entry.block);
    let facing = facing(entry.facing.as_deref())?;
    let mut machine = match (entry.slots, entry.capacity, entry.energy) {
        (Some(slots @ 1..=1024), _, _) => Some(Machine::Chest(Inventory::new(slots))),
        (Some(_), _, _) => return Err("`slots` is from 1 to 1024.".to_owned()),
        (None, Some(capacity), Some(stored)) => Some(Machine::Energy {
            stored: stored.min(capacity),
            capacity,
        }),
        (None, Some(capacity), None) => Some(Machine::Tank(Tank {
            fluid: entry.fluid.as_deref().map(whole_name),
            amount: entry.amount.unwrap_or(0).min(capacity),
            capacity,
        })),
        (None, None, _) => Machine::of(&name),
    };
    if let (Some(Machine::Monitor(monitor)), Some([width, height])) = (&mut machine, entry.size) {
        if !(1..=8).contains(&width) || !(1..=6).contains(&height) {
            return Err("A monitor has up to 8 by 6 blocks.".to_owned());
        }
        *monitor = Monitor::new(monitor.is_advanced, (width, height));
    }
    match (&mut machine, entry.age) {
        (_, None) => {}
        (Some(Machine::Crop(age)), Some(is)) => *age = is,
        (_, Some(_)) => {
            return Err(format!(
                "{name} is no plant of a field, so it has no `age`."
            ));
        }
    }
    if let (Some(Machine::Lever(on)), Some(is_on)) = (&mut machine, entry.on) {
        *on = is_on;
    }
    if let (Some(Machine::Drive(floppy)), Some(disk)) = (&mut machine, entry.disk) {
        *floppy = Some(Floppy {
            id: disk.id,
            label: disk.label,
        });
    }
    if !entry.items.is_empty() {
        let inventory = machine.as_mut().and_then(Machine::inventory_mut);
        let inventory =
            inventory.ok_or_else(|| format!("{name} has no slots for items; give it `slots`."))?;
        put(inventory, entry.items)?;
    }
    match machine {
        Some(machine) => {
            if entry.network.is_some() && machine.types(&name).is_empty() {
                return Err(format!(
                    "{name} is no peripheral, so it can't be on a network."
                ));
            }
            scene.put_device(place, &name, facing, entry.network, machine);
        }
        None if entry.network.is_some() => {
            return Err(format!(
                "{name} is no peripheral, so it can't be on a network."
            ));
        }
        None => scene.ground.set(place, &name),
    }
    Ok(())
}

fn computer(scene: &mut Scene, entry: ComputerEntry) -> Result<Resident, String> {
    let place = free(scene, entry.at)?;
    let kind: Kind = match entry.kind.as_deref() {
        None => Kind::Computer,
        Some(kind) => kind.parse().map_err(|_| {
            format!("`{kind}` is no kind: choose computer, turtle, pocket or command.")
        })?,
    };
    let is_turtle = kind == Kind::Turtle;
    if !is_turtle
        && (entry.fuel.is_some()
            || entry.left.is_some()
            || entry.right.is_some()
            || !entry.items.is_empty())
    {
        return Err("`fuel`, `items`, `left` and `right` are for turtles.".to_owned());
    }
    let mut options = ComputerOptions::new(entry.id);
    options.kind = kind;
    options.label = entry.label;
    options.advanced = entry.advanced.unwrap_or(true);
    if let Some(version) = entry.version {
        let wrong = |_| format!("`{version}` is no version: write it like 1.113.");
        options.version = version.parse::<Version>().map_err(wrong)?;
    }
    options.fuel = match entry.fuel {
        None => options.fuel,
        Some(FuelEntry::Level(level)) => Some(level),
        Some(FuelEntry::Word(word)) if word == "unlimited" => None,
        Some(FuelEntry::Word(word)) => {
            return Err(format!("`{word}` is no fuel: a number, or unlimited."));
        }
    };
    let files = entry.files.into_iter();
    options.files = files
        .map(|(path, content)| (path, content.into_bytes()))
        .collect();
    let mut body = Body::new(entry.id, kind, options.is_advanced(), place);
    body.facing = facing(entry.facing.as_deref())?.unwrap_or(Direction::North);
    body.fuel = options.fuel;
    put(&mut body.inventory, entry.items)?;
    body.left = entry.left.as_deref().map(whole_name);
    if let Some(right) = entry.right {
        body.right = (right != "none").then(|| whole_name(&right));
    }
    match entry.modem.as_deref() {
        None => {}
        Some(word @ ("wireless" | "ender")) => {
            let is_ender = word == "ender";
            if is_turtle {
                let item = if is_ender { "advanced" } else { "normal" };
                body.left = Some(format!("computercraft:wireless_modem_{item}"));
            } else {
                let side = if kind == Kind::Pocket {
                    Side::Back
                } else {
                    Side::Top
                };
                body.radio = Some((side, Radio { is_ender }));
            }
        }
        Some(word) => return Err(format!("`{word}` is no modem: choose wireless or ender.")),
    }
    if let Some(network) = entry.network {
        // Beneath a turtle, where it is not in its way; behind a computer.
        let direction = if is_turtle {
            Direction::Down
        } else {
            body.facing.opposite()
        };
        body.socket = Some(Socket {
            network,
            at: place,
            direction,
        });
    }
    scene.bodies.insert(entry.id, body);
    Ok(Resident {
        options,
        program: entry.program,
    })
}
