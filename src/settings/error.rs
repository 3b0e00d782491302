//! What is wrong with settings.

use std::path::PathBuf;

use thiserror::Error;

/// Why the settings can't be used. Each message names the source of the value.
#[derive(Debug, Error, PartialEq)]
pub enum ConfigError {
    /// A value that does not fit its setting.
    #[error(
        "{source_name} is `{value}`, but must be {expected}. Correct it there, or take it out to use the default."
    )]
    Value {
        /// Where the value stands, in the user's words.
        source_name: String,
        /// The value as given.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// The configuration file is no TOML, or says something that no setting is called.
    #[error("the configuration file {}: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the line.
        problem: String,
    },
}
