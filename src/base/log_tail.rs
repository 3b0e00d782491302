//! The end of a log that may be in several files.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::files;

/// How much of the end of a file is read to find its last lines, in bytes.
const TAIL: u64 = 256 * 1024;

/// The last lines of all files, of which the last is the newest: one may have begun a moment ago.
///
/// # Errors
/// A file can't be read.
pub fn tail_of(files: &[PathBuf], lines: usize) -> io::Result<String> {
    let mut found = String::new();
    for file in files.iter().rev() {
        let missing = lines.saturating_sub(found.lines().count());
        if missing == 0 {
            break;
        }
        let older = tail(file, missing)?;
        found = if older.is_empty() || found.is_empty() {
            older + &found
        } else {
            format!("{older}\n{found}")
        };
    }
    Ok(found)
}

fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let (mut file, facts) = files::open(path)?;
    let length = facts.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<_> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
        assert_eq!(tail(&file, 2).unwrap(), "two\nthree");
        assert_eq!(tail(&file, 9).unwrap(), "one\ntwo\nthree");
        let newer = folder.path().join("newer");
        std::fs::write(&newer, "four\n").unwrap();
        let files = [file, newer];
        assert_eq!(tail_of(&files, 1).unwrap(), "four");
        assert_eq!(tail_of(&files, 3).unwrap(), "two\nthree\nfour");
        assert_eq!(tail_of(&files, 9).unwrap(), "one\ntwo\nthree\nfour");
    }
}
