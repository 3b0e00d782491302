//! What is attached to a computer: beside it, on it, and by cable.

use super::body::Body;
use super::place::{Position, Side};
use super::scene::{Scene, Target};
use crate::simulator::options::Kind;

/// What is on that side of a computer, if it is a peripheral.
pub(super) fn on_side(scene: &Scene, body: &Body, side: Side) -> Option<Target> {
    if body.radio_on(side).is_some() {
        return Some(Target::Radio(side));
    }
    if body.socket_on(side).is_some() {
        return Some(Target::Socket(side));
    }
    if !body.is_block() {
        return None;
    }
    let place = body.at.beside(side.direction(body.facing));
    let target = match scene.body_at(place) {
        Some(other) => Target::Computer(other.id),
        None => Target::Device(place),
    };
    (!types(scene, body, &target).is_empty()).then_some(target)
}

/// The names of all peripherals that a computer reaches, those of its own sides first.
pub(super) fn names(scene: &Scene, body: &Body) -> Vec<String> {
    let sides = Side::ALL
        .into_iter()
        .filter(|side| on_side(scene, body, *side).is_some())
        .map(|side| side.name().to_owned());
    sides.chain(remote_names(scene, body)).collect()
}

/// The names of those on its wired network, but for itself.
pub(super) fn remote_names(scene: &Scene, body: &Body) -> Vec<String> {
    let Some(network) = body.network() else {
        return Vec::new();
    };
    let devices = scene.devices.iter().filter_map(|(place, device)| {
        let is_on = device.network.as_deref() == Some(network);
        let is_seen = !types(scene, body, &Target::Device(*place)).is_empty();
        (is_on && is_seen).then(|| device.name.clone())
    });
    let computers = scene
        .bodies
        .values()
        .filter(|other| other.id != body.id && other.network() == Some(network))
        .map(|other| other.name.clone());
    let mut names: Vec<String> = devices.chain(computers).collect();
    names.sort();
    names
}

/// What a name stands for, to that computer.
pub(super) fn find(scene: &Scene, body: &Body, name: &str) -> Option<Target> {
    match Side::named(name) {
        Some(side) => on_side(scene, body, side),
        None => remote(scene, body, name, false),
    }
}

/// What a name stands for on the computer's wired network; itself only if asked for.
pub(super) fn remote(scene: &Scene, body: &Body, name: &str, itself: bool) -> Option<Target> {
    let network = body.network()?;
    let device = scene
        .devices
        .iter()
        .find(|(_, device)| device.name == name && device.network.as_deref() == Some(network));
    if let Some((place, _)) = device {
        let target = Target::Device(*place);
        return (!types(scene, body, &target).is_empty()).then_some(target);
    }
    let named = |other: &&Body| {
        other.name == name && other.network() == Some(network) && (itself || other.id != body.id)
    };
    scene
        .bodies
        .values()
        .find(named)
        .map(|other| Target::Computer(other.id))
}

/// The kinds of peripheral that something is to a computer; none: it is no peripheral.
pub(super) fn types(scene: &Scene, body: &Body, target: &Target) -> Vec<String> {
    let only = |kind: &str| vec![kind.to_owned()];
    match target {
        Target::Radio(_) => only("modem"),
        Target::Socket(_) => vec!["modem".to_owned(), "peripheral_hub".to_owned()],
        Target::Computer(id) => match scene.bodies.get(id).map(|body| body.kind) {
            Some(Kind::Turtle) => only("turtle"),
            Some(_) => only("computer"),
            None => Vec::new(),
        },
        Target::Device(place) => match scene.devices.get(place) {
            Some(device) => {
                let types = device.machine.types(&device.block);
                let is_generic = types.len() > 1;
                if is_generic && !body.sees_inventories {
                    return Vec::new();
                }
                types
            }
            None => Vec::new(),
        },
    }
}

/// The name by which a target of a computer's side can be told from another one there.
pub(super) fn signature(scene: &Scene, target: &Target) -> String {
    let place = |place: &Position| scene.devices.get(place).map(|device| device.block.clone());
    match target {
        Target::Device(at) => format!("{at} {:?}", place(at)),
        other => format!("{other:?}"),
    }
}
