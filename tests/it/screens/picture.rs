//! What stands in a picture of a screen, read back by the font alone.

use std::{io::Cursor, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The font, whose blocks are made, not drawn.
const FONT: &str = include_str!("../../../src/tools/screen/font.txt");

/// All characters' pixels, row by row.
static GLYPHS: LazyLock<Vec<Vec<bool>>> = LazyLock::new(|| (0..=255).map(glyph).collect());

/// Of a character, in pixels.
const WIDTH: usize = 6;
const HEIGHT: usize = 9;

/// What a cell of a picture shows. One that shows nothing is a blank, without a colour.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Seen {
    pub character: u8,
    pub colour: Option<u32>,
    pub background: u32,
}

/// A picture of a screen.
#[derive(PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub scale: usize,
    /// As `0xRRGGBB`, row by row.
    pub pixels: Vec<u32>,
}

impl Picture {
    /// The picture in an answer to `read-screen`, as a client gets it, and its bytes.
    pub fn in_answer(reply: &Value) -> (Self, Vec<u8>) {
        let content = reply["result"]["content"].as_array().unwrap();
        let image = content.iter().find(|block| block["type"] == "image");
        let image = image.unwrap_or_else(|| panic!("no picture: {reply}"));
        assert_eq!(image["mimeType"], "image/png");
        let bytes = STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
        (Self::decode(&bytes), bytes)
    }

    pub fn decode(bytes: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut raw = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut raw).unwrap();
        assert_eq!(frame.color_type, png::ColorType::Rgb);
        let pixels = raw
            .chunks_exact(3)
            .map(|rgb| u32::from_be_bytes([0, rgb[0], rgb[1], rgb[2]]));
        let (width, height) = (frame.width as usize, frame.height as usize);
        assert!(width.max(height) <= 1_568 && bytes.len() <= 700 * 1_024);
        Self {
            width,
            height,
            scale: 1,
            pixels: pixels.collect(),
        }
    }

    /// The same of a screen of so many cells, whose pixels are enlarged by a whole number.
    pub fn of_cells(self, columns: usize, rows: usize) -> Self {
        let scale = self.width / (columns * WIDTH);
        assert_eq!(
            (self.width, self.height),
            (columns * WIDTH * scale, rows * HEIGHT * scale)
        );
        Self { scale, ..self }
    }

    /// What a cell shows, counted from 0.
    pub fn cell(&self, column: usize, row: usize) -> Seen {
        let at = |x: usize, y: usize| {
            let (left, top) = (column * WIDTH + x, row * HEIGHT + y);
            self.pixels[top * self.scale * self.width + left * self.scale]
        };
        let cell: Vec<u32> = (0..WIDTH * HEIGHT)
            .map(|pixel| at(pixel % WIDTH, pixel / WIDTH))
            .collect();
        let mut colours = cell.clone();
        colours.sort_unstable();
        colours.dedup();
        let (one, other) = match colours[..] {
            [background] => {
                return Seen {
                    character: b' ',
                    colour: None,
                    background,
                };
            }
            [one, other] => (one, other),
            _ => panic!("{colours:x?} in one cell"),
        };
        let found: Vec<_> = (0..=255)
            .flat_map(|character| [(character, one, other), (character, other, one)])
            .filter(|(character, colour, background)| {
                let glyph = &GLYPHS[usize::from(*character)];
                let looks = glyph
                    .iter()
                    .map(|set| if *set { colour } else { background });
                looks.eq(cell.iter())
            })
            .collect();
        let [(character, colour, background)] = found[..] else {
            panic!("column {column}, row {row} may be {found:x?}");
        };
        Seen {
            character,
            colour: Some(colour),
            background,
        }
    }
}

/// A character's pixels, row by row.
fn glyph(character: u8) -> Vec<bool> {
    if (128..160).contains(&character) {
        let cells = usize::from(character) - 128;
        return (0..WIDTH * HEIGHT)
            .map(|pixel| {
                let (x, y) = (pixel % WIDTH, pixel / WIDTH);
                cells >> (y / 3 * 2 + x / 3) & 1 == 1
            })
            .collect();
    }
    let band = format!("{:02x}", character / 8 * 8);
    let mut lines = FONT.lines().skip_while(|line| *line != band).skip(1);
    let rows = (0..HEIGHT).flat_map(|_| {
        let line = lines.next().unwrap();
        let part = line.split(' ').nth(usize::from(character % 8)).unwrap();
        part.bytes().map(|cell| cell == b'#')
    });
    rows.collect()
}
