//! Where things are in the world, and which way they look.

use std::fmt;

/// A block's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// To the east.
    pub x: i32,
    /// Up.
    pub y: i32,
    /// To the south.
    pub z: i32,
}

impl Position {
    /// The place with these coordinates.
    pub const fn new(x: i32, y: i32, z: i32) -> Self {
        Position { x, y, z }
    }

    /// The place beside it.
    pub(super) fn beside(self, direction: Direction) -> Position {
        let (x, y, z) = direction.offset();
        Position {
            x: self.x.saturating_add(x),
            y: self.y.saturating_add(y),
            z: self.z.saturating_add(z),
        }
    }

    pub(super) fn distance(self, other: Position) -> f64 {
        let apart = |a: i32, b: i32| (f64::from(a) - f64::from(b)).powi(2);
        (apart(self.x, other.x) + apart(self.y, other.y) + apart(self.z, other.z)).sqrt()
    }

    /// Whether the other is the same place, or beside it.
    pub(super) fn touches(self, other: Position) -> bool {
        self.distance(other) <= 1.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} {}", self.x, self.y, self.z)
    }
}

/// One of six ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulator) enum Direction {
    Down,
    Up,
    North,
    South,
    West,
    East,
}

impl Direction {
    pub(super) const ALL: [Direction; 6] = [
        Direction::Down,
        Direction::Up,
        Direction::North,
        Direction::South,
        Direction::West,
        Direction::East,
    ];

    fn offset(self) -> (i32, i32, i32) {
        match self {
            Direction::Down => (0, -1, 0),
            Direction::Up => (0, 1, 0),
            Direction::North => (0, 0, -1),
            Direction::South => (0, 0, 1),
            Direction::West => (-1, 0, 0),
            Direction::East => (1, 0, 0),
        }
    }

    pub(super) fn opposite(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
            Direction::North => Direction::South,
            Direction::South => Direction::North,
            Direction::West => Direction::East,
            Direction::East => Direction::West,
        }
    }

    /// A quarter turn to the left, for those that look sideways.
    pub(super) fn left(self) -> Direction {
        match self {
            Direction::North => Direction::West,
            Direction::West => Direction::South,
            Direction::South => Direction::East,
            Direction::East => Direction::North,
            other => other,
        }
    }

    pub(super) fn right(self) -> Direction {
        self.left().opposite()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
            Direction::North => "north",
            Direction::South => "south",
            Direction::West => "west",
            Direction::East => "east",
        }
    }

    /// The way of this name that a computer can look.
    pub(super) fn sideways(name: &str) -> Option<Direction> {
        let known = |direction: &Direction| direction.name() == name;
        Direction::ALL[2..].iter().copied().find(known)
    }
}

/// A side of a computer, as its programs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::simulator) enum Side {
    Bottom,
    Top,
    Back,
    Front,
    Right,
    Left,
}

impl Side {
    /// In the order in which `redstone.getSides` lists them.
    pub(super) const ALL: [Side; 6] = [
        Side::Bottom,
        Side::Top,
        Side::Back,
        Side::Front,
        Side::Right,
        Side::Left,
    ];

    pub(in crate::simulator) fn name(self) -> &'static str {
        match self {
            Side::Bottom => "bottom",
            Side::Top => "top",
            Side::Back => "back",
            Side::Front => "front",
            Side::Right => "right",
            Side::Left => "left",
        }
    }

    pub(in crate::simulator) fn named(name: &str) -> Option<Side> {
        Side::ALL.into_iter().find(|side| side.name() == name)
    }

    /// Which way that side is of a computer that looks there.
    pub(super) fn direction(self, facing: Direction) -> Direction {
        match self {
            Side::Bottom => Direction::Down,
            Side::Top => Direction::Up,
            Side::Back => facing.opposite(),
            Side::Front => facing,
            Side::Right => facing.right(),
            Side::Left => facing.left(),
        }
    }

    /// The side that is that way.
    pub(super) fn towards(direction: Direction, facing: Direction) -> Option<Side> {
        Side::ALL
            .into_iter()
            .find(|side| side.direction(facing) == direction)
    }
}
