//! CCEmuX's `ccemux.json`: an object of settings, among them two lists of hosts that are read as those of rules are.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};

use crate::{
    base::text::line_at,
    setup::refusal::{Refusal, refused},
};

use super::view::{Hosts, PlacedEntry, PlacedList, PlacedLists, View, Word};

/// Reads a file that has no byte-order mark.
///
/// # Errors
/// It is no JSON object, or has other types in these places than CCEmuX.
pub fn read(text: &str) -> Result<View, Refusal> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).map_err(
        |error| {
            refused(
                error.line_display(),
                format!("it is no valid JSON: {}", error.kind()),
            )
        },
    )?;
    let Some(Value::Object(root)) = parsed.value else {
        return Err(Refusal::new("it is no JSON object"));
    };
    let (Some(allowed), Some(blocked)) = (
        list(text, &root, "httpWhitelist")?,
        list(text, &root, "httpBlacklist")?,
    ) else {
        return Err(Refusal::new(
            "it has no lists of hosts: start CCEmuX once, and close it, so that it writes them",
        ));
    };
    Ok(View {
        enabled: switch(text, &root, "httpEnable")?,
        websocket_enabled: None,
        hosts: Hosts::Lists(PlacedLists {
            allowed,
            blocked,
            host_by_name: false,
            as_rules: true,
        }),
        computer_settings: match root.get("defaultComputerSettings") {
            Some(property) => Some(string(text, &property.value, "defaultComputerSettings")?),
            None => None,
        },
    })
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn wrong(text: &str, value: &Value<'_>, name: &str, expected: &str) -> Refusal {
    refused(
        line_at(text, value.start()),
        format!("`{name}` is not {expected}"),
    )
}

fn string(text: &str, value: &Value<'_>, name: &str) -> Result<Word<String>, Refusal> {
    match value {
        Value::StringLit(word) => Ok(Word {
            value: word.value.to_string(),
            at: word.range.start..word.range.end,
        }),
        other => Err(wrong(text, other, name, "a text")),
    }
}

fn switch(text: &str, root: &Object<'_>, name: &str) -> Result<Option<Word<bool>>, Refusal> {
    match root.get(name).map(|property| &property.value) {
        None => Ok(None),
        Some(Value::BooleanLit(word)) => Ok(Some(Word {
            value: word.value,
            at: word.range.start..word.range.end,
        })),
        Some(other) => Err(wrong(text, other, name, "true or false")),
    }
}

fn list(text: &str, root: &Object<'_>, name: &str) -> Result<Option<PlacedList>, Refusal> {
    let array = match root.get(name).map(|property| &property.value) {
        None => return Ok(None),
        Some(Value::Array(array)) => array,
        Some(other) => return Err(wrong(text, other, name, "a list")),
    };
    let entries = array
        .elements
        .iter()
        .map(|element| {
            let host = string(text, element, name)?;
            Ok(PlacedEntry {
                line: line_at(text, host.at.start),
                host,
            })
        })
        .collect::<Result<_, Refusal>>()?;
    Ok(Some(PlacedList {
        name: name.to_owned(),
        entries,
    }))
}
