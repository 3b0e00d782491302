//! `update-agent`: gives a computer's agent this bridge's version.

use rmcp::model::CallToolResult;
use serde::Deserialize;
use thiserror::Error;

use super::typed::Native;
use crate::{
    computers::{ComputerKey, Gate, updating::NotUpdated},
    tools::{
        Context,
        choosing::{ChoiceError, choose},
        text,
        wording::name_of,
    },
};

pub struct UpdateAgent;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
}

#[derive(Debug, Error)]
pub enum UpdateError {
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error("Computer {computer} {why}.")]
    NotUpdated { computer: String, why: NotUpdated },
}

impl Native for UpdateAgent {
    const NAME: &'static str = "update-agent";
    type Arguments = Arguments;
    type Error = UpdateError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, UpdateError> {
        let computer = choose(arguments.computer_id, context.fleet).await?;
        context.notes.about(&computer);
        let updated = context.fleet.update_agent(&computer, Some(Gate(&context)));
        let name = || name_of(&computer.facts());
        match updated.await {
            Ok(updated) => Ok(text(format!(
                "Computer {} was updated from {} to {}, and is linked. What ran there before has ended.",
                name(),
                updated.from,
                env!("CARGO_PKG_VERSION"),
            ))),
            // It is as it was asked for.
            Err(why @ NotUpdated::Current(_)) => Ok(text(format!("Computer {} {why}.", name()))),
            Err(why) => Err(UpdateError::NotUpdated {
                computer: name(),
                why,
            }),
        }
    }
}
