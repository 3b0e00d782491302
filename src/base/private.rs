//! Files and folders for their user alone. Windows keeps others out of a user's profile by itself.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

/// Makes a folder, and those above it that are missing, for its user alone.
///
/// # Errors
/// It can't be made.
#[cfg(unix)]
pub fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Makes a folder, and those above it that are missing.
///
/// # Errors
/// It can't be made.
#[cfg(not(unix))]
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Options that make a file for its user alone, if they make one.
#[cfg(unix)]
pub fn file_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.mode(0o600);
    options
}

/// Options that make a file.
#[cfg(not(unix))]
pub fn file_options() -> OpenOptions {
    File::options()
}

/// Takes from others what rights they have to a file or folder of this user's; tells what was done, if anything was.
/// Folders that are for all, such as `/tmp`, and what belongs to another user, stay as they are.
#[cfg(unix)]
pub fn close(path: &Path) -> Option<String> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    const OTHERS: u32 = 0o077;
    const FOR_ALL: u32 = 0o1000;

    let metadata = path.metadata().ok()?;
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return None;
    }
    let place = path.display();
    let mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if !mine || mode & FOR_ALL != 0 {
        return Some(format!(
            "{place} is open to other users (mode {mode:04o}), and stays so: it is not this user's alone"
        ));
    }
    let closed = mode & !OTHERS;
    Some(
        match fs::set_permissions(path, fs::Permissions::from_mode(closed)) {
            Ok(()) => format!(
                "{place} was open to other users (mode {mode:04o}), and no longer is ({closed:04o})"
            ),
            Err(error) => format!(
                "{place} is open to other users (mode {mode:04o}), and can't be closed to them: {error}"
            ),
        },
    )
}

/// Nothing: on Windows the folder that something is in says who may come in.
#[cfg(not(unix))]
pub fn close(_: &Path) -> Option<String> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_open_to_others_is_closed_once_and_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        make_folder(&inner).unwrap();
        assert_eq!((mode(&inner), close(&inner)), (0o700, None));
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        let said = close(&inner).unwrap();
        assert!(
            said.ends_with("a/b was open to other users (mode 0755), and no longer is (0700)"),
            "{said}"
        );
        assert_eq!((mode(&inner), close(&inner)), (0o700, None));
        let file = inner.join("c");
        drop(
            file_options()
                .append(true)
                .create(true)
                .open(&file)
                .unwrap(),
        );
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_folder_for_all_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let said = close(folder.path()).unwrap();
        assert!(said.contains("and stays so"), "{said}");
        assert_eq!(mode(folder.path()), 0o1777);
        assert_eq!(close(&folder.path().join("none")), None);
    }
}
