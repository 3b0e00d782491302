//! Where settings come from: flags, the environment, the configuration file, and the defaults.

use std::{collections::BTreeMap, path::Path};

use crate::base::text::line_at;

use super::{
    error::ConfigError,
    setting::{Form, Given, Kind, Setting},
};

/// What was given on the command line, as text; each wins over every other source.
#[derive(Debug, Clone, Default)]
pub struct Flags(BTreeMap<&'static str, String>);

impl Flags {
    /// These, and `flag` (such as `--link-port`) with this value; a switch with `true`.
    #[must_use]
    pub fn with(mut self, flag: &'static str, value: impl Into<String>) -> Self {
        self.set(flag, value.into());
        self
    }

    pub(super) fn value(&self, flag: &str) -> Option<&str> {
        self.0.get(flag).map(String::as_str)
    }

    pub(super) fn set(&mut self, flag: &'static str, value: String) {
        self.0.insert(flag, value);
    }
}

/// The flags, the environment and the configuration file.
pub struct Sources<'a> {
    flags: &'a Flags,
    variable: &'a dyn Fn(&str) -> Option<String>,
    file: &'a Path,
    /// What the file says, as text, each with its line.
    keys: BTreeMap<String, (String, usize)>,
}

impl<'a> Sources<'a> {
    /// Reads the file's `text`, which may have the key of any of the `known` settings.
    pub fn open(
        flags: &'a Flags,
        variable: &'a dyn Fn(&str) -> Option<String>,
        file: &'a Path,
        text: &str,
        known: &[Setting],
    ) -> Result<Self, ConfigError> {
        let keys = read_file(file, text, known)?;
        Ok(Self {
            flags,
            variable,
            file,
            keys,
        })
    }

    /// The value of a setting.
    pub fn read<T: Default>(&self, setting: &Setting, kind: &Kind<T>) -> Result<T, ConfigError> {
        let Some(given) = self.pick(setting) else {
            return Ok(T::default());
        };
        (kind.read)(&given).ok_or_else(|| given.refused(kind))
    }

    /// What was given for a setting, and where: by its flag, its variable, its key, or else by the table, in this order.
    fn pick(&self, setting: &Setting) -> Option<Given> {
        if let Some(value) = self.flags.0.get(setting.flag) {
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
        if let Some((value, line)) = self.keys.get(setting.key) {
            return Some(Given {
                value: value.clone(),
                source: format!("`{}` (line {line} of {})", setting.key, self.file.display()),
                folder: self.file.parent().map(Path::to_path_buf),
            });
        }
        setting.default.map(|value| Given {
            value: value.to_owned(),
            source: format!("the default of {}", setting.flag),
            folder: None,
        })
    }
}

/// The file's settings as text, each with its line.
fn read_file(
    file: &Path,
    text: &str,
    settings: &[Setting],
) -> Result<BTreeMap<String, (String, usize)>, ConfigError> {
    type Table = BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>>;
    let refused = |problem: String| ConfigError::File {
        file: file.to_path_buf(),
        problem,
    };
    let table: Table = toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        // Not the line itself, as it may hold a token.
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        refused(format!(
            "is not valid TOML, line {line}: {}",
            error.message().trim_end()
        ))
    })?;
    let mut keys = BTreeMap::new();
    for (key, value) in table {
        let line = line_at(text, key.span().start);
        let key = key.into_inner();
        let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
            let known: Vec<_> = settings.iter().map(|setting| setting.key).collect();
            return Err(refused(format!(
                "line {line}: there is no setting `{key}`; there are {}",
                known.join(", ")
            )));
        };
        let value = match value.into_inner() {
            toml::Value::String(value) => value,
            toml::Value::Integer(value) => value.to_string(),
            toml::Value::Boolean(value) if setting.form == Form::Switch => value.to_string(),
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
