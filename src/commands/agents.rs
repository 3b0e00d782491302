//! `mcp-bridge agents`: the programs on the computers in the game, by which they are linked.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};

use super::{
    console,
    jobs::cant_be_asked,
    meant::{is_called, listed},
};
use crate::{
    base::text::one_line,
    computers::updating::is_older,
    hands::{
        mailbox,
        message::{Answer, ComputerRow, Question},
    },
    settings::Folders,
};

/// How long bridges have to tell which computers there are.
const TO_ANSWER: Duration = Duration::from_secs(4);

/// How long a bridge has for one update: longer than it gives the computer.
const TO_UPDATE: Duration = Duration::from_secs(90);

/// Update mcp-computer on the computers in the game
#[derive(Debug, Args)]
pub struct Agents {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Give each linked computer that has an older one this version's, one after the other
    ///
    /// A computer keeps the new version once that has linked; else it goes on with the old one, and no other computer is
    /// touched. Jobs on it have five seconds to end. Exit code 0: all of them have this version; 1: not all.
    Update {
        /// The numbers or labels of the computers; all by default
        #[arg(value_name = "COMPUTER")]
        computers: Vec<String>,
    },
}

impl Agents {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let Action::Update { computers } = self.action;
        update(folders, &computers)
    }
}

fn update(folders: &Folders, wanted: &[String]) -> ExitCode {
    let round = match mailbox::ask(&folders.shared, &Question::Computers, TO_ANSWER) {
        Ok(round) => round,
        Err(error) => return cant_be_asked(folders, &error),
    };
    // What a bridge gives is its own version.
    let own = round
        .told
        .into_iter()
        .filter(|(_, told)| told.version == env!("CARGO_PKG_VERSION"));
    let known = own.filter_map(|(name, told)| match told.answer {
        Answer::Computers { computers, .. } => Some((name, computers)),
        _ => None,
    });
    let Some((bridge, known)) = known.max_by_key(|(_, computers)| computers.len()) else {
        console::note(
            "No mcp-bridge of this version runs that could be asked. Start your MCP client, or `mcp-bridge serve`.",
        );
        return ExitCode::FAILURE;
    };
    let linked: Vec<_> = known.into_iter().filter(|row| row.left.is_none()).collect();
    let mut all_are_well = true;
    let mut named = Vec::new();
    for word in wanted {
        let of_word: Vec<_> = linked.iter().filter(|row| is_called(row, word)).collect();
        match of_word[..] {
            [one] => named.push(one.computer),
            [] => {
                console::note(&format!("No computer {} is linked.", one_line(word)));
                all_are_well = false;
            }
            _ => {
                console::note(&format!(
                    "Several linked computers are called {}: {}. Name one by its number.",
                    one_line(word),
                    listed(&of_word)
                ));
                all_are_well = false;
            }
        }
    }
    let names_none = wanted.is_empty();
    let is_wanted = |row: &&ComputerRow| {
        let is_named = named.contains(&row.computer);
        let is_old = row.agent.as_deref().is_some_and(is_older);
        is_named || names_none && is_old
    };
    let wanted: Vec<_> = linked.iter().filter(is_wanted).collect();
    if wanted.is_empty() && names_none {
        console::say(&match linked.len() {
            0 => "No computer is linked.".to_owned(),
            count => format!("None of the {count} linked computers has an older mcp-computer."),
        });
        return ExitCode::SUCCESS;
    }
    for (done, row) in wanted.iter().enumerate() {
        let orders = BTreeMap::from([(bridge.clone(), row.computer)]);
        let round = match mailbox::ask(&folders.shared, &Question::Update(orders), TO_UPDATE) {
            Ok(round) => round,
            Err(error) => return cant_be_asked(folders, &error),
        };
        let (said, is_well) = match round.told.into_values().next().map(|told| told.answer) {
            Some(Answer::Updated { said, is_well }) => (said, is_well),
            _ => (
                format!(
                    "{}: the mcp-bridge that was to update it did not answer.",
                    row.name
                ),
                false,
            ),
        };
        console::say(&one_line(&said));
        all_are_well &= is_well;
        let left = wanted.len() - done - 1;
        if !is_well && left > 0 {
            console::note(&format!(
                "Left as they are: {left} more. With their numbers, `mcp-bridge agents update NUMBER` goes on with them."
            ));
            break;
        }
    }
    match all_are_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
