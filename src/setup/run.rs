//! Programs of others that `setup` runs: a client's own command, the system's for services.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::machine::Machine;

/// How long such a program may take. Some start a whole runtime.
const TO_END: Duration = Duration::from_secs(60);

/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// The most that is shown of what a failed program said, in bytes.
const MOST_WORDS: u64 = 2_000;

/// A program that is to be run.
#[derive(Debug)]
pub struct Run {
    program: PathBuf,
    /// How a person would type it.
    pub shown: String,
    arguments: Vec<String>,
}

impl Run {
    /// This program, which a person calls by its `name`.
    pub fn new(program: PathBuf, name: &str, arguments: Vec<String>) -> Self {
        let words = arguments
            .iter()
            .map(|word| match word.contains(['"', ' ', '{']) {
                true => format!("'{word}'"),
                false => word.clone(),
            });
        Self {
            shown: format!("$ {name} {}", words.collect::<Vec<_>>().join(" ")),
            program,
            arguments,
        }
    }

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
