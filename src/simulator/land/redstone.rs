//! Redstone: what gives it, what carries it, and what each computer gets of it.
//!
//! It goes from a thing to those beside it, and along dust, one less for each block. It doesn't go through blocks.

use std::collections::VecDeque;

use super::body::Body;
use super::data::event;
use super::machine::Machine;
use super::place::{Direction, Position, Side};
use super::scene::Scene;

/// Works out the redstone of the whole world, and tells computers that get other than before.
pub(super) fn update(scene: &mut Scene) {
    spread(scene);
    let ids: Vec<u64> = scene.bodies.keys().copied().collect();
    for id in ids {
        let Some(body) = scene.bodies.get(&id) else {
            continue;
        };
        let (inputs, bundled) = (inputs(scene, body), bundled_inputs(scene, body));
        if inputs == body.inputs && bundled == body.bundled_inputs {
            continue;
        }
        if let Some(body) = scene.bodies.get_mut(&id) {
            body.inputs = inputs;
            body.bundled_inputs = bundled;
        }
        scene.tell(id, event("redstone", Vec::new()));
    }
}

/// What a thing gives to its neighbour that way; dust counts only where asked for.
fn given(scene: &Scene, place: Position, towards: Direction, with_dust: bool) -> u8 {
    if let Some(body) = scene.body_at(place) {
        let side = Side::towards(towards, body.facing);
        return side.map_or(0, |side| body.outputs[side as usize]);
    }
    match scene.devices.get(&place).map(|device| &device.machine) {
        Some(Machine::Lever(true)) => 15,
        Some(Machine::Source(power)) => *power,
        Some(Machine::Dust(power)) if with_dust => *power,
        _ => 0,
    }
}

/// What a place is given by all around it.
fn received(scene: &Scene, place: Position, with_dust: bool) -> u8 {
    let from = |way: Direction| given(scene, place.beside(way), way.opposite(), with_dust);
    Direction::ALL.into_iter().map(from).max().unwrap_or(0)
}

/// Puts on all dust what there is to be on it.
fn spread(scene: &mut Scene) {
    let is_dust = |scene: &Scene, place: &Position| {
        matches!(
            scene.devices.get(place).map(|device| &device.machine),
            Some(Machine::Dust(_))
        )
    };
    let dust: Vec<Position> = scene
        .devices
        .keys()
        .filter(|place| is_dust(scene, place))
        .copied()
        .collect();
    let mut spreading = VecDeque::new();
    for place in dust {
        let power = received(scene, place, false);
        set_dust(scene, place, power);
        if power > 1 {
            spreading.push_back((place, power));
        }
    }
    while let Some((place, power)) = spreading.pop_front() {
        for way in Direction::ALL {
            let next = place.beside(way);
            let less = power - 1;
            let has = match scene.devices.get(&next).map(|device| &device.machine) {
                Some(Machine::Dust(has)) => *has,
                _ => continue,
            };
            if has < less {
                set_dust(scene, next, less);
                if less > 1 {
                    spreading.push_back((next, less));
                }
            }
        }
    }
}

fn set_dust(scene: &mut Scene, place: Position, power: u8) {
    if let Some(device) = scene.devices.get_mut(&place) {
        device.machine = Machine::Dust(power);
    }
}

/// Whether a lamp there is lit.
pub(super) fn is_lit(scene: &Scene, place: Position) -> bool {
    received(scene, place, true) > 0
}

fn inputs(scene: &Scene, body: &Body) -> [u8; 6] {
    if !body.is_block() {
        return [0; 6];
    }
    Side::ALL.map(|side| {
        let way = side.direction(body.facing);
        given(scene, body.at.beside(way), way.opposite(), true)
    })
}

/// What other computers beside this one put out on bundled cables.
fn bundled_inputs(scene: &Scene, body: &Body) -> [u16; 6] {
    if !body.is_block() {
        return [0; 6];
    }
    Side::ALL.map(|side| {
        let way = side.direction(body.facing);
        let other = scene.body_at(body.at.beside(way));
        let its =
            other.and_then(|other| Some((other, Side::towards(way.opposite(), other.facing)?)));
        its.map_or(0, |(other, side)| other.bundled_outputs[side as usize])
    })
}
