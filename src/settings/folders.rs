//! Where the bridge's files are.

use std::path::PathBuf;

use super::error::ConfigError;
use crate::base::files;

/// The name of the configuration file inside the configuration folder.
const CONFIG_FILE: &str = "config.toml";

/// A larger configuration file is not read, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// The name of the user's folder of tools inside the configuration folder.
pub const TOOLS_FOLDER: &str = "tools";

/// The folders the bridge reads from and writes to.
#[derive(Debug, Clone)]
pub struct Folders {
    /// Holds `config.toml`; none where the platform knows no home folder.
    pub config: Option<PathBuf>,
    /// Holds the logs.
    pub state: PathBuf,
    /// Holds what all bridges of a user share, however they were started.
    pub shared: PathBuf,
}

impl Folders {
    /// The platform's folders for this user, or those named by `MCP_BRIDGE_CONFIG_DIR` and `MCP_BRIDGE_STATE_DIR`.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let platform = directories::ProjectDirs::from("", "", "mcp-bridge");
        let named = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let named_state = named("MCP_BRIDGE_STATE_DIR");
        let state = named_state
            .clone()
            .or_else(|| {
                // Only Linux has a folder for state of its own.
                platform.as_ref().map(|dirs| {
                    dirs.state_dir()
                        .unwrap_or(dirs.data_local_dir())
                        .to_path_buf()
                })
            })
            .unwrap_or_else(|| std::env::temp_dir().join("mcp-bridge"));
        // On Windows a packaged program, as Claude Desktop may be, sees an AppData of its own, and so does what it
        // starts; the rest of the profile is the same to all.
        let shared = named_state
            .or_else(|| {
                let home = directories::UserDirs::new().filter(|_| cfg!(windows))?;
                Some(home.home_dir().join(".mcp-bridge"))
            })
            .unwrap_or_else(|| state.clone());
        let config = named("MCP_BRIDGE_CONFIG_DIR").or_else(|| {
            platform
                .as_ref()
                .map(|dirs| dirs.config_dir().to_path_buf())
        });
        Self {
            config,
            state,
            shared,
        }
    }

    /// Where the configuration file is, if it exists; none where there is no folder for it.
    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(CONFIG_FILE))
    }

    /// The user's own folder of tools, which need not be there.
    pub fn own_tools(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(TOOLS_FOLDER))
    }

    /// The configuration file and what it says, which is nothing if there is none.
    pub(super) fn configuration(&self) -> Result<(PathBuf, String), ConfigError> {
        let Some(file) = self.config_file() else {
            return Ok((PathBuf::from(CONFIG_FILE), String::new()));
        };
        match files::read_text(&file, LARGEST_FILE) {
            Ok(text) => Ok((file, text)),
            Err(error) if error.is_missing() => Ok((file, String::new())),
            Err(error) => Err(ConfigError::File {
                problem: format!("it {error}"),
                file,
            }),
        }
    }
}
