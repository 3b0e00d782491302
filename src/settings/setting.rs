//! What a setting is: its line in the table, the kind of its values, and a value that was given for it.

use std::{path::PathBuf, str::FromStr};

use super::error::ConfigError;

/// A line of the table, without the type of its value.
#[derive(Debug, Clone)]
pub struct Setting {
    pub flag: &'static str,
    pub variable: &'static str,
    pub key: &'static str,
    /// What counts where nothing is given, as it would be written.
    pub default: Option<&'static str>,
    /// What `--help` says of it, as a doc comment has it: with a space before it.
    pub help: &'static str,
    pub form: Form,
}

/// How a value is given on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Once, after the flag; in the help it is called so.
    Once(&'static str),
    /// As often as one likes; what was given counts together, as if there were commas between.
    Often(&'static str),
    /// By the flag alone. In the configuration file it may be `true` or `false`.
    Switch,
}

/// A kind of values, which a setting holds as `T`.
pub struct Kind<T> {
    pub form: Form,
    /// What a message says that the value must be.
    pub expected: &'static str,
    /// Whether no message may show the value.
    pub is_secret: bool,
    /// Reads a value; none if it isn't as `expected`.
    pub read: fn(&Given) -> Option<T>,
}

/// A value and where it came from.
pub struct Given {
    pub value: String,
    /// Where it stands, in the user's words.
    pub source: String,
    /// The folder that paths are relative to, if it is not the one this process is in.
    pub folder: Option<PathBuf>,
}

impl Given {
    /// The words of a list with commas between.
    pub fn list(&self) -> impl Iterator<Item = String> + '_ {
        self.value
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
    }

    /// A path that the value names: in the configuration file relative to that file.
    pub fn path(&self, word: &str) -> PathBuf {
        match &self.folder {
            Some(folder) => folder.join(word),
            None => PathBuf::from(word),
        }
    }

    /// The value as something that is written as one word, if it can be read so.
    pub fn word<T: FromStr>(&self) -> Option<T> {
        self.value.trim().parse().ok()
    }

    /// The error that this value is none of its kind.
    pub fn refused<T>(&self, kind: &Kind<T>) -> ConfigError {
        let value = if kind.is_secret { "…" } else { &self.value };
        ConfigError::Value {
            source_name: self.source.clone(),
            value: value.to_owned(),
            expected: kind.expected.to_owned(),
        }
    }
}
