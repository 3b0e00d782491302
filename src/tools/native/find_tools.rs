//! `find-tools`: the tools that a client does not know from its list, by words, with their schemas.

use std::{collections::BTreeMap, convert::Infallible};

use rmcp::model::{CallToolResult, Tool as Definition};
use serde::Deserialize;
use serde_json::Value;

use super::typed::Native;
use crate::{
    base::text::one_line,
    tools::{
        Context, Refusal,
        hints::is_read_only,
        policy::{CALL_TOOL, FIND_TOOLS},
        text,
    },
};

/// How many more are named.
const NAMED: usize = 200;

/// How many of those that can't be called are named, for each reason.
const WITHHELD: usize = 20;

pub struct FindTools;

#[derive(Deserialize)]
pub struct Arguments {
    query: Option<String>,
    limit: usize,
}

impl Native for FindTools {
    const NAME: &'static str = FIND_TOOLS;
    type Arguments = Arguments;
    type Error = Infallible;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, Infallible> {
        Ok(text(find(context, arguments).await))
    }
}

async fn find(context: Context<'_>, Arguments { query, limit }: Arguments) -> String {
    let query = query.unwrap_or_default();
    context.others.wait().await;
    let unsent = context.others.unsent();
    let besides = match unsent.len() == context.others.reachable().len() {
        true => "",
        false => " besides those in your list",
    };
    let words: Vec<_> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let unknown: Vec<_> = unsent
        .iter()
        .filter(|tool| tool.name != FIND_TOOLS && tool.name != CALL_TOOL)
        .collect();
    let mut found: Vec<_> = unknown
        .iter()
        .map(|&tool| (score(tool, &words), tool))
        .filter(|(score, _)| words.is_empty() || *score > 0)
        .collect();
    // The best first; those that are alike stay in order of name.
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut closing: Vec<_> = not_now(context, found.iter().map(|(_, tool)| *tool))
        .into_iter()
        .collect();
    closing.extend(refused(context, &words));
    if found.is_empty() {
        let none = match unknown.is_empty() {
            true => format!("There are no tools{besides}."),
            false => format!(
                "No tool has any of these words: {}{besides}. Without a query all are named{besides}.",
                words.join(", ")
            ),
        };
        return [vec![none], closing].concat().join("\n\n");
    }
    // Without words nothing says which of them are wanted.
    let full = if words.is_empty() {
        0
    } else {
        limit.min(found.len())
    };
    let mut parts: Vec<_> = found[..full]
        .iter()
        .map(|(_, tool)| in_full(tool))
        .collect();
    let rest = &found[full..];
    if !rest.is_empty() {
        let named: Vec<_> = rest
            .iter()
            .take(NAMED)
            .map(|(_, tool)| in_a_line(tool))
            .collect();
        let more = rest.len().saturating_sub(NAMED);
        let mut named = named.join("\n");
        if more > 0 {
            named.push_str(&format!("\nand {more} more"));
        }
        let heading = match full {
            0 => &format!("All tools{besides}; with a query each is shown with its arguments:"),
            _ => "Also:",
        };
        parts.push(format!("{heading}\n{named}"));
    }
    parts.extend(closing);
    parts.join("\n\n")
}

/// What fits the words and can't be called, so that nobody looks for it elsewhere, each reason once; nothing if nothing
/// does.
fn refused(context: Context<'_>, words: &[String]) -> Vec<String> {
    let fits = |name: &str| {
        let name = name.to_lowercase();
        words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
    };
    let mut refused = context.others.refused();
    refused.retain(|(name, _)| fits(name));
    let (mut switched_off, mut withheld) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
    for (name, refusal) in &refused {
        match refusal {
            Refusal::Withheld(reason) => {
                withheld.push(format!("{}: {}", one_line(name), one_line(reason)));
            }
            other => switched_off
                .entry(other.reason())
                .or_default()
                .push(one_line(name)),
        }
    }
    let mut parts = Vec::new();
    for (reason, names) in switched_off {
        let shown = names.len().min(WITHHELD);
        let more = match names.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..shown].join(", ");
        parts.push(format!("Refused, since {reason}: {names}{more}"));
    }
    if !withheld.is_empty() {
        let more = withheld.len().saturating_sub(WITHHELD);
        withheld.truncate(WITHHELD);
        let mut lines = vec!["Withheld, and can't be called:".to_owned()];
        lines.append(&mut withheld);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        parts.push(lines.join("\n"));
    }
    parts
}

/// That some of these tools are not called at this moment, if a person has paused them.
fn not_now<'a>(
    context: Context<'_>,
    mut found: impl Iterator<Item = &'a Definition>,
) -> Option<String> {
    let paused = context.others.paused()?;
    let some = found.any(|tool| !is_read_only(tool));
    some.then(|| {
        format!(
            "Those that do not say (changes nothing) are not called now: {}.",
            paused.told()
        )
    })
}

/// How well a tool fits the words: a word in its name counts most.
fn score(tool: &Definition, words: &[String]) -> u32 {
    let name = tool.name.to_lowercase();
    let title = tool.title.as_deref().unwrap_or_default().to_lowercase();
    let description = tool
        .description
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let arguments: Vec<_> = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|properties| properties.keys())
        .map(|key| key.to_lowercase())
        .collect();
    words
        .iter()
        .map(|word| {
            let word = word.as_str();
            if name == word {
                16
            } else if name.split(['-', '_']).any(|part| part == word) {
                8
            } else if name.contains(word) {
                6
            } else if title.contains(word) {
                4
            } else if description.contains(word) {
                2
            } else {
                u32::from(arguments.iter().any(|argument| argument.contains(word)))
            }
        })
        .sum()
}

/// A tool as call-tool needs to know it.
fn in_full(tool: &Definition) -> String {
    let schema = Value::Object(tool.input_schema.as_ref().clone());
    format!("{}\nArguments: {schema}", in_a_line(tool))
}

fn in_a_line(tool: &Definition) -> String {
    let note = if is_read_only(tool) {
        " (changes nothing)"
    } else {
        ""
    };
    format!(
        "{}{note}: {}",
        tool.name,
        one_line(tool.description.as_deref().unwrap_or_default())
    )
}
