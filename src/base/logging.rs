//! The log: files in the state folder, a new one each day. Standard output carries JSON-RPC and nothing else.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    panic::PanicHookInfo,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use thiserror::Error;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::{
    log_files::{self, Bounds, Log},
    log_flood::Lines,
    private,
    scribe::{FILES, STDERR},
    stderr,
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

/// How much waits for being written, in bytes.
const WAITING: usize = 4 * 1024 * 1024;

/// How long is waited for a panic to be in the log: the process may end with it.
const AT_A_PANIC: Duration = Duration::from_millis(50);

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
    let files = Log::open(&folder, BOUNDS, WAITING, |problem| {
        stderr::note(&format!("mcp-bridge: {problem}"));
    })
    .map_err(|error| failed(error.to_string()))?;
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

    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}");
        stderr::note(&in_words(panic));
        FILES.flush(AT_A_PANIC);
        STDERR.flush(AT_A_PANIC);
    }));
    Ok(())
}

/// What a panic says on standard error, as it does where there is no log: that would wait for whoever reads there.
fn in_words(panic: &PanicHookInfo<'_>) -> String {
    let current = thread::current();
    let name = current.name().unwrap_or("<unnamed>");
    let trace = Backtrace::capture();
    match trace.status() {
        BacktraceStatus::Captured => {
            format!("\nthread '{name}' {panic}\nstack backtrace:\n{trace}")
        }
        _ => format!("\nthread '{name}' {panic}"),
    }
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
