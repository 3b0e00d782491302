//! What a manager tells of its servers and of their configuration.

use std::time::SystemTime;

use tokio::time::Instant;

use crate::upstream::{
    entry::Entry,
    listing::Listing,
    server::{Phase, Server},
    sources::Resolution,
    status::Row,
};

/// Why a server must not be started, if so; in words that follow its name.
pub fn why_disabled(entry: &Entry, trusted: bool) -> Option<String> {
    if !entry.enabled {
        return Some(format!("is switched off in {}", entry.file.display()));
    }
    if entry.origin.is_project() && !trusted {
        return Some(format!(
            "comes with the project and is not trusted: look at {} and allow it with `mcp-bridge trust`, run in that \
             folder",
            entry.file.display()
        ));
    }
    None
}

/// What there is to know of a configuration besides its servers.
pub fn notes(found: &Resolution, trusted: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for problem in &found.problems {
        notes.push(problem.to_string());
    }
    if let (Some(project), false) = (&found.project, trusted) {
        notes.push(format!(
            "{} is not trusted, so nothing in it is started: look at it, and allow it with `mcp-bridge trust`, run in \
             that folder",
            project.path.display()
        ));
    }
    for shadowed in &found.shadowed {
        let (file, by) = (shadowed.file.display(), shadowed.by.display());
        notes.push(match &shadowed.server {
            Some(server) => format!(
                "the server `{server}` of {file} is shadowed by the one of that name in {by}"
            ),
            None => format!("{file} is shadowed by {by}"),
        });
    }
    for name in &found.itself {
        notes.push(format!(
            "the server `{name}` is this bridge, so it is left out"
        ));
    }
    notes
}

pub(super) fn row(server: &Server, listing: &Listing) -> Row {
    let state = server.state();
    let connection = state.connection.as_ref();
    Row {
        name: server.entry.name.clone(),
        id: server.id.clone(),
        state: state.phase.name().to_owned(),
        since: state.since,
        pid: connection
            .and_then(|connection| connection.process.as_ref())
            .map(|process| process.pid),
        tools: state
            .offers
            .as_ref()
            .map(|_| listing.counts.get(&server.entry.name).copied().unwrap_or(0)),
        file: server.entry.file.clone(),
        error: state.error,
        last_words: state.last_words,
        lacked: state.lacked.to_string(),
        retry_at: state
            .retry
            .map(|retry| SystemTime::now() + retry.saturating_duration_since(Instant::now())),
        withheld: listing.withheld(&server.id),
        remarks: state
            .offers
            .as_ref()
            .map(|offers| offers.remarks.clone())
            .unwrap_or_default(),
        rubbish: match state.phase {
            Phase::Starting | Phase::Connected | Phase::Failed => state.rubbish.told(),
            Phase::Stopped | Phase::Waiting | Phase::Disabled => None,
        },
        restarts: state.restarts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::{
        entry::Origin,
        sources::{self, ConfigPlace, Content},
    };

    fn resolved(text: &str) -> Resolution {
        let source = |origin, path: &str, text: &str| ConfigPlace {
            origin,
            path: path.into(),
            content: Content::Text(text.to_owned()),
            trouble: None,
        };
        sources::resolve(&[source(Origin::Bridge, "project/mcp.json", text)], None)
    }

    #[test]
    fn what_is_not_trusted_or_switched_off_is_disabled_with_the_reason() {
        let found = resolved(
            r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b", "enabled": false}}}"#,
        );
        let why = |at: usize, trusted| why_disabled(&found.servers[at], trusted);
        assert_eq!(why(0, true), None);
        assert!(why(0, false).unwrap().contains("mcp-bridge trust"));
        assert!(
            why(1, true)
                .unwrap()
                .contains("switched off in project/mcp.json")
        );
        assert!(notes(&found, false)[0].contains("is not trusted"));
        assert_eq!(notes(&found, true), Vec::<String>::new());
    }
}
