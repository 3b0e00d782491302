//! A file as it was found: its text, and all that has to stay when it is written anew.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::refusal::Refusal;
use crate::base::files::{self, FileError};

/// A larger file is not edited, in bytes: no configuration of a client or the game comes near it.
const LARGEST: u64 = 32 * 1024 * 1024;

/// How many links are followed from a file that isn't there: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// The byte-order mark, which some programs on Windows write before a text.
pub const BOM: &str = "\u{feff}";

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// As on Unix.
    Lf,
    /// As on Windows.
    CrLf,
}

impl LineEnd {
    /// What ends a line.
    pub fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// How most lines of `text` end. Where none does, as this crate's own.
    pub fn of(text: &str) -> Self {
        let windows = text.matches("\r\n").count();
        if windows > 0 && windows * 2 >= text.matches('\n').count() {
            Self::CrLf
        } else {
            Self::Lf
        }
    }

    /// `text`, all of whose lines end with `\n`, with ends of this kind.
    pub fn put_into(self, text: &str) -> String {
        text.replace('\n', self.text())
    }
}

/// A file as it was found, or that there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name by which it was asked for, and by which a person knows it.
    pub path: PathBuf,
    /// Where it is, links followed: what is written.
    pub target: PathBuf,
    /// Whether a byte-order mark stood before the text.
    pub has_bom: bool,
    /// What is in it, without the byte-order mark and with the line ends that it has; none if there is no file.
    pub text: Option<String>,
}

impl Found {
    /// Reads a file, which need not be there.
    ///
    /// # Errors
    /// It is there and can't be read, is no file, has more than 32 MiB, or is no UTF-8 text.
    pub fn read(path: &Path) -> Result<Self, Refusal> {
        let target = followed(path).map_err(|error| unreadable(path, &error))?;
        let text = match files::read_text(&target, LARGEST) {
            Ok(text) => Some(text),
            Err(error) if error.is_missing() => None,
            Err(FileError::NoText) => {
                return Err(Refusal::new(
                    "is no UTF-8 text, so it is left as it is. Save it as UTF-8, and try again",
                )
                .of(path));
            }
            Err(error) => return Err(Refusal::new(error.to_string()).of(path)),
        };
        let without = text.as_deref().and_then(|text| text.strip_prefix(BOM));
        Ok(Self {
            path: path.to_path_buf(),
            target,
            has_bom: without.is_some(),
            text: without.map(str::to_owned).or(text),
        })
    }

    /// What is in it; nothing if there is no file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// How its lines end.
    pub fn line_end(&self) -> LineEnd {
        LineEnd::of(self.text())
    }
}

/// Who may do what with a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// As with the file that is there, and its owner stays.
    Kept,
    /// As with any file that the user makes.
    Usual,
    /// For its user alone.
    Private,
}

/// Writes a file whole or not at all: beside it first, in a folder that is made if it isn't there.
///
/// # Errors
/// It can't be written. What was there is as it was.
pub fn replace(target: &Path, bytes: &[u8], rights: Rights) -> io::Result<()> {
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mcp-bridge-");
    if rights == Rights::Usual {
        open_to_all(&mut builder);
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if rights == Rights::Kept {
        keep_rights(file.path(), target)?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// A file that is made has the rights that any other program would give it.
#[cfg(unix)]
fn open_to_all(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    // The user's mask takes from these what it takes from all.
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn open_to_all(_: &mut tempfile::Builder<'_, '_>) {}

/// Gives a new file the rights and the owner of the old one.
#[cfg(unix)]
fn keep_rights(new: &Path, old: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let (is, was) = (fs::metadata(new)?, fs::metadata(old)?);
    if (is.uid(), is.gid()) != (was.uid(), was.gid()) {
        chown(new, Some(was.uid()), Some(was.gid()))?;
    }
    fs::set_permissions(new, was.permissions())
}

/// On Windows the folder says who may do what.
#[cfg(not(unix))]
fn keep_rights(_: &Path, old: &Path) -> io::Result<()> {
    if fs::metadata(old)?.permissions().readonly() {
        return Err(io::Error::other("it may only be read"));
    }
    Ok(())
}

/// Where a name leads, link by link: what the last one names need not be there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    if let Ok(target) = path.canonicalize() {
        return Ok(plain(target));
    }
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            // It is no link, or isn't there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("it is a link that leads to itself"))
}

/// A path as Windows programs know it: the form in which the system gives it, `\\?\C:\…`, many can't use.
fn plain(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(rest) if !rest.starts_with("UNC") => PathBuf::from(rest),
        _ => path,
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(format!("can't be read: {error}")).of(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_told_apart_from_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert_eq!(Found::read(&path).unwrap().text, None);
        fs::write(&path, "\u{feff}{}\r\n").unwrap();
        let found = Found::read(&path).unwrap();
        assert!(found.has_bom && found.text() == "{}\r\n");
        assert_eq!(found.line_end(), LineEnd::CrLf);
        fs::write(&path, "").unwrap();
        assert_eq!(Found::read(&path).unwrap().text.as_deref(), Some(""));
    }

    #[test]
    fn what_is_no_text_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, [0xff, 0xfe, b'{', 0]).unwrap();
        let refusal = Found::read(&path).unwrap_err();
        assert!(
            refusal.to_string().contains("a.json: is no UTF-8 text"),
            "{refusal}"
        );
        let refusal = Found::read(folder.path()).unwrap_err();
        assert!(refusal.to_string().contains("is a folder"), "{refusal}");
    }

    #[test]
    fn lines_end_as_most_do() {
        assert_eq!(LineEnd::of("a\r\nb\r\nc\n"), LineEnd::CrLf);
        assert_eq!(LineEnd::of("a\nb\nc\r\n"), LineEnd::Lf);
        assert_eq!(LineEnd::of("no end"), LineEnd::Lf);
        assert_eq!(LineEnd::CrLf.put_into("a\nb"), "a\r\nb");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_also_to_what_is_not_there_yet() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("dots")).unwrap();
        symlink("dots/real.json", at("link.json")).unwrap();
        let found = Found::read(&at("link.json")).unwrap();
        assert_eq!((found.target, found.text), (at("dots/real.json"), None));
        fs::write(at("dots/real.json"), "{}").unwrap();
        let found = Found::read(&at("link.json")).unwrap();
        assert!(found.target.ends_with("dots/real.json") && found.text() == "{}");
        symlink("round", at("round")).unwrap();
        assert!(Found::read(&at("round")).is_err());
    }
}
