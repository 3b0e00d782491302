//! Moves and turns of a turtle.

use super::super::ground::{BOTTOM, TOP};
use super::super::items;
use super::super::place::Direction;
use super::acting::{Act, Acted, Outcome};

impl Act<'_> {
    pub(super) fn go(&mut self, direction: Direction) -> Acted {
        let (from, to) = (self.body.at, self.body.at.beside(direction));
        if to.y < BOTTOM {
            return Err("Too low to move");
        }
        if to.y >= TOP {
            return Err("Too high to move");
        }
        if !self.scene.is_free(to) {
            return Err("Movement obstructed");
        }
        if self.body.fuel == Some(0) {
            return Err("Out of fuel");
        }
        // Grass is trodden down, water flows back.
        if !items::is_liquid(self.scene.ground.get(to)) {
            self.scene.ground.set(to, items::AIR);
        }
        self.change(|body| {
            body.at = to;
            body.fuel = body.fuel.map(|fuel| fuel - 1);
        });
        self.scene.touched.extend([from, to]);
        self.scene.let_fall(from);
        Ok(Outcome::Done)
    }

    pub(super) fn turn(&mut self, facing: Direction) -> Acted {
        self.change(|body| body.facing = facing);
        let at = self.body.at;
        self.scene.touched.insert(at);
        Ok(Outcome::Done)
    }
}
