//! The simulated computers that an example is run with.

use std::collections::BTreeSet;

use super::{
    fields::{Fields, text_of},
    meant,
    tree::{Node, NodeKind},
    wrong::Wrong,
};

/// The keys of a computer.
const OF_COMPUTER: &[&str] = &[
    "kind", "id", "label", "advanced", "version", "fuel", "files",
];

/// The kinds of computers.
pub const KINDS: &[&str] = &["computer", "turtle", "pocket", "command"];

/// More of them are refused: each is a thread with a Lua of its own.
const MOST: usize = 32;

/// The most fuel that a turtle holds.
const MOST_FUEL: u64 = 100_000;

/// A computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// Its number: where none is said, the first from 1 that is free.
    pub id: u64,
    /// Which: computer, turtle, pocket or command.
    pub kind: String,
    /// Its label, if it has one.
    pub label: Option<String>,
    /// Whether it is an advanced one.
    pub is_advanced: bool,
    /// The version of CC:Tweaked; none: a late one.
    pub version: Option<String>,
    /// What a turtle has in its tank, if that is said.
    pub fuel: Option<Fuel>,
    /// What is on its disk: paths and contents.
    pub files: Vec<(String, String)>,
}

impl Simulated {
    /// One of this kind, of which nothing else is said; none if there is no such kind.
    pub fn of_kind(kind: &str, id: u64) -> Option<Self> {
        KINDS.contains(&kind).then(|| Self {
            id,
            kind: kind.to_owned(),
            label: None,
            is_advanced: true,
            version: None,
            fuel: None,
            files: Vec::new(),
        })
    }
}

/// What a turtle has in its tank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fuel {
    /// So much.
    Level(u64),
    /// It needs none.
    Unlimited,
}

/// Reads a list of them.
pub fn read(nodes: &[Node]) -> Result<Vec<Simulated>, Wrong> {
    let wrong = |node: &Node, reason: String| Wrong {
        line: node.line,
        reason,
    };
    if let Some(node) = nodes.get(MOST) {
        return Err(wrong(
            node,
            format!("an example has {MOST} computers at most"),
        ));
    }
    let all: Vec<_> = nodes.iter().map(one).collect::<Result<_, _>>()?;
    let mut taken = BTreeSet::new();
    for ((_, id), node) in all.iter().zip(nodes) {
        if let Some(id) = id
            && !taken.insert(*id)
        {
            return Err(wrong(node, format!("there is a computer {id} already")));
        }
    }
    let mut free = (1..).filter(|id| !taken.contains(id));
    let numbered = all.into_iter().map(|(computer, id)| Simulated {
        id: id.or_else(|| free.next()).unwrap_or_default(),
        ..computer
    });
    Ok(numbered.collect())
}

/// One of them, its kind alone or a map, and its number if it has one.
fn one(node: &Node) -> Result<(Simulated, Option<u64>), Wrong> {
    if let NodeKind::Scalar(_) = &node.kind {
        return Ok((of_kind(&text_of(node, "kind")?, node.line)?, None));
    }
    let fields = Fields::of(node, "a computer")?;
    meant::only(&fields, OF_COMPUTER, "a computer")?;
    let kind = fields.text("kind")?;
    let kind = kind.as_deref().unwrap_or("computer");
    let mut computer = of_kind(kind, fields.line_of("kind"))?;
    let id = fields.number("id", 0, u64::from(u32::MAX))?;
    computer.label = fields.text("label")?;
    computer.is_advanced = fields.flag("advanced")?.unwrap_or(true);
    computer.version = version(&fields)?;
    computer.fuel = fuel(&fields)?;
    if computer.fuel.is_some() && computer.kind != "turtle" {
        return Err(Wrong {
            line: fields.line_of("fuel"),
            reason: format!("a {} has no `fuel`; turtles have", computer.kind),
        });
    }
    if let Some(files) = fields.map("files")? {
        let files = files
            .entries()
            .map(|(path, node)| Ok((path.to_owned(), text_of(node, path)?)));
        computer.files = files.collect::<Result<_, _>>()?;
    }
    Ok((computer, id))
}

fn of_kind(kind: &str, line: usize) -> Result<Simulated, Wrong> {
    Simulated::of_kind(kind, 0).ok_or_else(|| Wrong {
        line,
        reason: format!(
            "there is no kind of computer `{}`; there are {}",
            crate::base::text::one_line(kind),
            KINDS.join(", ")
        ),
    })
}

fn version(fields: &Fields<'_>) -> Result<Option<String>, Wrong> {
    let Some(version) = fields.text("version")? else {
        return Ok(None);
    };
    let parts: Vec<_> = version.split('.').collect();
    let is_number = |part: &&str| part.parse::<u32>().is_ok();
    match (2..=3).contains(&parts.len()) && parts.iter().all(is_number) {
        true => Ok(Some(version)),
        false => Err(Wrong {
            line: fields.line_of("version"),
            reason: format!(
                "`version` must be one of CC:Tweaked in quotes, such as \"1.113\" or \"1.89\", not {}",
                crate::base::text::one_line(&version)
            ),
        }),
    }
}

fn fuel(fields: &Fields<'_>) -> Result<Option<Fuel>, Wrong> {
    match fields.get("fuel").map(|_| fields.text("fuel")) {
        None => Ok(None),
        Some(Ok(Some(text))) if text == "unlimited" => Ok(Some(Fuel::Unlimited)),
        Some(_) => Ok(fields.number("fuel", 0, MOST_FUEL)?.map(Fuel::Level)),
    }
}
