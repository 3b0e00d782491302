//! How a world is to be when a task is done, looked at in the world itself.

use std::cell::RefCell;

use mcp_bridge::simulator::Position;
use regex::Regex;
use serde::Deserialize;

use super::base::Base;
use crate::common::is;

type Place = [i32; 3];

/// One thing that has to be so.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// The block at a place, or all blocks of a box.
    Blocks {
        from: Place,
        to: Option<Place>,
        is: String,
    },
    /// How many of an item are in the chest at a place; of all items, if none is named.
    Items {
        at: Place,
        item: Option<String>,
        count: u32,
    },
    /// How many of an item a turtle carries.
    Carried {
        computer: u64,
        item: String,
        count: u32,
    },
    /// How many of an item there are in the whole world.
    Total {
        item: String,
        least: u32,
    },
    /// What is in a file; it is not there, if nothing is said of it.
    File {
        computer: u64,
        path: String,
        shows: Option<String>,
        same_as: Option<(u64, String)>,
    },
    Label {
        computer: u64,
        is: String,
    },
    /// Where a computer is, and where it looks.
    Stands {
        computer: u64,
        at: Place,
        facing: Option<String>,
    },
    Fuel {
        computer: u64,
        least: u32,
    },
    /// What a monitor shows, and whether it goes on changing.
    Monitor {
        at: Place,
        shows: String,
        #[serde(default)]
        changes: bool,
        /// What it showed before.
        #[serde(skip)]
        seen: RefCell<Option<String>>,
    },
    /// Whether a lamp is lit.
    Lit {
        at: Place,
        is: bool,
    },
    /// How far a plant has grown.
    Age {
        at: Place,
        is: u8,
    },
    Screen {
        computer: u64,
        shows: String,
    },
    Boots {
        computer: u64,
        is: u64,
    },
    /// What the answers have told, for what is to be found out.
    Told(String),
}

fn position([x, y, z]: Place) -> Position {
    Position::new(x, y, z)
}

fn whole(name: &str) -> String {
    match name.contains(':') {
        true => name.to_owned(),
        false => format!("minecraft:{name}"),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).unwrap().is_match(text)
}

fn count_of(item: Option<&str>, stacks: &[(usize, String, u32)]) -> u32 {
    let item = item.map(whole);
    let fits = |name: &String| item.as_ref().is_none_or(|item| item == name);
    let counts = stacks.iter().filter(|(_, name, _)| fits(name));
    counts.map(|(_, _, count)| count).sum()
}

impl Check {
    /// Whether it is so; if not, how it is. `told` is all that was answered.
    pub fn look(&self, base: &Base, told: Option<&str>) -> Result<(), String> {
        let land = &base.land;
        match self {
            Self::Blocks { from, to, is } => {
                let (to, wanted) = (to.unwrap_or(*from), whole(is));
                for x in from[0]..=to[0] {
                    for y in from[1]..=to[1] {
                        for z in from[2]..=to[2] {
                            let block = land.block(position([x, y, z]));
                            if block != wanted {
                                return Err(format!("{block} at {x} {y} {z}"));
                            }
                        }
                    }
                }
                Ok(())
            }
            Self::Items { at, item, count } => {
                let stacks = land.items(position(*at));
                is(
                    count_of(item.as_deref(), &stacks) == *count,
                    format!("{stacks:?}"),
                )
            }
            Self::Carried {
                computer,
                item,
                count,
            } => {
                let stacks = land.carried(*computer);
                is(
                    count_of(Some(item), &stacks) == *count,
                    format!("{stacks:?}"),
                )
            }
            Self::Total { item, least } => {
                let count = land.count(&whole(item));
                is(count >= *least, format!("there are {count}"))
            }
            Self::File {
                computer,
                path,
                shows,
                same_as,
            } => {
                let file = base.computers[computer].read_file(path);
                if let Some((other, path)) = same_as {
                    let other = base.computers[other].read_file(path);
                    let so = file.is_some() && file == other;
                    return is(so, "it is another".to_owned());
                }
                let text = file.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                match (shows, text) {
                    (Some(pattern), Some(text)) => is(matches(pattern, &text), text),
                    (Some(_), None) => Err("it is not there".to_owned()),
                    (None, text) => is(text.is_none(), "it is there".to_owned()),
                }
            }
            Self::Label {
                computer,
                is: label,
            } => {
                let seen = base.computers[computer].label();
                is(seen.as_ref() == Some(label), format!("{seen:?}"))
            }
            Self::Stands {
                computer,
                at,
                facing,
            } => {
                let (place, looks) = land.computer(*computer).unwrap();
                let so = place == position(*at) && facing.as_ref().is_none_or(|way| way == looks);
                is(so, format!("at {place}, facing {looks}"))
            }
            Self::Fuel { computer, least } => {
                let fuel = land.fuel(*computer);
                is(fuel.is_none_or(|fuel| fuel >= *least), format!("{fuel:?}"))
            }
            Self::Monitor {
                at,
                shows,
                changes,
                seen,
            } => {
                let text = land.monitor(position(*at)).unwrap().lines().join("\n");
                if !matches(shows, &text) {
                    return Err(text);
                }
                let mut seen = seen.borrow_mut();
                let is_other = seen.as_ref().is_some_and(|seen| *seen != text);
                seen.get_or_insert_with(|| text.clone());
                is(!changes || is_other, text)
            }
            Self::Lit { at, is: lit } => {
                let seen = land.is_lit(position(*at));
                is(seen == *lit, format!("lit: {seen}"))
            }
            Self::Age { at, is: age } => {
                let seen = land.age(position(*at));
                is(seen == Some(*age), format!("{seen:?}"))
            }
            Self::Screen { computer, shows } => {
                let screen = base.computers[computer].screen().join("\n");
                is(matches(shows, &screen), screen)
            }
            Self::Boots {
                computer,
                is: times,
            } => {
                let seen = base.computers[computer].boots();
                is(seen == *times, format!("{seen}"))
            }
            Self::Told(pattern) => match told {
                Some(told) => is(matches(pattern, told), told.to_owned()),
                None => Err("nothing was told yet".to_owned()),
            },
        }
    }
}
