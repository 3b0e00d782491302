//! Paths of the table of clients, on a machine.

use std::{fs, path::PathBuf};

use crate::setup::machine::Machine;

/// The path that `pattern` means, if it has no `*`.
pub fn one(pattern: &str, machine: &Machine) -> Option<PathBuf> {
    all(pattern, machine).into_iter().next()
}

/// All paths that `pattern` means: where a folder's name has a `*`, those that are there.
pub fn all(pattern: &str, machine: &Machine) -> Vec<PathBuf> {
    let (root, rest) = match pattern.strip_prefix('{').and_then(closed) {
        Some((folder, rest)) => (named(folder, machine), rest),
        None => (PathBuf::from(pattern), ""),
    };
    let mut paths = vec![root];
    for part in rest.split('/').filter(|part| !part.is_empty()) {
        paths = match part.split_once('*') {
            None => paths.into_iter().map(|path| path.join(part)).collect(),
            Some((before, after)) => {
                let inside = paths
                    .iter()
                    .filter_map(|path| fs::read_dir(path).ok())
                    .flatten()
                    .flatten();
                let fitting = inside.filter(|entry| {
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    name.len() >= before.len() + after.len()
                        && name.starts_with(before)
                        && name.ends_with(after)
                });
                fitting.map(|entry| entry.path()).collect()
            }
        };
    }
    paths
}

/// What stands before the brace that closes the one before `text`, and what stands after it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// A folder that has a name in the table.
fn named(folder: &str, machine: &Machine) -> PathBuf {
    match folder {
        "home" => machine.home.clone(),
        "xdg" => machine.xdg_config(),
        "settings" => machine.settings(),
        "appdata" => machine.app_data(),
        "localappdata" => machine.local_app_data(),
        other => {
            let (variable, otherwise) = other.split_once('|').unwrap_or((other, "{home}"));
            machine
                .folder(variable)
                .or_else(|| one(otherwise, machine))
                .unwrap_or_else(|| machine.home.clone())
        }
    }
}
