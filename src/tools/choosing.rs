//! Which computer a call means.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    coercion::nearest,
    wording::{linked_names, name_of, why_gone},
};
use crate::{
    base::text::one_line,
    computers::{Computer, ComputerKey, Fleet, Presence, Unreachable},
};

/// How long a computer that left is still meant by its label.
const KNOWN_FOR: Duration = Duration::from_secs(30 * 24 * 3_600);

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
    /// No computer has this label.
    #[error("No computer has the label \"{}\"{meant} {linked}", one_line(.label))]
    NoLabel {
        /// The label.
        label: String,
        /// The end of the sentence: the computer that may be meant, if one may.
        meant: String,
        /// Which computers are linked.
        linked: String,
    },
    /// Several computers have it: their names.
    #[error("Several computers have the label \"{}\", so give the number: {names}.", one_line(.label))]
    OfSeveral {
        /// The label.
        label: String,
        /// The computers that have it.
        names: String,
    },
}

/// Puts the number into `computerId` where that is the label of a computer, in the arguments of a tool whose schema has
/// `computerId` as a number.
///
/// # Errors
/// The label is that of no computer, or of several.
pub async fn number(
    schema: &JsonObject,
    arguments: &mut JsonObject,
    fleet: &Fleet,
) -> Result<(), ChoiceError> {
    const NAME: &str = "computerId";
    let properties = schema.get("properties");
    let kind = properties.and_then(|all| all.get(NAME)?.get("type"));
    if kind.is_some_and(|kind| kind == "integer")
        && let Some(Value::String(label)) = arguments.get(NAME)
    {
        let key = named(label, fleet).await?;
        arguments.insert(NAME.to_owned(), json!(key));
    }
    Ok(())
}

/// The computer that is called so: by its number in digits, alone or as lists show it (`12 (Label: farm)`), or by a label
/// that no other computer has which is linked or was within the last month.
///
/// # Errors
/// None is, or several are.
pub async fn named(name: &str, fleet: &Fleet) -> Result<ComputerKey, ChoiceError> {
    let digits = name.trim().split(" (Label: ").next().unwrap_or_default();
    if let Some(key) = serde_json::from_str(digits)
        .ok()
        .and_then(|number: Value| ComputerKey::from_json(&number))
    {
        return Ok(key);
    }
    let now = SystemTime::now();
    let mut known = fleet.computers().await?;
    known.retain(|computer| match computer.presence() {
        Presence::Linked(_) => true,
        Presence::Left { since, .. } => now.duration_since(since).unwrap_or_default() <= KNOWN_FOR,
    });
    by_label(name, &known)
}

fn by_label(label: &str, known: &[Arc<Computer>]) -> Result<ComputerKey, ChoiceError> {
    let label_of = |computer: &Computer| computer.facts().label.clone().unwrap_or_default();
    let is_exact = |computer: &&Arc<Computer>| label_of(computer) == label;
    let folded = label.trim().to_lowercase();
    let is_near = |computer: &&Arc<Computer>| label_of(computer).trim().to_lowercase() == folded;
    let mut meant: Vec<_> = known.iter().filter(is_exact).collect();
    if meant.is_empty() && !folded.is_empty() {
        meant = known.iter().filter(is_near).collect();
    }
    match meant.as_slice() {
        [one] => Ok(one.key),
        [] => {
            let labels: Vec<_> = known.iter().map(|computer| label_of(computer)).collect();
            let near = nearest(label, labels.iter().map(String::as_str));
            let near = known
                .iter()
                .find(|one| Some(label_of(one).as_str()) == near);
            Err(ChoiceError::NoLabel {
                label: label.to_owned(),
                meant: near.map_or_else(
                    || ".".to_owned(),
                    |near| format!("; did you mean {}?", name_of(&near.facts())),
                ),
                linked: linked(known),
            })
        }
        several => {
            let names = several.iter().map(|computer| {
                let name = name_of(&computer.facts());
                match computer.link() {
                    Some(_) => name,
                    None => format!("{name}, offline"),
                }
            });
            Err(ChoiceError::OfSeveral {
                label: label.to_owned(),
                names: names.collect::<Vec<_>>().join("; "),
            })
        }
    }
}

/// Which computers are linked, as a sentence.
fn linked(computers: &[Arc<Computer>]) -> String {
    match linked_names(computers) {
        none if none.is_empty() => "No computer is linked now.".to_owned(),
        names => format!("Linked now: {names}."),
    }
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
    format!("{why} {}", linked(computers))
}
