//! Takes out of a file what was added to it, and leaves what others have changed since.

use crate::setup::{
    game::rules::filter::Action,
    refusal::Refusal,
    splice::{self, Splice},
};

use super::{
    computer_settings,
    format::Format,
    open::{Added, Switch},
    view::{Hosts, PlacedList, PlacedRule, View, Word},
};

/// The file without what was added. What is no longer there is passed over.
///
/// # Errors
/// The file can't be read any more.
pub fn close(text: &str, format: Format, added: &[Added]) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    // One after the other: what was added twice, with another token or port, stands in one place.
    for added in added {
        let view = format.read(&text)?;
        let file = File {
            text: &text,
            format,
        };
        if let Some(splice) = file.taken_out(&view, added) {
            text = splice::apply(&text, vec![splice]);
        }
    }
    format.read(&text)?;
    Ok(text)
}

struct File<'a> {
    text: &'a str,
    format: Format,
}

impl File<'_> {
    fn taken_out(&self, view: &View, added: &Added) -> Option<Splice> {
        match (added, &view.hosts) {
            (Added::Switch(switch), _) => {
                let word = match switch {
                    Switch::Http => view.enabled.as_ref(),
                    Switch::Websockets => view.websocket_enabled.as_ref(),
                };
                let word = word.filter(|word| word.value)?;
                Some(Splice::new(word.at.clone(), "false"))
            }
            (Added::Rule { host, port }, Hosts::Rules(rules)) => {
                self.without_rule(rules, host, *port)
            }
            (Added::Split { was, into }, Hosts::Lists(lists)) => {
                self.joined(&lists.blocked, was, into)
            }
            (Added::Host { host }, Hosts::Lists(lists)) => self.without_entry(&lists.allowed, host),
            (Added::ComputerSettings { names, line }, _) => {
                self.without_settings(view.computer_settings.as_ref()?, names, *line)
            }
            (Added::Rule { .. }, Hosts::Lists(_))
            | (Added::Split { .. } | Added::Host { .. }, Hosts::Rules(_)) => None,
        }
    }

    /// From the rule's header to its last value, with the empty line that follows.
    fn without_rule(&self, rules: &[PlacedRule], host: &str, port: Option<u16>) -> Option<Splice> {
        let ours = |placed: &&PlacedRule| {
            placed.plain
                && placed.rule.host == host
                && placed.rule.port == port
                && placed.rule.action == Some(Action::Allow)
        };
        let placed = rules.iter().find(ours)?;
        let start = splice::line_start(self.text, placed.header.as_ref()?.start);
        let end = splice::next_line(self.text, placed.keys.end);
        let after = splice::next_line(self.text, end);
        let end = if self.text[end..after].trim().is_empty() {
            after
        } else {
            end
        };
        Some(Splice::new(start..end, ""))
    }

    /// The entry that the parts of it were.
    fn joined(&self, list: &PlacedList, was: &str, into: &[String]) -> Option<Splice> {
        let parts = list
            .entries
            .windows(into.len().max(1))
            .find(|window| window.iter().map(|entry| &entry.host.value).eq(into))?;
        let (first, last) = (parts.first()?, parts.last()?);
        let at = first.host.at.start..last.host.at.end;
        Some(Splice::new(at, self.format.quoted(was)))
    }

    fn without_entry(&self, list: &PlacedList, host: &str) -> Option<Splice> {
        let index = list
            .entries
            .iter()
            .rposition(|entry| entry.host.value == host)?;
        // It was put after another one. Alone in its list it stays: an empty list would say something else.
        let before = list.entries.get(index.checked_sub(1)?)?;
        Some(Splice::new(
            before.host.at.end..list.entries[index].host.at.end,
            "",
        ))
    }

    fn without_settings(
        &self,
        word: &Word<String>,
        names: &[String],
        line: bool,
    ) -> Option<Splice> {
        let rest = names.iter().fold(word.value.clone(), |rest, name| {
            computer_settings::without(&rest, name)
        });
        if rest == word.value {
            return None;
        }
        if line && rest.is_empty() {
            let start = splice::line_start(self.text, word.at.start);
            return Some(Splice::new(
                start..splice::next_line(self.text, word.at.end),
                "",
            ));
        }
        Some(Splice::new(word.at.clone(), self.format.quoted(&rest)))
    }
}
