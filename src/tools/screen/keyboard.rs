//! A keyboard: which key a character is on, and what people call keys. Their numbers differ from game to game, so agents
//! are told names, those of the game's `keys` in lower case.

use std::borrow::Cow;

use thiserror::Error;

/// The keys that write something but letters: what each writes, what it writes with shift, and its name.
const WRITING: &[(char, char, &str)] = &[
    ('1', '!', "one"),
    ('2', '@', "two"),
    ('3', '#', "three"),
    ('4', '$', "four"),
    ('5', '%', "five"),
    ('6', '^', "six"),
    ('7', '&', "seven"),
    ('8', '*', "eight"),
    ('9', '(', "nine"),
    ('0', ')', "zero"),
    ('-', '_', "minus"),
    ('=', '+', "equals"),
    ('[', '{', "leftbracket"),
    (']', '}', "rightbracket"),
    ('\\', '|', "backslash"),
    (';', ':', "semicolon"),
    ('\'', '"', "apostrophe"),
    ('`', '~', "grave"),
    (',', '<', "comma"),
    ('.', '>', "period"),
    ('/', '?', "slash"),
    (' ', ' ', "space"),
];

/// What people call keys besides the game's names.
const ALIASES: &[(&str, &str)] = &[
    ("ctrl", "leftctrl"),
    ("control", "leftctrl"),
    ("shift", SHIFT),
    ("alt", "leftalt"),
    ("option", "leftalt"),
    ("super", "leftsuper"),
    ("meta", "leftsuper"),
    ("cmd", "leftsuper"),
    ("win", "leftsuper"),
    ("return", "enter"),
    ("bksp", "backspace"),
    ("del", "delete"),
    ("ins", "insert"),
    ("pgup", "pageup"),
    ("pgdn", "pagedown"),
    ("pgdown", "pagedown"),
    ("arrowup", "up"),
    ("arrowdown", "down"),
    ("arrowleft", "left"),
    ("arrowright", "right"),
    ("caps", "capslock"),
    ("plus", "equals"),
];

/// The key that makes capitals.
pub const SHIFT: &str = "leftshift";

/// Keys with which others write nothing.
const SILENCING: [&str; 6] = [
    "leftctrl",
    "rightctrl",
    "leftalt",
    "rightalt",
    "leftsuper",
    "rightsuper",
];

/// The key that writes a character, and whether it does so with shift; none if the keyboard has no such key.
pub fn key_for(character: char) -> Option<(Cow<'static, str>, bool)> {
    match character {
        'a'..='z' => return Some((character.to_string().into(), false)),
        'A'..='Z' => return Some((character.to_lowercase().to_string().into(), true)),
        _ => {}
    }
    WRITING.iter().find_map(|&(plain, shifted, name)| {
        let is_on_it = character == plain || character == shifted;
        is_on_it.then(|| (name.into(), character != plain))
    })
}

/// Keys that are pressed together.
#[derive(Debug, PartialEq, Eq)]
pub struct Chord {
    /// In the order in which they are pressed.
    pub keys: Vec<String>,
    /// What the last one writes.
    pub writes: Option<char>,
}

/// No key is called so.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "no key is named in \"{0}\"; name one as in the game's `keys`, such as enter, or several: ctrl+s"
)]
pub struct NoKey(pub String);

impl Chord {
    /// Reads the names of keys, with a plus between them.
    ///
    /// # Errors
    /// There is nothing before or after a plus.
    pub fn read(text: &str) -> Result<Self, NoKey> {
        let mut names: Vec<_> = match text.trim() {
            // The plus itself is a key too.
            "+" => vec!["+"],
            text => match text.strip_suffix("++") {
                Some(others) => others.split('+').chain(["+"]).collect(),
                None => text.split('+').collect(),
            },
        };
        // A single blank is the key that writes it.
        if text == " " {
            names = vec![" "];
        }
        let mut keys: Vec<String> = Vec::new();
        let mut last = None;
        for name in names {
            let single = single(name);
            last = single.and_then(|character| Some((character, key_for(character)?)));
            match &last {
                Some((character, (key, shifted))) => {
                    // People write Ctrl+S for what has no shift in it.
                    if *shifted
                        && !character.is_ascii_uppercase()
                        && !keys.iter().any(|key| key == SHIFT)
                    {
                        keys.push(SHIFT.to_owned());
                    }
                    keys.push(key.clone().into_owned());
                }
                None => keys.push(named(name).ok_or_else(|| NoKey(text.to_owned()))?),
            }
        }
        let is_silenced = keys.iter().any(|key| SILENCING.contains(&key.as_str()));
        let has_shift = keys.iter().any(|key| key.ends_with("shift"));
        if last.is_none() && keys.last().is_some_and(|key| key == "space") {
            last = Some((' ', ("space".into(), false)));
        }
        let writes = last.filter(|_| !is_silenced);
        Ok(Self {
            writes: writes.map(|(character, _)| with_shift(character, has_shift)),
            keys,
        })
    }
}

/// The only character of a name.
fn single(name: &str) -> Option<char> {
    let mut characters = name.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// What the key that a character is on writes.
fn with_shift(character: char, has_shift: bool) -> char {
    let Some(&(plain, shifted, _)) = WRITING
        .iter()
        .find(|(plain, shifted, _)| [*plain, *shifted].contains(&character))
    else {
        return match has_shift {
            true => character.to_ascii_uppercase(),
            false => character.to_ascii_lowercase(),
        };
    };
    if has_shift { shifted } else { plain }
}

/// The game's name of a key, in lower case; whether there is such a key in a game, its agent knows.
fn named(name: &str) -> Option<String> {
    let name: String = name
        .chars()
        .filter(|character| character.is_ascii_alphanumeric())
        .collect();
    let name = name.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, known)| (*known).to_owned());
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chord(text: &str) -> (String, Option<char>) {
        let chord = Chord::read(text).unwrap();
        (chord.keys.join(" "), chord.writes)
    }

    #[test]
    fn chords_are_read_as_people_write_them() {
        for (text, keys, writes) in [
            ("enter", "enter", None),
            ("Ctrl+S", "leftctrl s", None),
            ("ctrl + shift + t", "leftctrl leftshift t", None),
            ("shift+a", "leftshift a", Some('A')),
            ("a", "a", Some('a')),
            ("A", "a", Some('a')),
            ("!", "leftshift one", Some('!')),
            ("shift+1", "leftshift one", Some('!')),
            ("Page Up", "pageup", None),
            ("ArrowLeft", "left", None),
            ("leftCtrl", "leftctrl", None),
            ("+", "leftshift equals", Some('+')),
            ("ctrl++", "leftctrl leftshift equals", None),
            (" ", "space", Some(' ')),
            ("space", "space", Some(' ')),
            ("F1", "f1", None),
        ] {
            assert_eq!(chord(text), (keys.to_owned(), writes), "{text}");
        }
        for text in ["", "ctrl+", "+s", "…"] {
            assert!(Chord::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_character_of_ascii_is_on_a_key() {
        for character in ' '..='~' {
            let (key, shifted) = key_for(character).unwrap();
            assert!(
                key.chars().all(|letter| letter.is_ascii_lowercase()),
                "{key}"
            );
            assert_eq!(with_shift(character, shifted), character, "{character}");
        }
        assert_eq!(key_for('é'), None);
    }
}
