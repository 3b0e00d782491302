//! What turtles do in the world, each action as a whole, in the moment in which the game carries it out.

mod acting;
mod blocks;
mod carrying;
mod moving;

use self::acting::{Act, Acted, Outcome};
use super::body::Body;
use super::data::{Datum, Given};
use super::inventory::Stack;
use super::items;
use super::place::Direction;
use super::scene::Scene;

/// How long the game shows most of what a turtle does, in ticks; the next action waits for it.
const ANIMATION_TICKS: u64 = 8;

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::simulator) struct Done {
    /// How long the next one has to wait.
    pub(in crate::simulator) ticks: u64,
    /// What the program gets.
    pub(in crate::simulator) values: Vec<Datum>,
}

/// Lets a turtle do something; these are its arguments, which have been looked at.
pub(in crate::simulator) fn act(scene: &mut Scene, id: u64, action: &str, args: &[Datum]) -> Done {
    let acted = match scene.bodies.get(&id) {
        Some(body) => {
            let body = body.clone();
            Act { scene, body }.carry_out(action, Given(args))
        }
        None => Err("Movement failed"),
    };
    let (ticks, values) = match acted {
        Ok(Outcome::Done) => (ANIMATION_TICKS, vec![true.into()]),
        Ok(Outcome::AtOnce) => (0, vec![true.into()]),
        Ok(Outcome::Answer(values)) => (0, values),
        Err(why) => (0, vec![false.into(), why.into()]),
    };
    Done { ticks, values }
}

/// An action's name without the way that it ends with, and that way for a turtle that looks there.
fn split(action: &str, facing: Direction) -> (&str, Direction) {
    for (end, direction) in [("Up", Direction::Up), ("Down", Direction::Down)] {
        if let Some(name) = action.strip_suffix(end) {
            return (name, direction);
        }
    }
    (action, facing)
}

impl Act<'_> {
    fn carry_out(&mut self, action: &str, args: Given<'_>) -> Acted {
        let facing = self.body.facing;
        let count = |n| {
            args.integer(n)
                .ok()
                .and_then(|count| u32::try_from(count).ok())
        };
        let slot = |n| {
            args.integer(n)
                .map_or(0, |slot| (slot - 1).clamp(0, 15) as usize)
        };
        match action {
            "forward" => return self.go(facing),
            "back" => return self.go(facing.opposite()),
            "up" => return self.go(Direction::Up),
            "down" => return self.go(Direction::Down),
            "turnLeft" => return self.turn(facing.left()),
            "turnRight" => return self.turn(facing.right()),
            "select" => {
                self.change(|body| body.selected = slot(1));
                return Ok(Outcome::AtOnce);
            }
            "refuel" => return self.refuel(count(1)),
            "transferTo" => return self.transfer(slot(1), count(2)),
            "compareTo" => return Ok(self.compare_slots(slot(1))),
            "getItemDetail" => return Ok(self.detail(slot(1))),
            "equipLeft" => return self.equip(true),
            "equipRight" => return self.equip(false),
            "craft" => return self.craft(count(1)),
            _ => {}
        }
        let (name, direction) = split(action, facing);
        let place = self.body.at.beside(direction);
        match name {
            "dig" => self.dig(place),
            "place" => self.place(place, direction),
            "drop" => self.drop(place, count(1)),
            "suck" => self.suck(place, count(1)),
            "attack" if !self.body.has_tool() => Err("No tool to attack with"),
            "attack" => Err("Nothing to attack here"),
            "detect" => {
                let block = self.scene.block(place);
                let is_there = block != items::AIR && !items::is_liquid(&block);
                Ok(Outcome::Answer(vec![is_there.into()]))
            }
            "compare" => Ok(self.compare(place)),
            "inspect" => Ok(self.inspect(place)),
            _ => Err("Unknown command"),
        }
    }
}

/// What programs read of a turtle without waiting; none: there is no such question.
pub(in crate::simulator) fn read(
    body: &Body,
    question: &str,
    slot: Option<usize>,
) -> Option<Datum> {
    let slot = slot.unwrap_or(body.selected);
    let stack = body.inventory.get(slot);
    Some(match question {
        "getItemCount" => stack.map_or(0, |stack| stack.count).into(),
        "getItemSpace" => stack
            .map_or(64, |stack| items::max_count(&stack.name) - stack.count)
            .into(),
        "getItemDetail" => stack.map_or(Datum::Nil, Stack::told),
        "getSelectedSlot" => (body.selected as f64 + 1.0).into(),
        "getFuelLevel" => body.fuel.map_or("unlimited".into(), Datum::from),
        "getFuelLimit" => body
            .fuel
            .map_or("unlimited".into(), |_| body.fuel_limit().into()),
        "getEquippedLeft" => worn(body.left.as_deref()),
        "getEquippedRight" => worn(body.right.as_deref()),
        "canCraft" => {
            let table = Some("minecraft:crafting_table");
            (body.left.as_deref() == table || body.right.as_deref() == table).into()
        }
        _ => return None,
    })
}

fn worn(item: Option<&str>) -> Datum {
    item.map_or(Datum::Nil, |item| Stack::new(item, 1).told())
}
