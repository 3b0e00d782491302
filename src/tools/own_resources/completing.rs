//! What there is to choose from where a person has begun to write: computers, paths on one, peripherals of one.
//!
//! Whoever completes waits for each letter. So little is asked, and for a short time; and what can't be told is no error,
//! but nothing to choose from.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    files::{self, Entry, Patience},
    permission::{LIST_COMPUTERS, LIST_FILES, LIST_PERIPHERALS, permitted},
};
use crate::{
    base::{lua::own, text::one_line},
    computers::Computer,
    tools::{
        choosing::{choose, named},
        couriers::Couriers,
        manifest::Choices,
        plain_chunk::Piece,
        tool::Context,
    },
    wire::text,
};

/// How long a computer has to answer.
const DEADLINE: Duration = Duration::from_secs(3);

/// How long it may take in all: whether it is known how computers are reached is waited for too.
const IN_ALL: Duration = Duration::from_secs(6);

/// How many entries of one folder are looked at: a disk of the game holds about as many.
const ENTRIES: u64 = 2_000;

/// The Lua of the tool that lists peripherals.
static SOURCE: LazyLock<String> =
    LazyLock::new(|| own::handler("peripherals/listing.lua").unwrap_or_default());

/// Something that was begun.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// As far as it was written.
    pub text: &'a str,
    /// What the computer is called by that it is about, if that was said.
    pub computer: Option<&'a str>,
}

/// What can be meant by it.
pub async fn choices(
    of: &Choices,
    couriers: &Couriers,
    context: Context<'_>,
    begun: Beginning<'_>,
) -> Vec<String> {
    let choices = async {
        match of {
            Choices::Of(values) => {
                let begun = begun.text.to_lowercase();
                let fits = |value: &&String| value.to_lowercase().starts_with(&begun);
                Some(values.iter().filter(fits).cloned().collect())
            }
            Choices::Computers => computers(context, begun.text).await,
            Choices::Paths => paths(couriers, context, begun).await,
            Choices::Peripherals => peripherals(couriers, context, begun).await,
        }
    };
    timeout(IN_ALL, choices)
        .await
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// The numbers that begin so, then the labels that begin so, then those that have it in them; of computers that are linked
/// first. A label that several have names none of them: in its place stand their numbers.
async fn computers(context: Context<'_>, begun: &str) -> Option<Vec<String>> {
    permitted(context, LIST_COMPUTERS).await.ok()?;
    let (linked, gone): (Vec<_>, Vec<_>) = context
        .fleet
        .computers()
        .await
        .ok()?
        .into_iter()
        .partition(|computer| computer.link().is_some());
    let labelled: Vec<_> = linked
        .iter()
        .chain(&gone)
        .map(|computer| (computer.key.to_string(), label_of(computer)))
        .collect();
    let mut of_label: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, label) in &labelled {
        *of_label.entry(label).or_default() += 1;
    }
    let begun = begun.trim().to_lowercase();
    let mut found: Vec<String> = Vec::new();
    let mut add = |choice: &str| {
        if !found.iter().any(|other| other == choice) {
            found.push(choice.to_owned());
        }
    };
    for (key, _) in &labelled {
        if key.starts_with(&begun) {
            add(key);
        }
    }
    let fits: [fn(&str, &str) -> bool; 2] = [
        |label, begun| label.starts_with(begun),
        |label, begun| label.contains(begun),
    ];
    for fits in fits {
        for (key, label) in &labelled {
            let lower = label.to_lowercase();
            if lower.trim().is_empty() || !fits(&lower, &begun) {
                continue;
            }
            // One that reads as a number is that of another computer.
            let is_sure = of_label.get(label.as_str()) == Some(&1)
                && !label.trim().bytes().all(|byte| byte.is_ascii_digit());
            add(if is_sure { label } else { key });
        }
    }
    Some(found)
}

fn label_of(computer: &Computer) -> String {
    let facts = computer.facts();
    let label = facts.label.as_deref().unwrap_or_default();
    one_line(label).into_owned()
}

/// What is in the folder that was written so far and begins with the rest.
async fn paths(
    couriers: &Couriers,
    context: Context<'_>,
    begun: Beginning<'_>,
) -> Option<Vec<String>> {
    permitted(context, LIST_FILES).await.ok()?;
    let computer = reached(context, begun.computer).await?;
    let (folder, start) = match begun.text.rfind('/') {
        Some(end) => begun.text.split_at(end + 1),
        None => ("", begun.text),
    };
    if folder.split('/').any(|part| part == "..") {
        return None;
    }
    let path = format!("/{}", folder.trim_matches('/'));
    let start = start.to_lowercase();
    let (mut found, mut from) = (Vec::new(), 1);
    loop {
        let patience = Patience::by_the_way(DEADLINE);
        let asked = files::ask(couriers, context, &computer, (&path, from), patience);
        let told = asked.await.ok()?;
        let entries = told.entries()?;
        from += entries.len() as u64;
        let is_last = entries.is_empty() || from > told.total().min(ENTRIES);
        let fitting = entries.into_iter().filter_map(|Entry { name, size }| {
            let name = text::read(&name);
            let is_folder = if size.is_none() { "/" } else { "" };
            let fits = name.to_lowercase().starts_with(&start);
            fits.then(|| format!("{folder}{name}{is_folder}"))
        });
        found.extend(fitting);
        if is_last {
            return Some(found);
        }
    }
}

/// The names of peripherals that begin so, then the types.
async fn peripherals(
    couriers: &Couriers,
    context: Context<'_>,
    begun: Beginning<'_>,
) -> Option<Vec<String>> {
    permitted(context, LIST_PERIPHERALS).await.ok()?;
    let computer = reached(context, begun.computer).await?;
    let piece = Piece {
        name: "listing.lua",
        source: &SOURCE,
        method: Some("list"),
        arguments: &[json!({})],
        exclusive: false,
        is_kept: true,
        pauses: false,
        is_listed: false,
    };
    let ran = couriers.run(context, &computer, piece, DEADLINE).await;
    let told = ran.end.ok()?;
    let listed = told.first()?.get("peripherals")?.as_array()?;
    let read = |value: &Value| Some(text::read(value.as_str()?).into_owned());
    let names = listed.iter().filter_map(|one| read(one.get("name")?));
    let types = listed
        .iter()
        .filter_map(|one| one.get("types")?.as_array())
        .flatten()
        .filter_map(read);
    let begun = begun.text.trim().to_lowercase();
    let mut found: Vec<String> = Vec::new();
    for choice in names.chain(types) {
        if choice.to_lowercase().starts_with(&begun) && !found.contains(&choice) {
            found.push(choice);
        }
    }
    Some(found)
}

/// The computer that is called so, or the only one, if it can be asked now.
async fn reached(context: Context<'_>, name: Option<&str>) -> Option<Arc<Computer>> {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    let key = match name {
        Some(name) => Some(named(name, context.fleet).await.ok()?),
        None => None,
    };
    let computer = choose(key, context.fleet).await.ok()?;
    computer.link().is_some().then_some(computer)
}
