//! Opens what others put under a name that we were given: a file, or else an error that says what it is.
//!
//! A named pipe makes its reader wait for a writer that may never come, and `/dev/zero` has no end. So nothing is opened
//! that waits, nothing is read that is no file, and no more than the reader has room for.

use std::{
    fs::{File, FileType, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

use thiserror::Error;

/// Why a file is not read. The file's name stands before it.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refuses.
    #[error("can't be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is a folder, a named pipe, a device or the like, or a link to one.
    #[error("is {0}, not a file")]
    NotAFile(&'static str),
    /// It has more bytes than this.
    #[error("has more than {}, and so is not read", size(*.0))]
    TooLarge(u64),
    /// A text was wanted.
    #[error("is no UTF-8 text")]
    NoText,
}

impl FileError {
    /// Whether there is nothing under that name.
    pub fn is_missing(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        matches!(self, Self::Unreadable(error) if matches!(error.kind(), NotFound | NotADirectory))
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Unreadable(error) => error,
            other => Self::other(format!("it {other}")),
        }
    }
}

/// Opens a file to read it.
///
/// # Errors
/// There is none, or it is no file.
pub fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    open_with(File::options().read(true), path)
}

/// Opens a file as these options say, without waiting for anybody.
///
/// # Errors
/// It can't be opened, or it is no file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> Result<(File, Metadata), FileError> {
    // To open some devices does something. What takes the file's place after this look is found out below.
    if let Ok(metadata) = path.metadata() {
        check(&metadata)?;
    }
    let file = without_waiting(options).open(path)?;
    let metadata = file.metadata()?;
    check(&metadata)?;
    Ok((file, metadata))
}

/// All of a file, which has `most` bytes at most.
///
/// # Errors
/// There is none, or it is no file, or larger.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = open(path)?;
    read_opened(file, &metadata, most)
}

/// [`read`], once it is open.
///
/// # Errors
/// It can't be read, or is larger.
pub fn read_opened(file: File, metadata: &Metadata, most: u64) -> Result<Vec<u8>, FileError> {
    if metadata.len() > most {
        return Err(FileError::TooLarge(most));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read, and some files of the system are longer than they say.
    let read = file.take(most + 1).read_to_end(&mut bytes)?;
    if read as u64 > most {
        return Err(FileError::TooLarge(most));
    }
    Ok(bytes)
}

/// All of a file of text, which has `most` bytes at most.
///
/// # Errors
/// As of [`read`], or it is no UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    String::from_utf8(read(path, most)?).map_err(|_| FileError::NoText)
}

/// Whether the system knows without asking any disk that nothing is there. It is not always known.
#[cfg(target_os = "linux")]
pub fn is_surely_absent(path: &Path) -> bool {
    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED);
    matches!(opened, Err(Errno::NOENT | Errno::NOTDIR))
}

/// Whether the system knows without asking any disk that nothing is there. It is not always known: here never.
#[cfg(not(target_os = "linux"))]
pub fn is_surely_absent(_: &Path) -> bool {
    false
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    match (bytes / MIB, bytes % MIB) {
        (mib @ 1.., 0) => format!("{mib} MiB"),
        _ => format!("{bytes} bytes"),
    }
}

fn check(metadata: &Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(FileError::NotAFile(if kind.is_dir() {
        "a folder"
    } else {
        special(kind)
    }))
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "something else"
}

/// A named pipe is opened at once, whoever is at its other end, and no terminal becomes this process's own.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
}

#[cfg(not(unix))]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        let error = read(&path, 4).unwrap_err().to_string();
        assert_eq!(error, "has more than 4 bytes, and so is not read");
        fs::write(&path, [255]).unwrap();
        assert!(matches!(read_text(&path, 5), Err(FileError::NoText)));
        assert!(read(&folder.path().join("b"), 5).unwrap_err().is_missing());
        assert!(read(&path.join("b"), 5).unwrap_err().is_missing());
        let error = read(folder.path(), 5).unwrap_err().to_string();
        assert_eq!(error, "is a folder, not a file");
    }

    #[test]
    fn what_is_there_is_never_said_to_be_surely_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for _ in 0..10 {
            fs::write(&path, "1").unwrap();
            assert!(!is_surely_absent(&path));
            fs::remove_file(&path).unwrap();
            assert!(path.symlink_metadata().is_err());
            is_surely_absent(&path);
            fs::create_dir(&path).unwrap();
            assert!(!is_surely_absent(&path));
            fs::remove_dir(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_waits_or_has_no_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        for (name, words) in [
            ("pipe", "is a named pipe, not a file"),
            ("socket", "is a socket, not a file"),
            ("zero", "is a device, not a file"),
        ] {
            let error = read(&at(name), 5).unwrap_err().to_string();
            assert_eq!(error, words);
            let error = open_with(File::options().append(true), &at(name)).unwrap_err();
            assert_eq!(error.to_string(), words);
        }
        // It is empty, and goes on for longer than it says.
        let stat = Path::new("/proc/self/stat");
        if cfg!(target_os = "linux") {
            assert!(matches!(read(stat, 3), Err(FileError::TooLarge(3))));
        }
    }
}
