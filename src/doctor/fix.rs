//! What can be mended without a person's hands, once they have said yes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::patient::Patient;
use crate::{
    base::private,
    setup::{
        change::Change,
        file::{self, BOM, Rights},
        game::survey::Noted,
        ledger::{Addition, Ledger},
    },
};

/// What `setup game` calls itself in the ledger.
const GAME: &str = "game";

/// Something that mends a finding.
#[derive(Debug)]
pub enum Fix {
    /// To take from other users what rights they have to this file or folder.
    Close(PathBuf),
    /// To delete a file of our own that a bridge makes anew.
    Delete(PathBuf),
    /// To let a program be started.
    MakeExecutable(PathBuf),
    /// To take the byte-order mark from a file.
    DropMark(PathBuf),
    /// To change a file that others write too.
    Change(Box<Change>),
    /// The same, and to note what was added, so that `setup --remove` takes it out again.
    Add {
        /// The change.
        change: Box<Change>,
        /// What is noted.
        addition: Addition,
        /// The folder in which it is noted.
        shared: PathBuf,
        /// What else comes of it, which the change does not show.
        too: Option<String>,
    },
}

impl Fix {
    /// A change of one of the game's files.
    pub fn of_game(patient: &Patient, change: Change, noted: &Noted, too: Option<String>) -> Self {
        let addition = Addition {
            part: GAME.to_owned(),
            file: change.before.path.clone(),
            what: serde_json::to_value(noted).unwrap_or_default(),
        };
        Self::Add {
            change: Box::new(change),
            addition,
            shared: patient.folders.shared.clone(),
            too,
        }
    }

    /// What it changes: on one line, or as a diff below it.
    pub fn words(&self) -> String {
        match self {
            Self::Close(path) => format!("take other users' rights to {}", path.display()),
            Self::Delete(path) => format!("delete {}", path.display()),
            Self::MakeExecutable(path) => format!("make {} executable", path.display()),
            Self::DropMark(path) => format!("take the byte-order mark from {}", path.display()),
            Self::Change(change) => of_change(change),
            Self::Add { change, too, .. } => match too {
                Some(too) => format!("{}! {too}\n", of_change(change)),
                None => of_change(change),
            },
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Why it can't be done.
    pub fn apply(&self) -> io::Result<()> {
        match self {
            Self::Close(path) => close(path),
            Self::Delete(path) => fs::remove_file(path),
            Self::MakeExecutable(path) => make_executable(path),
            Self::DropMark(path) => drop_mark(path),
            Self::Change(change) => change.apply().map_err(io::Error::other),
            Self::Add {
                change,
                addition,
                shared,
                ..
            } => {
                change.apply().map_err(io::Error::other)?;
                Ledger::open(shared).add(addition.clone())
            }
        }
    }
}

/// The change of a file, with its diff.
fn of_change(change: &Change) -> String {
    format!(
        "change {}:\n{}\n",
        change.before.path.display(),
        change.diff()
    )
}

fn close(path: &Path) -> io::Result<()> {
    match private::close(path) {
        Some(said) if !said.contains("no longer is") => Err(io::Error::other(said)),
        Some(_) | None => Ok(()),
    }
}

/// Writes a file without its mark.
fn drop_mark(path: &Path) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let bytes = fs::read(&path)?;
    let Some(rest) = bytes.strip_prefix(BOM.as_bytes()) else {
        return Ok(());
    };
    file::replace(&path, rest, Rights::Kept)
}

/// Lets whoever may read a file start it too.
#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path)?.permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

/// Nothing: Windows knows programs by their names.
#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_taken_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "\u{feff}{\r\n}\u{feff}").unwrap();
        let fix = Fix::DropMark(path.clone());
        fix.apply().unwrap();
        fix.apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\r\n}\u{feff}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn who_may_read_a_program_may_start_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        Fix::MakeExecutable(path.clone()).apply().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o750);
    }
}
