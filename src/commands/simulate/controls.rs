//! What a person can do to simulated computers while they run: one line, one thing done, one line in answer.

use thiserror::Error;

use crate::simulator::{Computer, Position, State, World};

/// What `help` answers.
const HELP: &str = "\
unload ID, load ID   its chunk is left, and entered again: it boots anew
reboot ID            as with the power button
terminate ID         Ctrl+T: ends its program
type ID TEXT         types TEXT and Enter
pause, resume        the world stands still (timers wait, messages arrive), and goes on
restart              the server: all computers are gone at once, and boot anew
map ID               of a world file: what is around it, north at the top
flip X Y Z           of a world file: flips the lever there
help, quit           this list; the end
With one computer its ID may be left out, but not for type.";

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Control {
    Unload(u64),
    Load(u64),
    Reboot(u64),
    Terminate(u64),
    Type(u64, String),
    Pause,
    Resume,
    Restart,
    Map(u64),
    Flip(Position),
    Help,
    Quit,
}

/// How many places a map is wide and high.
const MAP_SIZE: (usize, usize) = (41, 15);

/// Why a line's thing was not done. The text is for the person who wrote the line.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum NotDone {
    #[error("`{0}` is not known; help lists what is")]
    UnknownWord(String),
    #[error("which computer? Write: {word} ID")]
    NoId { word: String },
    #[error("`{0}` is no computer's ID")]
    BadId(String),
    #[error("what, and where? Write: type ID TEXT")]
    NothingToType,
    #[error("there is no computer {id}: {}", there_are(*.first_and_last))]
    NoSuchComputer {
        id: u64,
        /// Of the computers that there are, if there are any.
        first_and_last: Option<(u64, u64)>,
    },
    #[error("computer {0} is not loaded; load {0} loads it")]
    NotLoaded(u64),
    #[error("computer {0} is loaded")]
    IsLoaded(u64),
    #[error("computer {0} is off; reboot {0} switches it on")]
    IsOff(u64),
    #[error("which lever? Write: flip X Y Z")]
    NoPlace,
    #[error("at {0} is no lever")]
    NoLever(Position),
    #[error("there are no blocks here; run mcp-bridge simulate --world FILE")]
    NoLand,
}

fn there_are(first_and_last: Option<(u64, u64)>) -> String {
    match first_and_last {
        None => "there is none".to_owned(),
        Some((first, last)) if first == last => format!("the only one is {first}"),
        Some((first, last)) => format!("there are {first} to {last}"),
    }
}

impl Control {
    /// Reads a line; `only` is the computer meant where no ID is given.
    ///
    /// # Errors
    /// What is wrong with the line, for the person who wrote it.
    pub(super) fn parse(line: &str, only: Option<u64>) -> Result<Self, NotDone> {
        let (word, rest) = split_word(line.trim());
        let id = |text: &str| match (text, only) {
            ("", Some(id)) => Ok(id),
            ("", None) => Err(NotDone::NoId {
                word: word.to_owned(),
            }),
            _ => text.parse().map_err(|_| NotDone::BadId(text.to_owned())),
        };
        Ok(match word {
            "unload" => Control::Unload(id(rest)?),
            "load" => Control::Load(id(rest)?),
            "reboot" => Control::Reboot(id(rest)?),
            "terminate" => Control::Terminate(id(rest)?),
            "type" => {
                let (number, text) = split_word(rest);
                if number.is_empty() {
                    return Err(NotDone::NothingToType);
                }
                Control::Type(id(number)?, text.to_owned())
            }
            "pause" => Control::Pause,
            "resume" => Control::Resume,
            "restart" => Control::Restart,
            "map" => Control::Map(id(rest)?),
            "flip" => Control::Flip(place(rest).ok_or(NotDone::NoPlace)?),
            "help" => Control::Help,
            "quit" => Control::Quit,
            _ => return Err(NotDone::UnknownWord(word.to_owned())),
        })
    }

    /// Does it; the answer for the person who asked, or what is wrong. `Quit` is the caller's to do.
    pub(super) async fn carry_out(&self, world: &World) -> Result<String, NotDone> {
        let computer = |id: u64| {
            let computers = world.computers();
            let first_and_last = computers.first().zip(computers.last());
            world.computer(id).ok_or(NotDone::NoSuchComputer {
                id,
                first_and_last: first_and_last.map(|(first, last)| (first.id(), last.id())),
            })
        };
        let loaded = |id: u64| match computer(id)? {
            computer if !computer.is_loaded() => Err(NotDone::NotLoaded(id)),
            computer => Ok(computer),
        };
        let on = |id: u64| match loaded(id)? {
            computer if computer.state() == State::Running => Ok(computer),
            _ => Err(NotDone::IsOff(id)),
        };
        Ok(match self {
            Control::Unload(id) => {
                loaded(*id)?.unload();
                format!("computer {id} is unloaded")
            }
            Control::Load(id) => {
                let computer = computer(*id)?;
                if computer.is_loaded() {
                    return Err(NotDone::IsLoaded(*id));
                }
                computer.load();
                format!("computer {id} is loaded")
            }
            Control::Reboot(id) => {
                loaded(*id)?.reboot();
                format!("computer {id} reboots")
            }
            Control::Terminate(id) => {
                on(*id)?.terminate();
                format!("computer {id} was sent Ctrl+T")
            }
            Control::Type(id, text) => {
                on(*id)?.type_line(text);
                format!(
                    "computer {id} was typed {} characters",
                    text.chars().count()
                )
            }
            Control::Pause => {
                world.pause();
                "the world is paused".to_owned()
            }
            Control::Resume => {
                world.resume();
                "the world goes on".to_owned()
            }
            Control::Restart => {
                world.restart().await;
                let count = world.computers().iter().filter(|one| is_on(one)).count();
                format!("the server restarted; {count} computers boot")
            }
            Control::Map(id) => {
                computer(*id)?;
                let land = world.land().ok_or(NotDone::NoLand)?;
                let (at, facing) = land.computer(*id).ok_or(NotDone::NoLand)?;
                let (width, height) = MAP_SIZE;
                let map = land.slice(at, width, height).join("\n");
                format!("computer {id} is at {at} and looks {facing}\n{map}")
            }
            Control::Flip(place) => {
                let land = world.land().ok_or(NotDone::NoLand)?;
                let is_on = land.flip(*place).ok_or(NotDone::NoLever(*place))?;
                format!(
                    "the lever at {place} is {}",
                    if is_on { "on" } else { "off" }
                )
            }
            Control::Help => HELP.to_owned(),
            Control::Quit => "the end".to_owned(),
        })
    }
}

fn is_on(computer: &Computer) -> bool {
    computer.state() != State::Off
}

/// A place written as three numbers.
fn place(text: &str) -> Option<Position> {
    let numbers: Vec<i32> = text
        .split_whitespace()
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    match numbers[..] {
        [x, y, z] => Some(Position::new(x, y, z)),
        _ => None,
    }
}

/// The first word, and the rest without the space between.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_is_to_be_done_and_to_whom() {
        let parse = |line| Control::parse(line, None);
        assert_eq!(parse("unload 12"), Ok(Control::Unload(12)));
        assert_eq!(parse("  reboot   3 "), Ok(Control::Reboot(3)));
        assert_eq!(
            parse("type 3 echo  a"),
            Ok(Control::Type(3, "echo  a".to_owned()))
        );
        assert_eq!(parse("restart"), Ok(Control::Restart));
        assert_eq!(Control::parse("load", Some(7)), Ok(Control::Load(7)));
    }

    #[test]
    fn a_wrong_line_is_answered_with_what_is_wrong() {
        let wrong = |line| Control::parse(line, None).unwrap_err().to_string();
        assert_eq!(wrong("unload"), "which computer? Write: unload ID");
        assert_eq!(wrong("load x"), "`x` is no computer's ID");
        assert_eq!(wrong("type"), "what, and where? Write: type ID TEXT");
        assert_eq!(wrong("flip 1 2"), "which lever? Write: flip X Y Z");
        assert_eq!(wrong("dance"), "`dance` is not known; help lists what is");
    }
}
