//! A client's own command, for files in which it keeps more than its servers and which it writes while it runs.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use super::client::{Client, OwnCommand};
use crate::setup::machine::Machine;

/// How long such a command may take. Some start a whole runtime.
const TO_END: Duration = Duration::from_secs(60);

/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// The most that is shown of what a failed command said, in bytes.
const MOST_WORDS: u64 = 2_000;

/// A command of a client that is to be run.
#[derive(Debug)]
pub struct Run {
    program: PathBuf,
    /// How a person would type it.
    pub shown: String,
    arguments: Vec<String>,
}

impl Client {
    /// Its own commands, if it has such and is on `PATH`.
    fn own_command(&self, machine: &Machine) -> Option<(&OwnCommand, PathBuf)> {
        let command = self.command.as_ref()?;
        Some((command, machine.find_program(&command.program)?))
    }

    /// What puts this entry into the user's file, where an `old` one has to go first.
    pub fn adding_commands(
        &self,
        machine: &Machine,
        name: &str,
        entry: &Map<String, Value>,
        old: bool,
    ) -> Option<Vec<Run>> {
        let (command, program) = self.own_command(machine)?;
        let entry = Value::Object(entry.clone()).to_string();
        let mut runs = Vec::new();
        if old {
            runs.push(run(command, &program, &command.remove, name, &entry));
        }
        runs.push(run(command, &program, &command.add, name, &entry));
        Some(runs)
    }

    /// What takes the entry out of the user's file.
    pub fn removing_command(&self, machine: &Machine, name: &str) -> Option<Run> {
        let (command, program) = self.own_command(machine)?;
        Some(run(command, &program, &command.remove, name, ""))
    }
}

fn run(command: &OwnCommand, program: &Path, form: &[String], name: &str, entry: &str) -> Run {
    let fill = |word: &String| match word.as_str() {
        "$name" => name.to_owned(),
        "$entry" => entry.to_owned(),
        other => other.to_owned(),
    };
    let arguments: Vec<_> = form.iter().map(fill).collect();
    let words = arguments
        .iter()
        .map(|word| match word.contains(['"', ' ', '{']) {
            true => format!("'{word}'"),
            false => word.clone(),
        });
    Run {
        program: program.to_path_buf(),
        shown: format!(
            "$ {} {}",
            command.program,
            words.collect::<Vec<_>>().join(" ")
        ),
        arguments,
    }
}

impl Run {
    /// Runs it to its end.
    ///
    /// # Errors
    /// It can't be started, fails, or takes longer than a minute; with what it said.
    pub fn run(&self, machine: &Machine) -> io::Result<()> {
        // Into a file: a pipe that nobody reads would hold it up.
        let mut said = tempfile::tempfile()?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(&machine.home)
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?)
            .spawn()?;
        let until = Instant::now() + TO_END;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > until {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other(format!(
                    "it did not end within {} s",
                    TO_END.as_secs()
                )));
            }
            thread::sleep(PAUSE);
        };
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "it failed ({status}): {}",
            words(&mut said)?
        )))
    }
}

fn words(said: &mut File) -> io::Result<String> {
    said.rewind()?;
    let mut bytes = Vec::new();
    said.take(MOST_WORDS).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
