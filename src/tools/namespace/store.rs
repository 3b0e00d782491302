//! `store`: a namespace's values, which outlive its calls. One file, which all bridges of a user share: whoever changes it
//! locks it, reads it, and puts a new one in its place, so that it is whole whenever somebody dies.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;
use thiserror::Error;

use crate::base::{
    files,
    store::{self, hash},
};

/// How many bytes of JSON a store may have.
const MOST: usize = 1024 * 1024;

/// How long a key may be, in bytes.
const LONGEST_KEY: usize = 200;

/// How long a store that another bridge changes is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked at meanwhile.
const AGAIN: Duration = Duration::from_millis(5);

/// Why a store did not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A key that none can be.
    #[error("a key has from 1 to {LONGEST_KEY} bytes")]
    Key,
    /// It would take too much.
    #[error(
        "the store of `{namespace}` may take {MOST} bytes, and would take {size}; delete what is not needed any more"
    )]
    Full {
        /// Whose.
        namespace: String,
        /// How much it would be.
        size: usize,
    },
    /// Another bridge holds it.
    #[error("the store of `{0}` is in use by another bridge; try again")]
    Busy(String),
    /// Its file.
    #[error("the store's file {} {problem}", .file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

type Values = BTreeMap<String, Value>;

/// The store of one namespace.
pub struct Store<'a> {
    namespace: &'a str,
    file: PathBuf,
}

impl<'a> Store<'a> {
    /// That of this namespace, in a folder that all bridges share.
    pub fn of(namespace: &'a str, state: &Path) -> Self {
        let name: String = namespace
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(40)
            .collect();
        // Names that differ only in what a file's name can't tell have stores of their own.
        let file = format!("{name}-{}.json", &hash(namespace.as_bytes())[..16]);
        Self {
            namespace,
            file: state.join("stores").join(file),
        }
    }

    /// A value; none if there is none of this key.
    pub fn get(&self, key: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.read()?.remove(checked(key)?))
    }

    /// The keys that begin so, in order.
    pub fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let values = self.read()?;
        Ok(values
            .into_keys()
            .filter(|key| key.starts_with(prefix))
            .collect())
    }

    /// Puts a value.
    pub fn set(&self, key: &str, value: Value) -> Result<(), StoreError> {
        let key = checked(key)?.to_owned();
        self.change(|values| {
            values.insert(key, value);
        })
    }

    /// Takes a value out; tells whether there was one.
    pub fn delete(&self, key: &str) -> Result<bool, StoreError> {
        let key = checked(key)?;
        let mut was_there = false;
        self.change(|values| was_there = values.remove(key).is_some())?;
        Ok(was_there)
    }

    fn change(&self, change: impl FnOnce(&mut Values)) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut values = self.read()?;
        change(&mut values);
        let failed = |problem: String| self.broken(format!("can't be written: {problem}"));
        let size = serde_json::to_vec(&values)
            .map_err(|error| failed(error.to_string()))?
            .len();
        if size > MOST {
            return Err(StoreError::Full {
                namespace: self.namespace.to_owned(),
                size,
            });
        }
        store::write_for_good(&self.file, &values).map_err(|error| failed(error.to_string()))
    }

    fn lock(&self) -> Result<std::fs::File, StoreError> {
        let path = self.file.with_extension("lock");
        let end = Instant::now() + PATIENCE;
        loop {
            match store::try_lock(&path) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) if Instant::now() < end => std::thread::sleep(AGAIN),
                Ok(None) => return Err(StoreError::Busy(self.namespace.to_owned())),
                Err(error) => return Err(self.broken(format!("can't be locked: {error}"))),
            }
        }
    }

    /// What is in it. A file that can't be read is not taken for an empty store, which the next change would make it.
    fn read(&self) -> Result<Values, StoreError> {
        // Whitespace, by which a person may have made it readable, counts for nothing.
        let bytes = match files::read(&self.file, 4 * MOST as u64) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Values::new()),
            Err(error) => return Err(self.broken(error.to_string())),
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            self.broken(format!(
                "is not as it was written: {error}. Mend it, or delete it to begin anew"
            ))
        })
    }

    fn broken(&self, problem: String) -> StoreError {
        StoreError::File {
            file: self.file.clone(),
            problem,
        }
    }
}

fn checked(key: &str) -> Result<&str, StoreError> {
    match key.len() {
        1..=LONGEST_KEY => Ok(key),
        _ => Err(StoreError::Key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_put_is_there_for_its_namespace_alone() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::of("a/b", state.path());
        assert_eq!(store.get("x").unwrap(), None);
        store.set("x", json!({"y": [1, null]})).unwrap();
        store.set("x2", json!("\u{10FFFF}")).unwrap();
        let again = Store::of("a/b", state.path());
        assert_eq!(again.get("x").unwrap(), Some(json!({"y": [1, null]})));
        assert_eq!(again.list("x2").unwrap(), ["x2"]);
        assert_eq!(Store::of("a_b", state.path()).list("").unwrap().len(), 0);
        assert!(again.delete("x").unwrap() && !again.delete("x").unwrap());
        assert_eq!(store.list("").unwrap(), ["x2"]);
        assert!(store.set("", json!(1)).is_err() && store.get(&"k".repeat(201)).is_err());
    }

    #[test]
    fn what_is_too_much_changes_nothing() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::of("full", state.path());
        store.set("a", json!("x".repeat(600_000))).unwrap();
        let told = store.set("b", json!("x".repeat(600_000))).unwrap_err();
        assert!(
            told.to_string()
                .contains("may take 1048576 bytes, and would take 12000"),
            "{told}"
        );
        assert_eq!(store.list("").unwrap(), ["a"]);
        store.set("a", json!("x".repeat(1_000_000))).unwrap();
    }

    #[test]
    fn many_who_change_it_at_once_undo_nothing_of_each_other() {
        let state = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for one in 0..4 {
                let state = state.path();
                scope.spawn(move || {
                    for key in 0..25 {
                        let store = Store::of("shared", state);
                        store.set(&format!("{one}-{key}"), json!(key)).unwrap();
                    }
                });
            }
        });
        assert_eq!(
            Store::of("shared", state.path()).list("").unwrap().len(),
            100
        );
    }

    #[test]
    fn a_damaged_file_is_told_and_stays() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::of("d", state.path());
        store.set("a", json!(1)).unwrap();
        std::fs::write(&store.file, "{\"a\": 1").unwrap();
        for told in [
            store.get("a").unwrap_err().to_string(),
            store.set("b", json!(2)).unwrap_err().to_string(),
        ] {
            assert!(told.contains("is not as it was written"), "{told}");
        }
        assert_eq!(std::fs::read_to_string(&store.file).unwrap(), "{\"a\": 1");
    }
}
