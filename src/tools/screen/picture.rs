//! A screen as a picture: a PNG with the game's cells of six by nine pixels, enlarged by a whole number.

use thiserror::Error;

use super::{cells::Screen, font};

/// The longest side of a picture that models get as it is, in pixels.
const LONGEST: usize = 1_568;

/// How long a side should be, so that characters can be read and the picture costs no more than it must. Pixels.
const ENOUGH: usize = 1_000;

/// How large a pixel becomes at most.
const LARGEST: usize = 8;

/// The most bytes of a picture: some clients' conversations end at a larger one.
const MOST_BYTES: usize = 700 * 1_024;

/// The cursor, as the game draws it.
const CURSOR: u8 = b'_';

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PictureError {
    #[error(
        "The screen is too large for a picture: {width} by {height} characters. As text or styled it can be read."
    )]
    TooLarge {
        /// In characters.
        width: usize,
        /// In characters.
        height: usize,
    },
    #[error("The screen has no cells.")]
    Empty,
    #[error("The picture can't be written: {0}")]
    Encoding(#[from] png::EncodingError),
}

/// A picture of the screen, as PNG.
///
/// # Errors
/// The screen is larger than any picture may be, or has no cells.
pub fn png(screen: &Screen) -> Result<Vec<u8>, PictureError> {
    let (width, height) = (screen.width, screen.height());
    if width == 0 || height == 0 {
        return Err(PictureError::Empty);
    }
    let longest = (width * font::WIDTH).max(height * font::HEIGHT);
    let too_large = PictureError::TooLarge { width, height };
    if longest > LONGEST {
        return Err(too_large);
    }
    let scale = (ENOUGH / longest).clamp(1, LARGEST);
    let picture = encode(screen, scale)?;
    if picture.len() > MOST_BYTES {
        return Err(too_large);
    }
    Ok(picture)
}

fn encode(screen: &Screen, scale: usize) -> Result<Vec<u8>, png::EncodingError> {
    let size = |cells: usize, pixels: usize| u32::try_from(cells * pixels * scale);
    // Neither is longer than `LONGEST`.
    let width = size(screen.width, font::WIDTH).unwrap_or(u32::MAX);
    let height = size(screen.height(), font::HEIGHT).unwrap_or(u32::MAX);
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette((0..16).flat_map(|at| screen.shown(at)).collect::<Vec<_>>());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels(screen, scale))?;
    writer.finish()?;
    Ok(picture)
}

/// All rows of pixels, two pixels a byte.
fn pixels(screen: &Screen, scale: usize) -> Vec<u8> {
    let mut pixels = Vec::new();
    for y in 0..screen.height() {
        for line in 0..font::HEIGHT {
            let row = row_of_pixels(screen, y, line, scale);
            for _ in 0..scale {
                pixels.extend_from_slice(&row);
            }
        }
    }
    pixels
}

/// One row of pixels: the one of this number in row `y` of cells.
fn row_of_pixels(screen: &Screen, y: usize, line: usize, scale: usize) -> Vec<u8> {
    let mut colours = Vec::with_capacity(screen.width * font::WIDTH * scale);
    for (x, cell) in screen.rows[y].iter().enumerate() {
        let bits = font::glyph(cell.character)[line];
        let cursor = cursor_at(screen, x, y).map_or(0, |cursor| font::glyph(cursor)[line]);
        for pixel in 0..font::WIDTH {
            let colour = if cursor >> pixel & 1 == 1 {
                screen.cursor.colour
            } else if bits >> pixel & 1 == 1 {
                cell.colour
            } else {
                cell.background
            };
            colours.extend(std::iter::repeat_n(colour, scale));
        }
    }
    let pairs = colours.chunks(2);
    pairs
        .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0))
        .collect()
}

/// The cursor's character, if it is seen in this cell.
fn cursor_at(screen: &Screen, x: usize, y: usize) -> Option<u8> {
    let is_at = |place: i64, at: usize| usize::try_from(place) == Ok(at + 1);
    let cursor = screen.cursor;
    (cursor.blinks && is_at(cursor.x, x) && is_at(cursor.y, y)).then_some(CURSOR)
}

#[cfg(test)]
mod tests {
    use super::{
        super::cells::{Cell, PALETTE, tests::screen},
        *,
    };

    type Rgb = [u8; 3];

    /// A picture's width and its pixels.
    fn decoded(picture: &[u8]) -> (usize, Vec<Rgb>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(picture));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(frame.color_type, png::ColorType::Rgb);
        let pixels = bytes.chunks_exact(3).map(|one| [one[0], one[1], one[2]]);
        (frame.width as usize, pixels.collect())
    }

    /// What a cell of a picture shows: its pixels, unscaled.
    fn cell_of(picture: &(usize, Vec<Rgb>), scale: usize, x: usize, y: usize) -> Vec<Rgb> {
        let (width, pixels) = picture;
        let mut cell = Vec::new();
        for line in 0..font::HEIGHT {
            for pixel in 0..font::WIDTH {
                let (left, top) = ((x * 6 + pixel) * scale, (y * 9 + line) * scale);
                let colour = pixels[top * width + left];
                for part in 0..scale * scale {
                    let at = (top + part / scale) * width + left + part % scale;
                    assert_eq!(pixels[at], colour, "a pixel is not of one colour");
                }
                cell.push(colour);
            }
        }
        cell
    }

    /// The one character with its colours that looks so; those that show nothing count as blanks.
    fn read_back(cell: &[Rgb]) -> (u8, Option<Rgb>, Rgb) {
        let mut colours: Vec<_> = cell.to_vec();
        colours.sort_unstable();
        colours.dedup();
        if let [one] = colours[..] {
            return (b' ', None, one);
        }
        let [one, other] = colours[..] else {
            panic!("{colours:?}");
        };
        let mut found = Vec::new();
        for character in 0..=255 {
            let glyph = font::glyph(character);
            for (colour, background) in [(one, other), (other, one)] {
                let looks = (0..54).all(|at| {
                    let is_set = glyph[at / 6] >> (at % 6) & 1 == 1;
                    cell[at] == if is_set { colour } else { background }
                });
                if looks {
                    found.push((character, Some(colour), background));
                }
            }
        }
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    fn rgb(number: u32) -> Rgb {
        let [_, red, green, blue] = number.to_be_bytes();
        [red, green, blue]
    }

    fn assert_shows(screen: &Screen) {
        let picture = decoded(&png(screen).unwrap());
        let scale = picture.0 / (screen.width * 6);
        for (y, row) in screen.rows.iter().enumerate() {
            for (x, cell) in row.iter().enumerate() {
                let expected = match cell {
                    Cell { background, .. } if cell.is_blank() || cell.colour == *background => {
                        (b' ', None, screen.shown(*background))
                    }
                    cell => (
                        cell.character,
                        Some(screen.shown(cell.colour)),
                        screen.shown(cell.background),
                    ),
                };
                let shown = read_back(&cell_of(&picture, scale, x, y));
                assert_eq!(shown, expected, "column {}, row {}", x + 1, y + 1);
            }
        }
    }

    /// All characters, sixteen a row, in all colours on all colours.
    fn everything() -> Screen {
        let digit = |number: u8| char::from_digit(u32::from(number % 16), 16).unwrap();
        let rows: Vec<_> = (0..16_u8)
            .map(|y| {
                let text: Vec<_> = (0..32_u8).map(|x| y * 16 + x % 16).collect();
                let colours: String = (0..32_u8).map(digit).collect();
                let backgrounds: String = (0..32_u8).map(|x| digit(x + y + 1 + x / 16)).collect();
                (text, colours, backgrounds)
            })
            .collect();
        let rows: Vec<(&[u8], &str, &str)> = rows
            .iter()
            .map(|(text, colours, backgrounds)| (&text[..], colours.as_str(), backgrounds.as_str()))
            .collect();
        screen(&rows)
    }

    #[test]
    fn each_cell_can_be_read_back_from_the_picture() {
        let mut screen = everything();
        assert_shows(&screen);
        for (at, colour) in screen.palette.iter_mut().enumerate() {
            *colour = 0x10_2030 + 0x0b_0705 * u32::try_from(at).unwrap();
        }
        assert_shows(&screen);
    }

    #[test]
    fn a_basic_computers_screen_is_grey() {
        let mut screen = everything();
        screen.has_colours = false;
        let picture = decoded(&png(&screen).unwrap());
        assert!(
            picture
                .1
                .iter()
                .all(|[red, green, blue]| red == green && green == blue)
        );
        assert_eq!(
            screen.shown(1),
            [(0xf2 + 0xb2 + 0x33) as u16 / 3; 3].map(|grey| grey as u8)
        );
    }

    #[test]
    fn the_cursor_is_drawn_where_it_is_seen() {
        let mut screen = screen(&[(b"ab", "00", "ff")]);
        screen.cursor.x = 2;
        screen.cursor.colour = 4;
        let without = png(&screen).unwrap();
        screen.cursor.blinks = true;
        let with = decoded(&png(&screen).unwrap());
        let cell = cell_of(&with, LARGEST, 1, 0);
        // Below the b, in the last row.
        assert_eq!(cell[8 * 6], rgb(PALETTE[4]));
        assert_eq!(cell[6], rgb(PALETTE[0]));
        screen.cursor.x = 3;
        assert_eq!(png(&screen).unwrap(), without);
    }

    #[test]
    fn pictures_are_as_large_as_models_take_them() {
        let of = |width: usize, height: usize| {
            let (text, colours, backgrounds) =
                (vec![b'#'; width], "0".repeat(width), "f".repeat(width));
            screen(&vec![
                (&text[..], colours.as_str(), backgrounds.as_str());
                height
            ])
        };
        for (width, height, scale) in [
            (51, 19, 3),
            (26, 20, 5),
            (7, 5, 8),
            (164, 81, 1),
            (261, 9, 1),
        ] {
            let picture = png(&of(width, height)).unwrap();
            assert!(picture.len() < MOST_BYTES);
            assert_eq!(decoded(&picture).0, width * 6 * scale, "{width}");
        }
        assert!(matches!(
            png(&of(262, 2)),
            Err(PictureError::TooLarge { width: 262, .. })
        ));
        let mut none = of(1, 1);
        (none.width, none.rows) = (0, Vec::new());
        assert!(matches!(png(&none), Err(PictureError::Empty)));
    }
}
