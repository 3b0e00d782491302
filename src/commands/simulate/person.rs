//! `simulate --show`: a person before one of the simulated computers, in a terminal of their own.

use std::{
    io::{self, IsTerminal},
    panic, thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::{
        event::{
            self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste,
            EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton,
            MouseEvent, MouseEventKind,
        },
        execute,
    },
    layout::{Position, Rect},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::view::{self, Viewport};
use crate::simulator::{Computer, State, World};

/// The least time between two pictures.
const FRAME: Duration = Duration::from_millis(30);

/// How often a map is drawn anew: nobody tells what has changed on it.
const MAP_FRAME: Duration = Duration::from_millis(200);

/// How long a key is taken for held after its last sign. A terminal repeats a held key, the first time after up to this
/// long, and says nothing when it is let go.
const HELD: Duration = Duration::from_millis(750);

/// Shows the computers, one at a time, and takes keys, until the person leaves.
///
/// # Errors
/// There is no terminal, or it fails.
pub(super) async fn play(world: &World) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!("--show needs a terminal to draw in: run it in one, or leave --show out");
    }
    let mut screen = Screen::open().context("the terminal can't be drawn in")?;
    let mut input = read_input();
    let mut person = Person::new(world);
    loop {
        if screen.lost.is_cancelled() {
            bail!("a part of the program failed; this is a bug");
        }
        // From before the picture is drawn, so that no change is missed.
        let mut changes = person.computer()?.changes();
        let computer = person.computer()?;
        let count = world.computers().len();
        let drawn = screen
            .terminal
            .draw(|frame| person.draw(frame, computer, count))
            .context("the terminal can't be drawn in")?;
        let window = drawn.area;
        tokio::select! {
            event = input.recv() => {
                let mut next = Some(event.context("the terminal is gone")?);
                // All there is, before the next picture: a mouse tells more than can be drawn.
                while let Some(event) = next {
                    if person.obey(event?, window) == Wish::Leave {
                        return Ok(());
                    }
                    next = input.try_recv().ok();
                }
            }
            changed = changes.changed() => {
                changed.context("the computer is gone")?;
                tokio::time::sleep(FRAME).await;
            }
            () = tokio::time::sleep(MAP_FRAME), if person.shows_map => {}
            () = screen.lost.cancelled() => {}
        }
    }
}

/// A terminal that is drawn in; dropping it gives it back as it was.
struct Screen {
    terminal: DefaultTerminal,
    /// Cancelled when a panic somewhere in the program has given it back, in order to be read.
    lost: CancellationToken,
}

impl Screen {
    fn open() -> io::Result<Self> {
        let lost = CancellationToken::new();
        let screen = Self {
            terminal: ratatui::try_init()?,
            lost: lost.clone(),
        };
        // What ratatui does then is not enough for a mouse, and a panic in another thread ends nothing by itself.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            release_input();
            report(panic);
            lost.cancel();
        }));
        execute!(io::stdout(), EnableBracketedPaste, EnableMouseCapture)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if !self.lost.is_cancelled() {
            release_input();
            ratatui::restore();
        }
    }
}

/// Leaves mouse and paste to the terminal again.
fn release_input() {
    // A terminal that is gone needs nothing back.
    let _ = execute!(io::stdout(), DisableMouseCapture, DisableBracketedPaste);
}

/// What the person does, read by a thread that ends with the process.
fn read_input() -> mpsc::Receiver<io::Result<Event>> {
    let (sender, input) = mpsc::channel(64);
    thread::spawn(move || {
        loop {
            let event = event::read();
            let failed = event.is_err();
            if sender.blocking_send(event).is_err() || failed {
                return;
            }
        }
    });
    input
}

/// Whether the person stays.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Stay,
    Leave,
}

struct Person<'world> {
    world: &'world World,
    /// The computer they sit before, by its place in the world.
    selected: usize,
    /// Whether they see what is around it, not its screen.
    shows_map: bool,
    held: Held,
}

impl<'world> Person<'world> {
    fn new(world: &'world World) -> Self {
        Self {
            world,
            selected: 0,
            shows_map: false,
            held: Held::default(),
        }
    }

    fn computer(&self) -> anyhow::Result<&'world Computer> {
        let computers = self.world.computers();
        computers.get(self.selected).context("there is no computer")
    }

    fn draw(&self, frame: &mut Frame<'_>, computer: &Computer, count: usize) {
        let Some(land) = self.world.land() else {
            return view::draw(frame, computer, self.selected, count);
        };
        let at = land.computer(computer.id()).map(|(at, _)| at);
        let map = at.filter(|_| self.shows_map);
        let map = map.map(|at| move |width, height| land.slice(at, width, height));
        view::draw_in_land(frame, computer, self.selected, count, map);
    }

    fn obey(&mut self, event: Event, window: Rect) -> Wish {
        let Ok(computer) = self.computer() else {
            return Wish::Leave;
        };
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => return self.press(key),
            Event::Paste(text) => computer.paste(&text),
            Event::Mouse(mouse) => click(computer, mouse, window),
            _ => {}
        }
        Wish::Stay
    }

    fn press(&mut self, key: KeyEvent) -> Wish {
        let Ok(computer) = self.computer() else {
            return Wish::Leave;
        };
        let still_held = self.held.still((key.code, key.modifiers), Instant::now());
        if key.modifiers.contains(KeyModifiers::CONTROL)
            && let KeyCode::Char(letter) = key.code
        {
            let act: fn(&Computer) = match letter.to_ascii_lowercase() {
                'q' | 'c' => return Wish::Leave,
                't' => Computer::terminate,
                'r' => Computer::reboot,
                's' => Computer::shutdown,
                letter => {
                    computer.press_key(&letter.to_string());
                    return Wish::Stay;
                }
            };
            // In the game these are held for a second; they act once, however long that is here.
            if !still_held {
                act(computer);
            }
            return Wish::Stay;
        }
        match key.code {
            KeyCode::F(1) => self.selected = (self.selected + 1) % self.world.computers().len(),
            KeyCode::F(2) if computer.is_paused() => self.world.resume(),
            KeyCode::F(2) => self.world.pause(),
            KeyCode::F(3) if computer.state() == State::Unloaded => computer.load(),
            KeyCode::F(3) => computer.unload(),
            KeyCode::F(4) if self.world.land().is_some() => self.shows_map = !self.shows_map,
            KeyCode::F(10) => return Wish::Leave,
            KeyCode::F(number) => drop(computer.press_key(&format!("f{number}"))),
            KeyCode::Char(character) => computer.press_character(character),
            code => {
                if let Some(name) = key_name(code) {
                    computer.press_key(name);
                }
            }
        }
        Wish::Stay
    }
}

/// Which key may still be held.
#[derive(Debug, Default)]
struct Held {
    /// The last key, and when it gave its last sign.
    last: Option<(Key, Instant)>,
}

/// A key, with those held beside it.
type Key = (KeyCode, KeyModifiers);

impl Held {
    /// Takes a sign of a key, and tells whether that key was down before and not let go since.
    fn still(&mut self, key: Key, now: Instant) -> bool {
        let before = self.last.replace((key, now));
        before.is_some_and(|(last, seen)| last == key && now < seen + HELD)
    }
}

/// The name in the game's `keys` of a key that writes nothing.
fn key_name(code: KeyCode) -> Option<&'static str> {
    Some(match code {
        KeyCode::Enter => "enter",
        KeyCode::Backspace => "backspace",
        KeyCode::Tab | KeyCode::BackTab => "tab",
        KeyCode::Left => "left",
        KeyCode::Right => "right",
        KeyCode::Up => "up",
        KeyCode::Down => "down",
        KeyCode::Home => "home",
        KeyCode::End => "end",
        KeyCode::PageUp => "pageUp",
        KeyCode::PageDown => "pageDown",
        KeyCode::Insert => "insert",
        KeyCode::Delete => "delete",
        _ => return None,
    })
}

/// What the mouse did, as the game tells it.
fn click(computer: &Computer, mouse: MouseEvent, window: Rect) {
    let view = Viewport::new(window, &computer.terminal());
    let Some((column, row)) = view.cell_at(Position::new(mouse.column, mouse.row)) else {
        return;
    };
    let number = |button| match button {
        MouseButton::Left => 1.0,
        MouseButton::Right => 2.0,
        MouseButton::Middle => 3.0,
    };
    let (event, first) = match mouse.kind {
        MouseEventKind::Down(button) => ("mouse_click", number(button)),
        MouseEventKind::Up(button) => ("mouse_up", number(button)),
        MouseEventKind::Drag(button) => ("mouse_drag", number(button)),
        MouseEventKind::ScrollUp => ("mouse_scroll", -1.0),
        MouseEventKind::ScrollDown => ("mouse_scroll", 1.0),
        _ => return,
    };
    let place = [first, column.into(), row.into()];
    computer.queue_event(event, &place.map(Into::into));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_key_acts_once_until_it_is_let_go() {
        let mut held = Held::default();
        let start = Instant::now();
        let mut still = |key, milliseconds| {
            let key = (KeyCode::Char(key), KeyModifiers::CONTROL);
            held.still(key, start + Duration::from_millis(milliseconds))
        };
        assert!(!still('t', 0));
        assert!(still('t', 500) && still('t', 530) && still('t', 1_200));
        assert!(!still('r', 1_300), "another key");
        assert!(!still('t', 1_310), "the first again");
        assert!(!still('t', 2_100), "let go, and pressed again");
    }
}
