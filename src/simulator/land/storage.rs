//! What inventories and tanks are asked for.

use super::attachments::{find, remote};
use super::data::{Datum, Given};
use super::inventory::Stack;
use super::machine::{Machine, Tank};
use super::place::{Position, Side};
use super::scene::{Scene, Target};

/// What inventories, tanks and stores of energy can do.
pub(super) const INVENTORY: &[&str] = &[
    "size",
    "list",
    "getItemDetail",
    "getItemLimit",
    "pushItems",
    "pullItems",
];
pub(super) const FLUID: &[&str] = &["tanks", "pushFluid", "pullFluid"];
pub(super) const ENERGY: &[&str] = &["getEnergy", "getEnergyCapacity"];

type Called = Result<Vec<Datum>, String>;

/// Calls a method of the inventory or tank at a place, which the computer knows by this name.
pub(super) fn call(
    scene: &mut Scene,
    id: u64,
    name: &str,
    place: Position,
    method: &str,
    args: Given<'_>,
) -> Called {
    let own = Target::Device(place);
    match method {
        "pushItems" | "pullItems" => {
            let what = if method == "pushItems" {
                "Target"
            } else {
                "Source"
            };
            let other = other(scene, id, name, &args.text(1)?, what)?;
            if scene.inventory_of(&other).is_none() {
                return Err(format!("{what} '{}' is not an inventory", args.text(1)?));
            }
            let (from, to) = match method {
                "pushItems" => (own, other),
                _ => (other, own),
            };
            move_items(scene, &from, &to, args)
        }
        "pushFluid" | "pullFluid" => {
            let other = other(scene, id, name, &args.text(1)?, "Target")?;
            let (from, to) = match method {
                "pushFluid" => (own, other),
                _ => (other, own),
            };
            move_fluid(scene, &from, &to, args)
        }
        "tanks" => match tank(scene, &own) {
            Some(tank) => Ok(vec![Datum::list(told(tank))]),
            None => Ok(Vec::new()),
        },
        _ => look(scene, &own, method, args),
    }
}

fn look(scene: &mut Scene, target: &Target, method: &str, args: Given<'_>) -> Called {
    let Some(inventory) = scene.inventory_of(target) else {
        return Ok(Vec::new());
    };
    Ok(vec![match method {
        "size" => (inventory.size() as f64).into(),
        "list" => {
            let numbered = inventory
                .stacks()
                .map(|(slot, stack)| ((slot as f64 + 1.0).into(), stack.told()));
            Datum::Table(numbered.collect())
        }
        _ => {
            let slot = slot(args.integer(1)?, inventory.size(), "Slot")?;
            let stack = inventory.get(slot);
            match method {
                // The slot's, whatever lies in it.
                "getItemLimit" => 64u32.into(),
                _ => stack.map_or(Datum::Nil, Stack::told_in_detail),
            }
        }
    }])
}

/// A slot from 0, of one from 1 that has to be there.
fn slot(number: i64, size: usize, what: &str) -> Result<usize, String> {
    usize::try_from(number)
        .ok()
        .filter(|number| (1..=size).contains(number))
        .map(|number| number - 1)
        .ok_or_else(|| format!("{what} out of range (between 1 and {size})"))
}

/// What the other's name stands for: what is beside the computer knows the other sides, what is on a cable the network.
/// `what` it is called where it is not there.
fn other(scene: &Scene, id: u64, own: &str, name: &str, what: &str) -> Result<Target, String> {
    let body = scene.bodies.get(&id);
    let found = body.and_then(|body| match Side::named(own) {
        Some(_) => Side::named(name).and_then(|_| find(scene, body, name)),
        None => remote(scene, body, name, true),
    });
    found.ok_or_else(|| format!("{what} '{name}' does not exist"))
}

fn move_items(scene: &mut Scene, from: &Target, to: &Target, args: Given<'_>) -> Called {
    let size = |scene: &mut Scene, target: &Target| {
        scene
            .inventory_of(target)
            .map_or(0, |inventory| inventory.size())
    };
    let (from_size, to_size) = (size(scene, from), size(scene, to));
    let source = slot(args.integer(2)?, from_size, "From slot")?;
    let limit = args.optional_integer(3)?.unwrap_or(i64::from(u32::MAX));
    let into = match args.optional_integer(4)? {
        Some(number) => Some(slot(number, to_size, "To slot")?),
        None => None,
    };
    let limit = u32::try_from(limit.max(0)).unwrap_or(u32::MAX);
    let taken = scene
        .inventory_of(from)
        .and_then(|inventory| inventory.take(source, limit));
    let Some(stack) = taken else {
        return Ok(vec![0u32.into()]);
    };
    let count = stack.count;
    let left = match (scene.inventory_of(to), into) {
        (Some(inventory), Some(slot)) => inventory.put_into(slot, stack),
        (Some(inventory), None) => inventory.put(0, stack),
        (None, _) => Some(stack),
    };
    let moved = count - left.as_ref().map_or(0, |left| left.count);
    if let (Some(left), Some(inventory)) = (left, scene.inventory_of(from)) {
        inventory.put_into(source, left);
    }
    Ok(vec![moved.into()])
}

fn tank<'a>(scene: &'a mut Scene, target: &Target) -> Option<&'a mut Tank> {
    let Target::Device(place) = target else {
        return None;
    };
    match &mut scene.devices.get_mut(place)?.machine {
        Machine::Tank(tank) => Some(tank),
        _ => None,
    }
}

fn told(tank: &Tank) -> Option<Datum> {
    let fluid = tank.fluid.as_deref()?;
    Some(Datum::table(vec![
        ("name", fluid.into()),
        ("amount", tank.amount.into()),
    ]))
}

fn move_fluid(scene: &mut Scene, from: &Target, to: &Target, args: Given<'_>) -> Called {
    let limit = args.optional_integer(2)?.unwrap_or(i64::from(u32::MAX));
    if limit <= 0 {
        return Err("Limit must be > 0".to_owned());
    }
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let wanted = if args.is_nil(3) {
        None
    } else {
        Some(args.text(3)?)
    };
    let no_tank = || {
        format!(
            // So spelt, whichever of the two it is.
            "Target '{}' is not an tank",
            args.text(1).unwrap_or_default()
        )
    };
    let room = {
        let to = tank(scene, to).ok_or_else(no_tank)?;
        (to.fluid.clone(), to.capacity - to.amount)
    };
    let source = tank(scene, from).ok_or_else(no_tank)?;
    let Some(fluid) = source.fluid.clone() else {
        return Ok(vec![0u32.into()]);
    };
    let fits = room.0.as_ref().is_none_or(|there| *there == fluid)
        && wanted.is_none_or(|wanted| wanted == fluid);
    let moved = if fits {
        source.amount.min(limit).min(room.1)
    } else {
        0
    };
    source.amount -= moved;
    if source.amount == 0 {
        source.fluid = None;
    }
    if moved > 0
        && let Some(to) = tank(scene, to)
    {
        to.amount += moved;
        to.fluid = Some(fluid);
    }
    Ok(vec![moved.into()])
}
