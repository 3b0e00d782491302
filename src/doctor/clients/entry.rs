//! Whether a client's file can be read, and its entry is right.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{TcpStream, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use super::named::{Named, is_executable, seen, whole};
use crate::{
    base::text::one_line,
    bridges::one_machine::port_holder::Unknown,
    doctor::{
        finding::Finding,
        fix::Fix,
        known::{self, Program},
        patient::Patient,
    },
    setup::{
        change::Change,
        clients::{look::State, shape::Reach},
        edit::Format,
        file::Found,
    },
};

/// How long a bridge over HTTP may take to be reached.
const TO_CONNECT: Duration = Duration::from_secs(2);

pub fn entries(patient: &Patient) -> Vec<Finding> {
    let all = seen(patient);
    let mut findings: Vec<_> = all.iter().flat_map(|named| judge(patient, named)).collect();
    // A file that can't be read is the same for each name.
    let mut told = BTreeSet::new();
    findings.retain(|finding| told.insert(finding.message.clone()));
    if all.is_empty() && nothing_is_set_up(patient) {
        findings.push(
            Finding::warning("nothing is set up yet: no MCP client that setup knows is here, no game with ComputerCraft, and no bridge runs")
                .because("Nothing starts the bridge, and no computer reaches it.")
                .mended_by("install a client and the game, then `mcp-bridge setup`; `mcp-bridge setup --print` shows what another client needs"),
        );
    }
    if findings.is_empty() && !all.is_empty() {
        let mut names: Vec<_> = all
            .iter()
            .map(|named| named.seen.client.name.as_str())
            .collect();
        names.dedup();
        findings.push(
            Finding::warning(format!(
                "no client here has the bridge; there are {}",
                names.join(", ")
            ))
            .because("No client starts it by itself.")
            .mended_by("mcp-bridge setup client"),
        );
    }
    findings
}

/// Whether nothing of what a bridge is for is on this machine.
fn nothing_is_set_up(patient: &Patient) -> bool {
    let is_free = |place| matches!(patient.health(&place), Err(Unknown::Free));
    patient.games().has_no_computers() && patient.place().is_some_and(is_free)
}

fn judge(patient: &Patient, named: &Named) -> Vec<Finding> {
    let Named { name, seen, .. } = named;
    let (who, file) = (named.who(), &seen.file);
    let mut findings = Vec::new();
    if seen.has_bom && seen.client.format == Format::Json {
        findings.push(
            Finding::problem(format!("{who}: {} begins with a byte-order mark", file.display()))
                .because("It is read strictly: Claude Desktop then forgets all of its servers, and others refuse the file.")
                .fixed_by("save it as UTF-8 without a byte-order mark", Fix::DropMark(file.clone()))
                .at(file),
        );
    }
    match &seen.state {
        State::Absent => {}
        State::Unreadable(refusal) => findings.push(
            Finding::problem(format!("{who}: {refusal}"))
                .because("The client can't read it either, so that none of its servers works.")
                .mended_by(format!("correct that, then `{}`", named.setup()))
                .at(file),
        ),
        State::Foreign(told) => {
            let what = told.command.as_ref().or(told.url.as_ref());
            let what =
                what.map_or_else(|| "nothing".to_owned(), |what| one_line(what).into_owned());
            findings.push(
                Finding::warning(format!(
                    "{who}: its entry `{name}` is another server's: {what}"
                ))
                .because("The client has no bridge under that name.")
                .mended_by(format!(
                    "mcp-bridge setup client {} --name OTHER",
                    seen.client.id
                ))
                .at(file),
            );
        }
        State::Right(told) | State::Edited(told) | State::Stale(told) if told.is_off => findings
            .push(
                Finding::warning(format!("{who}: its entry `{name}` is switched off"))
                    .because("The client does not start it.")
                    .mended_by(format!(
                        "switch it on in the client, or in {}",
                        file.display()
                    ))
                    .at(file),
            ),
        State::Right(told) | State::Edited(told) | State::Stale(told) => {
            findings.push(match (&told.command, &told.url) {
                (Some(command), _) if matches!(seen.state, State::Stale(_)) => {
                    stale(patient, named, command)
                }
                (None, Some(url)) => over_http(&who, url).at(file),
                _ => Finding::ok(format!("{who} starts this program")).at(file),
            });
        }
    }
    findings
}

/// An entry that starts another program than this one.
fn stale(patient: &Patient, named: &Named, command: &str) -> Finding {
    let (who, file) = (named.who(), &named.seen.file);
    let shown = one_line(command);
    let finding = match whole(patient, command) {
        None if Path::new(command).is_absolute() || command.contains(['/', '\\']) => {
            Finding::problem(format!("{who} starts {shown}, which is not there"))
                .because("The client can't start it, and shows no tools.")
        }
        None => Finding::problem(format!("{who} starts `{shown}`, which is not on the PATH"))
            .because("The client can't start it, and shows no tools."),
        Some(path) if !is_executable(&path) => {
            return Finding::problem(format!("{who} starts {}, which may not be executed", path.display()))
                .because("The client can't start it, and shows no tools.")
                .fixed_by(format!("chmod +x {}", path.display()), Fix::MakeExecutable(path))
                .at(file);
        }
        Some(path) if !Path::new(command).is_absolute() => Finding::warning(format!(
            "{who} starts `{shown}` by its bare name, which is {} here",
            path.display()
        ))
        .because("Programs that are started from the desktop have another PATH than a terminal, and may not find it."),
        Some(path) => match known::identify(&patient.folders.shared, &patient.machine.program, &path) {
            Ok(Program::This) => return Finding::ok(format!("{who} starts a copy of this program, {shown}")).at(file),
            Ok(Program::Bridge(version)) => Finding::warning(format!(
                "{who} starts another mcp-bridge, {} at {shown}; this one is {}",
                one_line(&version),
                env!("CARGO_PKG_VERSION")
            ))
            .because("What is new in this one, or mended, is not there."),
            Ok(Program::Unknown) => Finding::warning(format!("{who} starts {shown}, which this program does not know"))
                .because("It may be an older mcp-bridge or anything else, so it was not started to see whether it works."),
            Err(error) => Finding::problem(format!("{who} starts {shown}, which {error}"))
                .because("The client can't start it, and shows no tools."),
        },
    };
    if named.is_spare {
        return finding
            .mended_by(format!(
                "take `{}` out of `{}` there: {} has the bridge by another entry",
                one_line(&named.name),
                named.seen.client.container,
                named.seen.client.name
            ))
            .at(file);
    }
    let finding = match up_to_date(patient, named) {
        Some(change) => finding.fixed_by(named.setup(), Fix::Change(Box::new(change))),
        None => finding.mended_by(named.setup()),
    };
    finding.at(file)
}

/// The change after which an entry starts this program; all else in it stays.
fn up_to_date(patient: &Patient, Named { name, seen, .. }: &Named) -> Option<Change> {
    let reach = Reach::Program {
        command: patient.machine.program.to_str()?.to_owned(),
        env: BTreeMap::new(),
    };
    let client = seen.client;
    let found = Found::read(&seen.file).ok()?;
    let place = client.place(name);
    let old = place.entry(found.text()).ok()??;
    let wanted = client.entry(name, &reach, seen.scope).ok()?;
    let after = place
        .put(found.text(), &client.merged(&old, &wanted))
        .ok()?;
    Some(Change::new(found, Some(after)))
}

fn over_http(who: &str, url: &str) -> Finding {
    let shown = one_line(url);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let addresses = authority.to_socket_addrs().ok().into_iter().flatten();
    let mut addresses = addresses
        .filter(|address| address.ip().is_loopback())
        .peekable();
    if addresses.peek().is_none() {
        return Finding::ok(format!(
            "{who} connects to {shown}, which is not of this machine, or no address"
        ));
    }
    if addresses.any(|address| TcpStream::connect_timeout(&address, TO_CONNECT).is_ok()) {
        return Finding::ok(format!(
            "{who} connects to {shown}, where something answers"
        ));
    }
    Finding::problem(format!("{who} connects to {shown}, where nothing answers"))
        .because("The client shows no tools until a bridge serves there.")
        .mended_by("`mcp-bridge serve` for now, or `mcp-bridge setup service` for good")
}
