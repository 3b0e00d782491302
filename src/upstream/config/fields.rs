//! An entry's keys, taken out one by one, with errors that name them. What nobody took is what means nothing here.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;

use super::entry::EntryError;

/// An entry's keys.
pub(super) struct Fields<'a> {
    entry: &'a Value,
    taken: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(entry: &'a Value) -> Self {
        Self {
            entry,
            taken: RefCell::default(),
        }
    }

    /// The key's value, unless it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.entry.as_object()?.get_key_value(key)?;
        self.taken.borrow_mut().insert(key);
        Some(value).filter(|value| !value.is_null())
    }

    /// Whether the key is there, and not taken by that.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entry.get(key).is_some()
    }

    /// The keys that were not asked for.
    pub(super) fn left(&self) -> Vec<&'a str> {
        let taken = self.taken.borrow();
        let keys = self.entry.as_object().into_iter().flatten();
        keys.map(|(key, _)| key.as_str())
            .filter(|key| !taken.contains(key))
            .collect()
    }

    /// The first of these keys that is there, with its value.
    pub(super) fn first(&self, keys: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        keys.iter()
            .find_map(|key| self.get(key).map(|value| (*key, value)))
    }

    /// # Errors
    /// It is no text.
    pub(super) fn text(&self, key: &'static str) -> Result<Option<&'a str>, EntryError> {
        self.read(key, Value::as_str, EntryError::NotAText)
    }

    /// # Errors
    /// It is neither true nor false.
    pub(super) fn truth(&self, key: &'static str) -> Result<Option<bool>, EntryError> {
        let truth = |value: &Value| match value {
            Value::Bool(truth) => Some(*truth),
            Value::String(text) => text.to_ascii_lowercase().parse().ok(),
            _ => None,
        };
        self.read(key, truth, EntryError::NotATruth)
    }

    /// # Errors
    /// It is no list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, EntryError> {
        self.read(key, texts, EntryError::NotTexts)
    }

    /// The texts of all of these keys; none if none of them is there.
    ///
    /// # Errors
    /// One is no list of texts.
    pub(super) fn all_texts(
        &self,
        keys: &[&'static str],
    ) -> Result<Option<BTreeSet<String>>, EntryError> {
        let mut all: Option<BTreeSet<String>> = None;
        for key in keys {
            if let Some(texts) = self.texts(key)? {
                all.get_or_insert_default().extend(texts);
            }
        }
        Ok(all)
    }

    /// # Errors
    /// It is no object of texts, numbers and truths.
    pub(super) fn map(&self, key: &'static str) -> Result<BTreeMap<String, String>, EntryError> {
        match self.get(key) {
            Some(value) => map(value).ok_or(EntryError::NotAnObjectOfTexts(key)),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The key as what it must be; `wrong` if it is something else.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        wrong: fn(&'static str) -> EntryError,
    ) -> Result<Option<T>, EntryError> {
        self.get(key)
            .map(|value| read(value).ok_or_else(|| wrong(key)))
            .transpose()
    }
}

/// A list of texts; numbers and truths in it are what they look like.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

/// An object of texts. What is null there is as good as not there.
pub(super) fn map(value: &Value) -> Option<BTreeMap<String, String>> {
    let entries = value.as_object()?.iter();
    entries
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| Some((name.clone(), text(value)?)))
        .collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
