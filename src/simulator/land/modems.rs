//! Messages between modems, by radio and by cable.

use std::collections::BTreeSet;

use super::attachments::on_side;
use super::body::{Body, Radio};
use super::place::{Position, Side};
use super::scene::{Note, Scene, Target};
use crate::simulator::events::{Event, Value};

/// How many channels a modem can have open.
const CHANNELS: usize = 128;

/// How far a wireless modem reaches low and at the top of the world, in blocks.
const RANGE: f64 = 64.0;
const HIGH_RANGE: f64 = 384.0;

/// From this height on it reaches further, and how much higher it reaches furthest.
const LOW: f64 = 96.0;
const HIGH: f64 = 320.0;

/// The number of a channel.
pub(super) fn channel(number: i64) -> Result<u16, String> {
    u16::try_from(number).map_err(|_| "Expected number in range 0-65535".to_owned())
}

/// Opens a channel of the modem on that side.
pub(super) fn open(body: &mut Body, side: Side, channel: u16) -> Result<(), String> {
    let open = body.open.entry(side).or_default();
    if !open.contains(&channel) && open.len() >= CHANNELS {
        return Err("Too many open channels".to_owned());
    }
    open.insert(channel);
    Ok(())
}

/// How far a radio at that height reaches; none: everywhere.
fn range(radio: Radio, at: Position) -> Option<f64> {
    let height = ((f64::from(at.y) - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    (!radio.is_ender).then_some(RANGE + height * (HIGH_RANGE - RANGE))
}

/// Sends a message from the modem on a side of a computer: to all modems of its kind that have the channel open and are
/// near enough. The event's only argument so far is the message.
pub(super) fn transmit(
    scene: &mut Scene,
    id: u64,
    side: Side,
    (channel, reply): (u16, u16),
    message: &Event,
) {
    let Some(sender) = scene.bodies.get(&id) else {
        return;
    };
    let mut heard = Vec::new();
    for other in scene.bodies.values().filter(|other| other.is_on) {
        for (&ear, channels) in &other.open {
            if (other.id, ear) == (id, side) || !channels.contains(&channel) {
                continue;
            }
            if let Some(distance) = reach(scene, (sender, side), (other, ear)) {
                heard.push((other.id, ear, distance));
            }
        }
    }
    for (to, ear, distance) in heard {
        let mut event = message.clone();
        let payload = event.args.pop().unwrap_or(Value::Nil);
        event.args = vec![
            ear.name().into(),
            Value::Number(f64::from(channel)),
            Value::Number(f64::from(reply)),
            payload,
            Value::Number(distance),
        ];
        scene.notes.push((to, Note::Event(event)));
    }
}

/// How far one modem is from another that it reaches.
fn reach(scene: &Scene, (from, side): (&Body, Side), (to, ear): (&Body, Side)) -> Option<f64> {
    let distance = from.at.distance(to.at);
    match (on_side(scene, from, side)?, on_side(scene, to, ear)?) {
        (Target::Radio(_), Target::Radio(_)) => {
            let (a, b) = (from.radio_on(side)?, to.radio_on(ear)?);
            let reaches = match (range(a, from.at), range(b, to.at)) {
                (Some(a), Some(b)) => distance <= a.max(b),
                _ => true,
            };
            reaches.then_some(distance)
        }
        (Target::Socket(_), Target::Socket(_)) => {
            (from.network().is_some() && from.network() == to.network()).then_some(distance)
        }
        _ => None,
    }
}

/// The channels open on that side.
pub(super) fn opened(body: &mut Body, side: Side) -> &mut BTreeSet<u16> {
    body.open.entry(side).or_default()
}
