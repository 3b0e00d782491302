//! `secrets`: values that a person keeps for namespaces, outside of what handlers are made of, and that no answer shows.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::base::{files, private};

/// The file of secrets, beside the configuration file.
pub const SECRETS_FILE: &str = "secrets.toml";

/// What the environment variable of a secret begins with. It wins over the file.
pub const VARIABLE: &str = "MCP_BRIDGE_SECRET_";

/// A larger file is not read, in bytes.
const MAX_FILE: u64 = 256 * 1024;

/// What is shorter can't be kept out of answers without spoiling them, in bytes.
const SHORTEST: usize = 6;

/// Why there is no secret.
#[derive(Debug, Error)]
pub enum SecretError {
    /// Nobody has set it.
    #[error(
        "the secret {name} is not set: put `{name} = \"…\"` into {file}, or set the variable {VARIABLE}{name}"
    )]
    Missing {
        /// The name.
        name: String,
        /// Where it would stand.
        file: String,
    },
    /// It is too short.
    #[error(
        "the secret {0} has fewer than {SHORTEST} bytes: it could not be kept out of answers without spoiling them"
    )]
    TooShort(String),
    /// Its file.
    #[error("{} {problem}", .file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// A secret's value.
pub fn value(name: &str, config: Option<&Path>) -> Result<String, SecretError> {
    let given = std::env::var(format!("{VARIABLE}{name}")).ok();
    let given = given.filter(|value| !value.is_empty());
    let value = match given {
        Some(value) => value,
        None => in_file(name, config)?,
    };
    match value.len() {
        SHORTEST.. => Ok(value),
        _ => Err(SecretError::TooShort(name.to_owned())),
    }
}

fn in_file(name: &str, config: Option<&Path>) -> Result<String, SecretError> {
    let missing = |file: String| SecretError::Missing {
        name: name.to_owned(),
        file,
    };
    let Some(file) = config.map(|folder| folder.join(SECRETS_FILE)) else {
        return Err(missing(SECRETS_FILE.to_owned()));
    };
    let text = match files::read_text(&file, MAX_FILE) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Err(missing(file.display().to_string())),
        Err(error) => {
            return Err(SecretError::File {
                file,
                problem: error.to_string(),
            });
        }
    };
    if let Some(told) = private::close(&file) {
        tracing::warn!("{told}");
    }
    let broken = |problem: String| SecretError::File {
        file: file.clone(),
        problem,
    };
    // What is wrong is told by its line alone: the words of the reader would show what stands there.
    let values: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        broken(format!(
            "can't be read: line {} is no TOML such as `NAME = \"value\"`",
            crate::base::text::line_at(&text, at)
        ))
    })?;
    match values.get(name) {
        Some(toml::Value::String(value)) => Ok(value.clone()),
        Some(_) => Err(broken(format!("has a {name} that is no text in quotes"))),
        None => Err(missing(file.display().to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stands_in_its_file_and_what_is_wrong_there_shows_none() {
        let config = tempfile::tempdir().unwrap();
        let get = |name: &str| value(name, Some(config.path())).map_err(|error| error.to_string());
        let told = get("KEY").unwrap_err();
        assert!(
            told.contains("put `KEY = \"…\"` into") && told.contains(SECRETS_FILE),
            "{told}"
        );
        let file = config.path().join(SECRETS_FILE);
        std::fs::write(&file, "KEY = \"hunter2000\"\nNUMBER = 5\nSHORT = \"abc\"\n").unwrap();
        assert_eq!(get("KEY").unwrap(), "hunter2000");
        assert!(get("NUMBER").unwrap_err().contains("no text in quotes"));
        assert!(get("SHORT").unwrap_err().contains("fewer than 6 bytes"));
        assert!(get("OTHER").unwrap_err().contains("is not set"));
        std::fs::write(&file, "A = \"b\"\nKEY = hunter2000\n").unwrap();
        let told = get("KEY").unwrap_err();
        assert!(
            told.contains("line 2") && !told.contains("hunter2000"),
            "{told}"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
        }
    }
}
