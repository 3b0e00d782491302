//! The files of the log: a new one each day and whenever one is full, the oldest removed. Several bridges write side by
//! side, each line by one append; nothing is ever renamed under another's hands.
//!
//! What a bridge logs is written by the [`scribe`](super::scribe): a disk that hangs takes lines of the log, and holds up nothing else.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use time::{Date, OffsetDateTime};
use tracing_subscriber::fmt::MakeWriter;

use super::{
    files::{self, FileError},
    private,
    scribe::{FILES, Pen, Pile},
};

const PREFIX: &str = "mcp-bridge";
const SUFFIX: &str = "log";

/// How long a bridge goes on with a file before it looks whether another one has begun the next.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How much there is to be of a log.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The largest file, in bytes; a single line may be longer.
    pub file: u64,
    /// All of them together, in bytes.
    pub total: u64,
    /// How many days are kept, today included.
    pub days: u16,
}

/// Whose log a file is: of this day, the first or one more. A later one is greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// As in RFC 3339, so that dates sort as text.
    date: String,
    /// 0 for the first, whose name has no number.
    number: u32,
}

/// A log as one process writes to it, without waiting for it.
#[derive(Clone)]
pub struct Log(Arc<Pile<LogFiles>>);

/// What becomes known of a log that can't be written, once until it can be again.
pub type Tell = fn(&str);

/// The log's files, as one process writes them.
struct LogFiles {
    folder: PathBuf,
    bounds: Bounds,
    tell: Tell,
    open: Option<Open>,
    /// How many lines are missing, and why.
    lost: Option<(u64, String)>,
}

#[derive(Debug)]
struct Open {
    file: File,
    name: Name,
    since: Instant,
}

impl Log {
    /// The log in this folder, of whose lines so many bytes may wait for being written. Its files are opened when there
    /// is something to write.
    pub fn new(folder: &Path, bounds: Bounds, waiting: usize, tell: Tell) -> Self {
        let files = LogFiles::new(folder, bounds, tell);
        Self(Pile::new(&FILES, waiting, false, files))
    }

    /// The same, with today's file open.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(
        folder: &Path,
        bounds: Bounds,
        waiting: usize,
        tell: Tell,
    ) -> Result<Self, FileError> {
        let mut files = LogFiles::new(folder, bounds, tell);
        files.file_for(0)?;
        Ok(Self(Pile::new(&FILES, waiting, false, files)))
    }

    /// Writes a line, with its end.
    pub fn add(&self, line: Vec<u8>) {
        self.0.add(line);
    }
}

impl Pen for LogFiles {
    type Line = Vec<u8>;

    fn room(line: &Vec<u8>) -> usize {
        line.len()
    }

    fn write(&mut self, lines: Vec<Vec<u8>>, dropped: u64) {
        for line in lines {
            self.write_line(&line);
        }
        if dropped > 0 {
            self.lose(dropped, "was not written as fast as they came");
            self.write_line(b"");
        }
    }
}

impl LogFiles {
    fn new(folder: &Path, bounds: Bounds, tell: Tell) -> Self {
        Self {
            folder: folder.to_owned(),
            bounds,
            tell,
            open: None,
            lost: None,
        }
    }

    /// Writes a line, with its end. One that can't be written is counted, and told of once that goes again: no call is
    /// to fail for it.
    fn write_line(&mut self, line: &[u8]) {
        if let Err(error) = self.try_write(line) {
            self.open = None;
            let why = words(&error);
            if self.lost.is_none() {
                (self.tell)(&format!("the log in {} {why}", self.folder.display()));
            }
            self.lose(u64::from(!line.is_empty()), &why);
        }
    }

    /// Notes that so many lines are missing, since the log so.
    fn lose(&mut self, lines: u64, why: &str) {
        let (lost, last) = self.lost.get_or_insert_default();
        *lost += lines;
        why.clone_into(last);
    }

    fn try_write(&mut self, line: &[u8]) -> Result<(), FileError> {
        let lost = self.lost.as_ref().map(|(lost, why)| {
            format!(
                "{}  WARN mcp_bridge::base::logging: {lost} lines are missing here: the log {why}\n",
                super::text::timestamp(std::time::SystemTime::now())
            )
        });
        let lost = lost.unwrap_or_default();
        let file = self.file_for((lost.len() + line.len()) as u64)?;
        if !lost.is_empty() {
            file.write_all(lost.as_bytes())?;
            self.lost = None;
        }
        if let Some(open) = &mut self.open {
            open.file.write_all(line)?;
        }
        Ok(())
    }

    /// The file that so many bytes more are to go to.
    fn file_for(&mut self, more: u64) -> Result<&mut File, FileError> {
        let date = date(OffsetDateTime::now_utc().date());
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.name.date == date
                && open.since.elapsed() < LOOK_AGAIN
                && open
                    .file
                    .metadata()
                    .is_ok_and(|facts| self.has_room(facts.len(), more))
        });
        if !goes_on {
            let before = self.open.take().map(|open| open.name);
            let open = self.pick(date, more)?;
            if before.as_ref() != Some(&open.name) {
                self.prune(&open.name);
            }
            self.open = Some(open);
        }
        match &mut self.open {
            Some(open) => Ok(&mut open.file),
            None => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        }
    }

    fn has_room(&self, length: u64, more: u64) -> bool {
        length == 0 || length + more <= self.bounds.file
    }

    /// The newest file of that day, or one after it, if that is full.
    fn pick(&self, date: String, more: u64) -> Result<Open, FileError> {
        private::make_folder(&self.folder)?;
        let numbers = list(&self.folder)
            .into_iter()
            .filter(|name| name.date == date);
        let mut number = numbers.map(|name| name.number).max().unwrap_or_default();
        loop {
            let name = Name {
                date: date.clone(),
                number,
            };
            let mut options = private::file_options();
            options.append(true).create(true);
            let (file, facts) = files::open_with(&mut options, &self.folder.join(name.file()))?;
            if self.has_room(facts.len(), more) {
                return Ok(Open {
                    file,
                    name,
                    since: Instant::now(),
                });
            }
            number += 1;
        }
    }

    /// Removes what is too old or too much beside the file that is `current`.
    fn prune(&self, current: &Name) {
        let days = time::Duration::days(i64::from(self.bounds.days) - 1);
        let first = OffsetDateTime::now_utc().date().checked_sub(days).map(date);
        // The current one may still fill up.
        let mut left = self.bounds.total.saturating_sub(self.bounds.file);
        for name in list(&self.folder).into_iter().rev() {
            if name >= *current {
                continue;
            }
            let file = self.folder.join(name.file());
            let length = fs::metadata(&file).map_or(0, |facts| facts.len());
            let is_old = first.as_ref().is_some_and(|first| name.date < *first);
            if is_old || length > left {
                // What is older goes too, however small it is.
                left = 0;
                // Another bridge may have been faster.
                let _ = fs::remove_file(file);
            } else {
                left -= length;
            }
        }
    }
}

/// Why a line can't be written, after "the log".
fn words(error: &FileError) -> String {
    match error {
        FileError::Unreadable(error) => format!("can't be written: {error}"),
        other => format!("{other}"),
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// Takes whole lines.
pub struct Line<'a>(&'a Log);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !line.is_empty() {
            self.0.add(line.to_owned());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The files of a log, the oldest first.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let names = list(folder).into_iter();
    names.map(|name| folder.join(name.file())).collect()
}

fn list(folder: &Path) -> Vec<Name> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Name::parse(entry.file_name().to_str()?))
        .collect();
    names.sort();
    names
}

fn date(date: Date) -> String {
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}-{month:02}-{day:02}")
}

impl Name {
    fn file(&self) -> String {
        let Self { date, number } = self;
        match number {
            0 => format!("{PREFIX}.{date}.{SUFFIX}"),
            number => format!("{PREFIX}.{date}.{number}.{SUFFIX}"),
        }
    }

    fn parse(file: &str) -> Option<Self> {
        let middle = file
            .strip_prefix(PREFIX)?
            .strip_suffix(SUFFIX)?
            .strip_prefix('.')?
            .strip_suffix('.')?;
        let (date, number) = match middle.split_once('.') {
            Some((date, number)) => (date, number.parse().ok()?),
            None => (middle, 0),
        };
        let name = Self {
            date: date.to_owned(),
            number,
        };
        let is_date = date.len() == 10
            && date
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
        (is_date && name.file() == file).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        file: 1_000,
        total: 5_000,
        days: 7,
    };

    fn files(folder: &Path) -> LogFiles {
        let mut files = LogFiles::new(folder, BOUNDS, |_| {});
        files.file_for(0).unwrap();
        files
    }

    fn total(folder: &Path) -> u64 {
        let files = all(folder);
        files
            .iter()
            .map(|file| file.metadata().unwrap().len())
            .sum()
    }

    #[test]
    fn bridges_that_write_side_by_side_keep_the_log_to_its_size_and_its_lines_whole() {
        let folder = tempfile::tempdir().unwrap();
        let line = |bridge: usize, number: usize| {
            format!(
                "bridge {bridge} line {number:04} {}\n",
                "x".repeat(bridge * 9)
            )
        };
        thread::scope(|scope| {
            for bridge in 0..4 {
                // Each as a process of its own has it.
                let mut files = files(folder.path());
                scope.spawn(move || {
                    for number in 0..500 {
                        files.write_line(line(bridge, number).as_bytes());
                    }
                });
            }
        });
        let files = all(folder.path());
        assert!(files.len() > 3, "{files:?}");
        // While one prunes, each of the others may fill one more.
        assert!(
            total(folder.path()) <= BOUNDS.total + 4 * BOUNDS.file,
            "{}",
            total(folder.path())
        );
        let mut last = [None; 4];
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            // Four may find room for the last line at once.
            assert!(text.len() as u64 <= BOUNDS.file + 4 * 60, "{}", text.len());
            for found in text.lines() {
                let mut words = found.split(' ');
                let bridge: usize = words.nth(1).unwrap().parse().unwrap();
                let number: usize = words.nth(1).unwrap().parse().unwrap();
                assert_eq!(format!("{found}\n"), line(bridge, number));
                assert!(
                    last[bridge].is_none_or(|last| number == last + 1),
                    "{found}"
                );
                last[bridge] = Some(number);
            }
        }
        assert!(last.contains(&Some(499)), "{last:?}");
    }

    #[test]
    fn a_log_has_a_size_an_age_and_an_order() {
        let folder = tempfile::tempdir().unwrap();
        let today = date(OffsetDateTime::now_utc().date());
        let old = "mcp-bridge.2020-01-02.log";
        for name in [
            old,
            "mcp-bridge.2020-01-02.3.log",
            &format!("mcp-bridge.{today}.log"),
            &format!("mcp-bridge.{today}.9.log"),
            &format!("mcp-bridge.{today}.10.log"),
            "mcp-bridge.log",
            "mcp-bridge.0.log",
            "other.2027-01-01.log",
        ] {
            fs::write(folder.path().join(name), "x".repeat(900)).unwrap();
        }
        let mut files = files(folder.path());
        let names = || -> Vec<_> {
            let files = all(folder.path()).into_iter();
            files
                .map(|file| {
                    file.file_name()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .replace(&today, "D")
                })
                .collect()
        };
        assert_eq!(
            names(),
            [
                "mcp-bridge.D.log",
                "mcp-bridge.D.9.log",
                "mcp-bridge.D.10.log"
            ]
        );
        for _ in 0..10 {
            files.write_line(&[b'\n'; 600]);
        }
        let last: Vec<_> = (14..21)
            .map(|number| format!("mcp-bridge.D.{number}.log"))
            .collect();
        assert_eq!(names(), last);
        assert!(total(folder.path()) <= BOUNDS.total);
        assert!(folder.path().join("other.2027-01-01.log").exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_can_not_be_written_is_counted_and_told_of_later() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        let today = all(folder.path()).remove(0);
        fs::remove_file(&today).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&today).status();
        assert!(made.unwrap().success());
        files.open = None;
        for _ in 0..3 {
            files.write_line(b"lost\n");
        }
        fs::remove_file(&today).unwrap();
        files.write_line(b"found\n");
        files.write_line(b"again\n");
        let text = fs::read_to_string(&today).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].ends_with("3 lines are missing here: the log is a named pipe, not a file"),
            "{text}"
        );
        assert_eq!(lines[1..], ["found", "again"]);
    }

    #[test]
    fn what_came_faster_than_it_was_written_is_told_of_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        files.write(vec![b"first\n".to_vec()], 7);
        files.write(vec![b"last\n".to_vec()], 0);
        let text = fs::read_to_string(&all(folder.path())[0]).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[1].ends_with(
                "7 lines are missing here: the log was not written as fast as they came"
            ),
            "{text}"
        );
        assert_eq!((lines[0], lines[2], lines.len()), ("first", "last", 3));
    }
}
