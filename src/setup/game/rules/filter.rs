//! What decides whether a computer may connect: rules in their order, or the two lists of older versions.

use super::{
    pattern::{Match, Pattern},
    target::Target,
};

/// All that a file says of which hosts computers may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// From version 1.87 on, for Minecraft 1.15 and later: of all rules that match, the first that has an action
    /// decides. Without one the host is denied.
    Rules(Vec<Rule>),
    /// Up to Minecraft 1.14, and CCEmuX: what is blocked is denied, whatever is allowed.
    Lists(Lists),
}

/// One rule, `[[http.rules]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its host, as it stands in the file.
    pub host: String,
    pub pattern: Pattern,
    /// The only port it is about; versions before 1.93 know none.
    pub port: Option<u16>,
    /// A rule without one only sets limits.
    pub action: Option<Action>,
    /// Where it begins, from 1 on.
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Allow,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lists {
    pub allowed: Vec<Entry>,
    pub blocked: Vec<Entry>,
    /// Whether the host, as it stands in the URL, must be allowed too. A range never allows it, not even of an address.
    pub host_by_name: bool,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As it stands in the file.
    pub host: String,
    /// None if the game can't read it, and so leaves it out.
    pub pattern: Option<Pattern>,
    /// Where it stands, from 1 on.
    pub line: usize,
}

/// Whether computers may connect to a target, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    /// The rule or entry that decides; none if the host is denied because nothing allows it.
    pub by: Option<Decider>,
}

/// A rule or an entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// Its place among the rules, or in its list, from 0 on.
    pub index: usize,
    pub host: String,
    pub line: usize,
}

impl Filter {
    /// What the game would say. Where that depends on the address of a name, which is not known here, the worst.
    pub fn verdict(&self, target: &Target) -> Verdict {
        match self {
            Self::Rules(rules) => by_rules(rules, target),
            Self::Lists(lists) => by_lists(lists, target),
        }
    }
}

fn by_rules(rules: &[Rule], target: &Target) -> Verdict {
    let decides = |rule: &Rule| {
        if rule.port.is_some_and(|port| port != target.port()) {
            return None;
        }
        let action = rule.action?;
        match (rule.pattern.matches(target), action) {
            (Match::Yes, action) => Some(action),
            (Match::Perhaps, Action::Deny) => Some(Action::Deny),
            (Match::Perhaps, Action::Allow) | (Match::No, _) => None,
        }
    };
    let mut deciding = rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((index, rule, decides(rule)?)));
    match deciding.next() {
        None => Verdict {
            allowed: false,
            by: None,
        },
        Some((index, rule, action)) => Verdict {
            allowed: action == Action::Allow,
            by: Some(Decider {
                index,
                host: rule.host.clone(),
                line: rule.line,
            }),
        },
    }
}

fn by_lists(lists: &Lists, target: &Target) -> Verdict {
    let blocking = lists.blocked.iter().position(|entry| entry.blocks(target));
    if let Some(index) = blocking {
        return Verdict {
            allowed: false,
            by: Some(lists.blocked[index].as_decider(index)),
        };
    }
    let allowing = lists.allowing(target);
    Verdict {
        allowed: allowing.is_some(),
        by: allowing.map(|index| lists.allowed[index].as_decider(index)),
    }
}

impl Lists {
    /// Whether the list of allowed hosts has the target.
    pub fn allows(&self, target: &Target) -> bool {
        self.allowing(target).is_some()
    }

    fn allowing(&self, target: &Target) -> Option<usize> {
        self.allowed
            .iter()
            .position(|entry| entry.allows(target, self.host_by_name))
    }
}

impl Entry {
    /// Whether it denies the target, or may do so.
    pub fn blocks(&self, target: &Target) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| {
            // These versions look up the name of an address, too.
            let reverse = target
                .address()
                .is_some_and(|address| address.is_loopback());
            pattern.matches(target) != Match::No || reverse && pattern.names("localhost")
        })
    }

    fn allows(&self, target: &Target, host_by_name: bool) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| {
            if host_by_name {
                pattern.names(target.host())
            } else {
                pattern.matches(target) == Match::Yes
            }
        })
    }

    fn as_decider(&self, index: usize) -> Decider {
        Decider {
            index,
            host: self.host.clone(),
            line: self.line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: &[(&str, Option<u16>, Option<Action>)]) -> Filter {
        let rule =
            |(at, (host, port, action)): (usize, &(&str, Option<u16>, Option<Action>))| Rule {
                host: (*host).to_owned(),
                pattern: Pattern::of_rule(host).unwrap(),
                port: *port,
                action: *action,
                line: at + 1,
            };
        Filter::Rules(rules.iter().enumerate().map(rule).collect())
    }

    fn lists(allowed: &[&str], blocked: &[&str]) -> Filter {
        let entries = |hosts: &[&str]| {
            hosts
                .iter()
                .enumerate()
                .map(|(at, host)| Entry {
                    host: (*host).to_owned(),
                    pattern: Pattern::of_list(host).ok(),
                    line: at + 1,
                })
                .collect()
        };
        Filter::Lists(Lists {
            allowed: entries(allowed),
            blocked: entries(blocked),
            host_by_name: true,
        })
    }

    fn verdict(filter: &Filter, host: &str, port: u16) -> (bool, Option<usize>) {
        let verdict = filter.verdict(&Target::new(host, port));
        (verdict.allowed, verdict.by.map(|by| by.line))
    }

    const ALLOW: Option<Action> = Some(Action::Allow);
    const DENY: Option<Action> = Some(Action::Deny);

    #[test]
    fn the_first_rule_that_matches_and_has_an_action_decides() {
        let filter = rules(&[
            ("127.0.0.1", Some(3001), ALLOW),
            ("*", None, None),
            ("$private", None, DENY),
            ("*", None, ALLOW),
        ]);
        assert_eq!(verdict(&filter, "127.0.0.1", 3001), (true, Some(1)));
        assert_eq!(verdict(&filter, "localhost", 3001), (true, Some(1)));
        assert_eq!(verdict(&filter, "127.0.0.1", 3002), (false, Some(3)));
        assert_eq!(verdict(&filter, "127.0.0.2", 3001), (false, Some(3)));
        assert_eq!(verdict(&filter, "8.8.8.8", 443), (true, Some(4)));
        assert_eq!(verdict(&rules(&[]), "8.8.8.8", 443), (false, None));
    }

    #[test]
    fn a_rule_below_the_one_that_denies_changes_nothing() {
        let filter = rules(&[("$private", None, DENY), ("127.0.0.0/8", None, ALLOW)]);
        assert_eq!(verdict(&filter, "127.0.0.1", 3001), (false, Some(1)));
    }

    #[test]
    fn a_name_that_may_be_private_is_taken_for_private() {
        let filter = rules(&[("$private", None, DENY), ("*", None, ALLOW)]);
        assert_eq!(verdict(&filter, "bridge.lan", 3001), (false, Some(1)));
        let filter = rules(&[("10.0.0.0/8", None, ALLOW), ("*", None, DENY)]);
        assert_eq!(verdict(&filter, "bridge.lan", 3001), (false, Some(2)));
    }

    #[test]
    fn what_a_list_blocks_no_list_allows() {
        let filter = lists(&["*"], &["127.0.0.0/8", "evil.example"]);
        assert_eq!(verdict(&filter, "127.0.0.1", 3001), (false, Some(1)));
        assert_eq!(verdict(&filter, "evil.example", 80), (false, Some(1)));
        assert_eq!(verdict(&filter, "8.8.8.8", 80), (true, Some(1)));
        assert_eq!(
            verdict(&lists(&["*"], &["localhost"]), "127.0.0.1", 1),
            (false, Some(1))
        );
        assert_eq!(verdict(&lists(&[], &[]), "8.8.8.8", 80), (false, None));
        // The host must be allowed as it is written.
        assert_eq!(
            verdict(&lists(&["127.0.0.0/8"], &[]), "127.0.0.1", 80),
            (false, None)
        );
        assert_eq!(
            verdict(&lists(&["127.0.0.1"], &["x/8"]), "127.0.0.1", 80),
            (true, Some(1))
        );
    }
}
