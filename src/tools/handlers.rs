//! The handlers of tools that are written in Lua: on the host, and on a computer in the game.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    Context,
    choosing::choose,
    computer::RunError,
    couriers::Couriers,
    entry::{Handled, Handler},
    host::{Code, HostHandler, Rights},
    legible,
    plain_chunk::Piece,
};
use crate::{computers::ComputerKey, wire::text};

/// How much of what a handler printed is logged, in characters.
const PRINTED: usize = 2000;

/// What programs in the game have, and handlers on the host look for in vain.
const OF_THE_GAME: [&str; 16] = [
    "turtle",
    "peripheral",
    "redstone",
    "rs",
    "fs",
    "term",
    "gps",
    "rednet",
    "commands",
    "pocket",
    "disk",
    "textutils",
    "settings",
    "shell",
    "parallel",
    "colors",
];

/// What is said with a deadline that came.
const MORE_TIME: &str = "Whoever wrote it can give it more time by `mcp.timeoutMs` in its entry.";

/// A handler that runs on the host.
pub struct OnHost {
    /// What runs.
    pub code: Code,
    /// How long it may take.
    pub time: Duration,
    /// Where it runs.
    pub host: Arc<HostHandler>,
}

impl Handler for OnHost {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            let arguments = Value::Object(arguments);
            let run = self.host.run(
                context,
                &self.code,
                Rights::OfItsAuthor,
                arguments,
                self.time,
            );
            let ended = run.await;
            log_printed(&self.code, &ended.printed);
            match ended.end {
                Ok(values) => Handled::Values(values),
                Err(problem) if problem.is_timeout() => {
                    Handled::Failed(format!("{problem} {MORE_TIME}"))
                }
                Err(problem) => {
                    let mut told = problem.to_string();
                    told.push_str(&hint_at_the_game(&told));
                    Handled::Failed(told)
                }
            }
        }
        .boxed()
    }
}

/// What is said of an error of a handler on the host that looks for what only computers have; nothing of others.
fn hint_at_the_game(error: &str) -> String {
    let missing = OF_THE_GAME
        .iter()
        .find(|name| error.contains(&format!("global '{name}' (a nil value)")));
    missing.map_or_else(String::new, |name| {
        format!(
            "\n\n`{name}` is there on computers in the game only, and this handler runs on the host: give its entry \
             `kind: computer.lua`, or run Lua there by `computers.exec`."
        )
    })
}

/// What a handler prints is for who writes it, so it goes to the log.
fn log_printed(code: &Code, printed: &str) {
    if !printed.is_empty() {
        let printed: String = legible::text(printed).chars().take(PRINTED).collect();
        let printed = crate::base::text::one_line(&printed);
        tracing::info!(handler = code.chunk, "printed: {printed}");
    }
}

/// A handler that runs on the computer that its argument `computerId` names.
pub struct OnComputer {
    /// What runs.
    pub code: Code,
    /// How long it may take.
    pub time: Duration,
    /// How it gets there.
    pub couriers: Arc<Couriers>,
    /// Whether it holds the turtle.
    pub exclusive: bool,
    /// Whether a person's pause holds it up.
    pub pauses: bool,
}

impl Handler for OnComputer {
    fn run<'a>(
        &'a self,
        context: Context<'a>,
        mut arguments: JsonObject,
    ) -> BoxFuture<'a, Handled> {
        async move {
            let wanted = match arguments.shift_remove("computerId") {
                None => None,
                Some(value) => match ComputerKey::from_json(&value) {
                    Some(id) => Some(id),
                    None => {
                        return Handled::Failed(format!(
                            "`computerId` must be a computer's number, such as 12, not {value}."
                        ));
                    }
                },
            };
            let computer = match choose(wanted, context.fleet).await {
                Ok(computer) => computer,
                Err(problem) => return Handled::Failed(problem.to_string()),
            };
            let piece = Piece {
                name: &self.code.chunk,
                source: &self.code.source,
                method: self.code.method.as_deref(),
                arguments: &[Value::Object(arguments)],
                exclusive: self.exclusive,
                is_kept: true,
                pauses: self.pauses,
                is_listed: true,
            };
            let ran = self
                .couriers
                .run(context, &computer, piece, self.time)
                .await;
            match ran.end {
                Ok(values) => {
                    log_printed(&self.code, &ran.output);
                    Handled::Values(values)
                }
                Err(problem) => {
                    let mut told = problem.to_string();
                    if matches!(problem, RunError::Stopped { .. }) {
                        told.push_str(". ");
                        told.push_str(MORE_TIME);
                    }
                    if !ran.output.is_empty() && !context.shows_output() {
                        told.push_str("\n\nOutput before the error:\n");
                        told.push_str(&text::read(&ran.output));
                    }
                    Handled::Failed(told)
                }
            }
        }
        .boxed()
    }
}
