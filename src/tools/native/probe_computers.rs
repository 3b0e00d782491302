//! `probe-computers`: asks every linked computer whether it is there.

use std::time::Duration;

use rmcp::model::CallToolResult;

use super::typed::{Native, NoArguments};
use crate::{
    base::text::one_line,
    computers::{Computer, Pong, Unreachable},
    tools::{Context, text, wording},
};

pub struct ProbeComputers {
    /// How long a computer has to answer.
    pub time: Duration,
}

impl Native for ProbeComputers {
    const NAME: &'static str = "probe-computers";
    type Arguments = NoArguments;
    type Error = Unreachable;

    async fn run(
        &self,
        context: Context<'_>,
        _: NoArguments,
    ) -> Result<CallToolResult, Unreachable> {
        let fleet = context.fleet;
        let mut linked = fleet.computers().await?;
        linked.retain(|computer| computer.link().is_some());
        let outdated = fleet.port().await.outdated();
        let outdated = outdated.map_or_else(String::new, |outdated| format!("\n\n{outdated}"));
        if linked.is_empty() {
            return Ok(text(format!("No computers connected.{outdated}")));
        }
        for computer in &linked {
            context.notes.about(computer);
        }
        let pongs = fleet.call_the_roll(&linked, self.time).await;
        let lines = linked.iter().zip(&pongs);
        let lines: Vec<_> = lines.map(|(computer, pong)| line(computer, pong)).collect();
        Ok(text(lines.join("\n") + &outdated))
    }
}

/// One computer's line.
fn line(computer: &Computer, pong: &Pong) -> String {
    let name = wording::name_of(&computer.facts());
    match pong {
        Pong::Text(pong) => {
            let expected = format!("pong from {} (Label: ", computer.key);
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
