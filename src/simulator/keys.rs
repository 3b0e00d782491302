//! The keys of a keyboard: their names in `keys`, and their numbers in each version.

/// A key's name, its GLFW number (Minecraft 1.13 and later), its LWJGL 2 number (before); 0 where it has none.
type Key = (&'static str, u32, u32);

/// The keys whose numbers follow no order.
const KEYS: &[Key] = &[
    ("space", 32, 57),
    ("apostrophe", 39, 40),
    ("comma", 44, 51),
    ("minus", 45, 12),
    ("period", 46, 52),
    ("slash", 47, 53),
    ("semicolon", 59, 39),
    ("equals", 61, 13),
    ("leftBracket", 91, 26),
    ("backslash", 92, 43),
    ("rightBracket", 93, 27),
    ("grave", 96, 41),
    ("enter", 257, 28),
    ("tab", 258, 15),
    ("backspace", 259, 14),
    ("insert", 260, 210),
    ("delete", 261, 211),
    ("right", 262, 205),
    ("left", 263, 203),
    ("down", 264, 208),
    ("up", 265, 200),
    ("pageUp", 266, 201),
    ("pageDown", 267, 209),
    ("home", 268, 199),
    ("end", 269, 207),
    ("capsLock", 280, 58),
    ("scrollLock", 281, 70),
    ("numLock", 282, 69),
    ("printScreen", 283, 0),
    ("pause", 284, 197),
    ("numPadDecimal", 330, 83),
    ("numPadDivide", 331, 181),
    ("numPadMultiply", 332, 0),
    ("multiply", 0, 55),
    ("numPadSubtract", 333, 74),
    ("numPadAdd", 334, 78),
    ("numPadEnter", 335, 156),
    ("numPadEqual", 336, 0),
    ("leftShift", 340, 42),
    ("leftCtrl", 341, 29),
    ("leftAlt", 342, 56),
    ("leftSuper", 343, 0),
    ("rightShift", 344, 54),
    ("rightCtrl", 345, 157),
    ("rightAlt", 346, 184),
    ("menu", 348, 0),
];

const DIGITS: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

/// The letters as LWJGL 2 numbers them: each row of the keyboard, from a first number on.
const LETTER_ROWS: [(&str, u32); 3] = [("qwertyuiop", 16), ("asdfghjkl", 30), ("zxcvbnm", 44)];

/// The number pad's digits in LWJGL 2.
const NUMBER_PAD: [u32; 10] = [82, 79, 80, 81, 75, 76, 77, 71, 72, 73];

/// All keys by name, with the numbers of LWJGL 2 or of GLFW.
pub(super) fn all(lwjgl2: bool) -> Vec<(String, u32)> {
    let mut keys: Vec<(String, u32)> = KEYS
        .iter()
        .map(|&(name, glfw, old)| (name.to_owned(), if lwjgl2 { old } else { glfw }))
        .filter(|&(_, code)| code != 0)
        .collect();
    for (row, first) in LETTER_ROWS {
        for (letter, old) in row.chars().zip(first..) {
            let glfw = u32::from(letter.to_ascii_uppercase());
            keys.push((letter.to_string(), if lwjgl2 { old } else { glfw }));
        }
    }
    for ((digit, name), old_pad) in (0..).zip(DIGITS).zip(NUMBER_PAD) {
        let old = if digit == 0 { 11 } else { digit + 1 };
        keys.push((name.to_owned(), if lwjgl2 { old } else { 48 + digit }));
        let pad = if lwjgl2 { old_pad } else { 320 + digit };
        keys.push((format!("numPad{digit}"), pad));
    }
    for number in 1..=if lwjgl2 { 12 } else { 25 } {
        let old = if number > 10 {
            76 + number
        } else {
            58 + number
        };
        let code = if lwjgl2 { old } else { 289 + number };
        keys.push((format!("f{number}"), code));
    }
    keys
}

/// The number of the key with that name.
pub(super) fn code(name: &str, lwjgl2: bool) -> Option<u32> {
    all(lwjgl2)
        .into_iter()
        .find_map(|(key, code)| (key == name).then_some(code))
}

/// The key that writes a character on a keyboard of the United States, and whether with Shift.
pub(super) fn of_character(character: char) -> Option<&'static str> {
    const PLAIN: &str = " '\",<-_.>/?;:=+[{\\|]}`~";
    const NAMES: [&str; 23] = [
        "space",
        "apostrophe",
        "apostrophe",
        "comma",
        "comma",
        "minus",
        "minus",
        "period",
        "period",
        "slash",
        "slash",
        "semicolon",
        "semicolon",
        "equals",
        "equals",
        "leftBracket",
        "leftBracket",
        "backslash",
        "backslash",
        "rightBracket",
        "rightBracket",
        "grave",
        "grave",
    ];
    const SHIFTED_DIGITS: &str = ")!@#$%^&*(";
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    let lower = character.to_ascii_lowercase();
    if let Some(at) = LETTERS.find(lower) {
        return LETTERS.get(at..=at);
    }
    if let Some(digit) = character.to_digit(10).map(|digit| digit as usize) {
        return DIGITS.get(digit).copied();
    }
    if let Some(digit) = SHIFTED_DIGITS.find(character) {
        return DIGITS.get(digit).copied();
    }
    PLAIN.find(character).and_then(|at| NAMES.get(at).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_number_of_its_version() {
        for (name, glfw, old) in [
            ("enter", 257, 28),
            ("a", 65, 30),
            ("zero", 48, 11),
            ("nine", 57, 10),
            ("f1", 290, 59),
            ("f12", 301, 88),
            ("numPad7", 327, 71),
        ] {
            assert_eq!(code(name, false), Some(glfw), "{name}");
            assert_eq!(code(name, true), Some(old), "{name}");
        }
        assert_eq!(code("f25", true), None);
    }

    #[test]
    fn a_character_is_written_with_a_key() {
        for (character, key) in [
            ('Q', "q"),
            ('7', "seven"),
            ('&', "seven"),
            ('~', "grave"),
            ('|', "backslash"),
            (' ', "space"),
        ] {
            assert_eq!(of_character(character), Some(key), "{character}");
        }
        assert_eq!(of_character('é'), None);
    }
}
