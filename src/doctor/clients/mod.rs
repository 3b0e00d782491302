//! MCP clients: whether their files can be read, whether their entries are right, and whether what they start works.

mod entry;
mod named;
mod starting;
mod together;

use super::check::{Check, Group};

/// The checks of this group.
pub const CHECKS: &[Check] = &[
    Check {
        id: "entries",
        group: Group::Clients,
        about: "Whether the clients' files can be read, and their entries start this program",
        look: entry::entries,
    },
    Check {
        id: "twice",
        group: Group::Clients,
        about: "Whether a client has the bridge more than once",
        look: together::twice,
    },
    Check {
        id: "agree",
        group: Group::Clients,
        about: "Whether all clients' bridges have the same link port and token",
        look: together::agree,
    },
    Check {
        id: "starts",
        group: Group::Clients,
        about: "Whether each entry starts a bridge that answers, with the client's own environment",
        look: starting::starts,
    },
];
