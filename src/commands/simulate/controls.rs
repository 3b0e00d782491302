//! What a person can do to simulated computers while they run: one line, one thing done, one line in answer.

use std::{
    io::{self, BufRead},
    thread,
};

use tokio::sync::mpsc;

use crate::simulator::{Computer, State, World};

/// What `help` answers.
const HELP: &str = "\
unload ID, load ID   its chunk is left, and entered again: it boots anew
reboot ID            as with the power button
terminate ID         Ctrl+T: ends its program
type ID TEXT         types TEXT and Enter
pause, resume        the world stands still (timers wait, messages arrive), and goes on
restart              the server: all computers are gone at once, and boot anew
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
    Help,
    Quit,
}

impl Control {
    /// Reads a line; `only` is the computer meant where no ID is given.
    ///
    /// # Errors
    /// What is wrong with the line, for the person who wrote it.
    pub(super) fn parse(line: &str, only: Option<u64>) -> Result<Self, String> {
        let (word, rest) = split_word(line.trim());
        let id = |text: &str| match (text, only) {
            ("", Some(id)) => Ok(id),
            ("", None) => Err(format!("which computer? Write: {word} ID")),
            _ => text
                .parse()
                .map_err(|_| format!("`{text}` is no computer's ID")),
        };
        Ok(match word {
            "unload" => Control::Unload(id(rest)?),
            "load" => Control::Load(id(rest)?),
            "reboot" => Control::Reboot(id(rest)?),
            "terminate" => Control::Terminate(id(rest)?),
            "type" => {
                let (number, text) = split_word(rest);
                if number.is_empty() {
                    return Err("what, and where? Write: type ID TEXT".to_owned());
                }
                Control::Type(id(number)?, text.to_owned())
            }
            "pause" => Control::Pause,
            "resume" => Control::Resume,
            "restart" => Control::Restart,
            "help" => Control::Help,
            "quit" => Control::Quit,
            _ => return Err(format!("`{word}` is not known; help lists what is")),
        })
    }

    /// Does it; the answer for the person who asked, or what is wrong. `Quit` is the caller's to do.
    pub(super) async fn carry_out(&self, world: &World) -> Result<String, String> {
        let computer = |id: u64| {
            let known = || match world.computers() {
                [] => "there is none".to_owned(),
                [one] => format!("the only one is {}", one.id()),
                [first, .., last] => format!("there are {} to {}", first.id(), last.id()),
            };
            world
                .computer(id)
                .ok_or_else(|| format!("there is no computer {id}: {}", known()))
        };
        let loaded = |id: u64| match computer(id)? {
            computer if computer.state() == State::Unloaded => {
                Err(format!("computer {id} is not loaded; load {id} loads it"))
            }
            computer => Ok(computer),
        };
        let on = |id: u64| match loaded(id)? {
            computer if computer.state() == State::Running => Ok(computer),
            _ => Err(format!("computer {id} is off; reboot {id} switches it on")),
        };
        Ok(match self {
            Control::Unload(id) => {
                loaded(*id)?.unload();
                format!("computer {id} is unloaded")
            }
            Control::Load(id) => {
                let computer = computer(*id)?;
                if computer.state() != State::Unloaded {
                    return Err(format!("computer {id} is loaded"));
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
            Control::Help => HELP.to_owned(),
            Control::Quit => "the end".to_owned(),
        })
    }
}

fn is_on(computer: &Computer) -> bool {
    computer.state() != State::Off
}

/// The first word, and the rest without the space between.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// The lines of standard input as they come; none where a read would stop the process, as it does to a job that a
/// shell runs in the background.
pub(super) fn lines_of_stdin() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    if stdin_is_ours() {
        // A thread of its own: one that tokio lends would keep the runtime from ending until the next line.
        thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if !line.is_empty() && sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}

#[cfg(unix)]
fn stdin_is_ours() -> bool {
    // An error means that it is no terminal.
    rustix::termios::tcgetpgrp(io::stdin())
        .map_or(true, |foreground| foreground == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn stdin_is_ours() -> bool {
    true
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
        let wrong = |line| Control::parse(line, None).unwrap_err();
        assert_eq!(wrong("unload"), "which computer? Write: unload ID");
        assert_eq!(wrong("load x"), "`x` is no computer's ID");
        assert_eq!(wrong("type"), "what, and where? Write: type ID TEXT");
        assert_eq!(wrong("dance"), "`dance` is not known; help lists what is");
    }
}
