//! The computers that are linked, or were.

use std::time::Duration;

use super::{
    check::{Check, Group},
    finding::Finding,
    patient::Patient,
};
use crate::{
    base::text::one_line,
    hands::message::{Answer, ComputerRow},
    tools::wording::ago,
};

/// The checks of this group.
pub const CHECKS: &[Check] = &[
    Check {
        id: "linked",
        group: Group::Computers,
        about: "Which computers are linked",
        look: linked,
    },
    Check {
        id: "agents",
        group: Group::Computers,
        about: "Whether the computers' agents are of this version",
        look: agents,
    },
    Check {
        id: "lost",
        group: Group::Computers,
        about: "Why computers left within the last day",
        look: lost,
    },
];

/// How many computers are named in one line.
const NAMED: usize = 5;

/// For how long one that left is told of.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The computers, as the bridge tells that knows most of them; none if no bridge told.
fn known(patient: &Patient) -> Option<&[ComputerRow]> {
    let round = patient.bridges().as_ref().ok()?;
    let told = round.told.values().filter_map(|told| match &told.answer {
        Answer::Computers { computers, .. } => Some(computers.as_slice()),
        Answer::Jobs { .. }
        | Answer::Stopped { .. }
        | Answer::Updated { .. }
        | Answer::Synced(_) => None,
    });
    told.max_by_key(|computers| computers.len())
}

fn linked(patient: &Patient) -> Vec<Finding> {
    let Some(known) = known(patient) else {
        return vec![Finding::ok(
            "no computer is linked, since no bridge runs just now",
        )];
    };
    let linked: Vec<_> = known.iter().filter(|row| row.left.is_none()).collect();
    if linked.is_empty() {
        let host = patient.place().map_or(3001, |place| place.port);
        return vec![
            Finding::warning("no computer is linked")
                .because("A bridge runs and waits for them.")
                .mended_by(format!(
                    "in the game, on each computer: `wget run http://HOST:{host}/install.lua`, with HOST the address of this machine \
                     as the game's server sees it (127.0.0.1 in single player). If it fails there, `mcp-computer doctor` says why"
                )),
        ];
    }
    let count = match linked.len() {
        1 => "1 computer is linked".to_owned(),
        count => format!("{count} computers are linked"),
    };
    vec![Finding::ok(format!("{count}: {}", names(&linked)))]
}

fn agents(patient: &Patient) -> Vec<Finding> {
    let known = known(patient).unwrap_or_default().iter();
    let own = env!("CARGO_PKG_VERSION");
    let other: Vec<_> = known
        .filter(|row| row.left.is_none())
        .filter(|row| row.agent.as_ref().is_some_and(|version| version != own))
        .collect();
    if other.is_empty() {
        return Vec::new();
    }
    let names = listed(&other, |row| {
        let version = row.agent.as_deref().unwrap_or_default();
        format!("{} has {}", one_line(&row.name), one_line(version))
    });
    vec![
        Finding::warning(format!("agents of another version than this, {own}: {names}"))
        .because("What is new in this version does not work there, and faults that it mended are still there.")
        .mended_by("`mcp-bridge agents update`, or in the game, on each of them: `wget run http://HOST:PORT/install.lua`, as when it was installed; it goes on without a reboot"),
    ]
}

fn lost(patient: &Patient) -> Vec<Finding> {
    let known = known(patient).unwrap_or_default().iter();
    let left = known.filter_map(|row| Some((row, row.left.as_deref()?)));
    let is_new = |row: &ComputerRow| {
        patient
            .now
            .duration_since(row.since)
            .is_ok_and(|age| age < DAY)
    };
    let mut left: Vec<_> = left.filter(|(row, _)| is_new(row)).collect();
    left.sort_by_key(|(row, _)| std::cmp::Reverse(row.since));
    let Some((last, why)) = left.first() else {
        return Vec::new();
    };
    let rows: Vec<_> = left.iter().map(|(row, _)| *row).collect();
    let which = if rows.len() > 1 {
        ", the last of them"
    } else {
        ""
    };
    let message = format!(
        "{} left{which} {}: {}",
        names(&rows),
        ago(last.since, patient.now),
        one_line(why)
    );
    vec![
        Finding::warning(message)
            .because("They can't be asked anything until they are back.")
            .mended_by("if they are to be here: see that they are on and loaded, and that `mcp-computer` runs there"),
    ]
}

/// Some computers by their names, and how many more.
fn names(rows: &[&ComputerRow]) -> String {
    listed(rows, |row| one_line(&row.name).into_owned())
}

/// Some computers in these words, and how many more.
fn listed(rows: &[&ComputerRow], words: impl Fn(&ComputerRow) -> String) -> String {
    let mut listed: Vec<_> = rows.iter().take(NAMED).map(|row| words(row)).collect();
    if rows.len() > NAMED {
        listed.push(format!("and {} more", rows.len() - NAMED));
    }
    listed.join(", ")
}
