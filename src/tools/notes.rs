//! What a call's answer has to say of the computers that it is about, besides what they answered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use rmcp::model::{CallToolResult, ContentBlock};

use super::wording::changed_hands;
use crate::computers::{Computer, ComputerKey};

/// How many computers an answer says something of at most.
const MOST: usize = 20;

/// The computers that one call's answer is about.
#[derive(Debug, Default)]
pub struct Notes(Mutex<BTreeMap<ComputerKey, Arc<Computer>>>);

impl Notes {
    /// Notes that the answer is about a computer.
    pub(super) fn about(&self, computer: &Arc<Computer>) {
        let mut computers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        computers
            .entry(computer.key)
            .or_insert_with(|| computer.clone());
    }

    /// The call's answer with what there is to say of them: a number that changed hands may have answered in another
    /// computer's place.
    pub fn on(self, mut result: CallToolResult) -> CallToolResult {
        let computers = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let notes: Vec<_> = computers
            .values()
            .filter_map(|computer| {
                let change = computer.say_change_of_hands()?;
                Some(changed_hands(&computer.facts(), &change, now))
            })
            .collect();
        if notes.is_empty() {
            return result;
        }
        let mut text = notes[..notes.len().min(MOST)].join("\n");
        if notes.len() > MOST {
            text.push_str(&format!(
                "\nSo did {} more: list-computers names them.",
                notes.len() - MOST
            ));
        }
        result.content.push(ContentBlock::text(text));
        result
    }
}
