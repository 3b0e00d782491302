//! `mcp-bridge log calls`: what clients have called, one line of JSON for each call.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::{Args, Subcommand};

use super::console;
use crate::{base::files, settings::Folders, tools::calls::journal};

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(150);

/// Show what clients have called
#[derive(Debug, Args)]
pub struct Log {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the last calls of all clients, one line of JSON for each
    ///
    /// When it came, the process of its bridge, the client, the tool, the computers, its arguments in short, how many
    /// milliseconds it took, and its outcome: ok, error, refused (also while a person has paused), unknown, stopped (by a
    /// person), left (the bridge was asked to end) or cancelled (by the client). Arguments that are secret by their names
    /// or their schemas are hidden, and so are the tokens of the settings. The setting `call_log` switches the log off.
    Calls {
        /// How many lines
        #[arg(short = 'n', long, default_value_t = 40)]
        lines: usize,

        /// Go on showing calls as they end
        #[arg(short = 'f', long)]
        follow: bool,
    },
}

impl Log {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let Action::Calls { lines, follow } = self.action;
        let file = journal::file(&folders.shared);
        match show(&file, lines, follow) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                console::note(&format!("{} can't be read: {error}", file.display()));
                ExitCode::FAILURE
            }
        }
    }
}

fn show(path: &Path, lines: usize, follow: bool) -> io::Result<()> {
    let mut open = opened(path)?;
    // What was there when it was opened; all that comes later is followed.
    let mut text = String::new();
    for older in journal::all(path) {
        if older != path {
            text.push_str(&read(opened(&older)?.as_mut())?);
        }
    }
    text.push_str(&read(open.as_mut())?);
    if text.is_empty() && !follow {
        console::note(&format!(
            "No call has been logged; the log will be {}",
            path.display()
        ));
        return Ok(());
    }
    let all: Vec<_> = text.lines().collect();
    let shown = all[all.len().saturating_sub(lines)..].iter();
    let shown: String = shown.flat_map(|line| [line, "\n"]).collect();
    let mut is_read = console::show(&shown);
    while follow && is_read {
        thread::sleep(LOOK);
        let mut more = read(open.as_mut())?;
        if is_another(path, open.as_ref())? {
            more.push_str(&read(open.as_mut())?);
            open = opened(path)?;
            more.push_str(&read(open.as_mut())?);
        }
        is_read = console::show(&more);
    }
    Ok(())
}

fn opened(path: &Path) -> io::Result<Option<File>> {
    // What is no file, such as a named pipe, may be without an end, or never begin.
    match files::open(path) {
        Ok((file, _)) => Ok(Some(file)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// What follows in a file. Lines are written in one piece each, so it ends with a line.
fn read(file: Option<&mut File>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(file) = file {
        file.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether another file stands in the place of the open one by now. One that was just begun is shorter.
fn is_another(path: &Path, open: Option<&File>) -> io::Result<bool> {
    let Some(open) = open else {
        return Ok(true);
    };
    match fs::metadata(path) {
        Ok(facts) => Ok(facts.len() < open.metadata()?.len()),
        // It is about to be begun anew.
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, io::Write};

    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_waited_for() {
        assert!(opened(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn a_file_in_the_place_of_the_open_one_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        assert!(is_another(&path, None).unwrap());
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut open = opened(&path).unwrap();
        assert_eq!(read(open.as_mut()).unwrap(), "one\ntwo\n");
        let mut more = OpenOptions::new().append(true).open(&path).unwrap();
        more.write_all(b"three\n").unwrap();
        assert!(!is_another(&path, open.as_ref()).unwrap());
        fs::rename(&path, journal::older(&path, 1)).unwrap();
        assert!(!is_another(&path, open.as_ref()).unwrap());
        fs::write(&path, "four\n").unwrap();
        assert!(is_another(&path, open.as_ref()).unwrap());
        assert_eq!(read(open.as_mut()).unwrap(), "three\n");
    }
}
