//! A client's own command, for files in which it keeps more than its servers and which it writes while it runs.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::{Client, OwnCommand};
use crate::setup::{machine::Machine, run::Run};

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
    let arguments = form.iter().map(fill).collect();
    Run::new(program.to_path_buf(), &command.program, arguments)
}
