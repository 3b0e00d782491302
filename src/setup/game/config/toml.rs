//! The game's configuration in TOML, from Minecraft 1.13 on: rules, or before them the two lists.
//!
//! The parser of `toml` is one that knows where each value stands, and leaves the text alone.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    base::text::line_at,
    setup::{
        game::rules::{filter::Rule, pattern::Pattern},
        refusal::{Refusal, refused},
    },
};

use super::view::{self, Hosts, PlacedEntry, PlacedList, PlacedLists, PlacedRule, View, Word};

/// What a value in the file is called in a refusal.
type Expected = &'static str;

/// Reads a file that has no byte-order mark. `knows_ports`: whether this version of the game reads the port of a rule.
///
/// # Errors
/// It is no TOML, or says something else in these places than the game does, or nothing of HTTP.
pub fn read(text: &str, knows_ports: bool) -> Result<View, Refusal> {
    let document = DeTable::parse(text).map_err(|error| {
        let what = format!("it is no valid TOML: {}", error.message());
        match error.span() {
            Some(span) => refused(line_at(text, span.start), what),
            None => Refusal::new(what),
        }
    })?;
    let file = File { text };
    let root = document.get_ref();
    let http = match root.get("http") {
        Some(value) => file.table(value, "`http`")?,
        None => {
            return Err(Refusal::new(
                "it says nothing of HTTP: open the world once, so that the game completes it",
            ));
        }
    };
    let hosts = if let Some(rules) = http.get("rules") {
        Hosts::Rules(file.rules(rules, knows_ports)?)
    } else if let (Some(allowed), Some(blocked)) = (
        file.list(http, &["allowed_domains", "whitelist"])?,
        file.list(http, &["blocked_domains", "blacklist"])?,
    ) {
        Hosts::Lists(PlacedLists {
            allowed,
            blocked,
            host_by_name: true,
            as_rules: false,
        })
    } else {
        return Err(Refusal::new(
            "it has no rules for HTTP: open the world once, so that the game writes them",
        ));
    };
    Ok(View {
        enabled: file.switch(http, "enabled")?,
        websocket_enabled: file.switch(http, "websocket_enabled")?,
        hosts,
        computer_settings: root
            .get("default_computer_settings")
            .map(|value| file.string(value, "`default_computer_settings`"))
            .transpose()?,
    })
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

/// The text that places are in.
struct File<'a> {
    text: &'a str,
}

impl File<'_> {
    fn line(&self, at: &Range<usize>) -> usize {
        line_at(self.text, at.start)
    }

    fn wrong(&self, at: &Range<usize>, what: &str, expected: Expected) -> Refusal {
        refused(self.line(at), format!("{what} is not {expected}"))
    }

    fn table<'v, 'i>(
        &self,
        value: &'v Spanned<DeValue<'i>>,
        what: &str,
    ) -> Result<&'v DeTable<'i>, Refusal> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(&value.span(), what, "a table"))
    }

    fn string(&self, value: &Spanned<DeValue<'_>>, what: &str) -> Result<Word<String>, Refusal> {
        let at = value.span();
        match value.get_ref().as_str() {
            Some(text) => Ok(Word {
                value: text.to_owned(),
                at,
            }),
            None => Err(self.wrong(&at, what, "a text")),
        }
    }

    fn switch(&self, table: &DeTable<'_>, key: &str) -> Result<Option<Word<bool>>, Refusal> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let at = value.span();
        match value.get_ref().as_bool() {
            Some(value) => Ok(Some(Word { value, at })),
            None => Err(self.wrong(&at, &format!("`{key}`"), "`true` or `false`")),
        }
    }

    /// The first list of these names that there is.
    fn list(&self, table: &DeTable<'_>, names: &[&str]) -> Result<Option<PlacedList>, Refusal> {
        let found = names
            .iter()
            .find_map(|name| Some((*name, table.get(*name)?)));
        let Some((name, value)) = found else {
            return Ok(None);
        };
        let what = format!("`{name}`");
        let Some(array) = value.get_ref().as_array() else {
            return Err(self.wrong(&value.span(), &what, "a list"));
        };
        let entries = array
            .iter()
            .map(|entry| {
                let host = self.string(entry, &format!("an entry of {what}"))?;
                Ok(PlacedEntry {
                    line: self.line(&host.at),
                    host,
                })
            })
            .collect::<Result<_, Refusal>>()?;
        Ok(Some(PlacedList {
            name: name.to_owned(),
            entries,
        }))
    }

    fn rules(
        &self,
        value: &Spanned<DeValue<'_>>,
        knows_ports: bool,
    ) -> Result<Vec<PlacedRule>, Refusal> {
        let Some(array) = value.get_ref().as_array() else {
            return Err(self.wrong(&value.span(), "`rules` of HTTP", "a list of rules"));
        };
        array
            .iter()
            .map(|rule| self.rule(rule, knows_ports))
            .collect()
    }

    fn rule(&self, value: &Spanned<DeValue<'_>>, knows_ports: bool) -> Result<PlacedRule, Refusal> {
        let at = value.span();
        let line = self.line(&at);
        let table = self.table(value, "a rule of HTTP")?;
        let Some(host) = table.get("host") else {
            return Err(refused(
                line,
                "a rule has no host, so that the game refuses the rules",
            ));
        };
        let host = self.string(host, "a rule's host")?;
        let pattern = Pattern::of_rule(&host.value).map_err(|error| {
            refused(
                self.line(&host.at),
                format!("a rule's host {error}, so that the game refuses the rules"),
            )
        })?;
        let port = match table.get("port") {
            Some(port) => Some(self.port(port)?),
            None => None,
        };
        let action = match table.get("action") {
            Some(word) => {
                let word = self.string(word, "a rule's action")?;
                Some(view::action(&word.value, self.line(&word.at))?)
            }
            None => None,
        };
        let first = table.keys().map(|key| key.span().start).min();
        let last = table.values().map(|value| value.span().end).max();
        Ok(PlacedRule {
            header: self.text[at.clone()]
                .starts_with("[[")
                .then_some(at.clone()),
            keys: first.unwrap_or(at.end)..last.unwrap_or(at.end),
            plain: table
                .keys()
                .all(|key| matches!(key.get_ref().as_ref(), "host" | "port" | "action")),
            rule: Rule {
                host: host.value,
                pattern,
                port: port.filter(|_| knows_ports),
                action,
                line,
            },
        })
    }

    fn port(&self, value: &Spanned<DeValue<'_>>) -> Result<u16, Refusal> {
        value
            .get_ref()
            .as_integer()
            .and_then(|number| u16::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.wrong(&value.span(), "a rule's port", "a port"))
    }
}
