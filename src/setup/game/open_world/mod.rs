//! Whether a world is open: the game writes its configuration when it stops, and with it what was changed meanwhile.

pub(crate) mod state;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    time::{Duration, SystemTime},
};

use state::{Lock, Open};
#[cfg(unix)]
use unix::lock;
#[cfg(not(unix))]
use windows::lock;

use crate::base::files;

/// What `session.lock` begins with from Minecraft 1.16 on, where the game holds a lock on it: a snowman.
const SNOWMAN: &[u8] = "☃".as_bytes();

/// How long after its last write a world of an older version is taken for open. It saves every 45 s.
const QUIET: Duration = Duration::from_secs(120);

/// What older versions write while a world is open, relative to its folder.
const WRITTEN: [&str; 2] = ["level.dat", "session.lock"];

/// Whether the game has this world open. `log`: the game's own log, which it writes while it runs.
pub fn is_open(world: &Path, log: &Path, now: SystemTime) -> Open {
    let session = world.join("session.lock");
    let file = match files::open(&session) {
        Ok((file, _)) => file,
        Err(error) if error.is_missing() => return Open::No,
        Err(error) => return from_lock(lock_of_error(&error.into())),
    };
    match begins_with_snowman(&file) {
        Ok(true) => from_lock(lock(&file)),
        Ok(false) => by_time(world, log, now),
        // On Windows a lock keeps others from reading.
        Err(error) => from_lock(lock_of_error(&error)),
    }
}

fn from_lock(lock: Lock) -> Open {
    match lock {
        Lock::Held { process } => Open::Yes { process },
        Lock::Free => Open::No,
        Lock::Unknown(why) => Open::Unknown(why),
    }
}

/// The system's numbers for a file that another program keeps to itself: sharing violation, lock violation.
const WINDOWS_HELD: [i32; 2] = [32, 33];

/// What it says of a lock that a file can't be read.
fn lock_of_error(error: &io::Error) -> Lock {
    let held = cfg!(windows)
        && error
            .raw_os_error()
            .is_some_and(|number| WINDOWS_HELD.contains(&number));
    if held {
        Lock::Held { process: None }
    } else {
        Lock::Unknown(format!("its session.lock can't be read: {error}"))
    }
}

fn begins_with_snowman(mut file: &File) -> io::Result<bool> {
    let mut begin = [0; SNOWMAN.len()];
    match file.read_exact(&mut begin) {
        Ok(()) => Ok(begin == SNOWMAN),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Before Minecraft 1.16 nothing is locked. What is written all the time is open.
fn by_time(world: &Path, log: &Path, now: SystemTime) -> Open {
    let files = WRITTEN.iter().map(|name| world.join(name));
    let ages = files
        .chain([log.to_path_buf()])
        .filter_map(|file| file.metadata().ok()?.modified().ok())
        // One that is later than now was just written, by a clock a little ahead.
        .map(|written| now.duration_since(written).unwrap_or_default());
    match ages.min() {
        Some(age) if age < QUIET => Open::Perhaps { written: age },
        _ => Open::No,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn world(session: Option<&[u8]>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        if let Some(bytes) = session {
            fs::write(folder.path().join("session.lock"), bytes).unwrap();
        }
        fs::write(folder.path().join("level.dat"), "").unwrap();
        folder
    }

    fn state(world: &Path, later: u64) -> Open {
        let now = SystemTime::now() + Duration::from_secs(later);
        is_open(world, &world.join("latest.log"), now)
    }

    #[test]
    fn a_world_without_a_lock_is_closed() {
        assert_eq!(state(world(None).path(), 0), Open::No);
        assert_eq!(state(world(Some(SNOWMAN)).path(), 0), Open::No);
    }

    #[test]
    fn an_older_world_is_open_while_it_is_written() {
        let world = world(Some(&[0, 0, 1, 2, 3, 4, 5, 6]));
        assert!(matches!(state(world.path(), 0), Open::Perhaps { .. }));
        assert_eq!(state(world.path(), 300), Open::No);
        let log = world.path().join("latest.log");
        fs::write(&log, "").unwrap();
        let later = SystemTime::now() + Duration::from_secs(300);
        File::options()
            .write(true)
            .open(&log)
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert!(matches!(state(world.path(), 310), Open::Perhaps { .. }));
    }
}
