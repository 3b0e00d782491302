//! Which tools a client is shown, and which may be called at all: sets, names, and the read-only switch.

use std::{collections::BTreeSet, sync::Arc};

use rmcp::model::Tool as Definition;

use super::{
    hints::{annotations, is_read_only},
    pause::Pause,
    tool::Tool,
};
use crate::settings::ToolsConfig;

/// The word that stands for every set.
pub const ALL_SETS: &str = "all";

/// The two tools that are always there: they find and call what a client does not list, under the same policy.
pub const FIND_TOOLS: &str = "find-tools";
/// See [`FIND_TOOLS`].
pub const CALL_TOOL: &str = "call-tool";

/// Whether a call of a tool could change something, by what the tool says. What `call-tool` calls is judged by itself.
pub(super) fn may_change(definition: &Definition) -> bool {
    !stays(&definition.name) && !is_read_only(definition)
}

fn stays(name: &str) -> bool {
    name == FIND_TOOLS || name == CALL_TOOL
}

/// What a person chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The only sets there are to be; none chosen: some are listed, and the others can be found.
    pub sets: Option<BTreeSet<String>>,
    /// The only tools there are to be, beside those of the chosen sets.
    pub names: Option<BTreeSet<String>>,
    /// Whether only tools with `readOnlyHint: true` may be called.
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
            read_only: config.read_only,
            pause,
        }
    }

    /// What there is to be of a tool.
    pub fn judge(&self, tool: &dyn Tool) -> Verdict {
        let definition = tool.definition();
        let name = definition.name.as_ref();
        if self.read_only && may_change(definition) {
            return Verdict::Refused(
                "this bridge was started read-only (--read-only), and the tool does not promise to change nothing \
                 (readOnlyHint: true)",
            );
        }
        if stays(name) {
            return Verdict::Listed;
        }
        let named = self
            .names
            .as_ref()
            .is_some_and(|names| names.contains(name));
        let set = tool.set();
        let in_set = match (&self.sets, &self.names) {
            (Some(sets), _) => sets.contains(set) || sets.contains(ALL_SETS),
            (None, Some(_)) => false,
            (None, None) if tool.is_listed() => true,
            (None, None) => return Verdict::Reachable,
        };
        if named || in_set {
            Verdict::Listed
        } else {
            Verdict::Refused(
                "this bridge was started with other tools only (--toolsets or --tools)",
            )
        }
    }

    /// The names and sets that were chosen, and that none of all tools has.
    pub fn unmet<'a>(&self, tools: impl Iterator<Item = &'a Arc<dyn Tool>>) -> Vec<String> {
        let (mut names, mut sets) = (BTreeSet::new(), BTreeSet::from([ALL_SETS]));
        for tool in tools {
            names.insert(tool.definition().name.as_ref());
            sets.insert(tool.set());
        }
        let unmet = |chosen: &Option<BTreeSet<String>>, there: &BTreeSet<&str>, what: &str| {
            let unmet = chosen.iter().flatten();
            let unmet = unmet.filter(|word| !there.contains(word.as_str()));
            unmet
                .map(|word| format!("there is no {what} `{word}`, which the settings name"))
                .collect::<Vec<_>>()
        };
        let mut all = unmet(&self.names, &names, "tool");
        all.extend(unmet(&self.sets, &sets, "set of tools"));
        all
    }

    /// A tool's definition as clients are shown it.
    pub fn shown(&self, tool: &dyn Tool) -> Definition {
        let mut definition = tool.definition().clone();
        if self.read_only && definition.name == CALL_TOOL {
            // What it can call then changes nothing either.
            definition.annotations = Some(annotations(true, false, true, false));
        }
        definition
    }
}
