//! Whether what an entry starts works: it is started as the client would.

use std::thread;

use super::named::{Named, is_executable, seen, whole};
use crate::{
    doctor::{
        environment,
        finding::Finding,
        known::{self, Program},
        patient::Patient,
        start::{self, Start},
    },
    setup::clients::client::Scope,
};

pub fn starts(patient: &Patient) -> Vec<Finding> {
    // What is started now must not be taken for something that ran before.
    if let Some(place) = patient.place() {
        let _ = patient.health(&place);
    }
    let _ = patient.bridges();
    let all = seen(patient);
    let tries: Vec<_> = all
        .iter()
        .filter_map(|named| Some((named, start_of(patient, named)?)))
        .collect();
    thread::scope(|scope| {
        let running: Vec<_> = tries
            .iter()
            .map(|(named, start)| (named, start, scope.spawn(move || start::try_out(start))))
            .collect();
        let findings = running.into_iter().filter_map(|(named, start, running)| {
            let (who, program) = (named.who(), start.program.display());
            Some(match running.join().ok()? {
                Ok(answered) => Finding::ok(format!(
                    "{who}: {} answers with {} tools in {:.1} s",
                    answered.name,
                    answered.tools,
                    answered.took.as_secs_f64()
                ))
                .at(&named.seen.file),
                Err(why) => Finding::problem(format!("{who}: {program} {why}"))
                    .because("It was started as the client does, with its environment, so that it fails there too.")
                    .mended_by(format!(
                        "correct what it says, in the entry `{}` of {} or in config.toml",
                        named.name,
                        named.seen.file.display()
                    ))
                    .at(&named.seen.file),
            })
        });
        findings.collect()
    })
}

/// How the client would start it, if that is known to be an mcp-bridge: a project's file may name any program.
fn start_of(patient: &Patient, named: &Named) -> Option<Start> {
    let told = named.told().filter(|told| !told.is_off)?;
    let command = told.command.as_ref()?;
    let program = whole(patient, command).filter(|path| is_executable(path))?;
    let identified =
        known::identify(&patient.folders.shared, &patient.machine.program, &program).ok()?;
    if identified == Program::Unknown {
        return None;
    }
    let client = named.seen.client;
    let mut variables = environment::of_client(&client.id, &patient.machine);
    variables.extend(environment::expanded(&told.env, &patient.machine));
    Some(Start {
        program,
        arguments: told.args.clone(),
        variables,
        folder: environment::folder_of_client(named.seen.scope == Scope::Project, &patient.machine),
    })
}
