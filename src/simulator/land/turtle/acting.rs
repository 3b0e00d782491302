//! One action of a turtle: the world, the turtle as it was before, and what comes of it.

use super::super::body::Body;
use super::super::data::Datum;
use super::super::inventory::Stack;
use super::super::scene::Scene;

/// What came of it for the program: whether it went well and why not, or what was asked for.
pub(super) enum Outcome {
    /// It was done, and seen.
    Done,
    /// It was done, and takes no time.
    AtOnce,
    Answer(Vec<Datum>),
}

pub(super) type Acted = Result<Outcome, &'static str>;

/// One action: the world, and the turtle as it was before.
pub(super) struct Act<'a> {
    pub(super) scene: &'a mut Scene,
    pub(super) body: Body,
}

impl Act<'_> {
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Body)) {
        if let Some(body) = self.scene.bodies.get_mut(&self.body.id) {
            change(body);
        }
    }

    pub(super) fn selected(&self) -> Option<&Stack> {
        self.body.inventory.get(self.body.selected)
    }

    /// Puts a stack into the turtle, from the selected slot on; what has no room lies where the turtle is.
    pub(super) fn keep(&mut self, stack: Stack) {
        let (selected, at) = (self.body.selected, self.body.at);
        let mut left = Some(stack);
        self.change(|body| {
            left = left
                .take()
                .and_then(|stack| body.inventory.put(selected, stack))
        });
        if let Some(stack) = left {
            self.scene.drop_item(at, stack);
        }
    }
}
