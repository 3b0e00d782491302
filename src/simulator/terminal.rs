//! The cells of a computer's screen: text, colours, cursor and palette.

/// The sixteen colours at the start, white to black, as 0xRRGGBB.
pub const DEFAULT_PALETTE: [u32; 16] = [
    0xf0f0f0, 0xf2b233, 0xe57fd8, 0x99b2f2, 0xdede6c, 0x7fcc19, 0xf2b2cc, 0x4c4c4c, 0x999999,
    0x4c99b2, 0xb266e5, 0x3366cc, 0x7f664c, 0x57a64e, 0xcc4c4c, 0x111111,
];

/// One cell: a byte of the game's character set, and two colours from 0 (white) to 15 (black).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The character, in the game's character set.
    pub character: u8,
    /// The colour of the text.
    pub foreground: u8,
    /// The colour behind it.
    pub background: u8,
}

/// What a screen shows at one moment.
#[derive(Debug, Clone)]
pub struct Terminal {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
    /// The cursor's place from 0; it may lie outside the screen.
    cursor: (i64, i64),
    cursor_blink: bool,
    foreground: u8,
    background: u8,
    palette: [u32; 16],
    /// Grows with each change, so that a watcher knows when to look again.
    generation: u64,
}

impl Terminal {
    /// A blank screen of that many cells.
    pub fn new(width: usize, height: usize) -> Self {
        let mut terminal = Terminal {
            width,
            height,
            cells: Vec::new(),
            cursor: (0, 0),
            cursor_blink: false,
            foreground: 0,
            background: 15,
            palette: DEFAULT_PALETTE,
            generation: 0,
        };
        terminal.reset();
        terminal
    }

    /// Back to what it was at the start.
    pub fn reset(&mut self) {
        self.foreground = 0;
        self.background = 15;
        self.cursor = (0, 0);
        self.cursor_blink = false;
        self.palette = DEFAULT_PALETTE;
        self.clear();
    }

    /// Its width and height in cells.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The cursor's column and row from 1, and whether it blinks.
    pub fn cursor(&self) -> (i64, i64, bool) {
        (self.cursor.0 + 1, self.cursor.1 + 1, self.cursor_blink)
    }

    /// One row's cells, from 0; empty outside the screen.
    pub fn row(&self, y: usize) -> &[Cell] {
        self.cells
            .get(y * self.width..(y + 1) * self.width)
            .unwrap_or_default()
    }

    /// The rows as text, bytes read as Latin-1, without trailing spaces.
    pub fn lines(&self) -> Vec<String> {
        (0..self.height)
            .map(|y| {
                let line: String = self
                    .row(y)
                    .iter()
                    .map(|cell| char::from(cell.character))
                    .collect();
                line.trim_end().to_owned()
            })
            .collect()
    }

    /// The sixteen colours now, as 0xRRGGBB.
    pub fn palette(&self) -> &[u32; 16] {
        &self.palette
    }

    /// A number that grows with each change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn colours(&self) -> (u8, u8) {
        (self.foreground, self.background)
    }

    pub(super) fn set_foreground(&mut self, colour: u8) {
        self.foreground = colour & 15;
    }

    pub(super) fn set_background(&mut self, colour: u8) {
        self.background = colour & 15;
    }

    pub(super) fn set_cursor(&mut self, x: i64, y: i64) {
        self.cursor = (x.saturating_sub(1), y.saturating_sub(1));
        self.generation += 1;
    }

    pub(super) fn set_cursor_blink(&mut self, blink: bool) {
        self.cursor_blink = blink;
        self.generation += 1;
    }

    pub(super) fn set_palette(&mut self, colour: u8, rgb: u32) {
        self.palette[usize::from(colour & 15)] = rgb & 0xff_ffff;
        self.generation += 1;
    }

    fn blank(&self) -> Cell {
        Cell {
            character: b' ',
            foreground: self.foreground,
            background: self.background,
        }
    }

    pub(super) fn clear(&mut self) {
        self.cells = vec![self.blank(); self.width * self.height];
        self.generation += 1;
    }

    pub(super) fn clear_line(&mut self) {
        let blank = self.blank();
        if let Some(row) = self.cursor_row() {
            row.fill(blank);
        }
        self.generation += 1;
    }

    /// Moves everything up by `lines` rows, or down if negative.
    pub(super) fn scroll(&mut self, lines: i64) {
        let mut moved = vec![self.blank(); self.cells.len()];
        for y in 0..self.height {
            let from = y as i64 + lines;
            if (0..self.height as i64).contains(&from) {
                let from = from as usize * self.width;
                moved[y * self.width..(y + 1) * self.width]
                    .copy_from_slice(&self.cells[from..from + self.width]);
            }
        }
        self.cells = moved;
        self.generation += 1;
    }

    /// Writes at the cursor in the current colours; what lies outside the screen is lost.
    pub(super) fn write(&mut self, text: &[u8]) {
        let (foreground, background) = self.colours();
        self.put(text, |_| (foreground, background));
    }

    /// Writes text whose colours are hexadecimal digits of the same length; white on black where they are none.
    pub(super) fn blit(&mut self, text: &[u8], foreground: &[u8], background: &[u8]) {
        self.put(text, |at| {
            (
                hex_colour(foreground.get(at)).unwrap_or(0),
                hex_colour(background.get(at)).unwrap_or(15),
            )
        });
    }

    fn cursor_row(&mut self) -> Option<&mut [Cell]> {
        let y = usize::try_from(self.cursor.1).ok()?;
        self.cells.get_mut(y * self.width..(y + 1) * self.width)
    }

    fn put(&mut self, text: &[u8], colours: impl Fn(usize) -> (u8, u8)) {
        let start = self.cursor.0;
        if let Some(row) = self.cursor_row() {
            for (at, &character) in text.iter().enumerate() {
                let x = usize::try_from(start.saturating_add(at as i64)).ok();
                if let Some(cell) = x.and_then(|x| row.get_mut(x)) {
                    let (foreground, background) = colours(at);
                    // A tab and a return are shown as spaces.
                    let character = match character {
                        b'\t' | b'\r' => b' ',
                        other => other,
                    };
                    *cell = Cell {
                        character,
                        foreground,
                        background,
                    };
                }
            }
        }
        self.cursor.0 = start.saturating_add(text.len() as i64);
        self.generation += 1;
    }
}

fn hex_colour(digit: Option<&u8>) -> Option<u8> {
    char::from(*digit?).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_outside_the_screen_is_lost() {
        let mut terminal = Terminal::new(5, 2);
        terminal.set_cursor(-1, 1);
        terminal.write(b"abcdefghij");
        assert_eq!(terminal.lines(), ["cdefg", ""]);
        terminal.set_cursor(1, 9);
        terminal.write(b"nothing");
        assert_eq!(terminal.lines(), ["cdefg", ""]);
        assert_eq!(terminal.cursor(), (8, 9, false));
    }

    #[test]
    fn scrolling_moves_rows_and_blanks_the_rest_in_the_current_colours() {
        let mut terminal = Terminal::new(3, 2);
        terminal.write(b"one");
        terminal.set_cursor(1, 2);
        terminal.write(b"two");
        terminal.set_background(14);
        terminal.scroll(1);
        assert_eq!(terminal.lines(), ["two", ""]);
        assert_eq!(terminal.row(1)[0].background, 14);
        terminal.scroll(-1);
        assert_eq!(terminal.lines(), ["", "two"]);
    }

    #[test]
    fn blit_takes_a_colour_for_each_character() {
        let mut terminal = Terminal::new(4, 1);
        terminal.blit(b"ab", b"e5", b"fd");
        assert_eq!(
            terminal.row(0)[0],
            Cell {
                character: b'a',
                foreground: 14,
                background: 15
            }
        );
        assert_eq!(
            terminal.row(0)[1],
            Cell {
                character: b'b',
                foreground: 5,
                background: 13
            }
        );
    }
}
