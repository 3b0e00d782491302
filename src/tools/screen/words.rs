//! A screen in words: its rows by their numbers, so that no row can be taken for anything else, and the colours where
//! they are asked for.

use std::fmt::Write as _;

use serde_json::Value;

use super::cells::{COLOUR_NAMES, Cell, Colour, ONLY_COLOUR, PALETTE, Screen};
use crate::{base::text::one_line, wire::text::read};

/// How a row's number stands apart from the row.
const EDGE: char = '|';

/// The lines above a screen: which it is, what is known of it besides its rows, and what of it the agent can't know.
pub fn above(heading: &str, screen: &Screen, told: &Value) -> String {
    let partial = told.get("partial").and_then(Value::as_str);
    let partial = partial.map_or_else(String::new, |partial| {
        format!("Not all of it is known: {}.\n", one_line(&read(partial)))
    });
    format!("{heading}: {}.\n{partial}", particulars(screen))
}

/// What is known of a screen besides its rows, as a sentence's end: size, version, cursor.
fn particulars(screen: &Screen) -> String {
    let (cursor, width, height) = (screen.cursor, screen.width, screen.height());
    let mut shown = format!(
        "{width} columns, {height} rows, version {}; ",
        screen.version
    );
    let is_on = |at: i64, most: usize| usize::try_from(at).is_ok_and(|at| (1..=most).contains(&at));
    let place = if is_on(cursor.x, width) && is_on(cursor.y, height) {
        ""
    } else {
        ", off the screen"
    };
    let seen = if cursor.blinks { "" } else { "hidden " };
    // Writing to a String can't fail.
    let _ = write!(
        shown,
        "{seen}cursor at column {}, row {}{place}",
        cursor.x, cursor.y
    );
    if !screen.has_colours {
        shown.push_str("; colours show as greys");
    }
    shown
}

/// The text of a screen, a row a line. A blank that only its background shows is marked, and what the mark means is said.
pub fn text(screen: &Screen) -> String {
    let usual = screen.usual_background();
    let mut is_marked = false;
    let rows: Vec<String> = screen
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .enumerate()
                .map(|(x, cell)| {
                    let marks = cell.is_blank() && cell.background != usual && !parts_words(row, x);
                    is_marked |= marks;
                    if marks { ONLY_COLOUR } else { cell.letter() }
                })
                .collect()
        })
        .collect();
    let mut shown = numbered(&rows, |_| None);
    if is_marked {
        let _ = write!(shown, "\n({ONLY_COLOUR}: only background)");
    }
    shown
}

/// Whether a blank is a space within what is written: on a button that says `Open all` nobody looks for another sign.
fn parts_words(row: &[Cell], x: usize) -> bool {
    let is_of_it = |at: Option<usize>| {
        let beside = at.and_then(|at| row.get(at));
        beside.is_some_and(|beside| !beside.is_blank() && beside.background == row[x].background)
    };
    is_of_it(x.checked_sub(1)) && is_of_it(x.checked_add(1))
}

/// The text of a screen, and below each row what in it is not white on black; and the colours of its palette that are not
/// the game's.
pub fn styled(screen: &Screen) -> String {
    let rows: Vec<String> = screen
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.letter()).collect())
        .collect();
    let mut shown = numbered(&rows, |at| colours(&screen.rows[at]));
    let changed: Vec<_> = (0..16)
        .filter(|at| screen.palette[*at] != PALETTE[*at])
        .map(|at| format!("{} is #{:06x}", COLOUR_NAMES[at], screen.palette[at]))
        .collect();
    if !changed.is_empty() {
        let _ = write!(shown, "\nPalette: {}.", changed.join(", "));
    }
    shown
}

/// Rows with their numbers, and below each what `below` says of it. Empty ones at the end are only counted.
fn numbered(rows: &[String], below: impl Fn(usize) -> Option<String>) -> String {
    let below: Vec<_> = (0..rows.len()).map(below).collect();
    let is_empty = |at: usize| rows[at].trim_end().is_empty() && below[at].is_none();
    let end = (0..rows.len()).rev().find(|at| !is_empty(*at));
    let end = end.map_or(0, |last| last + 1);
    let digits = rows.len().to_string().len();
    let mut lines: Vec<_> = rows[..end]
        .iter()
        .zip(&below)
        .enumerate()
        .map(|(at, (row, below))| {
            let mut line = format!("{:digits$}{EDGE}{}", at + 1, row.trim_end());
            if let Some(below) = below {
                let _ = write!(line, "\n{:digits$}  {below}", "");
            }
            line
        })
        .collect();
    match rows.len() - end {
        0 => {}
        1 => lines.push(format!("(row {} is empty)", rows.len())),
        _ => lines.push(format!("(rows {} to {} are empty)", end + 1, rows.len())),
    }
    lines.join("\n")
}

/// A stretch of a row that looks the same all along.
struct Stretch {
    first: usize,
    last: usize,
    /// None: nothing of it has that colour.
    colour: Option<Colour>,
    background: Colour,
}

/// What of a row is not white on black; none if nothing is.
fn colours(row: &[Cell]) -> Option<String> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (x, cell) in (1..).zip(row) {
        let colour = (!cell.is_blank()).then_some(cell.colour);
        if let Some(open) = stretches.last_mut()
            && open.background == cell.background
            && (open.colour.is_none() || colour.is_none() || open.colour == colour)
        {
            open.colour = open.colour.or(colour);
            open.last = x;
            // A blank belongs to what it stands within, not to what stands before it.
            continue;
        }
        stretches.push(Stretch {
            first: x,
            last: x,
            colour,
            background: cell.background,
        });
    }
    let (white, black) = (0, 15);
    let told: Vec<_> = stretches
        .iter()
        .filter_map(|stretch| {
            let mut words = Vec::new();
            if let Some(colour) = stretch.colour
                && (colour != white || stretch.background != black)
            {
                words.push(COLOUR_NAMES[usize::from(colour)]);
            }
            if stretch.background != black {
                words.extend(["on", COLOUR_NAMES[usize::from(stretch.background)]]);
            }
            let place = match (stretch.first, stretch.last) {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first}-{last}"),
            };
            (!words.is_empty()).then(|| format!("{place} {}", words.join(" ")))
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{super::cells::tests::screen, *};

    #[test]
    fn rows_have_numbers_and_empty_ones_at_the_end_are_counted() {
        let blank: (&[u8], &str, &str) = (b"    ", "0000", "ffff");
        let shown = screen(&[
            (b"ab  ", "0000", "ffff"),
            blank,
            (b"\x01\x0a\xe9 ", "0000", "ffff"),
            blank,
            blank,
        ]);
        assert_eq!(text(&shown), "1|ab\n2|\n3|☺◙é\n(rows 4 to 5 are empty)");
        assert_eq!(
            particulars(&shown),
            "4 columns, 5 rows, version 7; hidden cursor at column 1, row 1"
        );
    }

    #[test]
    fn what_only_its_background_shows_is_marked_in_plain_text() {
        let drawn = screen(&[(b"x   ", "0000", "ff1f"), (b"   \x81", "0000", "ffff")]);
        assert_eq!(text(&drawn), "1|x ▒\n2|   🬀\n(▒: only background)");
    }

    #[test]
    fn a_blank_between_words_is_one_on_any_background() {
        let drawn = screen(&[
            (b" Open all ", "0000000000", "1111111111"),
            (b"Open  all ", "0000000000", "1111111111"),
            (b"Open all  ", "0000000000", "1111e11111"),
            (b"          ", "0000000000", "ffffffffff"),
            (b"          ", "0000000000", "ffffffffff"),
            (b"          ", "0000000000", "ffffffffff"),
            (b"          ", "0000000000", "ffffffffff"),
        ]);
        assert_eq!(
            text(&drawn),
            "1|▒Open all▒\n2|Open▒▒all▒\n3|Open▒all▒▒\n(rows 4 to 7 are empty)\n(▒: only background)"
        );
    }

    #[test]
    fn colours_are_named_where_they_are_not_white_on_black() {
        let mut drawn = screen(&[
            (b"> edit it", "440000000", "fffffffff"),
            (b"a b  c   ", "e0e000000", "ffffff555"),
            (b"plain    ", "000000000", "fffffffff"),
            (b"         ", "000000000", "fffffffff"),
        ]);
        drawn.palette[14] = 0x0a_0b0c;
        assert_eq!(
            styled(&drawn),
            "1|> edit it\n   1-2 yellow\n2|a b  c\n   1-5 red; 7-9 on lime\n3|plain\n(row 4 is empty)\n\
             Palette: red is #0a0b0c."
        );
    }

    #[test]
    fn a_cursor_beside_the_screen_and_greys_are_told() {
        let mut shown = screen(&[(b"a", "0", "f")]);
        (shown.cursor.x, shown.cursor.blinks, shown.has_colours) = (2, true, false);
        assert_eq!(
            particulars(&shown),
            "1 columns, 1 rows, version 7; cursor at column 2, row 1, off the screen; colours show as greys"
        );
    }
}
