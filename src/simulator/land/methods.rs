//! The methods of peripherals, and what each does.

use super::attachments::{self, find, remote};
use super::data::{Datum, Given};
use super::machine::{Machine, Monitor};
use super::place::{Position, Side};
use super::scene::{Note, Scene, Target};
use super::storage;
use super::{modems, screens};
use crate::simulator::shared::Order;

const MODEM: &[&str] = &[
    "open",
    "isOpen",
    "close",
    "closeAll",
    "transmit",
    "isWireless",
];
const WIRED: &[&str] = &[
    "getNamesRemote",
    "isPresentRemote",
    "getTypeRemote",
    "hasTypeRemote",
    "getMethodsRemote",
    "callRemote",
    "getNameLocal",
];
const COMPUTER: &[&str] = &["turnOn", "shutdown", "reboot", "getID", "isOn", "getLabel"];
const DRIVE: &[&str] = &[
    "isDiskPresent",
    "hasData",
    "getMountPath",
    "getDiskID",
    "getDiskLabel",
    "setDiskLabel",
    "hasAudio",
    "getAudioTitle",
    "playAudio",
    "stopAudio",
    "ejectDisk",
];
const SPEAKER: &[&str] = &["playNote", "playSound", "playAudio", "stop"];

/// The names of a peripheral's methods; empty: it has none, or is none.
pub(super) fn names(scene: &Scene, target: &Target) -> Vec<&'static str> {
    match target {
        Target::Radio(_) => MODEM.to_vec(),
        Target::Socket(_) => [MODEM, WIRED].concat(),
        Target::Computer(_) => COMPUTER.to_vec(),
        Target::Device(place) => match scene.devices.get(place).map(|device| &device.machine) {
            Some(Machine::Chest(_) | Machine::Furnace(_)) => storage::INVENTORY.to_vec(),
            Some(Machine::Tank(_)) => storage::FLUID.to_vec(),
            Some(Machine::Energy { .. }) => storage::ENERGY.to_vec(),
            Some(Machine::Monitor(_)) => screens::METHODS.to_vec(),
            Some(Machine::Drive(_)) => DRIVE.to_vec(),
            Some(Machine::Speaker) => SPEAKER.to_vec(),
            _ => Vec::new(),
        },
    }
}

/// Whether the game does what such a peripheral is asked for in its next tick, and the caller waits for that.
pub(super) fn takes_a_tick(scene: &Scene, target: &Target, method: &str) -> bool {
    let Target::Device(place) = target else {
        return false;
    };
    let machine = scene.devices.get(place).map(|device| &device.machine);
    match machine {
        Some(
            Machine::Chest(_) | Machine::Furnace(_) | Machine::Tank(_) | Machine::Energy { .. },
        ) => true,
        Some(Machine::Drive(_)) => method == "setDiskLabel",
        _ => false,
    }
}

/// Calls a method of the peripheral that has this name to a computer.
///
/// # Errors
/// In the game's words.
pub(super) fn call(
    scene: &mut Scene,
    id: u64,
    name: &str,
    method: &str,
    args: &[Datum],
) -> Result<Vec<Datum>, String> {
    let gone = || "No peripheral attached".to_owned();
    let body = scene.bodies.get(&id).ok_or_else(gone)?;
    let target = find(scene, body, name).ok_or_else(gone)?;
    if !names(scene, &target).contains(&method) {
        return Err(format!("No such method {method}"));
    }
    let args = Given(args);
    match &target {
        Target::Radio(side) => modem(scene, id, *side, method, args),
        Target::Socket(side) if MODEM.contains(&method) => modem(scene, id, *side, method, args),
        Target::Socket(_) => hub(scene, id, method, args),
        Target::Computer(other) => computer(scene, *other, method),
        Target::Device(place) => device(scene, id, name, *place, method, args),
    }
}

fn device(
    scene: &mut Scene,
    id: u64,
    name: &str,
    place: Position,
    method: &str,
    args: Given<'_>,
) -> Result<Vec<Datum>, String> {
    match scene
        .devices
        .get_mut(&place)
        .map(|device| &mut device.machine)
    {
        Some(Machine::Monitor(monitor)) => screen(monitor, method, args),
        Some(Machine::Drive(_)) => drive(scene, id, place, method, args),
        Some(Machine::Speaker) => Ok(vec![true.into()]),
        Some(Machine::Energy { stored, capacity }) => Ok(vec![match method {
            "getEnergy" => (*stored).into(),
            _ => (*capacity).into(),
        }]),
        Some(_) => storage::call(scene, id, name, place, method, args),
        None => Err("No peripheral attached".to_owned()),
    }
}

fn screen(monitor: &mut Monitor, method: &str, args: Given<'_>) -> Result<Vec<Datum>, String> {
    match method {
        "setTextScale" => {
            let scale = args.number(1)?;
            let steps = (scale * 2.0).floor();
            if !(1.0..=10.0).contains(&steps) {
                return Err("Expected number in range 0.5-5".to_owned());
            }
            monitor.set_scale(steps / 2.0);
            Ok(Vec::new())
        }
        "getTextScale" => Ok(vec![monitor.scale.into()]),
        "isColour" | "isColor" => Ok(vec![monitor.is_advanced.into()]),
        _ => screens::call(&mut monitor.terminal, method, args),
    }
}

fn modem(
    scene: &mut Scene,
    id: u64,
    side: Side,
    method: &str,
    args: Given<'_>,
) -> Result<Vec<Datum>, String> {
    let Some(body) = scene.bodies.get_mut(&id) else {
        return Ok(Vec::new());
    };
    match method {
        "isWireless" => return Ok(vec![body.radio_on(side).is_some().into()]),
        "closeAll" => modems::opened(body, side).clear(),
        "open" => modems::open(body, side, modems::channel(args.integer(1)?)?)?,
        "close" => drop(modems::opened(body, side).remove(&modems::channel(args.integer(1)?)?)),
        "isOpen" => {
            let channel = modems::channel(args.integer(1)?)?;
            return Ok(vec![modems::opened(body, side).contains(&channel).into()]);
        }
        _ => {}
    }
    Ok(Vec::new())
}

/// What a wired modem tells of those on its network.
fn hub(scene: &Scene, id: u64, method: &str, args: Given<'_>) -> Result<Vec<Datum>, String> {
    let Some(body) = scene.bodies.get(&id) else {
        return Ok(Vec::new());
    };
    let list = |names: Vec<String>| Datum::list(names.into_iter().map(Datum::from));
    match method {
        "getNamesRemote" => return Ok(vec![list(attachments::remote_names(scene, body))]),
        "getNameLocal" => return Ok(vec![body.name.as_str().into()]),
        _ => {}
    }
    let target = remote(scene, body, &args.text(1)?, false);
    if method == "isPresentRemote" {
        return Ok(vec![target.is_some().into()]);
    }
    let Some(target) = target else {
        return Ok(vec![Datum::Nil]);
    };
    let types = attachments::types(scene, body, &target);
    Ok(match method {
        "getTypeRemote" => types.into_iter().map(Datum::from).collect(),
        "hasTypeRemote" => {
            let wanted = args.text(2)?;
            vec![types.contains(&wanted).into()]
        }
        _ => {
            let methods = names(scene, &target);
            vec![Datum::list(methods.into_iter().map(Datum::from))]
        }
    })
}

fn computer(scene: &mut Scene, id: u64, method: &str) -> Result<Vec<Datum>, String> {
    let order = match method {
        "getID" => return Ok(vec![(id as f64).into()]),
        "isOn" => {
            let is_on = scene.bodies.get(&id).is_some_and(|body| body.is_on);
            return Ok(vec![is_on.into()]);
        }
        "turnOn" if scene.bodies.get(&id).is_some_and(|body| body.is_on) => return Ok(Vec::new()),
        "turnOn" | "reboot" => Order::Boot,
        "shutdown" => Order::Off,
        // Its label is not of the world: see `Land::call`.
        _ => return Ok(Vec::new()),
    };
    scene.notes.push((id, Note::Power(order)));
    Ok(Vec::new())
}

fn drive(
    scene: &mut Scene,
    id: u64,
    place: Position,
    method: &str,
    args: Given<'_>,
) -> Result<Vec<Datum>, String> {
    let mounted = mounted(scene, id) == Some(place);
    let Some(Machine::Drive(floppy)) = scene
        .devices
        .get_mut(&place)
        .map(|device| &mut device.machine)
    else {
        return Ok(Vec::new());
    };
    let text = |text: &Option<String>| text.as_deref().map_or(Datum::Nil, Datum::from);
    Ok(match method {
        "isDiskPresent" | "hasData" => vec![floppy.is_some().into()],
        "hasAudio" => vec![false.into()],
        "getMountPath" => vec![if floppy.is_some() && mounted {
            "disk".into()
        } else {
            Datum::Nil
        }],
        "getDiskID" => vec![
            floppy
                .as_ref()
                .map_or(Datum::Nil, |floppy| floppy.id.into()),
        ],
        "getDiskLabel" => vec![
            floppy
                .as_ref()
                .map_or(Datum::Nil, |floppy| text(&floppy.label)),
        ],
        "setDiskLabel" => {
            let label = if args.is_nil(1) {
                None
            } else {
                Some(args.text(1)?)
            };
            if let Some(floppy) = floppy {
                floppy.label = label.map(|label| label.chars().take(32).collect());
            }
            Vec::new()
        }
        "ejectDisk" => {
            *floppy = None;
            Vec::new()
        }
        "getAudioTitle" => vec![Datum::Nil],
        _ => Vec::new(),
    })
}

/// The drive whose floppy a computer has at `/disk`: the first that it reaches.
pub(super) fn mounted(scene: &Scene, id: u64) -> Option<Position> {
    let body = scene.bodies.get(&id)?;
    attachments::names(scene, body)
        .into_iter()
        .find_map(|name| {
            let Some(Target::Device(place)) = find(scene, body, &name) else {
                return None;
            };
            let machine = &scene.devices.get(&place)?.machine;
            matches!(machine, Machine::Drive(Some(_))).then_some(place)
        })
}
