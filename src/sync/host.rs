//! A folder of the host, out of which nothing leads.
//!
//! Everything is opened from the folder's own handle, name by name, and no symbolic link is followed on the way: so what a
//! name means is decided when it is opened, whoever moves things about meanwhile.

mod files;
mod walking;

use std::{
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_fs_ext::DirExt;
use cap_std::{
    ambient_authority,
    fs::{Dir, Metadata},
};
use thiserror::Error;

use super::{digest, entry::LARGEST, names};
use files::{create, read};
use walking::Stop;

pub use walking::Tree;

/// What a file is called that is not whole yet; a number follows. It begins with a dot, so that no sync takes it along.
const NEW: &str = ".mcp-bridge-sync-";

/// A folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host {
    folder: Arc<Dir>,
    path: PathBuf,
}

/// Why a folder can't be synced.
#[derive(Debug, Error)]
pub enum HostError {
    /// The system refuses, or there is none.
    #[error("{} can't be opened as a folder: {}", path.display(), in_words(why))]
    Unopened {
        /// Which.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// There is a name in it that leads elsewhere.
    #[error("{} is not opened: a symbolic link, or `..`, is on the way to it", path.display())]
    LeadsElsewhere {
        /// Which.
        path: PathBuf,
    },
    /// It is beyond a bound.
    #[error("{} has more than {what}: sync a folder in it, or let a .gitignore leave out what the game needs not", path.display())]
    TooMuch {
        /// Which.
        path: PathBuf,
        /// Of what.
        what: String,
    },
}

/// What is now where a folder was.
#[derive(Debug)]
pub enum Now {
    /// The folder.
    There,
    /// Another folder.
    Another(Host),
    /// No folder, or one that a link leads to.
    Away,
}

impl Host {
    /// Opens a folder that its user named: of its own path symbolic links are followed.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(path: &Path) -> Result<Self, HostError> {
        let unopened = |why| HostError::Unopened {
            path: path.to_owned(),
            why,
        };
        let path = path.canonicalize().map_err(unopened)?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority()).map_err(unopened)?;
        Ok(Self {
            folder: Arc::new(folder),
            path,
        })
    }

    /// Opens a folder below this one.
    ///
    /// # Errors
    /// It can't be opened, or would lead out.
    pub fn below(&self, path: &Path) -> Result<Self, HostError> {
        let whole = self.path.join(path);
        let mut folder = self.folder.clone();
        let mut at = self.path.clone();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => {
                    let is_link = folder
                        .symlink_metadata(name)
                        .is_ok_and(|metadata| metadata.is_symlink());
                    if is_link {
                        return Err(HostError::LeadsElsewhere { path: whole });
                    }
                    let opened = folder.open_dir_nofollow(name);
                    folder = Arc::new(opened.map_err(|why| HostError::Unopened {
                        path: whole.clone(),
                        why,
                    })?);
                    at.push(name);
                }
                _ => return Err(HostError::LeadsElsewhere { path: whole }),
            }
        }
        Ok(Self { folder, path: at })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is where it was when it was opened: its handle goes with a folder that is moved.
    pub fn now(&self) -> Now {
        let is_itself = self.path.canonicalize();
        let opened = match is_itself {
            // A link in its place may lead to what nobody named.
            Ok(path) if path != self.path => return Now::Away,
            Ok(_) => Self::open(&self.path),
            Err(_) => return Now::Away,
        };
        match opened {
            Ok(opened) if is_same(&opened.folder, &self.folder) => Now::There,
            Ok(opened) => Now::Another(opened),
            Err(_) => Now::Away,
        }
    }

    /// What is in it.
    ///
    /// # Errors
    /// It can't be read, or has too much.
    pub fn walk(&self) -> Result<Tree, HostError> {
        walking::walk(&self.folder).map_err(|stop| match stop {
            Stop::Io(why) => HostError::Unopened {
                path: self.path.clone(),
                why,
            },
            Stop::TooMuch(what) => HostError::TooMuch {
                path: self.path.clone(),
                what,
            },
        })
    }

    /// The bytes of a file of it.
    ///
    /// # Errors
    /// It is not there, no file, or too large.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let (folder, name) = self.folder_of(path, false)?;
        read(&folder, name, LARGEST)
    }

    /// Writes a file of it that comes from a computer, whole or not at all, with the folders above it, if it still is what
    /// it `was`: none means that there was none. Nothing is written that a program might run by itself. What it was is kept
    /// at the path `keep`, if that is said.
    ///
    /// # Errors
    /// It was not written; why, as a sentence's end.
    pub fn write(
        &self,
        path: &str,
        bytes: &[u8],
        was: Option<&str>,
        keep: Option<&str>,
    ) -> Result<(), String> {
        if let Some(why) = names::unsafe_here(path).or_else(|| names::unsafe_contents(bytes)) {
            return Err(why.to_owned());
        }
        let said = |error: io::Error| error.to_string();
        let (folder, name) = self.folder_of(path, true).map_err(said)?;
        self.check(&folder, name, was)?;
        if let Some(keep) = keep {
            let old = read(&folder, name, LARGEST).map_err(said)?;
            let kept = self
                .folder_of(keep, true)
                .and_then(|(folder, name)| create(&folder, name, &old));
            kept.map_err(|error| format!("what is there can't be kept as {keep}: {error}"))?;
        }
        let new = format!("{NEW}{}", uuid::Uuid::new_v4().simple());
        let written = create(&folder, &new, bytes);
        // What came into its place meanwhile stays.
        let placed = written
            .map_err(said)
            .and_then(|()| self.check(&folder, name, was))
            .and_then(|()| folder.rename(&new, &folder, name).map_err(said));
        if placed.is_err() {
            let _ = folder.remove_file_or_symlink(&new);
        }
        placed
    }

    /// Deletes a file of it that still is what it `was`, and the folders above it that are empty then. What it was is kept
    /// at the path `keep`: somebody on a computer in the game may have had it deleted.
    ///
    /// # Errors
    /// It was not deleted; why, as a sentence's end.
    pub fn delete(&self, path: &str, was: &str, keep: &str) -> Result<(), String> {
        if let Some(why) = names::unsafe_here(path) {
            return Err(why.to_owned());
        }
        let said = |error: io::Error| error.to_string();
        let (folder, name) = self.folder_of(path, false).map_err(said)?;
        self.check(&folder, name, Some(was))?;
        let kept = self
            .folder_of(keep, true)
            .and_then(|(kept_in, kept)| folder.rename(name, &kept_in, kept));
        kept.map_err(|error| format!("it can't be kept as {keep}: {error}"))?;
        let mut above = path;
        while let Some((folder, _)) = above.rsplit_once('/') {
            let emptied = self
                .folder_of(folder, false)
                .and_then(|(parent, name)| parent.remove_dir(name));
            if emptied.is_err() {
                break;
            }
            above = folder;
        }
        Ok(())
    }

    /// Whether a file is what it was, and may be replaced.
    fn check(&self, folder: &Dir, name: &str, was: Option<&str>) -> Result<(), String> {
        let metadata = match folder.symlink_metadata(name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match was {
                    None => Ok(()),
                    Some(_) => Err("it is gone from this machine meanwhile".to_owned()),
                };
            }
            Err(error) => return Err(error.to_string()),
        };
        if metadata.is_symlink() {
            return Err("a symbolic link is there, which is not followed".to_owned());
        }
        if metadata.is_dir() {
            return Err(
                "there is a folder of this name on this machine: rename or delete it".to_owned(),
            );
        }
        if is_executable(&metadata) {
            return Err("it is a program of this machine: the system may run it".to_owned());
        }
        let bytes = read(folder, name, LARGEST).map_err(|error| error.to_string())?;
        match was {
            Some(was) if digest::of(&bytes) == was => Ok(()),
            Some(_) | None => Err("it has changed on this machine meanwhile".to_owned()),
        }
    }

    /// The folder of a path below this one, and the name there. Folders are made if `makes`.
    fn folder_of<'a>(&self, path: &'a str, makes: bool) -> io::Result<(Arc<Dir>, &'a str)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.folder.clone();
        for part in above.split('/').filter(|part| !part.is_empty()) {
            // Both come to nothing as names of one folder.
            if part == "." || part == ".." {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let opened = match folder.open_dir_nofollow(part) {
                Err(error) if makes && error.kind() == io::ErrorKind::NotFound => {
                    match folder.create_dir(part) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                            return Err(error);
                        }
                        Ok(()) | Err(_) => folder.open_dir_nofollow(part),
                    }
                }
                opened => opened,
            };
            // The system's words don't tell what is in the way.
            let in_the_way = |error| match folder.symlink_metadata(part) {
                Ok(is) if is.is_symlink() => {
                    io::Error::other(format!("{part} is a symbolic link, which is not followed"))
                }
                Ok(is) if !is.is_dir() => io::Error::other(format!(
                    "{part} is no folder but a file on this machine: rename or delete it"
                )),
                _ => error,
            };
            let opened = opened.map_err(in_the_way)?;
            folder = Arc::new(opened);
        }
        Ok((folder, name))
    }
}

/// Why a folder can't be opened, and what to do.
fn in_words(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => "there is none. Make it, or name another".to_owned(),
        io::ErrorKind::NotADirectory => "it is a file. Name the folder that it is in".to_owned(),
        io::ErrorKind::PermissionDenied => format!("{why}. Its owner can allow it"),
        _ => why.to_string(),
    }
}

/// Whether two handles are of one folder.
#[cfg(unix)]
fn is_same(one: &Dir, other: &Dir) -> bool {
    use cap_fs_ext::MetadataExt;
    let identity = |folder: &Dir| {
        let metadata = folder.dir_metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(one) == identity(other)
}

/// A system that does not tell lets no folder be moved that is open.
#[cfg(not(unix))]
fn is_same(_: &Dir, _: &Dir) -> bool {
    true
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}
