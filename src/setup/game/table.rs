//! What was found, as a table for a person.

use std::time::SystemTime;

use crate::{base::text::one_line, setup::refusal::Refusal};

use super::{
    config::view::View,
    found::instance::{ConfigFile, Instance, Scope},
    open_world::state::Open,
    rules::target::Target,
    survey::{self, Survey},
};

/// What stands in the place of what is not known.
const UNKNOWN: &str = "?";

/// A row for each world, below a head.
pub fn table(survey: &Survey, target: &Target, now: SystemTime) -> String {
    let head = [
        "Game",
        "Minecraft",
        "ComputerCraft",
        "World",
        "Reaches the bridge",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for instance in &survey.instances {
        rows.extend(rows_of(instance, target, now));
    }
    if let Some(file) = &survey.ccemux {
        rows.push(emulator("CCEmuX", &reach(Some(file), target)));
    }
    if survey.craftos_pc.is_some() {
        rows.push(emulator("CraftOS-PC", "yes, as it is"));
    }
    aligned(&rows)
}

fn emulator(name: &str, reach: &str) -> [String; 5] {
    [name, "-", "-", "-", reach].map(str::to_owned)
}

fn rows_of(instance: &Instance, target: &Target, now: SystemTime) -> Vec<[String; 5]> {
    let name = format!("{} ({})", one_line(&instance.name), instance.launcher);
    let minecraft = instance.minecraft.as_ref();
    let minecraft = minecraft.map_or(UNKNOWN.to_owned(), ToString::to_string);
    let computercraft = match (&instance.computercraft, instance.version()) {
        (Some(_), Some(version)) => version.to_string(),
        (Some(_), None) => UNKNOWN.to_owned(),
        (None, _) => "none".to_owned(),
    };
    if !instance.has_computers() {
        let none = "-".to_owned();
        return vec![[name, minecraft, computercraft, none.clone(), none]];
    }
    let all = instance.config_of_all();
    let mut rows = Vec::new();
    for world in &instance.worlds {
        let own = instance.config_of(world);
        let file = own.as_ref().or(all.as_ref());
        let mut reach = reach(file, target);
        let way = file.and_then(|file| {
            let file = ConfigFile {
                scope: Scope::World(world.name.clone()),
                ..file.clone()
            };
            survey::in_the_way(instance, &file, now)
        });
        if way.is_some_and(|way| matches!(way.open, Open::Yes { .. })) {
            reach.push_str(" (the world is open)");
        }
        rows.push([
            String::new(),
            String::new(),
            String::new(),
            one_line(&world.name).into_owned(),
            reach,
        ]);
    }
    if rows.is_empty() {
        let world = "none yet".to_owned();
        rows.push([
            String::new(),
            String::new(),
            String::new(),
            world,
            reach(all.as_ref(), target),
        ]);
    }
    // What is the same for all worlds stands in the first row only.
    rows[0][0] = name;
    rows[0][1] = minecraft;
    rows[0][2] = computercraft;
    rows
}

/// Whether computers reach the target by what a file says, in a few words.
fn reach(file: Option<&ConfigFile>, target: &Target) -> String {
    match file.map(survey::view) {
        None => "no: the game has written no settings for it yet".to_owned(),
        Some(Err(refusal)) => unreadable(&refusal),
        Some(Ok(view)) => {
            why_not(&view, target).map_or("yes".to_owned(), |why| format!("no: {why}"))
        }
    }
}

fn unreadable(refusal: &Refusal) -> String {
    match refusal.line {
        Some(line) => format!("can't be read, line {line}"),
        None => "can't be read".to_owned(),
    }
}

/// Why computers don't reach a target, as a clause; none if they do.
pub fn why_not(view: &View, target: &Target) -> Option<String> {
    if !view.http_is_on() {
        return Some("`http` is off".to_owned());
    }
    if !view.websockets_are_on() {
        return Some("WebSockets are off".to_owned());
    }
    let verdict = view.filter().verdict(target);
    match (verdict.allowed, verdict.by) {
        (true, _) => None,
        (false, Some(by)) => Some(format!(
            "`{}` denies it, line {}",
            one_line(&by.host),
            by.line
        )),
        (false, None) => Some("nothing allows it".to_owned()),
    }
}

/// Columns as wide as their widest cell.
fn aligned(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells: Vec<_> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
