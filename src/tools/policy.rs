//! Which tools a client is shown, and which may be called at all: sets, names, and the read-only switch.

use std::{collections::BTreeSet, sync::Arc};

use rmcp::model::Tool as Definition;

use super::{
    hints::{annotations, is_read_only},
    hold::Pause,
    refusal::Refusal,
    tool::Tool,
};
use crate::settings::ToolsConfig;

/// The word that stands for every set.
pub const ALL_SETS: &str = "all";

/// The sets that are the bridge's own. Nothing from elsewhere gets into one of them by its name: whoever allows `core`
/// means ours.
pub const OWN_SETS: [&str; 13] = [
    ALL_SETS,
    "agents",
    "computer-files",
    "core",
    "custom",
    "game-notes",
    "inventories",
    "peripherals",
    "prompts",
    "sync",
    "turtles",
    "upstream",
    "world",
];

/// The two tools that are always there: they find and call what a client does not list, under the same policy.
pub const FIND_TOOLS: &str = "find-tools";
/// See [`FIND_TOOLS`].
pub const CALL_TOOL: &str = "call-tool";

/// Why a tool that could change something is refused where nothing may be changed.
const READ_ONLY: &str = "this bridge was started read-only (--read-only), and the tool does not promise to change nothing \
                         (readOnlyHint: true)";

/// Whether a call of a tool could change something, by what the tool says. What `call-tool` calls is judged by itself.
pub fn may_change(definition: &Definition) -> bool {
    !stays(&definition.name) && !is_read_only(definition)
}

pub(super) fn stays(name: &str) -> bool {
    name == FIND_TOOLS || name == CALL_TOOL
}

/// What a person chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The only sets there are to be.
    pub sets: Option<BTreeSet<String>>,
    /// The only tools there are to be, beside those of the chosen sets.
    pub names: Option<BTreeSet<String>>,
    /// The sets and tools to list, of those there are to be. None chosen: all that there are to be, or, where that is
    /// everything, what is listed by itself. What is not listed can be found.
    pub listed: Option<BTreeSet<String>>,
    /// Whether nothing may be changed: only tools with `readOnlyHint: true` may be called, and those of whose changes the
    /// bridge is asked, which it refuses.
    pub read_only: bool,
    /// Where it is to be seen whether a person has paused what could change something.
    pub pause: Pause,
}

/// What the policy says of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the list.
    Listed,
    /// It is not, but it can be found and called.
    Reachable,
    /// It can't be called; why.
    Refused(&'static str),
}

impl Policy {
    /// The policy that settings ask for, and that a person may pause.
    pub fn of(config: &ToolsConfig, pause: Pause) -> Self {
        Self {
            sets: config.sets.clone(),
            names: config.chosen.names.clone(),
            listed: config.listed.clone(),
            read_only: config.read_only,
            pause,
        }
    }

    /// What there is to be of a tool.
    pub fn judge(&self, tool: &dyn Tool) -> Verdict {
        let name = tool.definition().name.as_ref();
        if self.read_only && self.may_change(tool) {
            return Verdict::Refused(READ_ONLY);
        }
        if stays(name) {
            return Verdict::Listed;
        }
        let has_name = |names: &BTreeSet<String>| names.contains(name);
        let has_set =
            |sets: &BTreeSet<String>| sets.iter().any(|set| set == ALL_SETS || tool.is_of(set));
        let is_chosen = match (&self.sets, &self.names) {
            (None, None) => None,
            (sets, names) => {
                Some(sets.as_ref().is_some_and(has_set) || names.as_ref().is_some_and(has_name))
            }
        };
        if is_chosen == Some(false) {
            return Verdict::Refused(
                "this bridge was started with other tools only (--toolsets or --tools)",
            );
        }
        let is_listed = match &self.listed {
            Some(words) => has_set(words) || has_name(words),
            None => is_chosen.is_some() || tool.is_listed(),
        };
        match is_listed {
            true => Verdict::Listed,
            false => Verdict::Reachable,
        }
    }

    /// Whether a call of a tool could change something on this bridge. What a confined one asks to change is refused
    /// where nothing may be changed, at any time; so it may be called then. A pause holds it up as a whole: a call that
    /// began in it would go on to change something once it is lifted.
    pub(super) fn may_change(&self, tool: &dyn Tool) -> bool {
        may_change(tool.definition()) && !self.confines(tool)
    }

    /// Why a tool that a person calls by hand must not be called at this moment, if so: it could change something, and
    /// nothing may be changed. Which tools there are to be for clients does not count for that person.
    pub async fn refuses(&self, definition: &Definition) -> Option<Refusal> {
        if !may_change(definition) {
            return None;
        }
        if self.read_only {
            return Some(Refusal::ByPolicy(READ_ONLY));
        }
        let hold = self.pause.now().await?;
        Some(Refusal::ByPause(hold.told()))
    }

    /// Whether what a tool could change is refused, and not the tool.
    pub fn confines(&self, tool: &dyn Tool) -> bool {
        self.read_only && tool.is_confined() && may_change(tool.definition())
    }

    /// The names and sets that were chosen, and that none of all tools has; `sets` may get their tools yet.
    pub fn unmet<'a>(
        &self,
        tools: impl Iterator<Item = &'a Arc<dyn Tool>>,
        sets: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        let tools: Vec<_> = tools.collect();
        let sets: Vec<_> = sets.collect();
        let is_set = |word: &str| {
            word == ALL_SETS || sets.contains(&word) || tools.iter().any(|tool| tool.is_of(word))
        };
        let is_tool = |word: &str| {
            let may_come = |set: &&str| {
                let rest = word.strip_prefix(*set);
                rest.is_some_and(|rest| rest.starts_with("__"))
            };
            sets.iter().any(may_come) || tools.iter().any(|tool| tool.definition().name == word)
        };
        let unmet = |chosen: &Option<BTreeSet<String>>, is_met: &dyn Fn(&str) -> bool, what| {
            let unmet = chosen.iter().flatten().filter(|word| !is_met(word));
            unmet
                .map(|word| format!("there is no {what} `{word}`, which the settings name"))
                .collect::<Vec<_>>()
        };
        // What is no name of a tool was most often meant for a folder.
        let mut all = unmet(&self.names, &is_tool, "tool and no folder");
        all.extend(unmet(&self.sets, &is_set, "set of tools"));
        let is_either = |word: &str| is_set(word) || is_tool(word);
        all.extend(unmet(&self.listed, &is_either, "tool or set of tools"));
        all
    }

    /// A tool's definition as clients are shown it.
    pub fn shown(&self, tool: &dyn Tool) -> Definition {
        let mut definition = tool.definition().clone();
        // What `call-tool` can call changes nothing then either.
        if self.read_only && definition.name == CALL_TOOL || self.confines(tool) {
            let hints = definition.annotations.as_ref();
            let is_open = hints.and_then(|hints| hints.open_world_hint);
            definition.annotations = Some(annotations(true, false, true, is_open.unwrap_or(true)));
        }
        definition
    }
}
