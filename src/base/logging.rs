//! The log: a file that rolls daily in the state folder. Standard output carries JSON-RPC and nothing else.

use std::path::{Path, PathBuf};

use thiserror::Error;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// The environment variable that sets what is logged, such as `debug` or `warn,mcp_bridge=trace`.
pub const FILTER_VARIABLE: &str = "MCP_BRIDGE_LOG";

/// What is logged by default. rmcp logs whole requests, a user's code among them, below `warn`.
const DEFAULT_FILTER: &str = "warn,mcp_bridge=info";

/// How many daily files are kept.
const KEPT_FILES: usize = 7;

const FILE_PREFIX: &str = "mcp-bridge";
const FILE_SUFFIX: &str = "log";

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
/// Several bridges share a day's file: each line is one append.
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
    std::fs::create_dir_all(&folder).map_err(|error| failed(error.to_string()))?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(FILE_PREFIX)
        .filename_suffix(FILE_SUFFIX)
        .max_log_files(KEPT_FILES)
        .build(&folder)
        .map_err(|error| failed(error.to_string()))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(file);
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .init();

    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!("{panic}");
        print_panic(panic);
    }));
    Ok(())
}

/// The newest log file of the state folder, if there is one.
pub fn newest_file(state: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder(state)).ok()?;
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            name.starts_with(FILE_PREFIX) && name.ends_with(FILE_SUFFIX)
        })
        // The date in the name sorts as text.
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_log_is_found_by_the_date_in_its_name() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(newest_file(state.path()), None);
        let folder = folder(state.path());
        std::fs::create_dir_all(&folder).unwrap();
        for name in [
            "mcp-bridge.2026-01-02.log",
            "mcp-bridge.2026-01-10.log",
            "other.2027-01-01.log",
        ] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(
            newest_file(state.path()),
            Some(folder.join("mcp-bridge.2026-01-10.log"))
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
