//! Public names: what a client calls a server's things by.
//!
//! A tool or prompt is `<serverId>__<name>`, a resource `<serverId>+<uri>`. Names from elsewhere may hold anything:
//! what clients refuse is replaced, and then a hash of the exact original keeps the name apart from others and the same
//! from day to day. Names are resolved through the map that they were made for (see `listing`), never by taking apart.

use crate::{
    base::{client_rules::LONGEST_TOOL_NAME, store},
    tools::policy::OWN_SETS,
};

/// The longest server id; the rest is for the tool.
const LONGEST_SERVER: usize = 20;

/// What stands between a server's id and a tool's name.
const SEPARATOR: &str = "__";

/// How many hexadecimal digits tell two names apart that would be the same.
const HASH: usize = 6;

/// A server's id, made of its name.
pub fn server_id(name: &str) -> String {
    let mut id = sanitised(name, '-');
    // The separator must not stand in it, or at its edges: `a__b` and `c` would be `a` and `b__c`.
    while id.contains(SEPARATOR) {
        id = id.replace(SEPARATOR, "_");
    }
    let trimmed = id.trim_matches(['_', '-']);
    let id = match trimmed.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => trimmed.to_owned(),
        Some(_) => format!("s-{trimmed}"),
        None => "server".to_owned(),
    };
    if id == name && id.len() <= LONGEST_SERVER {
        return id;
    }
    let head = id[..id.len().min(LONGEST_SERVER - HASH - 1)].trim_end_matches(['_', '-']);
    format!("{head}-{}", short_hash(name))
}

/// The sets that the tools of a server of this name belong to, beside that of all servers: its name as it is written, and
/// its id. One that is called as a set of the bridge's own is called is none.
pub fn sets(name: &str) -> Vec<String> {
    let mut sets = vec![name.to_owned(), server_id(name)];
    sets.dedup();
    sets.retain(|set| !OWN_SETS.contains(&set.as_str()));
    sets
}

/// The public name of a server's tool or prompt.
pub fn public(server_id: &str, name: &str) -> String {
    let plain = sanitised(name, '_');
    let room = LONGEST_TOOL_NAME - server_id.len() - SEPARATOR.len();
    if plain == name && !name.is_empty() && name.len() <= room {
        return format!("{server_id}{SEPARATOR}{name}");
    }
    hashed(server_id, name)
}

/// The public name with a hash, for a name that would otherwise be another's.
pub fn hashed(server_id: &str, name: &str) -> String {
    let plain = sanitised(name, '_');
    let room = LONGEST_TOOL_NAME - server_id.len() - SEPARATOR.len() - HASH - 1;
    // The end of a long name says more than its beginning.
    let tail = &plain[plain.len().saturating_sub(room)..];
    format!("{server_id}{SEPARATOR}{tail}_{}", short_hash(name))
}

/// Whether a public name can be that of a tool or prompt of this server.
pub fn may_be_of(server_id: &str, public: &str) -> bool {
    let rest = public.strip_prefix(server_id);
    rest.is_some_and(|rest| rest.starts_with(SEPARATOR))
}

/// What stands before the URIs of a server's resources: a valid scheme together with the URI's own, as in
/// `docs+file:///a`.
pub fn scheme(server_id: &str) -> String {
    let scheme = server_id.to_ascii_lowercase();
    if scheme == server_id && !scheme.contains('_') {
        return format!("{scheme}+");
    }
    format!("{}-{}+", scheme.replace('_', "-"), short_hash(server_id))
}

/// The scheme that a public URI begins with, if it is one of some server's.
pub fn scheme_of(uri: &str) -> Option<&str> {
    uri.find('+').map(|end| &uri[..=end])
}

/// The name with every character replaced that some client refuses.
fn sanitised(name: &str, replacement: char) -> String {
    name.chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
            _ => replacement,
        })
        .collect()
}

fn short_hash(name: &str) -> String {
    store::hash(name.as_bytes())[..HASH].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(name: &str) -> bool {
        name.len() <= LONGEST_TOOL_NAME
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    }

    #[test]
    fn a_good_name_stays_as_it_is() {
        assert_eq!(server_id("everything"), "everything");
        assert_eq!(server_id("my_Server-2"), "my_Server-2");
        assert_eq!(public("fs", "read_file"), "fs__read_file");
        assert_eq!(public("fs", "get-a__b"), "fs__get-a__b");
        assert_eq!(scheme("fs"), "fs+");
    }

    #[test]
    fn a_server_is_a_set_of_its_name_unless_that_is_one_of_ours() {
        assert_eq!(sets("fs"), ["fs"]);
        let of_two = sets("GitHub Server");
        assert_eq!(of_two, ["GitHub Server", &server_id("GitHub Server")]);
        for own in OWN_SETS {
            assert_eq!(sets(own), [""; 0]);
        }
    }

    #[test]
    fn every_other_name_is_made_to_fit_and_stays_its_own() {
        let long = "x".repeat(100);
        let names = [
            "GitHub Server",
            "GitHub_Server!",
            "a__b",
            "a_b_",
            "_a",
            "1st",
            "",
            "  ",
            "日本",
            "日本語",
            "a.b",
            "a/b",
            long.as_str(),
            "x.",
        ];
        let ids: Vec<_> = names.iter().map(|name| server_id(name)).collect();
        for (at, id) in ids.iter().enumerate() {
            assert!(
                fits(id) && id.len() <= LONGEST_SERVER && !id.contains("__"),
                "{:?}: {id}",
                names[at]
            );
            assert!(!id.ends_with(['-', '_']), "{id}");
            assert!(!ids[..at].contains(id), "{id} twice");
            for tool in names {
                let public = public(id, tool);
                assert!(
                    fits(&public) && public.starts_with(&format!("{id}__")),
                    "{public}"
                );
            }
        }
        assert_eq!(
            server_id("GitHub Server"),
            format!("GitHub-Server-{}", &store::hash(b"GitHub Server")[..6])
        );
        assert_eq!(
            public("fs", "a.b"),
            format!("fs__a_b_{}", &store::hash(b"a.b")[..6])
        );
        assert_ne!(public("fs", "a.b"), public("fs", "a/b"));
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        let name = format!("{}_create_issue", "very_long_".repeat(9));
        let public = public("github", &name);
        assert_eq!(public.len(), LONGEST_TOOL_NAME);
        assert!(public.contains("_create_issue_"), "{public}");
    }

    #[test]
    fn a_scheme_is_one_that_urls_may_have() {
        for (id, expected) in [("Docs", "docs-"), ("my_docs", "my-docs-")] {
            let scheme = scheme(id);
            assert!(
                scheme.starts_with(expected) && scheme.ends_with('+'),
                "{scheme}"
            );
            assert!(
                scheme
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c))
            );
        }
        assert_ne!(scheme("Docs"), scheme("docs"));
    }
}
