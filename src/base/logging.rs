//! The log: files in the state folder, a new one each day. Standard output carries JSON-RPC and nothing else.

use std::path::{Path, PathBuf};

use thiserror::Error;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::{
    log_files::{self, Bounds, LogFiles},
    log_flood::Lines,
    private,
};

/// The environment variable that sets what is logged, such as `debug` or `warn,mcp_bridge=trace`.
pub const FILTER_VARIABLE: &str = "MCP_BRIDGE_LOG";

/// What is logged by default. rmcp logs whole requests, a user's code among them, below `warn`.
const DEFAULT_FILTER: &str = "warn,mcp_bridge=info";

/// How much is kept: a week, but no more than 64 MiB.
const BOUNDS: Bounds = Bounds {
    file: 8 * 1024 * 1024,
    total: 64 * 1024 * 1024,
    days: 7,
};

/// Why there is no log.
#[derive(Debug, Error)]
pub enum LogError {
    /// `MCP_BRIDGE_LOG` is not a filter.
    #[error(
        "the environment variable {FILTER_VARIABLE} is `{value}`, but must be a level (error, warn, info, debug, \
         trace) or a list such as `warn,mcp_bridge=debug`: {reason}"
    )]
    Filter {
        /// The value as given.
        value: String,
        /// What the filter's parser says.
        reason: String,
    },
    /// The folder can't be made or written.
    #[error("no log can be written to {}: {reason}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        reason: String,
    },
}

/// The folder of the log files inside the state folder.
pub fn folder(state: &Path) -> PathBuf {
    state.join("logs")
}

/// Starts logging to a file for the whole process, panics included.
///
/// Several bridges share a file: each line is one append. Of each kind of line so many are written at once. Rights that
/// others have to the folder or to the log are taken from them.
///
/// # Errors
/// The filter is wrong, or the folder can't be written.
pub fn start(state: &Path, filter: Option<&str>) -> Result<(), LogError> {
    let filter = filter
        .filter(|text| !text.is_empty())
        .unwrap_or(DEFAULT_FILTER);
    let targets: Targets = filter.parse().map_err(|error| LogError::Filter {
        value: filter.to_owned(),
        reason: format!("{error}"),
    })?;
    let folder = folder(state);
    let failed = |reason: String| LogError::Folder {
        folder: folder.clone(),
        reason,
    };
    private::make_folder(&folder).map_err(|error| failed(error.to_string()))?;
    let ours = [state.to_owned(), folder.clone()];
    let closed: Vec<_> = ours
        .into_iter()
        .chain(log_files::all(&folder))
        .filter_map(|path| private::close(&path))
        .collect();
    let files = LogFiles::open(&folder, BOUNDS).map_err(|error| failed(error.to_string()))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .event_format(Lines::new())
        .with_writer(files);
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .init();

    for what in closed {
        tracing::warn!("{what}");
    }

    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!("{panic}");
        print_panic(panic);
    }));
    Ok(())
}

/// The log files of the state folder, the oldest first.
pub fn files(state: &Path) -> Vec<PathBuf> {
    log_files::all(&folder(state))
}

/// The newest log file of the state folder, if there is one.
pub fn newest_file(state: &Path) -> Option<PathBuf> {
    files(state).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_log_is_found_by_the_date_and_the_number_in_its_name() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(newest_file(state.path()), None);
        let folder = folder(state.path());
        std::fs::create_dir_all(&folder).unwrap();
        for name in [
            "mcp-bridge.2026-01-02.log",
            "mcp-bridge.2026-01-10.log",
            "mcp-bridge.2026-01-10.9.log",
            "mcp-bridge.2026-01-10.10.log",
            "other.2027-01-01.log",
        ] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(
            newest_file(state.path()),
            Some(folder.join("mcp-bridge.2026-01-10.10.log"))
        );
    }

    #[test]
    fn a_wrong_filter_names_the_variable() {
        let state = tempfile::tempdir().unwrap();
        let error = start(state.path(), Some("mcp_bridge=loud"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("MCP_BRIDGE_LOG is `mcp_bridge=loud`"),
            "{error}"
        );
    }
}
