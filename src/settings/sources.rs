//! Where settings come from: flags, the environment and the configuration file, and what is wrong with a value there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use thiserror::Error;

/// One setting under its three names.
pub struct Setting {
    pub flag: &'static str,
    pub variable: &'static str,
    pub key: &'static str,
}

/// What stands in the configuration file as true or false.
const SWITCHES: [&str; 1] = ["read_only"];

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

/// The environment and the configuration file.
pub struct Sources<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    file: &'a Path,
    /// What the file says, as text, each with its line.
    keys: BTreeMap<String, (String, usize)>,
}

impl<'a> Sources<'a> {
    /// Reads the file's `text`, which may set what is among `settings`.
    pub fn read(
        variable: &'a dyn Fn(&str) -> Option<String>,
        file: &'a Path,
        text: &str,
        settings: &[&Setting],
    ) -> Result<Self, ConfigError> {
        let keys = read_file(file, text, settings)?;
        Ok(Self {
            variable,
            file,
            keys,
        })
    }

    /// The value of a setting and where it came from: its `flag`, its variable or its key, in this order.
    pub fn pick(&self, setting: &Setting, flag: &Option<String>) -> Option<Given> {
        if let Some(value) = flag {
            return Some(Given {
                value: value.clone(),
                source: format!("the flag {}", setting.flag),
                folder: None,
            });
        }
        // A client's configuration form leaves an empty variable for what was not filled in.
        if let Some(value) = (self.variable)(setting.variable).filter(|value| !value.is_empty()) {
            return Some(Given {
                value,
                source: format!("the environment variable {}", setting.variable),
                folder: None,
            });
        }
        self.keys.get(setting.key).map(|(value, line)| Given {
            value: value.clone(),
            source: format!("`{}` (line {line} of {})", setting.key, self.file.display()),
            folder: self.file.parent().map(Path::to_path_buf),
        })
    }
}

/// A value and where it came from.
pub struct Given {
    pub value: String,
    source: String,
    /// The folder that paths are relative to, if it is not the one this process is in.
    folder: Option<PathBuf>,
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

    /// The value as something that is written as one word.
    pub fn parse<T: FromStr>(&self, expected: &str) -> Result<T, ConfigError> {
        self.value
            .trim()
            .parse()
            .map_err(|_| self.refused(expected))
    }

    /// The same for a secret, which no message may show.
    pub fn concealed(self) -> Self {
        Self {
            value: "…".to_owned(),
            ..self
        }
    }

    /// The error that this value is not `expected`.
    pub fn refused(&self, expected: &str) -> ConfigError {
        ConfigError::Value {
            source_name: self.source.clone(),
            value: self.value.clone(),
            expected: expected.to_owned(),
        }
    }
}

/// The file's settings as text, each with its line.
fn read_file(
    file: &Path,
    text: &str,
    settings: &[&Setting],
) -> Result<BTreeMap<String, (String, usize)>, ConfigError> {
    type Table = BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>>;
    let refused = |problem: String| ConfigError::File {
        file: file.to_path_buf(),
        problem,
    };
    let line_at = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count() + 1;

    let table: Table = toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        refused(format!(
            "is not valid TOML. {}",
            error.to_string().trim_end()
        ))
    })?;
    let mut keys = BTreeMap::new();
    for (key, value) in table {
        let line = line_at(key.span().start);
        let key = key.into_inner();
        if !settings.iter().any(|setting| setting.key == key) {
            let known: Vec<_> = settings.iter().map(|setting| setting.key).collect();
            return Err(refused(format!(
                "line {line}: there is no setting `{key}`; there are {}",
                known.join(", ")
            )));
        }
        let value = match value.into_inner() {
            toml::Value::String(value) => value,
            toml::Value::Integer(value) => value.to_string(),
            toml::Value::Boolean(value) if SWITCHES.contains(&key.as_str()) => value.to_string(),
            toml::Value::Array(values) if values.iter().all(toml::Value::is_str) => values
                .iter()
                .filter_map(toml::Value::as_str)
                .collect::<Vec<_>>()
                .join(","),
            other => {
                return Err(refused(format!(
                    "line {line}: `{key}` is a {}, but must be a text or a whole number",
                    other.type_str()
                )));
            }
        };
        keys.insert(key, (value, line));
    }
    Ok(keys)
}
