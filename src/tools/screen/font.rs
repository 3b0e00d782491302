//! The pictures of the game's 256 characters, drawn for this program: the game's own are not free.
//!
//! `font.txt` has them, eight side by side: a line with the number of the first in hexadecimal, then nine lines of six
//! cells for each. Those from 128 to 159 are blocks, which are made here. No two look alike, and none as another does with
//! its colours swapped, but for those that show nothing: so a cell of a picture can be read back.

use std::sync::LazyLock;

/// The width of a character, in pixels, as in the game.
pub const WIDTH: usize = 6;

/// The height of a character, in pixels, as in the game.
pub const HEIGHT: usize = 9;

/// How many characters stand side by side in the file.
const BESIDE: usize = 8;

/// A character's picture: the pixels that have the text's colour, one bit each, the leftmost the lowest.
pub type Glyph = [u8; HEIGHT];

static GLYPHS: LazyLock<[Glyph; 256]> = LazyLock::new(|| read(include_str!("font.txt")));

/// The picture of a character.
pub fn glyph(character: u8) -> Glyph {
    GLYPHS[usize::from(character)]
}

/// Reads the file, and makes the blocks. What the file leaves out shows nothing; a test finds that.
fn read(file: &str) -> [Glyph; 256] {
    let mut glyphs = [[0; HEIGHT]; 256];
    let mut first = 0;
    let mut row = 0;
    for line in file.lines().filter(|line| !line.is_empty()) {
        if let Ok(number) = usize::from_str_radix(line, 16) {
            (first, row) = (number, 0);
            continue;
        }
        for (at, cells) in line.split(' ').take(BESIDE).enumerate() {
            let bits = cells.bytes().enumerate();
            let bits = bits.map(|(x, cell)| u8::from(cell == b'#') << x).sum();
            if let Some(glyph) = glyphs.get_mut(first + at)
                && let Some(place) = glyph.get_mut(row)
            {
                *place = bits;
            }
        }
        row += 1;
    }
    for (cells, glyph) in glyphs[128..160].iter_mut().enumerate() {
        *glyph = block(cells);
    }
    glyphs
}

/// A block of two by three squares: those at the left, right and left again of each third that `cells` has, from the top
/// on. The last, at the bottom right, never has the text's colour.
fn block(cells: usize) -> Glyph {
    let mut glyph = [0; HEIGHT];
    for (y, row) in glyph.iter_mut().enumerate() {
        let third = cells >> (y / 3 * 2);
        let (left, right) = (third & 1, third >> 1 & 1);
        *row = (left * 0b000_111 + right * 0b111_000) as u8;
    }
    glyph
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const WHOLE_ROW: u8 = 0b11_1111;

    #[test]
    fn no_two_characters_look_alike_in_whatever_colours() {
        let mut seen = BTreeMap::new();
        let mut nothing = Vec::new();
        for character in 0..=255 {
            let glyph = glyph(character);
            assert!(glyph.iter().all(|row| row & !WHOLE_ROW == 0), "{character}");
            if glyph == [0; HEIGHT] {
                nothing.push(character);
                continue;
            }
            for look in [glyph, glyph.map(|row| row ^ WHOLE_ROW)] {
                let other = seen.insert(look, character);
                assert_eq!(other, None, "{character}");
            }
        }
        assert_eq!(nothing, [0, 32, 128, 160]);
    }

    #[test]
    fn blocks_are_put_together_of_six_squares() {
        // Top left and bottom left.
        let squares = glyph(128 + 1 + 16);
        assert_eq!(squares, [7, 7, 7, 0, 0, 0, 7, 7, 7]);
        // All but the bottom right.
        assert_eq!(glyph(159), [63, 63, 63, 63, 63, 63, 7, 7, 7]);
    }
}
