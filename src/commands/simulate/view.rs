//! How a simulated computer looks in a terminal: its cells, its cursor, and a status line below. Nothing but drawing.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    style::{Color, Modifier, Style},
};

use crate::{
    base::text::one_line,
    simulator::{Computer, ProgramState, State, Terminal},
    wire::text,
};

/// The one key that has to be told of, however small the terminal is.
const LEAVE: &str = "F10 quit";

/// Which part of a computer's screen is to be seen, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Viewport {
    area: Rect,
    /// The column and row of the computer's screen, from 0, that stand at the top left: not the first ones where the
    /// terminal is too small and the cursor is further away.
    first: (u16, u16),
}

impl Viewport {
    /// For that screen in a terminal of that size.
    pub(super) fn new(window: Rect, terminal: &Terminal) -> Self {
        let (width, height) = terminal.size();
        let fits = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
        let room = window.height.saturating_sub(1);
        let area = Rect {
            width: window.width.min(fits(width)),
            height: room.min(fits(height)),
            ..window
        };
        let (column, row, blinks) = terminal.cursor();
        let first = |cursor: i64, cells: usize, shown: u16| {
            fits(usize::try_from(cursor).unwrap_or(0).min(cells)).saturating_sub(shown)
        };
        // Sideways only to where somebody writes: what a program draws would swing about.
        let column = if blinks { column } else { 1 };
        Self {
            area,
            first: (
                first(column, width, area.width),
                first(row, height, area.height),
            ),
        }
    }

    /// The computer's column and row, from 1, at a place of the terminal; `None` outside its screen.
    pub(super) fn cell_at(&self, place: Position) -> Option<(u16, u16)> {
        self.area.contains(place).then(|| {
            let (column, row) = self.first;
            (
                place.x - self.area.x + column + 1,
                place.y - self.area.y + row + 1,
            )
        })
    }

    /// Where in the terminal that column and row of the computer, from 1, are; `None` if they are not to be seen.
    fn place_of(&self, (column, row): (i64, i64)) -> Option<Position> {
        let (first_column, first_row) = self.first;
        let x = i64::from(self.area.x) + column - 1 - i64::from(first_column);
        let y = i64::from(self.area.y) + row - 1 - i64::from(first_row);
        let place = Position::new(u16::try_from(x).ok()?, u16::try_from(y).ok()?);
        self.area.contains(place).then_some(place)
    }
}

/// Draws a computer, which is number `index` from 0 of `count`.
pub(super) fn draw(frame: &mut Frame<'_>, computer: &Computer, index: usize, count: usize) {
    let window = frame.area();
    if window.is_empty() {
        return;
    }
    // A computer that is off shows nothing; one that failed says why.
    if !matches!(
        computer.state(),
        State::Off | State::Unloaded | State::Stopped
    ) {
        draw_screen(frame, &computer.terminal());
    }
    draw_status(frame, computer, index, count, "");
}

/// Draws what is around a computer in place of its screen, or its screen: `map` makes a picture of that many places.
pub(super) fn draw_in_land(
    frame: &mut Frame<'_>,
    computer: &Computer,
    index: usize,
    count: usize,
    map: Option<impl Fn(usize, usize) -> Vec<String>>,
) {
    let Some(map) = map else {
        draw(frame, computer, index, count);
        return draw_status(frame, computer, index, count, "F4 map  ");
    };
    let window = frame.area();
    if window.is_empty() {
        return;
    }
    // The last lines say what the characters mean.
    let legend = 4.min(window.height / 3);
    let rows = usize::from(window.height.saturating_sub(1 + legend));
    let lines = map(window.width.into(), rows);
    let area = window.height.saturating_sub(1);
    for (line, y) in lines.iter().zip(window.y..window.y + area) {
        frame.buffer_mut().set_stringn(
            window.x,
            y,
            one_line(line),
            window.width.into(),
            Style::new(),
        );
    }
    draw_status(frame, computer, index, count, "F4 screen  ");
}

fn draw_status(frame: &mut Frame<'_>, computer: &Computer, index: usize, count: usize, more: &str) {
    let window = frame.area();
    if window.is_empty() {
        return;
    }
    let line = Rect {
        y: window.bottom() - 1,
        height: 1,
        ..window
    };
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    frame.buffer_mut().set_style(line, reversed);
    frame.buffer_mut().set_stringn(
        line.x,
        line.y,
        status(computer, index, count, line.width.into(), more),
        line.width.into(),
        reversed,
    );
}

/// The status line: which computer it is and how it is, and at the right the keys that the view keeps for itself, as
/// far as there is room. All other keys go to the game.
fn status(computer: &Computer, index: usize, count: usize, width: usize, more: &str) -> String {
    let mut about = format!(" {}", name(computer));
    let mut keys = String::new();
    if count > 1 {
        about.push_str(&format!("  {} of {count}", index + 1));
        keys.push_str("F1 next  ");
    }
    about.push_str(&format!(": {}", condition(computer)));
    let about = one_line(&about);
    keys.push_str(if computer.is_paused() {
        "F2 resume  "
    } else {
        "F2 pause  "
    });
    keys.push_str(if computer.state() == State::Unloaded {
        "F3 load  "
    } else {
        "F3 unload  "
    });
    keys.push_str(more);
    keys.push_str(LEAVE);
    let length = about.chars().count();
    let fits = |keys: &str| length + keys.len() + 3 <= width;
    let keys = if fits(&keys) { &keys } else { LEAVE };
    let room = width.saturating_sub(keys.len() + 3);
    format!("{about:<room$.room$}  {keys} ")
}

fn draw_screen(frame: &mut Frame<'_>, terminal: &Terminal) {
    let view = Viewport::new(frame.area(), terminal);
    let palette = terminal.palette().map(|rgb| {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Color::Rgb(red, green, blue)
    });
    for place in view.area.positions() {
        let Some((column, row)) = view.cell_at(place) else {
            continue;
        };
        let cell = terminal
            .row(usize::from(row) - 1)
            .get(usize::from(column) - 1);
        if let (Some(cell), Some(drawn)) = (cell, frame.buffer_mut().cell_mut(place)) {
            let colour = |number: u8| palette[usize::from(number & 15)];
            drawn
                .set_symbol(&glyph(cell.character))
                .set_fg(colour(cell.foreground))
                .set_bg(colour(cell.background));
        }
    }
    let (column, row, blinks) = terminal.cursor();
    if let Some(place) = view.place_of((column, row)).filter(|_| blinks) {
        frame.set_cursor_position(place);
    }
}

/// What stands for a byte of the game's character set in one cell of a terminal.
fn glyph(character: u8) -> String {
    match character {
        // Characters that would move a terminal's cursor, and Latin-1's own control characters.
        0 | b'\t' | b'\n' | b'\r' | 160 => " ".to_owned(),
        // A soft hyphen has no width of its own in many terminals.
        173 => "-".to_owned(),
        other => text::from_game(&[other]),
    }
}

fn name(computer: &Computer) -> String {
    match computer.label() {
        Some(label) => format!("computer {} \"{label}\"", computer.id()),
        None => format!("computer {}", computer.id()),
    }
}

fn condition(computer: &Computer) -> &'static str {
    match computer.state() {
        State::Unloaded => "unloaded",
        State::Off => "off, Ctrl+R switches it on",
        State::PoweredOff(_) | State::Crashed(_) => "failed, Ctrl+R switches it on",
        State::Stopped => "ended",
        State::Running if computer.is_paused() => "paused",
        State::Running => match computer.program() {
            ProgramState::Ended { .. } => "on, its agent has ended",
            _ => "on",
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::{Terminal as Drawing, backend::TestBackend, buffer::Buffer};

    use super::*;
    use crate::simulator::ComputerOptions;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A computer whose screen a program has drawn on, and which then waits.
    fn drawn_by(program: &str) -> (tokio::runtime::Runtime, Computer) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let program = format!(
            "term.clear() term.setCursorPos(1, 1) {program} os.queueEvent('x') os.pullEvent('x') os.setComputerLabel('done') \
             os.pullEvent('never')"
        );
        let options = ComputerOptions::new(12).with_file("p.lua", program);
        let computer = Computer::start(options, "p", runtime.handle()).expect("a thread");
        let done = |computer: &Computer| computer.label().as_deref() == Some("done");
        // The label tells nobody, so that another change is waited for.
        for _ in 0..200 {
            if computer.wait_until(Duration::from_millis(100), done) {
                return (runtime, computer);
            }
        }
        panic!("{:#?}", computer.screen());
    }

    fn picture(computer: &Computer, width: u16, height: u16) -> (Buffer, Position) {
        let mut drawing = Drawing::new(TestBackend::new(width, height)).expect("a terminal");
        drawing
            .draw(|frame| draw(frame, computer, 0, 3))
            .expect("a picture");
        let cursor = drawing.get_cursor_position().expect("a cursor");
        (drawing.backend().buffer().clone(), cursor)
    }

    fn line(picture: &Buffer, y: u16) -> String {
        (0..picture.area.width)
            .filter_map(|x| picture.cell((x, y)))
            .map(|cell| cell.symbol().to_owned())
            .collect()
    }

    #[test]
    fn text_colours_blocks_and_the_cursor_are_drawn() {
        let (_runtime, computer) = drawn_by(
            "term.setPaletteColour(colours.red, 0x010203) term.blit('a\\129\\3', '0e5', 'fbe') \
             term.setCursorPos(4, 2) term.setCursorBlink(true)",
        );
        let (picture, cursor) = picture(&computer, 60, 20);
        assert!(line(&picture, 0).starts_with("a\u{1FB00}♥"));
        let cell = |x| picture.cell((x, 0)).expect("a cell");
        assert_eq!(cell(0).fg, Color::Rgb(0xf0, 0xf0, 0xf0));
        assert_eq!(cell(0).bg, Color::Rgb(0x11, 0x11, 0x11));
        assert_eq!(cell(1).fg, Color::Rgb(1, 2, 3));
        assert_eq!(cell(1).bg, Color::Rgb(0x33, 0x66, 0xcc));
        assert_eq!(cell(2).bg, Color::Rgb(1, 2, 3));
        assert_eq!(cursor, Position::new(3, 1));
        assert_eq!(cell(55).bg, Color::Reset, "beside the game's screen");
    }

    #[test]
    fn the_status_line_tells_which_computer_it_is_and_how_it_is() {
        let (_runtime, computer) = drawn_by("");
        let status = |computer: &Computer| line(&picture(computer, 110, 20).0, 19);
        let on = status(&computer);
        assert!(
            on.starts_with(" computer 12 \"done\"  1 of 3: on  "),
            "{on}"
        );
        assert!(
            on.ends_with("  F1 next  F2 pause  F3 unload  F10 quit "),
            "{on}"
        );
        computer.pause();
        let paused = status(&computer);
        assert!(
            paused.contains(": paused ") && paused.contains("F2 resume"),
            "{paused}"
        );
        computer.unload();
        assert!(computer.wait_until(PATIENCE, |computer| computer.state() == State::Unloaded));
        let (picture, _) = picture(&computer, 110, 20);
        let unloaded = line(&picture, 19);
        assert!(
            unloaded.contains(": unloaded ") && unloaded.contains("F3 load "),
            "{unloaded}"
        );
        assert_eq!(line(&picture, 0).trim(), "");
    }

    #[test]
    fn what_is_around_a_computer_is_drawn_in_place_of_its_screen() {
        let (_runtime, computer) = drawn_by("");
        let mut drawing = Drawing::new(TestBackend::new(90, 12)).expect("a terminal");
        let map = |width: usize, height: usize| {
            assert_eq!((width, height), (90, 7));
            vec!["##^".to_owned(), "# stone".to_owned()]
        };
        drawing
            .draw(|frame| draw_in_land(frame, &computer, 0, 1, Some(map)))
            .expect("a picture");
        let shown = drawing.backend().buffer().clone();
        assert_eq!(line(&shown, 0).trim_end(), "##^");
        assert_eq!(line(&shown, 1).trim_end(), "# stone");
        assert!(line(&shown, 11).contains("F4 screen  F10 quit"));
    }

    #[test]
    fn how_to_leave_is_told_in_the_narrowest_terminal() {
        let (_runtime, computer) = drawn_by("");
        let shown = |width| line(&picture(&computer, width, 20).0, 19);
        let about = " computer 12 \"done\"  1 of 3: on";
        let keys = "F1 next  F2 pause  F3 unload  F10 quit";
        assert_eq!(shown(72), format!("{about}  {keys} "));
        assert_eq!(shown(71).trim_end(), format!("{about:<60}  F10 quit"));
        assert_eq!(shown(40), " computer 12 \"done\"  1 of 3:   F10 quit ");
        assert_eq!(shown(12), "   F10 quit ");
    }

    #[test]
    fn in_a_terminal_too_small_the_cursors_place_is_to_be_seen() {
        let (_runtime, computer) = drawn_by("for n = 1, 12 do print('row ' .. n) end");
        let (picture, _) = picture(&computer, 5, 4);
        assert_eq!(line(&picture, 1), "row 1");
        assert_eq!(line(&picture, 2).trim(), "");
        let view = Viewport::new(Rect::new(0, 0, 5, 4), &computer.terminal());
        assert_eq!(view.cell_at(Position::new(2, 1)), Some((3, 12)));
        assert_eq!(view.cell_at(Position::new(2, 3)), None);
        let (_runtime, computer) =
            drawn_by("write('the end is to be seen') term.setCursorBlink(true)");
        let (picture, cursor) = self::picture(&computer, 8, 4);
        assert_eq!(line(&picture, 0), "be seen ");
        assert_eq!(cursor, Position::new(7, 0));
    }
}
