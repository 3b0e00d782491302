//! What can be mended without a person's hands, once they have said yes.

use std::{fs, io, path::PathBuf};

use crate::base::private;

/// Something that mends a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// To take from other users what rights they have to this file or folder.
    Close(PathBuf),
    /// To delete a file of our own that a bridge makes anew.
    Delete(PathBuf),
    /// To let a program be started.
    MakeExecutable(PathBuf),
}

impl Fix {
    /// What it changes, on one line.
    pub fn words(&self) -> String {
        match self {
            Self::Close(path) => format!("take other users' rights to {}", path.display()),
            Self::Delete(path) => format!("delete {}", path.display()),
            Self::MakeExecutable(path) => format!("make {} executable", path.display()),
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// The system's.
    pub fn apply(&self) -> io::Result<()> {
        match self {
            Self::Close(path) => match private::close(path) {
                Some(said) if said.contains("no longer is") => Ok(()),
                Some(said) => Err(io::Error::other(said)),
                None => Ok(()),
            },
            Self::Delete(path) => fs::remove_file(path),
            Self::MakeExecutable(path) => make_executable(path),
        }
    }
}

/// Lets whoever may read a file start it too.
#[cfg(unix)]
fn make_executable(path: &PathBuf) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path)?.permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

/// Nothing: Windows knows programs by their names.
#[cfg(not(unix))]
fn make_executable(_: &PathBuf) -> io::Result<()> {
    Ok(())
}
