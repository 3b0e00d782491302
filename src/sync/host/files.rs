//! Single files of a folder, by its handle: no link is followed.

use std::io::{self, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};

use crate::sync::entry::TOO_LARGE;

/// Writes a file that is not there yet.
pub(super) fn create(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
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
pub(super) fn read(folder: &Dir, name: &str, most: u64) -> io::Result<Vec<u8>> {
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
