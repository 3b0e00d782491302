//! Puts an entry into a text that others write too, and takes it out again, so that all else stays as it is.
//!
//! An entry is an object with a name inside a container, such as `computercraft` in `mcpServers`. Each format has an editor
//! that changes the text where it must and nowhere else. What comes out is read again, and has to say the same as before
//! but for the entry: so what an editor doesn't understand is refused, and nothing is lost.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON as it is defined.
    Json,
    /// JSON with comments, and commas after last members.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// All that a text of this format says.
    ///
    /// # Errors
    /// It can't be read, or holds no names and values at its top.
    pub fn read(self, text: &str) -> Result<Map<String, Value>, Refusal> {
        let value = match self {
            Self::Json => json::read(text, true),
            Self::Jsonc => json::read(text, false),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }?;
        match value {
            Value::Object(all) => Ok(all),
            Value::Null => Ok(Map::new()),
            other => Err(Refusal::new(format!(
                "holds {} at its top, where names and values should be, so it is left as it is",
                kind(&other)
            ))
            .at(text, 0)),
        }
    }
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The format of its file.
    pub format: Format,
    /// The key of the container at the file's top.
    pub container: &'a str,
    /// The entry's name in it.
    pub name: &'a str,
}

/// What `text` was before anything was put into it, as far as that has to be known to leave nothing of ours behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Made {
    /// There was no file.
    pub file: bool,
    /// There was no container.
    pub container: bool,
}

impl Place<'_> {
    /// The entry as it is in `text`, if it is there.
    ///
    /// # Errors
    /// The text can't be read, or has something else where the container or the entry should be.
    pub fn entry(&self, text: &str) -> Result<Option<Map<String, Value>>, Refusal> {
        let all = self.read(text)?;
        let Some(container) = all.get(self.container) else {
            return Ok(None);
        };
        let entries = match container {
            Value::Object(entries) => entries,
            // In YAML a key without a value is an empty map.
            Value::Null if self.format == Format::Yaml => return Ok(None),
            other => return Err(self.wrong_type(text, self.container, other)),
        };
        match entries.get(self.name) {
            None => Ok(None),
            Some(Value::Object(entry)) => Ok(Some(entry.clone())),
            Some(other) => Err(self.wrong_type(text, self.name, other)),
        }
    }

    /// Whether the container is there.
    ///
    /// # Errors
    /// As of [`Self::entry`].
    pub fn has_container(&self, text: &str) -> Result<bool, Refusal> {
        Ok(self.read(text)?.contains_key(self.container))
    }

    /// `text` with the entry as it is given. Where it is there already, only what differs is changed.
    ///
    /// # Errors
    /// As of [`Self::entry`], or the text is written in a way that can't be edited without a loss.
    pub fn put(&self, text: &str, entry: &Map<String, Value>) -> Result<String, Refusal> {
        if self.entry(text)?.as_ref() == Some(entry) {
            return Ok(text.to_owned());
        }
        let after = match self.format {
            Format::Json | Format::Jsonc => json::put(text, self.container, self.name, entry),
            Format::Toml => toml::put(text, self.container, self.name, entry),
            Format::Yaml => yaml::put(text, self.container, self.name, entry),
        }?;
        let mut expected = self.read(text)?;
        let container = expected.entry(self.container).or_insert(Value::Null);
        if container.is_null() {
            *container = Value::Object(Map::new());
        }
        if let Value::Object(entries) = container {
            entries.insert(self.name.to_owned(), Value::Object(entry.clone()));
        }
        self.check(&after, &expected)?;
        Ok(after)
    }

    /// `text` without the entry; none if nothing is left of a file that was made for it.
    ///
    /// # Errors
    /// As of [`Self::put`].
    pub fn take(&self, text: &str, made: Made) -> Result<Option<String>, Refusal> {
        if self.entry(text)?.is_none() {
            return Ok(Some(text.to_owned()));
        }
        let after = match self.format {
            Format::Json | Format::Jsonc => {
                json::take(text, self.container, self.name, made.container)
            }
            Format::Toml => toml::take(text, self.container, self.name),
            Format::Yaml => yaml::take(text, self.container, self.name, made.container),
        }?;
        let mut expected = self.read(text)?;
        let is_left_empty = match expected.get_mut(self.container) {
            Some(Value::Object(entries)) => {
                entries.shift_remove(self.name);
                entries.is_empty()
            }
            _ => false,
        };
        // Of a table in TOML nothing is left but its entries.
        if is_left_empty && (made.container || self.format == Format::Toml) {
            let mut without = expected.clone();
            without.shift_remove(self.container);
            if self.read(&after)? == without {
                expected = without;
            }
        }
        self.check(&after, &expected)?;
        let is_nothing = matches!(after.trim(), "" | "{}");
        Ok((!(made.file && is_nothing)).then_some(after))
    }

    /// All that the text says.
    fn read(&self, text: &str) -> Result<Map<String, Value>, Refusal> {
        self.format.read(text)
    }

    /// Holds a text that was made to what it should say.
    fn check(&self, after: &str, expected: &Map<String, Value>) -> Result<(), Refusal> {
        match self.read(after) {
            Ok(now) if now == *expected => Ok(()),
            _ => Err(Refusal::new(
                "is written in a way that can't be edited here without changing more than the entry, so it is left as it is",
            )),
        }
    }

    fn wrong_type(&self, text: &str, key: &str, value: &Value) -> Refusal {
        let refusal = Refusal::new(format!(
            "`{key}` is {}, where names and values should be, so the file is left as it is",
            kind(value)
        ));
        match text.find(key) {
            Some(offset) => refusal.at(text, offset),
            None => refusal,
        }
    }
}

/// What a value is, in words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
