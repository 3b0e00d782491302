//! Which computer a call means.

use std::{sync::Arc, time::SystemTime};

use super::wording::{linked_names, why_gone};
use crate::computers::{Computer, ComputerId, Fleet};

/// The computer a call means: the one it names, or the only one that is linked.
///
/// # Errors
/// It can't be asked, or several could be meant; what to do is said.
pub async fn choose(wanted: Option<ComputerId>, fleet: &Fleet) -> Result<Arc<Computer>, String> {
    if let Some(id) = wanted
        && let Some(computer) = fleet
            .computer(id)
            .await
            .map_err(|problem| problem.to_string())?
        && computer.may_answer()
    {
        return Ok(computer);
    }
    let mut computers = fleet
        .computers()
        .await
        .map_err(|problem| problem.to_string())?;
    let problem = match wanted {
        Some(id) => not_linked(id, &computers),
        None => {
            computers.retain(|computer| computer.link().is_some());
            match computers.len() {
                0 => "No computers connected.".to_owned(),
                1 => return Ok(computers.remove(0)),
                _ => {
                    let names = linked_names(&computers);
                    return Err(format!(
                        "Several computers are linked, so say which with `computerId`: {names}."
                    ));
                }
            }
        }
    };
    Err(format!(
        "{problem} Start `mcp-computer` on it in the game; list-computers shows when it has linked."
    ))
}

/// Why this computer can't be asked, and which others can.
fn not_linked(id: ComputerId, computers: &[Arc<Computer>]) -> String {
    let why = match computers.iter().find(|computer| computer.id == id) {
        Some(gone) => why_gone(gone, SystemTime::now()),
        None => format!("Computer {id} is not linked."),
    };
    match linked_names(computers) {
        none if none.is_empty() => format!("{why} No computer is linked now."),
        names => format!("{why} Linked now: {names}."),
    }
}
