//! What a file says, with the place of each word in its text.

use std::ops::Range;

use crate::setup::{
    game::rules::{
        filter::{Action, Entry, Filter, Lists, Rule},
        pattern::Pattern,
    },
    refusal::{Refusal, refused},
};

use super::computer_settings;

/// What a configuration file says of HTTP and of new computers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Whether computers have `http`; it is on where nothing is said.
    pub enabled: Option<Word<bool>>,
    /// Whether they have WebSockets, in the same way.
    pub websocket_enabled: Option<Word<bool>>,
    pub hosts: Hosts,
    /// Settings that every computer begins with: `name=value,name=value`.
    pub computer_settings: Option<Word<String>>,
}

/// A value and its bytes in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<T> {
    pub value: T,
    pub at: Range<usize>,
}

/// Which hosts may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    Rules(Vec<PlacedRule>),
    Lists(PlacedLists),
}

/// A rule and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    pub rule: Rule,
    /// Its header `[[http.rules]]`; none of a rule that is written in one line, `{ host = … }`.
    pub header: Option<Range<usize>>,
    /// The place of its first key; the end of its last value.
    pub keys: Range<usize>,
    /// Whether it says nothing but host, port and action.
    pub plain: bool,
}

/// The two lists, and how they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedLists {
    pub allowed: PlacedList,
    pub blocked: PlacedList,
    /// See [`Lists::host_by_name`].
    pub host_by_name: bool,
    /// Whether entries are read as hosts of rules are, which know `$private`.
    pub as_rules: bool,
}

/// A list and the places of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedList {
    /// Its name in the file.
    pub name: String,
    pub entries: Vec<PlacedEntry>,
}

/// An entry and its place, with the marks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedEntry {
    pub host: Word<String>,
    /// From 1 on.
    pub line: usize,
}

impl View {
    /// Whether computers have `http`, and WebSockets.
    pub fn http_is_on(&self) -> bool {
        self.enabled.as_ref().is_none_or(|word| word.value)
    }

    pub fn websockets_are_on(&self) -> bool {
        self.websocket_enabled
            .as_ref()
            .is_none_or(|word| word.value)
    }

    /// The rules or lists, to be asked.
    pub fn filter(&self) -> Filter {
        match &self.hosts {
            Hosts::Rules(rules) => {
                Filter::Rules(rules.iter().map(|placed| placed.rule.clone()).collect())
            }
            Hosts::Lists(lists) => Filter::Lists(Lists {
                allowed: entries(&lists.allowed, lists.as_rules),
                blocked: entries(&lists.blocked, lists.as_rules),
                host_by_name: lists.host_by_name,
            }),
        }
    }

    /// The value of one of the settings that every computer begins with.
    pub fn computer_setting(&self, name: &str) -> Option<&str> {
        let word = self.computer_settings.as_ref()?;
        computer_settings::get(&word.value, name)
    }
}

fn entries(list: &PlacedList, as_rules: bool) -> Vec<Entry> {
    let read = if as_rules {
        Pattern::of_rule
    } else {
        Pattern::of_list
    };
    list.entries
        .iter()
        .map(|entry| Entry {
            pattern: read(&entry.host.value).ok(),
            host: entry.host.value.clone(),
            line: entry.line,
        })
        .collect()
}

/// Reads the action of a rule.
///
/// # Errors
/// It is none that the game knows.
pub fn action(text: &str, line: usize) -> Result<Action, Refusal> {
    if text.eq_ignore_ascii_case("allow") {
        Ok(Action::Allow)
    } else if text.eq_ignore_ascii_case("deny") {
        Ok(Action::Deny)
    } else {
        Err(refused(
            line,
            format!(
                "a rule's action is `{text}`; the game knows `allow` and `deny` only, and refuses the file"
            ),
        ))
    }
}
