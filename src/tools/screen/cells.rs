//! What a screen shows: its cells, its cursor and its palette, as an agent tells them.

use serde_json::Value;

use crate::{base::byte_text, wire::text};

/// How many cells a screen has at most that is read: more than the largest monitor by far.
const MOST_CELLS: usize = 250_000;

/// The names of the game's sixteen colours, as in its `colors`.
pub const COLOUR_NAMES: [&str; 16] = [
    "white",
    "orange",
    "magenta",
    "lightBlue",
    "yellow",
    "lime",
    "pink",
    "gray",
    "lightGray",
    "cyan",
    "purple",
    "blue",
    "brown",
    "green",
    "red",
    "black",
];

/// The game's own palette.
pub const PALETTE: [u32; 16] = [
    0xf0f0f0, 0xf2b233, 0xe57fd8, 0x99b2f2, 0xdede6c, 0x7fcc19, 0xf2b2cc, 0x4c4c4c, 0x999999,
    0x4c99b2, 0xb266e5, 0x3366cc, 0x7f664c, 0x57a64e, 0xcc4c4c, 0x111111,
];

/// What a blank shows in text where its background is not the usual one.
pub const ONLY_COLOUR: char = '▒';

/// The place of a colour in a palette, and what it is called by.
pub type Colour = u8;

/// A character with its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// By the game's character set.
    pub character: u8,
    /// Of the text.
    pub colour: Colour,
    /// Behind the text.
    pub background: Colour,
}

impl Cell {
    /// Whether only its background is seen.
    pub fn is_blank(self) -> bool {
        matches!(self.character, 0 | 32 | 128 | 160)
    }

    /// What it is in text.
    pub fn letter(self) -> char {
        text::picture_of(self.character)
    }
}

/// Where the next character is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The column, from 1 on; it may be beside the screen.
    pub x: i64,
    /// The row, from 1 on; it may be beside the screen.
    pub y: i64,
    /// Whether it is seen.
    pub blinks: bool,
    /// Its colour.
    pub colour: Colour,
}

/// What a screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// Another one means that something has changed since.
    pub version: u64,
    /// In characters.
    pub width: usize,
    pub cursor: Cursor,
    /// Whether it shows colours; one of a basic computer shows greys.
    pub has_colours: bool,
    /// As `0xRRGGBB`.
    pub palette: [u32; 16],
    /// Each as wide as the screen.
    pub rows: Vec<Vec<Cell>>,
}

impl Screen {
    /// Reads what an agent told; none if that is no screen.
    pub fn read(told: &Value) -> Option<Self> {
        let size = |name: &str| usize::try_from(whole(told.get(name)?)?).ok();
        let (width, height) = (size("width")?, size("height")?);
        if width.checked_mul(height)? > MOST_CELLS {
            return None;
        }
        let rows = told.get("lines").and_then(Value::as_array);
        let rows = rows.into_iter().flatten().map(|row| read_row(row, width));
        let rows: Vec<_> = rows.collect::<Option<_>>()?;
        if rows.len() != height {
            return None;
        }
        let cursor = told.get("cursor")?;
        let mut palette = PALETTE;
        let told_palette = told.get("palette").and_then(Value::as_array);
        for (known, told) in palette.iter_mut().zip(told_palette.into_iter().flatten()) {
            *known = u32::try_from(whole(told)?).ok()? & 0xff_ffff;
        }
        Some(Self {
            version: u64::try_from(whole(told.get("version")?)?).ok()?,
            width,
            cursor: Cursor {
                x: whole(cursor.get("x")?)?,
                y: whole(cursor.get("y")?)?,
                blinks: cursor.get("blinks")?.as_bool()?,
                colour: Colour::try_from(whole(cursor.get("colour")?)?).ok()? & 15,
            },
            has_colours: told.get("colours")?.as_bool()?,
            palette,
            rows,
        })
    }

    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// The background that most cells have.
    pub fn usual_background(&self) -> Colour {
        let mut counts = [0; 16];
        for cell in self.rows.iter().flatten() {
            counts[usize::from(cell.background)] += 1;
        }
        let most = (0..16).max_by_key(|colour| (counts[usize::from(*colour)], *colour));
        most.unwrap_or(15)
    }

    /// A colour of the palette as the screen shows it, which has greys only if it is a basic computer's.
    pub fn shown(&self, colour: Colour) -> [u8; 3] {
        let [_, red, green, blue] = self.palette[usize::from(colour)].to_be_bytes();
        if self.has_colours {
            return [red, green, blue];
        }
        let sum = u16::from(red) + u16::from(green) + u16::from(blue);
        // A third of three bytes is one.
        [(sum / 3) as u8; 3]
    }
}

/// A whole number that an agent wrote, which may be as a float.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // In range and whole, so the conversion is exact.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

/// A row: its text, and the colours of text and background as hexadecimal digits.
fn read_row(row: &Value, width: usize) -> Option<Vec<Cell>> {
    let parts = row.as_array()?;
    let part = |at: usize| Some(byte_text::to_bytes(parts.get(at)?.as_str()?).into_owned());
    let (text, colours, backgrounds) = (part(0)?, part(1)?, part(2)?);
    if [&text, &colours, &backgrounds].map(|part| part.len()) != [width; 3] {
        return None;
    }
    let colour = |digit: u8| Some(char::from(digit).to_digit(16)? as Colour);
    let cells = text.into_iter().zip(colours).zip(backgrounds);
    cells
        .map(|((character, text), background)| {
            Some(Cell {
                character,
                colour: colour(text)?,
                background: colour(background)?,
            })
        })
        .collect()
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::byte_text::from_bytes;

    /// A screen of these rows: text, colours, backgrounds.
    pub fn screen(rows: &[(&[u8], &str, &str)]) -> Screen {
        let lines: Vec<_> = rows
            .iter()
            .map(|(text, colours, backgrounds)| {
                json!([from_bytes(text.to_vec()), colours, backgrounds])
            })
            .collect();
        Screen::read(&json!({
            "version": 7, "width": rows[0].0.len(), "height": rows.len(), "colours": true,
            "cursor": {"x": 1, "y": 1, "blinks": false, "colour": 0}, "lines": lines,
        }))
        .unwrap()
    }

    #[test]
    fn what_is_no_screen_is_not_taken_for_one() {
        let good = json!({
            "version": 1.0, "width": 2, "height": 1, "colours": false,
            "cursor": {"x": 3, "y": -1, "blinks": true, "colour": 14.0},
            "palette": [0x12_3456], "lines": [["ab", "0f", "f0"]],
        });
        let read = Screen::read(&good).unwrap();
        assert_eq!((read.version, read.palette[0]), (1, 0x12_3456));
        assert_eq!(read.palette[1..], PALETTE[1..]);
        assert_eq!((read.cursor.y, read.cursor.colour), (-1, 14));
        for (pointer, bad) in [
            ("/width", json!(3)),
            ("/height", json!(2)),
            ("/height", json!(1_u64 << 60)),
            ("/lines/0/0", json!("abc")),
            ("/lines/0/1", json!("0g")),
            ("/lines/0/2", json!(7)),
            ("/cursor/x", json!(1.5)),
            ("/version", json!(-1)),
            ("/palette", json!(["red"])),
        ] {
            let mut told = good.clone();
            *told.pointer_mut(pointer).unwrap() = bad;
            assert_eq!(Screen::read(&told), None, "{pointer}");
        }
    }
}
