//! What `find-tools` answers: the best tools in full, the next in a line each, and how many more there are. Bounded: an
//! answer that a model did not expect to be long must not fill its memory.

use std::{borrow::Cow, collections::BTreeMap};

use rmcp::model::{JsonObject, Tool as Definition};
use serde_json::Value;

use crate::{
    base::{excerpt::shortened, text::one_line},
    tools::{Refusal, hints::is_read_only, hold::Hold, search::Searched},
};

/// How long an answer may be, in bytes: about 2,000 tokens, since a token of English and of JSON Schemas is four bytes or
/// a little more. A test counts them.
const MOST: usize = 8_000;

/// How much of that is kept for tools that are named in a line, if there are more than are shown in full.
const FOR_LINES: usize = 1_200;

/// How much of that what can't be called may take.
const FOR_REFUSED: usize = 1_600;

/// How much of that the end of the answer takes, which tells how to go on.
const FOR_END: usize = 160;

/// How many are named in a line each, where words say what is looked for: those that follow hardly fit.
const NAMED: usize = 20;

/// How many of the client's own list are named where nothing else fits.
const IN_LIST: usize = 3;

/// How much of a description stands in such a line, in characters.
const IN_A_LINE: usize = 110;

/// How much of a description stands with a tool whose arguments are shown without a word, in characters.
const IN_BRIEF: usize = 600;

/// How long a tool may be that was asked for by its name alone, in bytes.
const LONGEST_ONE: usize = 40_000;

/// What was asked for.
pub struct Asked<'a> {
    /// As the model wrote it.
    pub query: &'a str,
    /// How many are to be shown in full.
    pub limit: usize,
    /// How many of the best are to be passed over.
    pub offset: usize,
}

/// The answer.
pub fn answer(searched: &Searched, asked: &Asked<'_>, paused: Option<&Hold>) -> String {
    let besides = match searched.knows_others {
        true => " besides those in your list",
        false => "",
    };
    let total = searched.tools.len();
    let tools = &searched.tools[asked.offset.min(total)..];
    let mut end = Vec::new();
    if let Some(paused) = paused
        && tools.iter().any(|tool| !is_read_only(tool))
    {
        end.push(format!(
            "Those that do not say (changes nothing) are not called now: {}.",
            paused.told()
        ));
    }
    end.extend(refused(&searched.refused));
    let mut parts = Vec::new();
    if tools.is_empty() {
        parts.push(match (total, searched.are_any) {
            (0, false) => format!("There are no tools{besides}."),
            (0, true) => without_hits(searched),
            _ => format!("There are {total} tools{besides}, and no more."),
        });
    } else {
        let of_end: usize = end.iter().map(|part| part.len() + 2).sum();
        let mut room = Room(MOST.saturating_sub(of_end + FOR_END));
        let full = match !searched.words.is_empty() {
            true => in_full(tools, asked, &mut room, &mut parts),
            // Nothing says which of them are wanted.
            false => 0,
        };
        named(
            tools,
            full,
            !searched.words.is_empty(),
            besides,
            asked.offset,
            &mut room,
            &mut parts,
        );
    }
    parts.extend(end);
    parts.join("\n\n")
}

/// That nothing fits; of what the client knows from its list, what does.
fn without_hits(searched: &Searched) -> String {
    let words = searched.words.join(", ");
    if !searched.knows_others {
        return format!("No tool has any of these words: {words}. Without a query all are named.");
    }
    let in_list = match searched.in_list.as_slice() {
        [] => String::new(),
        names => format!(
            " Of those {} may be what you look for.",
            names[..names.len().min(IN_LIST)].join(", ")
        ),
    };
    format!(
        "Besides those in your list no tool has any of these words: {words}.{in_list} Without a query all others are named."
    )
}

/// What is left of an answer, in bytes.
struct Room(usize);

impl Room {
    /// Takes so much and the line breaks after it, if there is more than `rest` left then.
    fn take(&mut self, size: usize, rest: usize) -> bool {
        let left = self.0.checked_sub(size + 2).filter(|left| *left >= rest);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Adds the best with their arguments, and tells how many those are. One that is too long is shown in brief, and none after
/// one for which there is no room at all.
fn in_full(
    tools: &[impl AsRef<Definition>],
    asked: &Asked<'_>,
    room: &mut Room,
    parts: &mut Vec<String>,
) -> usize {
    for (number, tool) in tools.iter().take(asked.limit).enumerate() {
        let tool = tool.as_ref();
        let whole = whole(tool);
        let rest = match tools.len() - number {
            1 => 0,
            _ => FOR_LINES,
        };
        if room.take(whole.len(), rest) {
            parts.push(whole);
            continue;
        }
        if number == 0 && asked.query.trim() == tool.name {
            // Whoever asks for one by its name wants all of it, and there is no other way to it.
            room.0 = FOR_LINES;
            parts.push(match whole.len() <= LONGEST_ONE {
                true => whole,
                false => shortened(&brief(tool), LONGEST_ONE).into_owned(),
            });
            return 1;
        }
        let brief = brief(tool);
        if !room.take(brief.len(), rest) {
            return number;
        }
        parts.push(brief);
    }
    asked.limit.min(tools.len())
}

/// Adds those after the first `full` in a line each, as far as there is room, and tells how many more there are.
fn named(
    tools: &[impl AsRef<Definition>],
    full: usize,
    has_words: bool,
    besides: &str,
    offset: usize,
    room: &mut Room,
    parts: &mut Vec<String>,
) {
    let rest = &tools[full..];
    if rest.is_empty() {
        return;
    }
    let heading = match has_words {
        true => "Also (a name alone as the query shows it in full):".to_owned(),
        false => format!(
            "All tools{besides}; with words, or a name, as the query they are shown with their arguments:"
        ),
    };
    room.take(heading.len(), 0);
    let most = match has_words {
        true => NAMED,
        false => usize::MAX,
    };
    let mut lines = vec![heading];
    for tool in rest.iter().take(most) {
        let line = in_a_line(tool.as_ref(), IN_A_LINE);
        if !room.take(line.len(), 0) {
            break;
        }
        lines.push(line);
    }
    let shown = lines.len() - 1;
    let more = rest.len() - shown;
    if more > 0 {
        let next = offset + full + shown;
        let narrower = match has_words {
            true => "other words may find better ones",
            false => "a query finds what you look for",
        };
        lines.push(format!(
            "and {more} more: {narrower}, and `offset: {next}` goes on from here"
        ));
    }
    parts.push(lines.join("\n"));
}

/// What fits and can't be called, so that nobody looks for it elsewhere: each reason once, as far as there is room.
fn refused(refused: &[(String, Refusal)]) -> Vec<String> {
    let mut by_reason: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut withheld = Vec::new();
    for (name, refusal) in refused {
        match refusal {
            Refusal::Withheld(reason) => withheld.push(format!(
                "{}: {}",
                one_line(name),
                one_line(&shortened(reason, 400))
            )),
            other => by_reason
                .entry(other.reason())
                .or_default()
                .push(one_line(name)),
        }
    }
    let mut room = Room(FOR_REFUSED);
    let mut parts = Vec::new();
    // One of each is always named.
    let mut taken = |lines: &[Cow<'_, str>]| {
        let mut shown = 0;
        for line in lines {
            if !room.take(line.len(), 0) && shown > 0 {
                break;
            }
            shown += 1;
        }
        shown
    };
    for (reason, names) in by_reason {
        let shown = taken(&names);
        let more = match names.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..shown].join(", ");
        parts.push(format!("Refused, since {reason}: {names}{more}"));
    }
    if !withheld.is_empty() {
        let withheld: Vec<_> = withheld.into_iter().map(Into::into).collect();
        let shown = taken(&withheld);
        let more = match withheld.len() - shown {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        let lines = withheld[..shown].join("\n");
        parts.push(format!("Withheld, and can't be called:\n{lines}{more}"));
    }
    parts
}

/// A tool as call-tool needs to know it.
fn whole(tool: &Definition) -> String {
    let schema = Value::Object(tool.input_schema.as_ref().clone());
    format!("{}\nArguments: {schema}", in_a_line(tool, usize::MAX))
}

/// The same without what is said of the arguments.
fn brief(tool: &Definition) -> String {
    let schema = Value::Object(without_words(&tool.input_schema));
    format!(
        "{}\nArguments, without what they mean (its name alone as the query shows that): {schema}",
        in_a_line(tool, IN_BRIEF)
    )
}

/// A schema without what is there for readers only.
fn without_words(schema: &JsonObject) -> JsonObject {
    let within = |value: &Value| match value {
        Value::Object(inner) => Value::Object(without_words(inner)),
        other => other.clone(),
    };
    let mut brief = JsonObject::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("description" | "title" | "examples" | "$comment", _) => continue,
            // Their keys are names.
            (
                "properties" | "patternProperties" | "$defs" | "definitions",
                Value::Object(named),
            ) => {
                let named = named
                    .iter()
                    .map(|(name, value)| (name.clone(), within(value)));
                Value::Object(named.collect())
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(choices)) => {
                Value::Array(choices.iter().map(within).collect())
            }
            ("items" | "additionalProperties" | "not", value) => within(value),
            (_, value) => value.clone(),
        };
        brief.insert(key.clone(), value);
    }
    brief
}

fn in_a_line(tool: &Definition, most: usize) -> String {
    let note = match is_read_only(tool) {
        true => " (changes nothing)",
        false => "",
    };
    let description = tool.description.as_deref().unwrap_or_default();
    let description = shortened(description, most);
    format!("{}{note}: {}", tool.name, one_line(&description))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::tools::Paused;

    fn tool(name: &str, words: usize) -> Arc<Definition> {
        let argument = json!({"type": "string", "description": "word ".repeat(words)});
        let schema = json!({"type": "object", "properties": {"description": argument}});
        let schema = schema.as_object().unwrap().clone();
        Arc::new(Definition::new(
            name.to_owned(),
            "Does it.",
            Arc::new(schema),
        ))
    }

    fn found(tools: Vec<Arc<Definition>>) -> Searched {
        Searched {
            tools,
            words: vec!["x".to_owned()],
            are_any: true,
            ..Searched::default()
        }
    }

    fn asked(query: &str, offset: usize) -> Asked<'_> {
        Asked {
            query,
            limit: 5,
            offset,
        }
    }

    #[test]
    fn what_fits_is_shown_in_full_then_in_brief_then_named_then_counted() {
        let mut tools = vec![tool("small", 5), tool("large", 3_000), tool("other", 5)];
        tools.extend((0..100).map(|n| tool(&format!("more-{n}"), 5)));
        let text = answer(&found(tools), &asked("x", 0), None);
        let parts: Vec<_> = text.split("\n\n").collect();
        assert!(
            parts[0].starts_with("small: Does it.\nArguments: {"),
            "{text}"
        );
        assert_eq!(
            parts[1],
            "large: Does it.\nArguments, without what they mean (its name alone as the query shows that): \
             {\"type\":\"object\",\"properties\":{\"description\":{\"type\":\"string\"}}}"
        );
        assert!(
            parts[4].starts_with("more-1: ") && parts.len() == 6,
            "{text}"
        );
        assert!(
            parts[5].starts_with(
                "Also (a name alone as the query shows it in full):\nmore-2: Does it.\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("\nand 78 more: other words may find better ones, and `offset: 25` goes on from here"),
            "{text}"
        );
    }

    #[test]
    fn no_answer_is_longer_than_it_may_be_and_pages_leave_nothing_out() {
        let names: Vec<_> = (0..1_000).map(|n| format!("tool-number-{n:04}")).collect();
        let tools: Vec<_> = names.iter().map(|name| tool(name, 400)).collect();
        let reason = Refusal::ByPolicy("nobody wants it");
        for words in [vec!["x".to_owned()], Vec::new()] {
            let refused = names
                .iter()
                .map(|name| (format!("no-{name}"), reason.clone()));
            let searched = Searched {
                words,
                refused: refused.collect(),
                ..found(tools.clone())
            };
            let (mut offset, mut seen) = (0, Vec::new());
            loop {
                let text = answer(
                    &searched,
                    &asked("x", offset),
                    Some(&Hold::Paused(Paused::default())),
                );
                assert!(text.len() <= MOST, "{}", text.len());
                let named = text.lines().filter_map(|line| line.split_once(": "));
                let named = named
                    .map(|(name, _)| name)
                    .filter(|name| name.starts_with("tool-"));
                seen.extend(named.map(str::to_owned));
                let Some((_, next)) = text.split_once("`offset: ") else {
                    break;
                };
                offset = next.split_once('`').unwrap().0.parse().unwrap();
                assert_eq!(offset, seen.len());
            }
            assert_eq!(seen, names);
        }
        let text = answer(&found(tools), &asked("x", 5_000), None);
        assert_eq!(text, "There are 1000 tools, and no more.");
    }

    #[test]
    fn where_nothing_else_fits_it_is_said_what_of_the_clients_own_list_does() {
        let searched = Searched {
            words: vec!["chest".to_owned(), "iron".to_owned()],
            knows_others: true,
            in_list: ["list-items", "move-items", "map", "exec-lua"]
                .map(str::to_owned)
                .to_vec(),
            ..found(Vec::new())
        };
        let text = answer(&searched, &asked("which chest has iron", 0), None);
        assert_eq!(
            text,
            "Besides those in your list no tool has any of these words: chest, iron. Of those list-items, move-items, map \
             may be what you look for. Without a query all others are named."
        );
    }

    #[test]
    fn one_that_is_asked_for_by_its_name_is_shown_whole_however_long_it_is() {
        let tools = vec![tool("large", 4_000), tool("other", 5)];
        let text = answer(&found(tools), &asked(" large ", 0), None);
        assert!(text.starts_with("large: Does it.\nArguments: {") && text.len() > 20_000);
        assert!(
            text.ends_with("\nother: Does it."),
            "{}",
            &text[text.len() - 200..]
        );
        let text = answer(
            &found(vec![tool("large", 40_000)]),
            &asked("large", 0),
            None,
        );
        assert!(text.len() < 300, "{}", text.len());
    }
}
