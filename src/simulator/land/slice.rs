//! A picture of one height of the world, in characters.

use std::collections::BTreeMap;

use super::items::{self, AIR};
use super::machine::Machine;
use super::place::{Direction, Position};
use super::scene::Scene;
use crate::simulator::options::Kind;

/// What stands for blocks that have no character of their own, in the order in which they are met.
const LETTERS: &str = "abcdefghijklmnopqrstuvwyz";

/// Draws so many places around one, north at the top, and below what the characters mean, three to a line.
pub(super) fn draw(scene: &Scene, middle: Position, width: usize, height: usize) -> Vec<String> {
    let half = |size: usize| i32::try_from(size / 2).unwrap_or(0);
    let mut legend = Legend::default();
    let mut lines: Vec<String> = Vec::new();
    for row in (0i32..).take(height) {
        let at = |column: i32| {
            Position::new(
                middle.x - half(width) + column,
                middle.y,
                middle.z - half(height) + row,
            )
        };
        let line = (0i32..)
            .take(width)
            .map(|column| legend.mark(scene, at(column)));
        lines.push(line.collect());
    }
    let known: Vec<String> = legend
        .meanings
        .iter()
        .map(|(mark, meaning)| format!("{mark} {meaning}"))
        .collect();
    lines.extend(known.chunks(3).map(|some| some.join("   ")));
    lines
}

#[derive(Default)]
struct Legend {
    /// By character, what it means.
    meanings: BTreeMap<char, String>,
    letters: BTreeMap<String, char>,
}

impl Legend {
    /// What stands for the block at a place.
    fn mark(&mut self, scene: &Scene, place: Position) -> char {
        let block = scene.block(place);
        if let Some(body) = scene.body_at(place) {
            let mark = match (body.kind, body.facing) {
                (Kind::Turtle, Direction::North) => '^',
                (Kind::Turtle, Direction::East) => '>',
                (Kind::Turtle, Direction::South) => 'v',
                (Kind::Turtle, _) => '<',
                _ => '@',
            };
            let what = if body.kind == Kind::Turtle {
                "turtle"
            } else {
                "computer"
            };
            let of_them = self.meanings.entry(mark).or_default();
            let number = format!("{what} {}", body.id);
            if !of_them.is_empty() {
                of_them.push_str(", ");
            }
            of_them.push_str(&number);
            return mark;
        }
        if scene.loose.contains_key(&place) && items::gives_way(&block) {
            self.meanings.insert('*', "items".to_owned());
            return '*';
        }
        let known = match scene.devices.get(&place).map(|device| &device.machine) {
            Some(Machine::Chest(_)) => Some('C'),
            Some(Machine::Furnace(_)) => Some('F'),
            Some(Machine::Tank(_)) => Some('T'),
            Some(Machine::Monitor(_)) => Some('M'),
            Some(Machine::Drive(_)) => Some('D'),
            Some(_) => None,
            None if block == AIR => return ' ',
            None => match block.as_str() {
                "minecraft:stone" | "minecraft:deepslate" => Some('#'),
                "minecraft:dirt" | "minecraft:grass_block" => Some('.'),
                "minecraft:bedrock" => Some('X'),
                _ if items::is_liquid(&block) => Some('~'),
                _ => None,
            },
        };
        let mark = known.unwrap_or_else(|| {
            let next = LETTERS.chars().nth(self.letters.len()).unwrap_or('?');
            *self.letters.entry(block.clone()).or_insert(next)
        });
        let name = block
            .strip_prefix("minecraft:")
            .unwrap_or(&block)
            .to_owned();
        let meaning = self.meanings.entry(mark).or_default();
        let is_told = meaning.split(", ").any(|told| told == name);
        if !is_told {
            if !meaning.is_empty() {
                meaning.push_str(", ");
            }
            meaning.push_str(&name);
        }
        mark
    }
}
