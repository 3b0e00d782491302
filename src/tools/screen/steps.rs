//! What a person does at a screen, one step after the other, and how an agent is told it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::keyboard::{Chord, NoKey, key_for};
use crate::{base::byte_text, wire::text::byte_for};

/// How many steps a call has at most.
const MOST_STEPS: usize = 200;

/// How many characters are typed in one call at most: the game takes a few hundred a second.
const MOST_TYPED: usize = 4_000;

/// The longest text that a player can paste, in characters.
const LONGEST_PASTE: usize = 512;

/// How far the wheel is turned in one step at most, in lines.
const MOST_LINES: u64 = 100;

/// How long is waited for something at most if a step doesn't say, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// For how long nothing has changed on a screen that is quiet, in milliseconds: three of the game's ticks.
const QUIET_MS: u64 = 150;

/// How long the screen has to come to rest after the last step, in milliseconds.
const REST_MS: u64 = 1_500;

/// How long all steps may wait together, in milliseconds.
const LONGEST_MS: u64 = 600_000;

/// What typing a character, or any other thing that takes no waiting, takes of time at most, in milliseconds.
const EVENT_MS: u64 = 20;

/// A step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    #[serde(rename = "do")]
    act: Act,
    text: Option<String>,
    x: Option<u64>,
    y: Option<u64>,
    n: Option<u64>,
    ms: Option<u64>,
    args: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Act {
    /// Text, key by key.
    Type,
    /// Keys together, pressed and let go.
    Key,
    /// Keys that stay pressed.
    Down,
    /// Keys that are let go.
    Up,
    Paste,
    /// On a monitor a touch.
    Click,
    Drag,
    Scroll,
    Terminate,
    /// Any event.
    Event,
    /// Until a text is on the screen, or a time is over.
    Wait,
    /// Until the screen has changed since the last step that did something.
    Change,
    /// Until the screen has not changed for a moment.
    Quiet,
}

/// Why steps can't be done.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StepError {
    #[error("`steps` is empty: say at least one.")]
    None,
    #[error("There are {0} steps; a call takes at most {MOST_STEPS}.")]
    TooMany(usize),
    #[error("Step {number} can't be done: {why}. No step was.")]
    Wrong {
        /// Which, from 1 on.
        number: usize,
        /// As a clause.
        why: String,
    },
    #[error("The steps may wait for {0} ms together; a call takes at most {LONGEST_MS}.")]
    TooLong(u64),
}

/// What an agent is told to do, and how long that may take.
#[derive(Debug)]
pub struct Plan {
    /// A list of lists, each of them an act and what it needs (`wire/PROTOCOL.md`, "Screens").
    pub acts: Vec<Value>,
    pub time: Duration,
}

/// Where the steps are done.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Whether it is a monitor, which has no keys, and is touched where others are clicked on.
    pub is_monitor: bool,
    /// Whether there is a mouse.
    pub has_mouse: bool,
}

impl Plan {
    /// Reads the steps.
    ///
    /// # Errors
    /// One of them can't be done there, or they are too many.
    pub fn of(steps: &[Step], place: Place) -> Result<Self, StepError> {
        match steps.len() {
            0 => return Err(StepError::None),
            1..=MOST_STEPS => {}
            more => return Err(StepError::TooMany(more)),
        }
        let mut acts = Vec::new();
        let mut waits = REST_MS;
        let mut typed = 0;
        for (number, step) in (1..).zip(steps) {
            let wrong = |why: String| StepError::Wrong { number, why };
            acts.push(json!(["step", number, step.is_input()]));
            acts.extend(step.acts(place, &mut typed).map_err(wrong)?);
            waits += step.waits();
        }
        acts.push(json!(["quiet", QUIET_MS, REST_MS, true]));
        let millis = waits + acts.len() as u64 * EVENT_MS;
        if millis > LONGEST_MS {
            return Err(StepError::TooLong(millis));
        }
        Ok(Self {
            acts,
            time: Duration::from_millis(millis),
        })
    }
}

impl Step {
    /// Whether it does something; the others only wait.
    fn is_input(&self) -> bool {
        !matches!(self.act, Act::Wait | Act::Change | Act::Quiet)
    }

    /// How long it waits at most, in milliseconds.
    fn waits(&self) -> u64 {
        match self.act {
            Act::Wait | Act::Change | Act::Quiet => self.ms.unwrap_or(WAIT_MS),
            Act::Key => self.ms.unwrap_or(0),
            _ => 0,
        }
    }

    /// Where on the screen it points, if it does: a drag where it begins and where it ends.
    pub fn points_at(&self) -> Vec<(u64, u64)> {
        let ends = match self.act {
            Act::Drag => self.args.as_deref().and_then(place),
            Act::Click | Act::Scroll => None,
            _ => return Vec::new(),
        };
        let ends = ends.map(|[x, y]| (x, y));
        self.place().into_iter().chain(ends).collect()
    }

    /// Whether it presses Ctrl+T for less than the second after which the game ends a program.
    pub fn is_short_ctrl_t(&self) -> bool {
        let is_ctrl_t = |chord: Chord| matches!(chord.keys.as_slice(), [ctrl, t] if ctrl.ends_with("ctrl") && t == "t");
        self.act == Act::Key && self.ms.unwrap_or(0) < 1_000 && self.chord().is_ok_and(is_ctrl_t)
    }

    /// The text that it waits for on the screen.
    pub fn awaited(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| self.act == Act::Wait)
    }

    fn text(&self) -> Result<&str, String> {
        let text = self.text.as_deref().filter(|text| !text.is_empty());
        text.ok_or_else(|| "its `text` is missing".to_owned())
    }

    fn place(&self) -> Result<(u64, u64), String> {
        match (self.x, self.y) {
            (Some(x), Some(y)) => Ok((x, y)),
            _ => Err("its `x` and `y` are missing".to_owned()),
        }
    }

    fn button(&self) -> Result<u64, String> {
        match self.n.unwrap_or(1) {
            button @ 1..=3 => Ok(button),
            _ => Err("`n` must be 1, 2 or 3, a button of the mouse".to_owned()),
        }
    }

    fn chord(&self) -> Result<Chord, String> {
        // A blank alone is a key.
        let text = self.text.as_deref().unwrap_or_default();
        Chord::read(text).map_err(|NoKey(text)| NoKey(text).to_string())
    }

    fn acts(&self, place: Place, typed: &mut usize) -> Result<Vec<Value>, String> {
        self.fits(place)?;
        Ok(match self.act {
            Act::Type => self.typed(typed)?,
            Act::Key => {
                let Chord { keys, writes } = self.chord()?;
                vec![json!([
                    "chord",
                    keys,
                    writes.map(character).transpose()?,
                    self.ms.unwrap_or(0)
                ])]
            }
            Act::Down => vec![json!(["down", self.chord()?.keys])],
            Act::Up => vec![json!(["up", self.chord()?.keys])],
            Act::Paste => vec![event("paste", &[json!(self.pasted()?)])],
            Act::Click if place.is_monitor => {
                let (x, y) = self.place()?;
                vec![json!(["touch", x, y])]
            }
            Act::Click => {
                let ((x, y), button) = (self.place()?, self.button()?);
                let at = [json!(button), json!(x), json!(y)];
                vec![event("mouse_click", &at), event("mouse_up", &at)]
            }
            Act::Drag => self.dragged()?,
            Act::Scroll => {
                let (x, y) = self.place()?;
                let way = match self.text.as_deref() {
                    None | Some("down") => 1,
                    Some("up") => -1,
                    Some(_) => return Err("its `text` must be up or down".to_owned()),
                };
                let lines = self.n.unwrap_or(1);
                if lines > MOST_LINES {
                    return Err(format!("`n` must be at most {MOST_LINES}, lines to scroll"));
                }
                let turn = event("mouse_scroll", &[json!(way), json!(x), json!(y)]);
                vec![turn; usize::try_from(lines).unwrap_or_default()]
            }
            Act::Terminate => vec![event("terminate", &[])],
            Act::Event => vec![event(
                &bytes(self.text()?)?,
                self.args.as_deref().unwrap_or_default(),
            )],
            Act::Wait if self.text.is_some() => {
                vec![json!([
                    "text",
                    bytes(self.text()?)?,
                    self.ms.unwrap_or(WAIT_MS)
                ])]
            }
            Act::Wait => {
                let ms = self
                    .ms
                    .ok_or("neither `text` nor `ms` says what to wait for")?;
                vec![json!(["pause", ms])]
            }
            Act::Change => vec![json!(["change", self.ms.unwrap_or(WAIT_MS)])],
            Act::Quiet => vec![json!([
                "quiet",
                QUIET_MS,
                self.ms.unwrap_or(WAIT_MS),
                false
            ])],
        })
    }

    /// Whether it can be done there at all.
    fn fits(&self, place: Place) -> Result<(), String> {
        let is_of_mouse = matches!(self.act, Act::Click | Act::Drag | Act::Scroll);
        if place.is_monitor {
            return match self.act {
                _ if !self.is_input() => Ok(()),
                Act::Click | Act::Event => Ok(()),
                _ => Err("a monitor takes clicks only, which touch it; its program's keys go to the terminal".to_owned()),
            };
        }
        if is_of_mouse && !place.has_mouse {
            return Err("the computer is a basic one, which has no mouse".to_owned());
        }
        Ok(())
    }

    fn typed(&self, typed: &mut usize) -> Result<Vec<Value>, String> {
        let text = self.text()?.replace("\r\n", "\n");
        *typed += text.chars().count();
        if *typed > MOST_TYPED {
            return Err(format!(
                "more than {MOST_TYPED} characters are typed in one call; send several, or write a file"
            ));
        }
        text.chars()
            .map(|one| {
                Ok(match one {
                    '\n' => json!(["chord", ["enter"], null, 0]),
                    '\t' => json!(["chord", ["tab"], null, 0]),
                    '\u{8}' => json!(["chord", ["backspace"], null, 0]),
                    one => {
                        let (key, shifted) = key_for(one)
                            .map_or((None, false), |(key, shifted)| (Some(key), shifted));
                        json!(["type", character(one)?, key, shifted])
                    }
                })
            })
            .collect()
    }

    fn pasted(&self) -> Result<String, String> {
        let text = self.text()?;
        if text.contains(['\n', '\r']) || text.chars().count() > LONGEST_PASTE {
            return Err(format!(
                "a paste is one line of at most {LONGEST_PASTE} characters, as a player's is; send several, or type it"
            ));
        }
        bytes(text)
    }

    /// The mouse is pressed in one place, drawn in a line to another, and let go.
    fn dragged(&self) -> Result<Vec<Value>, String> {
        let ((x, y), button) = (self.place()?, self.button()?);
        let Some([to_x, to_y]) = self.args.as_deref().and_then(place) else {
            return Err("its `args` must be [x, y], where it ends".to_owned());
        };
        let length = x.abs_diff(to_x).max(y.abs_diff(to_y));
        if length > 1_000 {
            return Err("it is longer than any screen".to_owned());
        }
        let between = |from: u64, to: u64, at: u64| {
            let moved = (from.abs_diff(to) * at + length / 2) / length;
            if to < from {
                from - moved
            } else {
                from + moved
            }
        };
        let at = |name: &str, x: u64, y: u64| event(name, &[json!(button), json!(x), json!(y)]);
        let mut acts = vec![at("mouse_click", x, y)];
        acts.extend(
            (1..=length)
                .map(|step| at("mouse_drag", between(x, to_x, step), between(y, to_y, step))),
        );
        acts.push(at("mouse_up", to_x, to_y));
        Ok(acts)
    }
}

/// A column and a row.
fn place(numbers: &[Value]) -> Option<[u64; 2]> {
    let [x, y] = numbers else { return None };
    let whole = |number: &Value| {
        let number = number.as_f64()?;
        // In range and whole, so the conversion is exact.
        (number.fract() == 0.0 && (0.0..=1e6).contains(&number)).then_some(number as u64)
    };
    Some([whole(x)?, whole(y)?])
}

fn event(name: &str, arguments: &[Value]) -> Value {
    json!(["event", name, arguments])
}

/// A character as the game has it.
fn character(one: char) -> Result<String, String> {
    let byte = byte_for(one);
    let byte =
        byte.ok_or_else(|| format!("the game has no character \"{}\"", one.escape_debug()))?;
    Ok(byte_text::from_bytes(vec![byte]))
}

/// A text as the game has it.
fn bytes(text: &str) -> Result<String, String> {
    let bytes = text.chars().map(|one| match one {
        // Bytes as they are.
        one if byte_text::byte_of(one).is_some() => Ok(byte_text::byte_of(one).unwrap_or_default()),
        one if one.is_ascii() => Ok(one as u8),
        one => byte_for(one)
            .ok_or_else(|| format!("the game has no character \"{}\"", one.escape_debug())),
    });
    Ok(byte_text::from_bytes(bytes.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Place = Place {
        is_monitor: false,
        has_mouse: true,
    };

    fn plan(steps: Value, place: Place) -> Result<Vec<Value>, StepError> {
        let steps: Vec<Step> = serde_json::from_value(steps).unwrap();
        let mut acts = Plan::of(&steps, place)?.acts;
        // The last lets the screen come to rest.
        assert_eq!(acts.pop().unwrap()[0], "quiet");
        acts.retain(|act| act[0] != "step");
        Ok(acts)
    }

    #[test]
    fn steps_become_what_a_keyboard_and_a_mouse_do() {
        for (step, acts) in [
            (
                json!({"do": "type", "text": "aB\né"}),
                json!([
                    ["type", "a", "a", false],
                    ["type", "B", "b", true],
                    ["chord", ["enter"], null, 0],
                    ["type", byte_text::from_bytes(vec![233]), null, false]
                ]),
            ),
            (
                json!({"do": "key", "text": "ctrl+s", "ms": 300}),
                json!([["chord", ["leftctrl", "s"], null, 300]]),
            ),
            (
                json!({"do": "key", "text": "x"}),
                json!([["chord", ["x"], "x", 0]]),
            ),
            (
                json!({"do": "down", "text": "shift"}),
                json!([["down", ["leftshift"]]]),
            ),
            (
                json!({"do": "up", "text": "shift"}),
                json!([["up", ["leftshift"]]]),
            ),
            (
                json!({"do": "paste", "text": "a b"}),
                json!([["event", "paste", ["a b"]]]),
            ),
            (
                json!({"do": "click", "x": 2, "y": 3, "n": 2}),
                json!([
                    ["event", "mouse_click", [2, 2, 3]],
                    ["event", "mouse_up", [2, 2, 3]]
                ]),
            ),
            (
                json!({"do": "drag", "x": 5, "y": 1, "args": [3, 2]}),
                json!([
                    ["event", "mouse_click", [1, 5, 1]],
                    ["event", "mouse_drag", [1, 4, 2]],
                    ["event", "mouse_drag", [1, 3, 2]],
                    ["event", "mouse_up", [1, 3, 2]]
                ]),
            ),
            (
                json!({"do": "drag", "x": 5, "y": 1, "args": [5, 1.0]}),
                json!([
                    ["event", "mouse_click", [1, 5, 1]],
                    ["event", "mouse_up", [1, 5, 1]]
                ]),
            ),
            (
                json!({"do": "scroll", "x": 1, "y": 1, "text": "up", "n": 2}),
                json!([
                    ["event", "mouse_scroll", [-1, 1, 1]],
                    ["event", "mouse_scroll", [-1, 1, 1]]
                ]),
            ),
            (
                json!({"do": "terminate"}),
                json!([["event", "terminate", []]]),
            ),
            (
                json!({"do": "event", "text": "redstone", "args": [1, null, "x"]}),
                json!([["event", "redstone", [1, null, "x"]]]),
            ),
            (
                json!({"do": "wait", "text": "Saved"}),
                json!([["text", "Saved", 5000]]),
            ),
            (json!({"do": "wait", "ms": 10}), json!([["pause", 10]])),
            (json!({"do": "change", "ms": 20}), json!([["change", 20]])),
            (json!({"do": "quiet"}), json!([["quiet", 150, 5000, false]])),
        ] {
            let done = plan(json!([step]), TERMINAL);
            assert_eq!(json!(done.unwrap()), acts, "{step}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_named_before_anything_is() {
        for (step, why) in [
            (json!({"do": "type"}), "`text` is missing"),
            (json!({"do": "type", "text": "€"}), "has no character \"€\""),
            (
                json!({"do": "key", "text": "ctrl+"}),
                "no key is named in \"ctrl+\"",
            ),
            (json!({"do": "paste", "text": "a\nb"}), "one line"),
            (json!({"do": "click", "x": 1}), "`x` and `y`"),
            (json!({"do": "click", "x": 1, "y": 1, "n": 4}), "button"),
            (
                json!({"do": "drag", "x": 1, "y": 1}),
                "`args` must be [x, y]",
            ),
            (
                json!({"do": "scroll", "x": 1, "y": 1, "text": "left"}),
                "up or down",
            ),
            (json!({"do": "wait"}), "neither"),
            (
                json!({"do": "type", "text": "x".repeat(5_000)}),
                "4000 characters",
            ),
        ] {
            let problem = plan(json!([{"do": "quiet"}, step]), TERMINAL);
            let problem = problem.unwrap_err().to_string();
            assert!(
                problem.starts_with("Step 2 ") && problem.contains(why),
                "{problem}"
            );
        }
        let many = vec![json!({"do": "terminate"}); 201];
        assert_eq!(plan(json!(many), TERMINAL), Err(StepError::TooMany(201)));
        assert_eq!(plan(json!([]), TERMINAL), Err(StepError::None));
        let long = vec![json!({"do": "wait", "ms": 60_000}); 11];
        assert!(matches!(
            plan(json!(long), TERMINAL),
            Err(StepError::TooLong(_))
        ));
    }

    #[test]
    fn monitors_are_touched_and_basic_computers_have_no_mouse() {
        let click = json!([{"do": "click", "x": 2, "y": 3}]);
        let monitor = Place {
            is_monitor: true,
            has_mouse: false,
        };
        assert_eq!(
            json!(plan(click.clone(), monitor).unwrap()),
            json!([["touch", 2, 3]])
        );
        let typed = plan(json!([{"do": "type", "text": "a"}]), monitor).unwrap_err();
        assert!(typed.to_string().contains("clicks only"));
        let basic = Place {
            is_monitor: false,
            has_mouse: false,
        };
        assert!(
            plan(click, basic)
                .unwrap_err()
                .to_string()
                .contains("no mouse")
        );
    }
}
