//! Lets computers through to the bridge, and nobody else to anything else.

use serde::{Deserialize, Serialize};

use crate::setup::{
    game::rules::{
        filter::{Filter, Verdict},
        target::Target,
    },
    refusal::{Refusal, refused},
    splice::{self, Splice},
};

use super::{
    computer_settings,
    format::Format,
    view::{Hosts, PlacedLists, PlacedRule, View, Word},
};

/// What a file is to allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub target: Target,
    /// The link's token, which computers are to show from their first start on, and with it the bridge's address.
    pub token: Option<String>,
}

/// A file as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub text: String,
    /// What was added; nothing if the file allows all of it already.
    pub added: Vec<Added>,
}

/// One thing that was added to a file, as it is remembered for its removal. No token is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Added {
    /// A switch that was off.
    Switch(Switch),
    /// A rule.
    Rule { host: String, port: Option<u16> },
    /// The entry `was` of the list of blocked hosts was replaced by these, which leave one address out.
    Split { was: String, into: Vec<String> },
    /// An entry of the list of allowed hosts.
    Host { host: String },
    /// Settings of new computers. `line`: the file had no line for them.
    ComputerSettings { names: Vec<String>, line: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    Http,
    Websockets,
}

/// The comment in the rule that is added.
const COMMENT: &str = "#Lets computers reach mcp-bridge.";

/// The key of the settings of new computers in TOML.
pub const COMPUTER_SETTINGS: &str = "default_computer_settings";

/// The file with what the wish needs. What is there already stays as it is.
///
/// # Errors
/// The file can't be read, or it is not clear where in it the change would go.
pub fn open(text: &str, format: Format, wish: &Wish) -> Result<Opened, Refusal> {
    let mut work = Work {
        text,
        format,
        wish,
        splices: Vec::new(),
        added: Vec::new(),
    };
    let view = format
        .read(text)
        .map_err(|refusal| with_rule(refusal, format, wish))?;
    work.switch_on(Switch::Http, view.enabled.as_ref());
    work.switch_on(Switch::Websockets, view.websocket_enabled.as_ref());
    let verdict = view.filter().verdict(&wish.target);
    if !verdict.allowed {
        match &view.hosts {
            Hosts::Rules(rules) => work.add_rule(rules, &verdict)?,
            Hosts::Lists(lists) => work.open_lists(lists, &view)?,
        }
    }
    if let Some(token) = &wish.token {
        work.add_settings(&view, token)?;
    }
    let changed = splice::apply(text, work.splices);
    check(&changed, format, wish)?;
    Ok(Opened {
        text: changed,
        added: work.added,
    })
}

/// What a person would write by hand into a file that can't be read, after why it can't.
fn with_rule(refusal: Refusal, format: Format, wish: &Wish) -> Refusal {
    let Format::Toml { knows_ports } = format else {
        return refusal;
    };
    let rule = Added::Rule {
        host: wish.target.rule_host(),
        port: knows_ports.then_some(wish.target.port()),
    };
    Refusal {
        reason: format!(
            "{}. What it would need: {}",
            refusal.reason,
            rule.by_hand(wish)
        ),
        ..refusal
    }
}

/// Reads a changed file as the game will.
fn check(changed: &str, format: Format, wish: &Wish) -> Result<(), Refusal> {
    let after = format.read(changed)?;
    let verdict = after.filter().verdict(&wish.target);
    if verdict.allowed && after.http_is_on() && after.websockets_are_on() {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "no change was found after which the game would let computers reach {}",
        wish.target.url()
    )))
}

/// A change in the making.
struct Work<'a> {
    text: &'a str,
    format: Format,
    wish: &'a Wish,
    splices: Vec<Splice>,
    added: Vec<Added>,
}

impl Work<'_> {
    fn switch_on(&mut self, switch: Switch, word: Option<&Word<bool>>) {
        if let Some(word) = word.filter(|word| !word.value) {
            self.splices.push(Splice::new(word.at.clone(), "true"));
            self.added.push(Added::Switch(switch));
        }
    }

    /// Puts our rule above the one that denies; if none matches at all, above the first.
    fn add_rule(&mut self, rules: &[PlacedRule], verdict: &Verdict) -> Result<(), Refusal> {
        let knows_ports = matches!(self.format, Format::Toml { knows_ports: true });
        let host = self.wish.target.rule_host();
        let port = knows_ports.then_some(self.wish.target.port());
        let above = rules.get(verdict.by.as_ref().map_or(0, |by| by.index));
        let Some((above, header)) = above.and_then(|rule| Some((rule, rule.header.as_ref()?)))
        else {
            let reason = format!(
                "the rules of HTTP stand in brackets after `rules =`, which is not how the game writes them. There, \
                 `{{ host = \"{host}\", {}action = \"allow\" }}` would have to come before all others",
                port.map_or(String::new(), |port| format!("port = {port}, ")),
            );
            return Err(match above {
                Some(rule) => refused(rule.rule.line, reason),
                None => Refusal::new(reason),
            });
        };
        let line = splice::line_start(self.text, header.start);
        let block = rule_block(
            splice::indent(self.text, header.start),
            splice::indent(self.text, above.keys.start),
            splice::line_end(self.text),
            &host,
            port,
        );
        self.splices.push(Splice::new(line..line, block));
        self.added.push(Added::Rule { host, port });
        Ok(())
    }

    /// Leaves our address out of what is blocked, and adds it to what is allowed if it isn't there.
    fn open_lists(&mut self, lists: &PlacedLists, view: &View) -> Result<(), Refusal> {
        let target = &self.wish.target;
        let Filter::Lists(read) = view.filter() else {
            return Ok(());
        };
        for (placed, entry) in lists.blocked.entries.iter().zip(&read.blocked) {
            if !entry.blocks(target) {
                continue;
            }
            let without = entry
                .pattern
                .as_ref()
                .zip(target.address())
                .and_then(|(pattern, address)| pattern.without(address))
                .filter(|ranges| !ranges.is_empty());
            let Some(ranges) = without else {
                return Err(refused(
                    entry.line,
                    format!(
                        "`{}` in `{}` blocks {}, or may: take it out if you want that, or give the bridge's address as \
                         a number",
                        entry.host,
                        lists.blocked.name,
                        target.host(),
                    ),
                ));
            };
            let into: Vec<_> = ranges.iter().map(ToString::to_string).collect();
            let at = placed.host.at.clone();
            let text = self.format.entries(&self.text[..at.start], &into);
            self.splices.push(Splice::new(at, text));
            self.added.push(Added::Split {
                was: entry.host.clone(),
                into,
            });
        }
        if !read.allows(target) {
            let Some(last) = lists.allowed.entries.last() else {
                return Err(Refusal::new(format!(
                    "its list `{}` is empty, so that no host is allowed. By hand, put {} there",
                    lists.allowed.name,
                    self.format.quoted(target.host()),
                )));
            };
            let host = if lists.host_by_name {
                target.host().to_owned()
            } else {
                target.rule_host()
            };
            let at = last.host.at.end;
            let text = format!(
                "{}{}",
                self.format.between(&self.text[..last.host.at.start]),
                self.format.quoted(&host)
            );
            self.splices.push(Splice::new(at..at, text));
            self.added.push(Added::Host { host });
        }
        Ok(())
    }

    /// Gives new computers the token and the bridge's address.
    fn add_settings(&mut self, view: &View, token: &str) -> Result<(), Refusal> {
        if let Some(why) = computer_settings::misread(token) {
            return Err(Refusal::new(format!(
                "the token can't be a setting of computers, since it {why}"
            )));
        }
        let url = self.wish.target.url();
        let was = view
            .computer_settings
            .as_ref()
            .map_or("", |word| word.value.as_str());
        let mut now = was.to_owned();
        let mut names = Vec::new();
        for (name, value) in [
            (computer_settings::URL, url.as_str()),
            (computer_settings::TOKEN, token),
        ] {
            if computer_settings::get(&now, name) != Some(value) {
                now = computer_settings::with(&now, name, value);
                names.push(name.to_owned());
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let text = self.format.quoted(&now);
        let line = match (&view.computer_settings, self.format) {
            (Some(word), _) => {
                self.splices.push(Splice::new(word.at.clone(), text));
                false
            }
            // Keys outside of all tables come first.
            (None, Format::Toml { .. }) => {
                let line = format!(
                    "{COMPUTER_SETTINGS} = {text}{}",
                    splice::line_end(self.text)
                );
                self.splices.push(Splice::new(0..0, line));
                true
            }
            (None, Format::Forge | Format::Ccemux) => {
                return Err(Refusal::new(
                    "it has no line for the settings of new computers: start the game once, and close it, so that it \
                     writes one",
                ));
            }
        };
        self.added.push(Added::ComputerSettings { names, line });
        Ok(())
    }
}

/// A rule that allows one host, and the empty line after it.
fn rule_block(
    indent: &str,
    key_indent: &str,
    line_end: &str,
    host: &str,
    port: Option<u16>,
) -> String {
    let mut lines = vec![
        format!("{indent}[[http.rules]]"),
        format!("{key_indent}{COMMENT}"),
        format!("{key_indent}host = \"{host}\""),
    ];
    lines.extend(port.map(|port| format!("{key_indent}port = {port}")));
    lines.push(format!("{key_indent}action = \"allow\""));
    lines.push(String::new());
    lines.push(String::new());
    lines.join(line_end)
}

impl Added {
    /// The same for a person who does it by hand. No token is in it.
    pub fn by_hand(&self, wish: &Wish) -> String {
        match self {
            Self::Switch(Switch::Http) => "of HTTP, set `enabled` to true.".to_owned(),
            Self::Switch(Switch::Websockets) => {
                "of HTTP, set `websocket_enabled` to true.".to_owned()
            }
            Self::Rule { host, port } => format!(
                "above the first rule that denies it, so most likely above all `[[http.rules]]`:\n{}",
                rule_block("", "  ", "\n", host, *port).trim_end(),
            ),
            Self::Split { was, into } => format!(
                "in the list of blocked hosts, instead of `{was}`, all of it but that address:\n{}",
                into.join("\n"),
            ),
            Self::Host { host } => {
                format!("in the list of allowed hosts, beside the others:\n{host}")
            }
            Self::ComputerSettings { .. } => format!(
                "in the settings of new computers, `{COMPUTER_SETTINGS}`:\n{}={},{}=<the token>",
                computer_settings::URL,
                wish.target.url(),
                computer_settings::TOKEN,
            ),
        }
    }
}
