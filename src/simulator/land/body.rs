//! A computer as a thing in the world: where it stands, what it carries and what it is attached to.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::Inventory;
use super::place::{Direction, Position, Side};
use crate::simulator::options::Kind;

/// How many slots a turtle has.
pub(super) const SLOTS: usize = 16;

/// A modem that needs no cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Radio {
    /// Whether it reaches everywhere.
    pub(super) is_ender: bool,
}

/// A wired modem beside a computer. It stays where it is when a turtle leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) network: String,
    /// Where the computer stands that it is for.
    pub(super) at: Position,
    /// On which side of that place it is.
    pub(super) direction: Direction,
}

/// A computer as a thing in the world.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) is_advanced: bool,
    pub(super) at: Position,
    pub(super) facing: Direction,
    pub(super) inventory: Inventory,
    /// Its slots when its programs were last told of a change.
    pub(super) told: Inventory,
    /// The slot it has selected, from 0.
    pub(super) selected: usize,
    /// None: it needs no fuel.
    pub(super) fuel: Option<u32>,
    /// What a turtle has on its left and right, by the item that it was.
    pub(super) left: Option<String>,
    pub(super) right: Option<String>,
    /// A wireless modem on a side of a computer that is no turtle.
    pub(super) radio: Option<(Side, Radio)>,
    pub(super) socket: Option<Socket>,
    /// Its name on a wired network.
    pub(super) name: String,
    /// Whether its programs can use inventories and the like as peripherals.
    pub(super) sees_inventories: bool,
    pub(super) is_on: bool,
    /// The channels open on the modem of each side.
    pub(super) open: BTreeMap<Side, BTreeSet<u16>>,
    /// What it puts out and gets, by side: redstone, then bundled cables.
    pub(super) outputs: [u8; 6],
    pub(super) inputs: [u8; 6],
    pub(super) bundled_outputs: [u16; 6],
    pub(super) bundled_inputs: [u16; 6],
    /// What was attached when it was last looked at, by name.
    pub(super) attached: BTreeMap<String, String>,
}

impl Body {
    /// A computer that carries nothing and is attached to nothing.
    pub(super) fn new(id: u64, kind: Kind, is_advanced: bool, at: Position) -> Self {
        let is_turtle = kind == Kind::Turtle;
        let inventory = Inventory::new(if is_turtle { SLOTS } else { 0 });
        Body {
            id,
            kind,
            is_advanced,
            at,
            facing: Direction::North,
            told: inventory.clone(),
            inventory,
            selected: 0,
            fuel: None,
            left: None,
            right: is_turtle.then(|| "minecraft:diamond_pickaxe".to_owned()),
            radio: None,
            socket: None,
            name: format!("{}_{id}", if is_turtle { "turtle" } else { "computer" }),
            sees_inventories: true,
            is_on: false,
            open: BTreeMap::new(),
            outputs: [0; 6],
            inputs: [0; 6],
            bundled_outputs: [0; 6],
            bundled_inputs: [0; 6],
            attached: BTreeMap::new(),
        }
    }

    /// Whether it is a block: a pocket computer is in somebody's hand.
    pub(super) fn is_block(&self) -> bool {
        self.kind != Kind::Pocket
    }

    /// The name of its block.
    pub(super) fn block(&self) -> String {
        let kind = match self.kind {
            Kind::Turtle => "turtle",
            Kind::Command => return "computercraft:computer_command".to_owned(),
            _ => "computer",
        };
        let family = if self.is_advanced {
            "advanced"
        } else {
            "normal"
        };
        format!("computercraft:{kind}_{family}")
    }

    /// How much fuel it can hold.
    pub(super) fn fuel_limit(&self) -> u32 {
        if self.is_advanced { 100_000 } else { 20_000 }
    }

    /// The network it is on where it stands now.
    pub(super) fn network(&self) -> Option<&str> {
        let socket = self.socket.as_ref()?;
        (socket.at == self.at).then_some(socket.network.as_str())
    }

    /// The wired modem that is on this side now.
    pub(super) fn socket_on(&self, side: Side) -> Option<&Socket> {
        let here = |socket: &&Socket| {
            socket.at == self.at && side.direction(self.facing) == socket.direction
        };
        self.socket.as_ref().filter(here)
    }

    /// The wireless modem that is on this side.
    pub(super) fn radio_on(&self, side: Side) -> Option<Radio> {
        let upgrade = match (self.kind, side) {
            (Kind::Turtle, Side::Left) => &self.left,
            (Kind::Turtle, Side::Right) => &self.right,
            _ => {
                let fitting = |(at, _): &(Side, Radio)| *at == side;
                return self.radio.filter(fitting).map(|(_, radio)| radio);
            }
        };
        match upgrade.as_deref() {
            Some("computercraft:wireless_modem_normal") => Some(Radio { is_ender: false }),
            Some("computercraft:wireless_modem_advanced") => Some(Radio { is_ender: true }),
            _ => None,
        }
    }

    /// Whether one of its tools digs.
    pub(super) fn has_tool(&self) -> bool {
        let digs = |upgrade: &Option<String>| {
            upgrade.as_deref().is_some_and(|item| {
                ["_pickaxe", "_axe", "_shovel", "_hoe", "_sword"]
                    .iter()
                    .any(|end| item.ends_with(end))
            })
        };
        digs(&self.left) || digs(&self.right)
    }

    /// What it was when it was switched on: no channel open, no redstone out.
    pub(super) fn reset(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.open.clear();
        self.outputs = [0; 6];
        self.bundled_outputs = [0; 6];
    }
}
