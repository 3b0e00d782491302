//! Which computer a call means.

use std::{sync::Arc, time::SystemTime};

use thiserror::Error;

use super::wording::{linked_names, why_gone};
use crate::computers::{Computer, ComputerKey, Fleet, Unreachable};

/// Why no computer is asked, and what to do.
#[derive(Debug, Error)]
pub enum ChoiceError {
    /// None can be.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// Several could be meant: their names.
    #[error("Several computers are linked, so say which with `computerId`: {0}.")]
    Several(String),
    /// The one that is meant is not linked, or none is.
    #[error("{0} Start `mcp-computer` on it in the game; list-computers shows when it has linked.")]
    NotLinked(String),
}

/// The computer a call means: the one it names, or the only one that is linked.
///
/// # Errors
/// It can't be asked, or several could be meant; what to do is said.
pub async fn choose(
    wanted: Option<ComputerKey>,
    fleet: &Fleet,
) -> Result<Arc<Computer>, ChoiceError> {
    if let Some(id) = wanted
        && let Some(computer) = fleet.computer(id).await?
        && computer.may_answer()
    {
        return Ok(computer);
    }
    let mut computers = fleet.computers().await?;
    let problem = match wanted {
        Some(id) => not_linked(id, &computers),
        None => {
            computers.retain(|computer| computer.link().is_some());
            match computers.len() {
                0 => "No computers connected.".to_owned(),
                1 => return Ok(computers.remove(0)),
                _ => return Err(ChoiceError::Several(linked_names(&computers))),
            }
        }
    };
    Err(ChoiceError::NotLinked(problem))
}

/// Why this computer can't be asked, and which others can.
fn not_linked(id: ComputerKey, computers: &[Arc<Computer>]) -> String {
    let why = match computers.iter().find(|computer| computer.key == id) {
        Some(gone) => why_gone(gone, SystemTime::now()),
        None => format!("Computer {id} is not linked."),
    };
    match linked_names(computers) {
        none if none.is_empty() => format!("{why} No computer is linked now."),
        names => format!("{why} Linked now: {names}."),
    }
}
