//! `call-tool`: calls any tool there is by its name, for clients that never see a changed list; and on several computers
//! at the same time.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use super::{kept::Kept, typed::Native};
use crate::{
    base::{
        excerpt::{self, excerpt},
        text::one_line,
    },
    computers::{ComputerKey, Unreachable},
    tools::{
        Context, Found, Refusal, TooDeep, Tool,
        bounds::{MaxChars, left_out},
        coercion::nearest,
        policy::CALL_TOOL,
        text_of,
        wording::name_of,
    },
};

/// The argument by which a tool is told its computer.
const COMPUTER: &str = "computerId";

/// How many computers a tool is called on at once, at most.
const MOST_COMPUTERS: usize = 100;

pub struct CallTool {
    /// Where answers of several computers are whole that are too long together.
    pub kept: Arc<Kept>,
}

#[derive(Deserialize)]
pub struct Arguments {
    name: String,
    arguments: Option<JsonObject>,
    computers: Option<Vec<ComputerKey>>,
}

#[derive(Debug, Error)]
pub enum CallToolError {
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    #[error("call-tool can't call itself.")]
    Itself,
    #[error("{}.", .refusal.of(.name))]
    Refused { name: String, refusal: Refusal },
    /// Whether there is such a tool is not known: why.
    #[error("{0}")]
    NotKnown(String),
    #[error("There is no tool `{}`{meant} find-tools shows those that are not in your list.", one_line(.name))]
    Unknown {
        name: String,
        /// The end of the sentence: the tool that may be meant, if one may.
        meant: String,
    },
    #[error(
        "{0} is not called on a computer: it takes no `{COMPUTER}`. Call it without `computers`."
    )]
    OfNoComputer(String),
    #[error(
        "`computers` names {0} computers, and a tool is called on up to {MOST_COMPUTERS} at once, and on one at least."
    )]
    WrongNumber(usize),
    #[error(
        "The computers are named in `computers` and again as `{COMPUTER}` in `arguments`: leave one of them out."
    )]
    Twice,
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
}

impl Native for CallTool {
    const NAME: &'static str = CALL_TOOL;
    const PASSES_ON: bool = true;
    type Arguments = Arguments;
    type Error = CallToolError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments {
            name,
            arguments,
            computers,
        }: Arguments,
    ) -> Result<CallToolResult, CallToolError> {
        let context = context.deeper()?;
        if name == CALL_TOOL {
            return Err(CallToolError::Itself);
        }
        let awaited = context.others.wait_for(&name).await;
        awaited.map_err(CallToolError::NotKnown)?;
        let arguments = arguments.unwrap_or_default();
        match (context.others.find(&name).await, computers) {
            (Found::Tool(tool), None) => Ok(tool.call(context, arguments).await),
            (Found::Tool(tool), Some(computers)) => {
                self.call_on(context, &*tool, &arguments, computers).await
            }
            (Found::Refused(refusal), _) => {
                context.note_refused();
                Err(CallToolError::Refused { name, refusal })
            }
            (Found::Nothing, _) => {
                let reachable = context.others.reachable();
                let meant = match nearest(&name, reachable.iter().map(String::as_str)) {
                    Some(meant) => format!("; did you mean `{meant}`?"),
                    None => ".".to_owned(),
                };
                Err(CallToolError::Unknown { name, meant })
            }
        }
    }
}

impl CallTool {
    /// Calls a tool on each of these computers at the same time.
    async fn call_on(
        &self,
        context: Context<'_>,
        tool: &dyn Tool,
        arguments: &JsonObject,
        computers: Vec<ComputerKey>,
    ) -> Result<CallToolResult, CallToolError> {
        let definition = tool.definition();
        let properties = definition.input_schema.get("properties");
        if properties.is_none_or(|properties| properties.get(COMPUTER).is_none()) {
            return Err(CallToolError::OfNoComputer(definition.name.to_string()));
        }
        if arguments.contains_key(COMPUTER) {
            return Err(CallToolError::Twice);
        }
        let mut seen = BTreeSet::new();
        let each: Vec<_> = computers
            .into_iter()
            .filter(|computer| seen.insert(*computer))
            .collect();
        if !(1..=MOST_COMPUTERS).contains(&each.len()) {
            return Err(CallToolError::WrongNumber(each.len()));
        }
        let calls = each.iter().map(|computer| {
            let mut arguments = arguments.clone();
            arguments.insert(COMPUTER.to_owned(), json!(computer));
            tool.call(context, arguments)
        });
        let results = join_all(calls).await;
        let known = context.fleet.computers().await?;
        let names = each.iter().map(|key| {
            let computer = known.iter().find(|computer| computer.key == *key);
            computer.map_or_else(|| key.to_string(), |computer| name_of(&computer.facts()))
        });
        Ok(self.together(names.collect(), results))
    }

    /// One result of those of several computers. Computers that answered the same are named together.
    fn together(&self, names: Vec<String>, results: Vec<CallToolResult>) -> CallToolResult {
        let mut groups: Vec<(Vec<String>, String, bool)> = Vec::new();
        let mut pictures = Vec::new();
        let all_failed = results.iter().all(|result| result.is_error == Some(true));
        for (name, result) in names.into_iter().zip(results) {
            let text = text_of(&result);
            let failed = result.is_error == Some(true);
            match groups
                .iter_mut()
                .find(|(_, other, other_failed)| *other == text && *other_failed == failed)
            {
                Some((names, _, _)) => names.push(name),
                None => groups.push((vec![name], text, failed)),
            }
            let images = result.content.into_iter();
            pictures.extend(images.filter(|block| block.as_text().is_none()));
        }
        // Each has the same share, of which what it does not need is the others'.
        let mut room = MaxChars::default().0;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|&at| groups[at].1.len());
        let mut parts = vec![String::new(); groups.len()];
        for (done, at) in order.into_iter().enumerate() {
            let (names, text, failed) = &groups[at];
            let plural = if names.len() == 1 { "" } else { "s" };
            let failed = if *failed { ", failed" } else { "" };
            let heading = format!("Computer{plural} {}{failed}:\n", names.join(", "));
            let share = room / (groups.len() - done);
            let text = self.cut(text, share.saturating_sub(heading.chars().count() + 2));
            let part = format!("{heading}{text}");
            room = room.saturating_sub(part.chars().count() + 2);
            parts[at] = part;
        }
        let mut content = vec![ContentBlock::text(parts.join("\n\n"))];
        content.append(&mut pictures);
        if all_failed {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        }
    }

    /// A text of at most so many characters, with the call that shows what is left out of it.
    fn cut(&self, text: &str, most: usize) -> String {
        if text.chars().count() <= most {
            return text.to_owned();
        }
        let id = self.kept.keep(CALL_TOOL, text);
        let lines: Vec<_> = excerpt::lines(text, 0).collect();
        excerpt(&lines, most, |gap| left_out(&id, gap))
    }
}
