//! The game's configuration up to Minecraft 1.12.2: Forge's own format of categories, settings and lists.
//!
//! ```text
//! http {
//!     B:enabled=true
//!     S:blocked_domains <
//!         127.0.0.0/8
//!      >
//! }
//! ```

use std::ops::Range;

use crate::setup::refusal::{Refusal, refused};

use super::view::{Hosts, PlacedEntry, PlacedList, PlacedLists, View, Word};

/// The names that a setting had in versions of the mod, each with its category, the newest first.
type Names = &'static [(&'static str, &'static str)];

const ENABLED: Names = &[("http", "enabled"), ("general", "http_enable")];
const WEBSOCKET_ENABLED: Names = &[
    ("http", "websocket_enabled"),
    ("general", "http_websocket_enable"),
];
const ALLOWED: Names = &[
    ("http", "allowed_domains"),
    ("http", "whitelist"),
    ("general", "http_whitelist"),
];
const BLOCKED: Names = &[
    ("http", "blocked_domains"),
    ("http", "blacklist"),
    ("general", "http_blacklist"),
];
const COMPUTER_SETTINGS: Names = &[("general", "default_computer_settings")];

/// Reads a file that has no byte-order mark.
///
/// # Errors
/// Its braces or lists don't end, a switch is neither on nor off, or the lists of hosts are missing.
pub fn read(text: &str) -> Result<View, Refusal> {
    let settings = settings(text)?;
    let hosts = PlacedLists {
        allowed: list(&settings, ALLOWED)?,
        blocked: list(&settings, BLOCKED)?,
        host_by_name: true,
        as_rules: false,
    };
    let computer_settings = match find(&settings, COMPUTER_SETTINGS) {
        Some(Setting {
            value: Value::One(word),
            ..
        }) => Some(word.clone()),
        Some(other) => return Err(refused(other.line, format!("`{}` is a list", other.name))),
        None => None,
    };
    Ok(View {
        enabled: switch(&settings, ENABLED)?,
        websocket_enabled: switch(&settings, WEBSOCKET_ENABLED)?,
        hosts: Hosts::Lists(hosts),
        computer_settings,
    })
}

/// A setting of the file.
struct Setting {
    category: String,
    name: String,
    value: Value,
    /// From 1 on.
    line: usize,
}

enum Value {
    One(Word<String>),
    List(Vec<PlacedEntry>),
}

/// All settings of a file, in their order.
fn settings(text: &str) -> Result<Vec<Setting>, Refusal> {
    let mut found = Vec::new();
    let mut categories: Vec<String> = Vec::new();
    let mut list: Option<Setting> = None;
    let mut start = 0;
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        let at = start;
        start += whole.len();
        let line = whole.trim();
        let begin = at + whole.len() - whole.trim_start().len();
        let place = begin..begin + line.len();
        if let Some(open) = &mut list {
            if line == ">" {
                found.extend(list.take());
            } else if let Value::List(entries) = &mut open.value
                && !line.is_empty()
            {
                entries.push(PlacedEntry {
                    host: Word {
                        value: line.to_owned(),
                        at: place,
                    },
                    line: number,
                });
            }
        } else if line.is_empty() || line.starts_with('#') {
        } else if let Some((name, value)) = setting(line, &place) {
            let setting = Setting {
                category: categories.join("."),
                name,
                value,
                line: number,
            };
            match &setting.value {
                Value::List(_) => list = Some(setting),
                Value::One(_) => found.push(setting),
            }
        } else if let Some(name) = line.strip_suffix('{') {
            categories.push(name.trim().trim_matches('"').to_owned());
        } else if line == "}" && categories.pop().is_none() {
            return Err(refused(number, "this brace closes nothing"));
        }
    }
    if let Some(open) = list {
        return Err(refused(
            open.line,
            format!("the list `{}` has no end", open.name),
        ));
    }
    if let Some(open) = categories.pop() {
        return Err(Refusal::new(format!("its category `{open}` has no end")));
    }
    Ok(found)
}

/// Reads `S:name=value`, or the beginning of a list, `S:name <`.
fn setting(line: &str, place: &Range<usize>) -> Option<(String, Value)> {
    let (kind, rest) = line.split_once(':')?;
    if kind.len() != 1 {
        return None;
    }
    let name = |text: &str| text.trim().trim_matches('"').to_owned();
    if let Some(before) = rest.strip_suffix('<') {
        return Some((name(before), Value::List(Vec::new())));
    }
    let (before, value) = rest.split_once('=')?;
    let word = Word {
        value: value.to_owned(),
        at: place.end - value.len()..place.end,
    };
    Some((name(before), Value::One(word)))
}

fn find(settings: &[Setting], names: Names) -> Option<&Setting> {
    names.iter().find_map(|(category, name)| {
        settings
            .iter()
            .find(|setting| setting.category == *category && setting.name == *name)
    })
}

fn switch(settings: &[Setting], names: Names) -> Result<Option<Word<bool>>, Refusal> {
    let Some(setting) = find(settings, names) else {
        return Ok(None);
    };
    let word = match &setting.value {
        Value::One(word) => word,
        Value::List(_) => {
            return Err(refused(
                setting.line,
                format!("`{}` is a list", setting.name),
            ));
        }
    };
    let value = match word.value.as_str() {
        "true" => true,
        "false" => false,
        other => {
            return Err(refused(
                setting.line,
                format!("`{}` is `{other}`, not `true` or `false`", setting.name),
            ));
        }
    };
    Ok(Some(Word {
        value,
        at: word.at.clone(),
    }))
}

fn list(settings: &[Setting], names: Names) -> Result<PlacedList, Refusal> {
    let Some(setting) = find(settings, names) else {
        let (_, newest) = names[0];
        return Err(Refusal::new(format!(
            "it has no `{newest}`: start the game once with ComputerCraft, so that it writes it"
        )));
    };
    match &setting.value {
        Value::List(entries) => Ok(PlacedList {
            name: setting.name.clone(),
            entries: entries.clone(),
        }),
        Value::One(_) => Err(refused(
            setting.line,
            format!(
                "`{}` is no list, as in versions that have no WebSockets",
                setting.name
            ),
        )),
    }
}
