//! `probe-computers`: asks every linked computer whether it is there.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::{Value, json};

use super::{Tool, annotations, arguments::Arguments, failure, object, text, wording};
use crate::fabric::{Answer, AskError, Computer, Fabric, one_line};

/// The tool.
pub struct ProbeComputers {
    definition: Definition,
    /// How long a computer has to answer.
    time: Duration,
}

impl ProbeComputers {
    /// The tool, with this much time for each computer.
    pub fn new(time: Duration) -> Self {
        let definition = Definition::new(
            "probe-computers",
            "Ping every linked ComputerCraft computer at once, to see which of them answer right now; one line each.",
            object(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
        )
        .with_title("Probe computers")
        .with_annotations(annotations(true, false, true, false));
        Self { definition, time }
    }

    async fn probe(&self, fabric: &Fabric) -> CallToolResult {
        let computers = match fabric.computers().await {
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
        let lines = linked.into_iter().map(async |computer| {
            line(
                computer,
                fabric.ask(computer, "ping", None, self.time).await,
            )
        });
        text(join_all(lines).await.join("\n"))
    }
}

impl Tool for ProbeComputers {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        fabric: &'a Fabric,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            match Arguments::new(arguments).end() {
                Ok(()) => self.probe(fabric).await,
                Err(problem) => failure(problem),
            }
        }
        .boxed()
    }
}

/// One computer's line.
fn line(computer: &Computer, asked: Result<Answer, AskError>) -> String {
    let name = wording::name_of(&computer.facts);
    match asked {
        Ok(Answer {
            error: None,
            result,
        }) => {
            let id = computer.facts.id;
            format!(
                "pong from {}",
                current_name(&name, &format!("pong from {id} (Label: "), result.as_ref())
            )
        }
        Ok(Answer {
            error: Some(error), ..
        }) => format!("error from {name}: {}", one_line(&error.message)),
        Err(AskError::Timeout(_) | AskError::LinkLost(_)) => format!("timeout from {name}"),
        Err(error @ AskError::TooLarge { .. }) => format!("error from {name}: {error}"),
    }
}

/// The computer's name with the label it has now, which its pong tells; `known` if the pong is of another form. The
/// number is always the one the bridge knows, so that no computer can answer for another.
fn current_name(known: &str, expected: &str, pong: Option<&Value>) -> String {
    pong.and_then(Value::as_str)
        .filter(|pong| pong.starts_with(expected) && pong.ends_with(')'))
        .and_then(|pong| pong.strip_prefix("pong from "))
        .map_or_else(|| known.to_owned(), |name| one_line(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pong: Value) -> String {
        current_name("12 (Label: old)", "pong from 12 (Label: ", Some(&pong))
    }

    #[test]
    fn a_pong_tells_the_label_of_now() {
        assert_eq!(named(json!("pong from 12 (Label: new)")), "12 (Label: new)");
        assert_eq!(named(json!("pong")), "12 (Label: old)");
        assert_eq!(named(json!({"pong": true})), "12 (Label: old)");
    }

    #[test]
    fn a_pong_can_forge_neither_a_line_nor_another_computers_number() {
        assert_eq!(
            named(json!("pong from 13 (Label: other)")),
            "12 (Label: old)"
        );
        assert_eq!(
            named(json!("pong from 12 (Label: a)\npong from 13 (Label: b)")),
            "12 (Label: a)\\npong from 13 (Label: b)"
        );
    }
}
