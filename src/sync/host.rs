//! A folder of the host, out of which nothing leads.
//!
//! Everything is opened from the folder's own handle, name by name, and no symbolic link is followed on the way: so what a
//! name means is decided when it is opened, whoever moves things about meanwhile.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};
use thiserror::Error;

use super::{
    digest,
    entry::{Entry, LARGEST, LARGEST_IN_ALL, MOST_FILES, TOO_LARGE},
    ignored::Ignored,
    names,
};

/// The most files and folders that are looked at, those that are ignored included.
const WALKED: usize = 20_000;

/// The largest `.gitignore` that is read, in bytes.
const LARGEST_IGNORE: u64 = 256 * 1024;

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

/// What is in a folder.
#[derive(Debug, Default)]
pub struct Tree {
    /// Its files by their paths below it, with slashes.
    pub files: BTreeMap<String, Entry>,
    /// What is not synced, and why, as a sentence's end.
    pub left: BTreeMap<String, String>,
    /// What its `.gitignore` files say.
    pub ignored: Ignored,
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
        let mut walk = Walk {
            tree: Tree::default(),
            looked_at: 0,
            bytes: 0,
        };
        let too_much = |what| HostError::TooMuch {
            path: self.path.clone(),
            what,
        };
        match walk.folder(&self.folder, "") {
            Ok(()) => {}
            Err(Stop::Io(why)) => {
                return Err(HostError::Unopened {
                    path: self.path.clone(),
                    why,
                });
            }
            Err(Stop::TooMuch(what)) => return Err(too_much(what)),
        }
        without_twins(&mut walk.tree);
        Ok(walk.tree)
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

/// A walk through a folder.
struct Walk {
    tree: Tree,
    looked_at: usize,
    bytes: u64,
}

enum Stop {
    Io(io::Error),
    TooMuch(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Walk {
    fn folder(&mut self, folder: &Dir, prefix: &str) -> Result<(), Stop> {
        if let Ok(rules) = read(folder, ".gitignore", LARGEST_IGNORE) {
            let rules = String::from_utf8_lossy(&rules);
            self.tree.ignored.add(prefix.trim_end_matches('/'), &rules);
        }
        let mut names = Vec::new();
        for entry in folder.entries()? {
            let entry = entry?;
            self.looked_at += 1;
            if self.looked_at > WALKED {
                return Err(Stop::TooMuch(format!("{WALKED} files and folders")));
            }
            names.push(entry.file_name());
        }
        names.sort();
        for name in names {
            let Some(name) = name.to_str() else {
                let path = format!("{prefix}{}", name.to_string_lossy());
                self.leave(path, "its name is no Unicode");
                continue;
            };
            if !names::is_passed_over(name) {
                self.entry(folder, prefix, name)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, folder: &Dir, prefix: &str, name: &str) -> Result<(), Stop> {
        let path = format!("{prefix}{name}");
        let metadata = match folder.symlink_metadata(name) {
            Ok(metadata) => metadata,
            // It went meanwhile, or can't be looked at.
            Err(error) => {
                self.leave(path, error);
                return Ok(());
            }
        };
        if self.tree.ignored.is_itself(&path, metadata.is_dir()) {
            return Ok(());
        }
        if metadata.is_symlink() {
            self.leave(path, "it is a symbolic link");
        } else if let Some(why) = names::unfit(&path) {
            self.leave(path, why);
        } else if metadata.is_dir() {
            match folder.open_dir_nofollow(name) {
                Ok(below) => self.folder(&below, &format!("{path}/"))?,
                Err(error) => self.leave(path, error),
            }
        } else {
            self.file(folder, path, name, &metadata)?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        folder: &Dir,
        path: String,
        name: &str,
        metadata: &Metadata,
    ) -> Result<(), Stop> {
        if !metadata.is_file() {
            self.leave(path, "it is no file");
            return Ok(());
        }
        if metadata.len() > LARGEST {
            self.leave(path, TOO_LARGE);
            return Ok(());
        }
        let bytes = match read(folder, name, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.leave(path, error);
                return Ok(());
            }
        };
        self.bytes += bytes.len() as u64;
        if self.bytes > LARGEST_IN_ALL {
            return Err(Stop::TooMuch(format!(
                "{} MiB",
                LARGEST_IN_ALL / 1024 / 1024
            )));
        }
        if self.tree.files.len() == MOST_FILES {
            return Err(Stop::TooMuch(format!("{MOST_FILES} files")));
        }
        let entry = Entry {
            size: bytes.len() as u64,
            hash: digest::of(&bytes),
        };
        self.tree.files.insert(path, entry);
        Ok(())
    }

    fn leave(&mut self, path: String, why: impl ToString) {
        self.tree.left.insert(path, why.to_string());
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

/// Takes out files whose names differ only in capital and small letters: on some systems they are one.
fn without_twins(tree: &mut Tree) {
    let mut by_lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in tree.files.keys() {
        by_lower
            .entry(path.to_lowercase())
            .or_default()
            .push(path.clone());
    }
    for twin in by_lower
        .into_values()
        .filter(|paths| paths.len() > 1)
        .flatten()
    {
        tree.files.remove(&twin);
        let why = "another has the same name but for capital letters, and may be the same file in the game: rename one of them";
        tree.left.insert(twin, why.to_owned());
    }
}

/// Writes a file that is not there yet.
fn create(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .follow(FollowSymlinks::No);
    let mut file = folder.open_with(name, &options)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The bytes of a file, which has `most` at most.
fn read(folder: &Dir, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let file = open(folder, name)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(TOO_LARGE));
    }
    Ok(bytes)
}

/// Opens a file to read it, and nothing else: no link, and nothing that waits for anybody.
fn open(folder: &Dir, name: &str) -> io::Result<File> {
    if !folder.symlink_metadata(name)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    let file = folder.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(file)
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
