//! What a call's answer has to say besides what was answered: of the computers that it is about, and whether somebody else
//! refused it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};

use super::wording::changed_hands;
use crate::computers::{Computer, ComputerKey};

/// How many computers an answer says something of at most.
const MOST: usize = 20;

/// What there is to say with one call's answer.
#[derive(Debug, Default)]
pub struct Notes {
    /// The computers that it is about.
    computers: Mutex<BTreeMap<ComputerKey, Arc<Computer>>>,
    /// See [`Notes::refuse`].
    refusal: Mutex<Option<ErrorData>>,
}

impl Notes {
    /// Notes that the answer is about a computer.
    pub(super) fn about(&self, computer: &Arc<Computer>) {
        let computers = &self.computers;
        let mut computers = computers.lock().unwrap_or_else(PoisonError::into_inner);
        computers
            .entry(computer.key)
            .or_insert_with(|| computer.clone());
    }

    /// Notes that the answer to the client's call is this error of whoever it was passed on to: its code and its data are
    /// for the client.
    pub fn refuse(&self, error: ErrorData) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// That error, if the answer is one.
    pub fn refusal(&self) -> Option<ErrorData> {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.take()
    }

    /// The call's answer with what there is to say of them: a number that changed hands may have answered in another
    /// computer's place.
    pub fn on(self, mut result: CallToolResult) -> CallToolResult {
        let computers = self.computers.into_inner();
        let computers = computers.unwrap_or_else(PoisonError::into_inner);
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
