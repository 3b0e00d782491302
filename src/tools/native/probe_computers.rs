//! `probe-computers`: asks every linked computer whether it is there.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use crate::{
    base::text::one_line,
    computers::{About, Answer, Ask, Computer, End, Fleet, Waited},
    tools::{
        Context,
        arguments::Arguments,
        entry::{Handled, Handler},
        failure, text, wording,
    },
};

/// The tool.
pub struct ProbeComputers {
    /// How long a computer has to answer.
    time: Duration,
}

impl ProbeComputers {
    /// The tool, with this much time for each computer.
    pub fn new(time: Duration) -> Self {
        Self { time }
    }

    async fn probe(&self, fleet: &Fleet) -> CallToolResult {
        let computers = match fleet.computers().await {
            Ok(computers) => computers,
            Err(unreachable) => return failure(unreachable.to_string()),
        };
        let linked: Vec<_> = computers
            .iter()
            .filter(|computer| computer.link().is_some())
            .collect();
        if linked.is_empty() {
            return text("No computers connected.");
        }
        let lines = linked
            .into_iter()
            .map(async |computer| line(computer, &self.ping(fleet, computer).await));
        text(join_all(lines).await.join("\n"))
    }

    /// The computer's answer, or why there is none.
    async fn ping(&self, fleet: &Fleet, computer: &Computer) -> Pong {
        let ask = Ask {
            method: "ping",
            params: None,
            about: About::unlisted(),
        };
        let job = match fleet.begin(computer, ask) {
            Ok(job) => job,
            Err(problem) => return Pong::Error(problem),
        };
        match fleet.run(computer, &job, ask, self.time).await {
            Waited::Ended => {}
            Waited::Running | Waited::NotTaken | Waited::Offline(_) => {
                computer.give_up(&job);
                return Pong::None;
            }
            Waited::TooLarge { size, limit } => {
                return Pong::Error(format!(
                    "a ping of {size} bytes is over its limit of {limit}"
                ));
            }
        }
        match job.look(|progress| progress.end.clone()).as_deref() {
            Some(End::Answered(Answer {
                error: Some(error), ..
            })) => Pong::Error(error.message.clone()),
            Some(End::Answered(Answer { result, .. })) => Pong::Text(
                result
                    .as_ref()
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            ),
            Some(End::Lost(_)) | None => Pong::None,
        }
    }
}

/// What a computer says to a ping.
enum Pong {
    Text(String),
    Error(String),
    None,
}

impl Handler for ProbeComputers {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            match Arguments::new(arguments).end() {
                Ok(()) => self.probe(context.fleet).await,
                Err(problem) => failure(problem),
            }
        }
        .map(Handled::Result)
        .boxed()
    }
}

/// One computer's line.
fn line(computer: &Computer, pong: &Pong) -> String {
    let name = wording::name_of(&computer.facts());
    match pong {
        Pong::Text(pong) => {
            let expected = format!("pong from {} (Label: ", computer.id);
            format!("pong from {}", current_name(&name, &expected, pong))
        }
        Pong::Error(error) => format!("error from {name}: {}", one_line(error)),
        Pong::None => format!("timeout from {name}"),
    }
}

/// The computer's name with the label it has now, which its pong tells; `known` if the pong is of another form. The
/// number is always the one the bridge knows, so that no computer can answer for another.
fn current_name(known: &str, expected: &str, pong: &str) -> String {
    Some(pong)
        .filter(|pong| pong.starts_with(expected) && pong.ends_with(')'))
        .and_then(|pong| pong.strip_prefix("pong from "))
        .map_or_else(|| known.to_owned(), |name| one_line(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pong: &str) -> String {
        current_name("12 (Label: old)", "pong from 12 (Label: ", pong)
    }

    #[test]
    fn a_pong_tells_the_label_of_now() {
        assert_eq!(named("pong from 12 (Label: new)"), "12 (Label: new)");
        assert_eq!(named("pong"), "12 (Label: old)");
    }

    #[test]
    fn a_pong_can_forge_neither_a_line_nor_another_computers_number() {
        assert_eq!(named("pong from 13 (Label: other)"), "12 (Label: old)");
        assert_eq!(
            named("pong from 12 (Label: a)\npong from 13 (Label: b)"),
            "12 (Label: a)\\npong from 13 (Label: b)"
        );
    }
}
