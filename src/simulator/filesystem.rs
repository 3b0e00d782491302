//! A computer's files, in memory: its own disk at `/`, the read-only `/rom`, and a floppy at `/disk`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a file or folder costs of the disk at least, in bytes.
const MINIMUM_FILE_BYTES: u64 = 500;

/// Bytes of a floppy in the game.
const FLOPPY_BYTES: u64 = 125_000;

/// A file's content, shared by the handles open on it.
pub(super) type Content = Arc<Mutex<Vec<u8>>>;

#[derive(Debug, Clone)]
struct Entry {
    /// `None` for a folder.
    content: Option<Content>,
    created_ms: f64,
    modified_ms: f64,
}

/// What is known of a file or a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attributes {
    pub(super) size: u64,
    pub(super) is_folder: bool,
    pub(super) is_read_only: bool,
    pub(super) created_ms: f64,
    pub(super) modified_ms: f64,
}

/// The disk of one computer. It outlives reboots, and chunk unloads.
#[derive(Debug)]
pub(super) struct FileSystem {
    /// By path without a leading slash; the root is not in it.
    entries: BTreeMap<String, Entry>,
    capacity: u64,
    /// Whether a floppy is mounted at `/disk`.
    has_floppy: bool,
}

/// What a path lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drive {
    /// The computer's own disk.
    Own,
    /// The game's own files.
    Rom,
    /// A floppy in a drive beside the computer.
    Floppy,
}

type Outcome<T> = Result<T, String>;

/// The path as the game writes it: no leading slash, no `.`, no `..` but where it would leave the disk.
///
/// # Errors
/// `Invalid Path` where it leaves the root.
pub(super) fn normalise(path: &str) -> Outcome<String> {
    let mut parts: Vec<&str> = Vec::new();
    let forbidden = |c: char| matches!(c, '"' | ':' | '<' | '>' | '?' | '|' | '*') || c < ' ';
    let cleaned = path.replace('\\', "/");
    let cleaned: String = cleaned.chars().filter(|&c| !forbidden(c)).collect();
    for part in cleaned.split('/') {
        let part = part.trim();
        match part {
            "" | "." => {}
            ".." if parts.is_empty() => return Err("Invalid Path".to_owned()),
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// The words of a move that can't be.
const INSIDE_ITSELF: &str = "Can't move a directory inside itself";

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

fn is_rom(path: &str) -> bool {
    path == "rom" || path.starts_with("rom/")
}

fn is_floppy(path: &str) -> bool {
    path == "disk" || path.starts_with("disk/")
}

fn length(content: &Content) -> u64 {
    content.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
}

impl FileSystem {
    /// An empty disk of so many bytes, with the given files in `/rom`.
    pub(super) fn new(capacity: u64, rom: &[(&str, &str)]) -> Self {
        let mut disk = FileSystem {
            entries: BTreeMap::new(),
            capacity,
            has_floppy: false,
        };
        disk.add_folders("rom", 0.0);
        for (path, content) in rom {
            let path = format!("rom/{path}");
            if let Some(folder) = parent(&path) {
                disk.add_folders(folder, 0.0);
            }
            disk.put(&path, content.as_bytes().to_vec(), 0.0);
        }
        disk
    }

    /// Puts a floppy into a drive beside the computer.
    pub(super) fn insert_floppy(&mut self) {
        self.has_floppy = true;
        self.add_folders("disk", 0.0);
    }

    /// Takes the floppy out, with all that is on it.
    pub(super) fn remove_floppy(&mut self) {
        if self.has_floppy {
            self.has_floppy = false;
            self.entries.retain(|path, _| !is_floppy(path));
        }
    }

    pub(super) fn has_floppy(&self) -> bool {
        self.has_floppy
    }

    /// What a path lies on.
    pub(super) fn drive(&self, path: &str) -> Drive {
        if is_rom(path) {
            Drive::Rom
        } else if self.has_floppy && is_floppy(path) {
            Drive::Floppy
        } else {
            Drive::Own
        }
    }

    /// Whether a drive begins at a path, which then can't be deleted or moved.
    fn is_drive_root(&self, path: &str) -> bool {
        path.is_empty() || path == "rom" || self.has_floppy && path == "disk"
    }

    fn put(&mut self, path: &str, content: Vec<u8>, now_ms: f64) -> Content {
        let content = Arc::new(Mutex::new(content));
        let entry = Entry {
            content: Some(Arc::clone(&content)),
            created_ms: now_ms,
            modified_ms: now_ms,
        };
        self.entries.insert(path.to_owned(), entry);
        content
    }

    fn add_folders(&mut self, path: &str, now_ms: f64) {
        let mut at = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(part);
            self.entries.entry(at.clone()).or_insert(Entry {
                content: None,
                created_ms: now_ms,
                modified_ms: now_ms,
            });
        }
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.entries.contains_key(path)
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        path.is_empty()
            || self
                .entries
                .get(path)
                .is_some_and(|entry| entry.content.is_none())
    }

    pub(super) fn is_read_only(&self, path: &str) -> bool {
        is_rom(path)
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&self, path: &str) -> Outcome<Vec<String>> {
        if !self.exists(path) {
            return Err(format!("/{path}: No such file"));
        }
        if !self.is_folder(path) {
            return Err(format!("/{path}: Not a directory"));
        }
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        Ok(self
            .entries
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix))
            .filter_map(|(name, _)| name.get(prefix.len()..))
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    /// Every path on the disk, sorted; for wildcard searches.
    pub(super) fn paths(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// A file's content.
    pub(super) fn content(&self, path: &str) -> Outcome<Content> {
        match self.entries.get(path) {
            Some(Entry {
                content: Some(content),
                ..
            }) => Ok(Arc::clone(content)),
            Some(_) => Err(format!("/{path}: Not a file")),
            None if path.is_empty() => Err("/: Not a file".to_owned()),
            None => Err(format!("/{path}: No such file")),
        }
    }

    /// Makes a file, or empties it unless `keep`, for writing.
    pub(super) fn create(&mut self, path: &str, keep: bool, now_ms: f64) -> Outcome<Content> {
        if is_rom(path) {
            return Err(format!("/{path}: Access denied"));
        }
        if self.is_folder(path) {
            return Err(format!("/{path}: Cannot write to directory"));
        }
        if let Some(folder) = parent(path) {
            self.make_folder(folder, now_ms)?;
        }
        if keep && let Ok(content) = self.content(path) {
            return Ok(content);
        }
        self.entries.remove(path);
        if self.free(path) < MINIMUM_FILE_BYTES {
            return Err(format!("/{path}: Out of space"));
        }
        Ok(self.put(path, Vec::new(), now_ms))
    }

    /// Writes into a file's content at that place, and says how far the file then reaches.
    pub(super) fn write(
        &mut self,
        path: &str,
        content: &Content,
        at: usize,
        bytes: &[u8],
        now_ms: f64,
    ) -> Outcome<()> {
        let old = length(content).max(MINIMUM_FILE_BYTES);
        let end = at + bytes.len();
        if end as u64 > old && end as u64 - old > self.free(path) {
            return Err("Out of space".to_owned());
        }
        let mut held = content.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() < end {
            held.resize(end, 0);
        }
        held[at..end].copy_from_slice(bytes);
        drop(held);
        if let Some(entry) = self.entries.get_mut(path) {
            entry.modified_ms = now_ms;
        }
        Ok(())
    }

    /// Makes a folder and those above it.
    pub(super) fn make_folder(&mut self, path: &str, now_ms: f64) -> Outcome<()> {
        if self.is_folder(path) {
            return Ok(());
        }
        if is_rom(path) {
            return Err(format!("/{path}: Access denied"));
        }
        let mut at = path;
        loop {
            if self.exists(at) && !self.is_folder(at) {
                let why = if at == path {
                    "File exists"
                } else {
                    "Access denied"
                };
                return Err(format!("/{path}: {why}"));
            }
            match parent(at) {
                Some(above) => at = above,
                None => break,
            }
        }
        let missing = 1 + path.matches('/').count() as u64;
        if self.free(path) < MINIMUM_FILE_BYTES * missing {
            return Err(format!("/{path}: Out of space"));
        }
        self.add_folders(path, now_ms);
        Ok(())
    }

    /// Deletes a file or a folder with all that is in it; what is not there is no error.
    pub(super) fn delete(&mut self, path: &str) -> Outcome<()> {
        if is_rom(path) || self.is_drive_root(path) {
            return Err(format!("/{path}: Access denied"));
        }
        self.entries.remove(path);
        let inside = format!("{path}/");
        self.entries.retain(|name, _| !name.starts_with(&inside));
        Ok(())
    }

    /// Copies a file or a folder.
    pub(super) fn copy(&mut self, from: &str, to: &str, now_ms: f64) -> Outcome<()> {
        self.check_transfer(from, to)
            .map_err(|(path, why)| match why {
                INSIDE_ITSELF => format!("/{path}: Can't copy a directory inside itself"),
                _ => format!("/{path}: {why}"),
            })?;
        let inside = format!("{from}/");
        let copied: Vec<(String, Option<Vec<u8>>)> = self
            .entries
            .iter()
            .filter(|(name, _)| *name == from || name.starts_with(&inside))
            .map(|(name, entry)| {
                let content = entry.content.as_ref().map(|content| {
                    content
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .clone()
                });
                (format!("{to}{}", &name[from.len()..]), content)
            })
            .collect();
        let cost: u64 = copied
            .iter()
            .map(|(_, content)| {
                content
                    .as_ref()
                    .map_or(0, |bytes| bytes.len() as u64)
                    .max(MINIMUM_FILE_BYTES)
            })
            .sum();
        if cost > self.free(to) {
            return Err("Out of space".to_owned());
        }
        if let Some(folder) = parent(to) {
            self.make_folder(folder, now_ms)?;
        }
        for (name, content) in copied {
            match content {
                Some(content) => drop(self.put(&name, content, now_ms)),
                None => self.add_folders(&name, now_ms),
            }
        }
        Ok(())
    }

    /// Moves a file or a folder.
    pub(super) fn rename(&mut self, from: &str, to: &str, now_ms: f64) -> Outcome<()> {
        if is_rom(from) || self.is_drive_root(from) {
            return Err("Access denied".to_owned());
        }
        // A move tells no path.
        self.check_transfer(from, to)
            .map_err(|(_, why)| why.to_owned())?;
        if let Some(folder) = parent(to) {
            self.make_folder(folder, now_ms)?;
        }
        let inside = format!("{from}/");
        let names: Vec<String> = self
            .entries
            .keys()
            .filter(|name| *name == from || name.starts_with(&inside))
            .cloned()
            .collect();
        for name in names {
            if let Some(entry) = self.entries.remove(&name) {
                self.entries
                    .insert(format!("{to}{}", &name[from.len()..]), entry);
            }
        }
        Ok(())
    }

    /// Why a transfer can't be, and which path is in its way.
    fn check_transfer<'a>(
        &self,
        from: &'a str,
        to: &'a str,
    ) -> Result<(), (&'a str, &'static str)> {
        if !self.exists(from) {
            return Err((from, "No such file"));
        }
        if self.exists(to) {
            return Err((to, "File exists"));
        }
        if is_rom(to) {
            return Err((to, "Access denied"));
        }
        if to.starts_with(&format!("{from}/")) || from.is_empty() {
            return Err((from, INSIDE_ITSELF));
        }
        Ok(())
    }

    pub(super) fn attributes(&self, path: &str) -> Outcome<Attributes> {
        let entry = self.entries.get(path);
        if entry.is_none() && !path.is_empty() {
            return Err(format!("/{path}: No such file"));
        }
        Ok(Attributes {
            size: entry
                .and_then(|entry| entry.content.as_ref())
                .map_or(0, length),
            is_folder: self.is_folder(path),
            is_read_only: is_rom(path),
            created_ms: entry.map_or(0.0, |entry| entry.created_ms),
            modified_ms: entry.map_or(0.0, |entry| entry.modified_ms),
        })
    }

    /// Bytes in all of what a path lies on.
    pub(super) fn capacity(&self, path: &str) -> u64 {
        match self.drive(path) {
            Drive::Own => self.capacity,
            Drive::Rom => 0,
            Drive::Floppy => FLOPPY_BYTES,
        }
    }

    /// Bytes that are free where a path lies.
    pub(super) fn free(&self, path: &str) -> u64 {
        let drive = self.drive(path);
        let used: u64 = self
            .entries
            .iter()
            .filter(|(name, _)| self.drive(name) == drive && !self.is_drive_root(name))
            .map(|(_, entry)| {
                entry
                    .content
                    .as_ref()
                    .map_or(0, length)
                    .max(MINIMUM_FILE_BYTES)
            })
            .sum();
        self.capacity(path).saturating_sub(used)
    }
}

#[cfg(test)]
#[path = "filesystem_tests.rs"]
mod tests;
