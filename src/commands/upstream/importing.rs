//! `mcp-bridge upstream import`: servers that other clients on this machine have, taken into the user's own configuration.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Map, Value};

use super::{
    super::{console, startup},
    editing::OwnFile,
    here,
};
use crate::{
    base::text::one_line,
    settings::{FlagsOf, Folders, McpConfig},
    setup::{
        asking::{Asking, How, Verdict},
        clients::{self, client::Client, servers},
        hiding,
        machine::Machine,
        refusal::Refusal,
    },
    upstream::{
        configured::Configured,
        entry::{Entry, Origin, Reach},
        foreign, itself,
    },
};

/// What is to be taken, of which clients.
#[derive(Debug, Args)]
pub struct Import {
    /// The clients, such as claude-desktop; without any, all that are installed
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,

    /// Take this server; without, you choose, or all are taken with --yes
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,

    /// Write it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Show what there is, and take nothing
    #[arg(long)]
    dry_run: bool,
}

/// A server that can be taken.
struct Candidate {
    /// What it is to be called.
    name: String,
    entry: Entry,
    /// The entry as it would stand in our file.
    written: Map<String, Value>,
    /// What of it means nothing here.
    remarks: Vec<String>,
    /// The clients that have it.
    from: Vec<String>,
}

/// What other clients have.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    /// What is to be said of all else, line by line.
    besides: Vec<String>,
}

/// Shows what there is, and takes what the user picks.
pub fn import(import: &Import, folders: &Folders) -> ExitCode {
    let Some(machine) = Machine::this() else {
        console::note("This user has no home folder, so there are no clients to look at.");
        return ExitCode::FAILURE;
    };
    let (mut input, mut output) = (io::stdin().lock(), anstream::stdout().lock());
    let how = match import {
        Import { dry_run: true, .. } => How::DryRun,
        Import { yes: true, .. } => How::Yes,
        _ => How::Ask,
    };
    let is_terminal = io::stdin().is_terminal();
    let mut asking = Asking::new(how, is_terminal, &mut input, &mut output).in_colours();
    if let Err(problem) = take(import, &machine, folders, &mut asking) {
        asking.refuse(&format!("✗ {problem}"));
    }
    if asking.nobody_answered {
        console::note(
            "Nothing was changed: nobody can be asked here. `--yes` takes all of them, and with `--server NAME` that one.",
        );
        return ExitCode::from(startup::BAD_SETTINGS);
    }
    match asking.failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn take(
    import: &Import,
    machine: &Machine,
    folders: &Folders,
    asking: &mut Asking<'_>,
) -> Result<(), String> {
    let sentence = |refusal: Refusal| format!("{refusal}.");
    let file = OwnFile::open(folders).map_err(sentence)?;
    let mut found = Found::default();
    let own_port = McpConfig::load(
        &FlagsOf::<McpConfig>::default().given,
        startup::variable,
        folders,
    )
    .map(|mcp| mcp.port)
    .map_err(|error| error.to_string())?;
    for client in chosen(&import.clients)? {
        found.look(client, machine, own_port);
    }
    found.leave_out_ours(&file, folders)?;
    for line in &found.besides {
        asking.say(line);
    }
    if found.candidates.is_empty() {
        asking.say("No other client on this machine has a server that could be taken.");
        return Ok(());
    }
    asking.say("Servers that other clients on this machine have:");
    for (number, candidate) in found.candidates.iter().enumerate() {
        asking.say(&shown(number + 1, candidate));
    }
    let picked = pick(import, &found.candidates, asking)?;
    if picked.is_empty() {
        return Ok(());
    }
    let servers = picked.iter().map(|one| (one.name.as_str(), &one.written));
    let change = file.with(servers).map_err(sentence)?;
    asking.say("");
    if asking.change(&[change], "Write this?").map_err(sentence)? == Verdict::Yes {
        let names: Vec<_> = picked.iter().map(|one| format!("`{}`", one.name)).collect();
        asking.say(&format!(
            "✓ {} now has {}. Bridges that run take that up within seconds. The clients that have it still start it \
             themselves too: take it out there if all is to go through mcp-bridge.",
            file.path().display(),
            names.join(", ")
        ));
    }
    Ok(())
}

/// The clients that are named, or all.
fn chosen(ids: &[String]) -> Result<Vec<&'static Client>, String> {
    if ids.is_empty() {
        return Ok(clients::all().iter().collect());
    }
    ids.iter()
        .map(|id| {
            clients::named(id).ok_or_else(|| {
                let known: Vec<_> = clients::all()
                    .iter()
                    .map(|client| client.id.as_str())
                    .collect();
                format!(
                    "No client is called `{id}`. There are {}.",
                    known.join(", ")
                )
            })
        })
        .collect()
}

impl Found {
    /// Looks at what a client has. What is this bridge is passed over.
    fn look(&mut self, client: &'static Client, machine: &Machine, own_port: u16) {
        let (servers, refusals) = servers::of(client, machine);
        for refusal in refusals {
            self.besides.push(format!("! {}: {refusal}.", client.name));
        }
        for server in servers {
            let whose = match &server.folder {
                Some(folder) => format!("{}, in {folder}", client.name),
                None => client.name.clone(),
            };
            let read = foreign::read(&client.id, &server.name, &server.entry, &server.file);
            let read = match read {
                Ok(read) => read,
                Err(problem) => {
                    self.besides.push(format!(
                        "! The server `{}` of {whose} can't be taken: it {problem} ({}).",
                        one_line(&server.name),
                        server.file.display()
                    ));
                    continue;
                }
            };
            if itself::is_this_bridge(&read.entry.reach, Some(own_port)) {
                continue;
            }
            let written = foreign::written(&read.entry);
            let same = self
                .candidates
                .iter_mut()
                .find(|other| other.written == written);
            if let Some(same) = same {
                if !same.from.contains(&whose) {
                    same.from.push(whose);
                }
                continue;
            }
            let mut remarks = read.remarks;
            if let Some(form) = foreign::not_available(&read.entry) {
                remarks.push(format!(
                    "`{form}` is filled in by {} only: write a variable of yours in its place, as `${{NAME}}`",
                    client.name
                ));
            }
            self.candidates.push(Candidate {
                name: server.name,
                entry: read.entry,
                written,
                remarks,
                from: vec![whose],
            });
        }
    }

    /// Leaves out what our file has already, and gives the others names of their own.
    fn leave_out_ours(&mut self, file: &OwnFile, folders: &Folders) -> Result<(), String> {
        let configured = Configured::read(&here::settings(folders));
        let own = configured.servers().into_iter();
        let own: Vec<_> = own
            .filter(|entry| entry.origin == Origin::User)
            .map(|entry| (entry.name.clone(), foreign::written(entry)))
            .collect();
        let mut taken: Vec<String> = Vec::new();
        let mut left = Vec::new();
        for mut candidate in std::mem::take(&mut self.candidates) {
            if let Some((name, _)) = own
                .iter()
                .find(|(_, written)| *written == candidate.written)
            {
                self.besides.push(format!(
                    "✓ `{}` of {} is in {} already{}.",
                    one_line(&candidate.name),
                    candidate.from.join(", "),
                    file.path().display(),
                    match *name == candidate.name {
                        true => String::new(),
                        false => format!(", as `{name}`"),
                    }
                ));
                continue;
            }
            let plain = candidate.name.clone();
            let mut number = 1;
            while taken.contains(&candidate.name)
                || file
                    .has(&candidate.name)
                    .map_err(|refusal| format!("{refusal}."))?
            {
                number += 1;
                candidate.name = format!("{plain}-{number}");
            }
            taken.push(candidate.name.clone());
            left.push(candidate);
        }
        self.candidates = left;
        Ok(())
    }
}

/// A candidate's line, and what belongs to it below.
fn shown(number: usize, candidate: &Candidate) -> String {
    let how = match &candidate.entry.reach {
        Reach::Program(program) => {
            let words = std::iter::once(&program.command).chain(&program.args);
            let words = hiding::command_shown(words.map(String::as_str));
            format!("runs {words}")
        }
        Reach::Address(address) => {
            format!("connects to {}", hiding::shown(&address.url, &[]))
        }
    };
    let off = match candidate.entry.enabled {
        true => "",
        false => "; switched off there, and so here",
    };
    let mut lines = vec![format!(
        "{number:3}  {}: {how} ({}){off}",
        one_line(&candidate.name),
        candidate.from.join("; ")
    )];
    lines.extend(
        candidate
            .remarks
            .iter()
            .map(|remark| format!("     ! {}", one_line(remark))),
    );
    lines.join("\n")
}

/// Those that are to be taken.
fn pick<'a>(
    import: &Import,
    candidates: &'a [Candidate],
    asking: &mut Asking<'_>,
) -> Result<Vec<&'a Candidate>, String> {
    if !import.servers.is_empty() {
        let named = import.servers.iter().map(|name| {
            let found = candidates.iter().find(|candidate| candidate.name == *name);
            found.ok_or_else(|| format!("None of these is called `{name}`."))
        });
        return named.collect();
    }
    if asking.how != How::Ask {
        return Ok(candidates.iter().collect());
    }
    let question = "Which of them? Numbers, such as `1 3`, or `all`:";
    let answer = asking.answer(question).unwrap_or_default();
    numbers(&answer, candidates.len()).map(|numbers| {
        let picked = numbers.into_iter().map(|number| &candidates[number - 1]);
        picked.collect()
    })
}

/// What a person picked, from 1 to `most`; nothing is none.
fn numbers(answer: &str, most: usize) -> Result<Vec<usize>, String> {
    if answer.trim().eq_ignore_ascii_case("all") {
        return Ok((1..=most).collect());
    }
    let mut picked = Vec::new();
    for word in answer.split([' ', ',']).filter(|word| !word.is_empty()) {
        match word.parse() {
            Ok(number) if (1..=most).contains(&number) => {
                if !picked.contains(&number) {
                    picked.push(number);
                }
            }
            _ => {
                return Err(format!(
                    "`{}` is none of the numbers 1 to {most}, so nothing is taken.",
                    one_line(word)
                ));
            }
        }
    }
    Ok(picked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_pick_is_numbers_all_or_nothing() {
        for (answer, picked) in [
            ("", Ok(vec![])),
            ("all", Ok(vec![1, 2, 3])),
            ("3, 1 3", Ok(vec![3, 1])),
            ("4", Err(())),
            ("y", Err(())),
        ] {
            assert_eq!(numbers(answer, 3).map_err(|_| ()), picked, "{answer}");
        }
    }
}
