//! Which tools of a server are offered: names, or patterns with `*` and `?`.

use std::collections::BTreeSet;

use wildmatch::WildMatch;

/// Which of a server's tools are offered, by its own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The only ones; none means all.
    pub only: Option<BTreeSet<String>>,
    /// Those that are switched off, whatever `only` says.
    pub off: BTreeSet<String>,
}

impl Selection {
    /// Whether the tool that the server itself calls so is offered.
    pub fn has(&self, own_name: &str) -> bool {
        let named = |names: &BTreeSet<String>| {
            names
                .iter()
                .any(|pattern| WildMatch::new(pattern).matches(own_name))
        };
        self.only.as_ref().is_none_or(named) && !named(&self.off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_and_patterns_say_which_tools_are_offered() {
        let all = Selection::default();
        assert!(all.has("a"));
        let star = Selection {
            only: Some(names(&["*"])),
            off: names(&["delete_*", "drop"]),
        };
        assert!(star.has("read") && !star.has("delete_all") && !star.has("drop"));
        let some = Selection {
            only: Some(names(&["read_?", "list*"])),
            off: names(&["list_secrets"]),
        };
        assert!(some.has("read_a") && some.has("list") && some.has("listing"));
        assert!(!some.has("read_ab") && !some.has("list_secrets") && !some.has("write"));
        let none = Selection {
            only: Some(BTreeSet::new()),
            off: BTreeSet::new(),
        };
        assert!(!none.has("a"));
    }
}
