//! What is configured for a bridge, seen from outside of one.

use super::{
    entry::Entry,
    manager::report,
    settings::Settings,
    sources::{self, Resolution},
    trust,
};

/// What is configured, and whether the project's part of it may be used.
pub struct Configured {
    found: Resolution,
    trusted: bool,
}

impl Configured {
    /// What is configured for a bridge with these settings.
    pub fn read(settings: &Settings) -> Self {
        let places = sources::read(&settings.folder, settings.config.as_deref());
        let found = sources::resolve(&places, settings.own_port);
        let trusted = found
            .project
            .as_ref()
            .is_none_or(|file| trust::is_trusted(&settings.state, file));
        Self { found, trusted }
    }

    /// Its servers.
    pub fn servers(&self) -> Vec<&Entry> {
        self.found.in_force(self.trusted)
    }

    /// Why this one of them must not be started, if so; in words that follow its name.
    pub fn why_disabled(&self, entry: &Entry) -> Option<String> {
        report::why_disabled(entry, self.trusted)
    }

    /// What else is to be said of it.
    pub fn notes(&self) -> Vec<String> {
        report::notes(&self.found, self.trusted)
    }
}

/// Which servers there are, for a person who named another.
pub fn those(names: &[String]) -> String {
    match names {
        [] => "None is configured here; `mcp-bridge upstream add` adds one.".to_owned(),
        names => format!("Configured here: {}.", names.join(", ")),
    }
}
