//! Files of our own in the state folder: written whole or not at all, and readable by their user only.

use std::{
    fs::{File, TryLockError},
    io::{self, Write},
    path::Path,
    time::SystemTime,
};

use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::{
    files::{self, FileError},
    private,
};

/// The largest file that is read, in bytes: what we write has a few hundred thousand at most.
const MOST: u64 = 64 * 1024 * 1024;

/// The SHA-256 of these bytes, in 64 hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes `value` to `path` as JSON: others see the old content or the new one, never a part.
///
/// # Errors
/// The folder can't be made or written.
pub fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_file(path, value, |_| Ok(()))
}

/// [`write()`], once the disk has it: so that the machine may lose its power at any moment.
///
/// # Errors
/// The folder can't be made or written.
pub fn write_for_good(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_file(path, value, File::sync_all)
}

fn write_file(
    path: &Path,
    value: &impl Serialize,
    settle: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    // In one piece: a file takes each word of JSON by a call of the system.
    let text = serde_json::to_vec_pretty(value)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    private::make_folder(folder)?;
    // Such a file is readable by its user only, on Unix by its mode, on Windows by its folder.
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    file.write_all(&text)?;
    settle(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Notes that what is in the file still holds: its time of change is now.
///
/// # Errors
/// The file is not there or can't be written.
pub fn touch(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_modified(SystemTime::now())
}

/// When the file was written or touched last, if it is there.
pub fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|facts| facts.modified()).ok()
}

/// What is in the file, if it is there and of that form.
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let unusable = |error: &dyn std::fmt::Display| {
        tracing::warn!(file = %path.display(), %error, "a file in the state folder can't be used");
    };
    let text = match files::read(path, MOST) {
        Ok(text) => text,
        Err(FileError::Unreadable(_)) => return None,
        Err(error) => {
            unusable(&error);
            return None;
        }
    };
    match serde_json::from_slice(&text) {
        Ok(value) => Some(value),
        Err(error) => {
            unusable(&format_args!("it is not as it was written: {error}"));
            None
        }
    }
}

/// Locks a file, which is made if it isn't there; none if another process has locked it. The lock ends with what is
/// returned, and with the process, however that ends.
///
/// # Errors
/// The file can't be made, or where it is files can't be locked.
pub fn try_lock(path: &Path) -> io::Result<Option<File>> {
    private::make_folder(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = private::file_options();
    options.write(true).create(true).truncate(false);
    let (file, _) = files::open_with(&mut options, path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a process holds the lock of this file.
pub fn is_locked(path: &Path) -> bool {
    files::open(path)
        .is_ok_and(|(file, _)| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_a_damaged_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.json");
        write(&path, &vec![1, 2]).unwrap();
        write(&path, &vec![3]).unwrap();
        assert_eq!(read::<Vec<u8>>(&path), Some(vec![3]));
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
        fs::write(&path, "[3").unwrap();
        assert_eq!(read::<Vec<u8>>(&path), None);
        assert_eq!(read::<Vec<u8>>(&folder.path().join("none")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_written_in_one_piece_however_much_it_is() {
        // How often this thread has written anything; nobody knows where the system does not count that.
        let written = || -> Option<u32> {
            let counted = fs::read_to_string("/proc/thread-self/io").ok()?;
            let (_, writes) = counted.split_once("syscw: ")?;
            writes.lines().next()?.parse().ok()
        };
        let folder = tempfile::tempdir().unwrap();
        let before = written();
        write(&folder.path().join("b.json"), &vec![7; 5_000]).unwrap();
        if let (Some(before), Some(after)) = (before, written()) {
            assert!(after - before < 10, "{} writes", after - before);
        }
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.lock");
        assert!(!is_locked(&path));
        let held = try_lock(&path).unwrap().unwrap();
        assert!(is_locked(&path) && try_lock(&path).unwrap().is_none());
        drop(held);
        assert!(!is_locked(&path) && try_lock(&path).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.json");
        write(&path, &1).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn a_hash_is_that_of_the_standard() {
        assert_eq!(
            hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
