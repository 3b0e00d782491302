//! Where what namespaces have is kept.

use std::path::PathBuf;

use tokio::sync::watch;

#[cfg(feature = "upstream-http")]
use super::http::Requests;
use super::live::Live;
#[cfg(not(feature = "upstream-http"))]
use super::no_http::Requests;
use crate::{base::text::in_shell, settings::TOOLS_FOLDER, tools::manifest::Namespace};

/// Where what namespaces have is kept, and what makes their requests.
#[derive(Default)]
pub struct Keeper {
    /// The folder that all bridges of a user share; none: nothing is kept.
    pub(super) state: Option<PathBuf>,
    /// The folder of the user's configuration.
    pub(super) config: Option<PathBuf>,
    pub(super) requests: Requests,
    /// Who follows the user's own resources.
    pub live: Live,
}

impl Keeper {
    /// Keeps it in these folders.
    pub fn new(state: PathBuf, config: Option<PathBuf>) -> Self {
        Self {
            state: Some(state),
            config,
            ..Self::default()
        }
    }

    /// The same, where something happens to computers that `changes` tells of.
    pub fn following(self, changes: watch::Receiver<u64>) -> Self {
        Self {
            live: Live::new(changes),
            ..self
        }
    }

    /// The command by which a person allows a namespace what its manifest names.
    pub(super) fn trusting(&self, namespace: &Namespace) -> String {
        let own = self.config.as_ref().map(|folder| folder.join(TOOLS_FOLDER));
        let folder = match own.is_some_and(|own| own == namespace.root) {
            true => String::new(),
            false => format!(" --folder {}", in_shell(&namespace.root.to_string_lossy())),
        };
        format!(
            "mcp-bridge trust --namespace {}{folder}",
            in_shell(namespace.name())
        )
    }
}
