//! What all sessions share, and how much all of them may hold.

use std::sync::Arc;

use crate::{
    base::{budget::Budget, late::LateAnswers, token::Token},
    computers::registry::Registry,
    wire::parts,
};

/// How many bytes the longest message of each link may hold, of all links together: while more than half of that is
/// taken, links that take some of it for nobody end.
const MESSAGES: usize = 48 * 1024 * 1024;

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Where computers are entered.
    pub registry: Arc<Registry>,
    /// What each hello must show.
    pub token: Option<Token>,
    /// Those who showed another.
    pub late: LateAnswers,
    /// How much the frames may hold that come in parts.
    pub parts: PartsRoom,
    /// How much the longest messages may hold.
    pub messages: Arc<Budget>,
}

impl Shared {
    /// What sessions share that enter computers in `registry`, once their hello shows this token.
    pub fn new(registry: Arc<Registry>, token: Option<Token>) -> Self {
        Self {
            registry,
            token,
            late: LateAnswers::default(),
            parts: PartsRoom::default(),
            messages: Budget::new(MESSAGES),
        }
    }
}

/// How much the unfinished frames of all links may hold together.
#[derive(Debug)]
pub struct PartsRoom {
    /// Those of computers of which a bridge that is here waits for something.
    pub(super) asked: Arc<Budget>,
    /// Those of all others.
    pub(super) unasked: Arc<Budget>,
}

impl Default for PartsRoom {
    fn default() -> Self {
        Self {
            asked: Budget::new(3 * parts::MAX_FRAME),
            unasked: Budget::new(parts::MAX_FRAME / 2),
        }
    }
}
