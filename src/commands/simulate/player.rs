//! `simulate --show`: a person before one of the simulated computers, in a terminal of their own.

use std::{
    io::{self, IsTerminal},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use ratatui::{
    DefaultTerminal,
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

use super::view::{self, Viewport};
use crate::simulator::{Computer, State, World};

/// The least time between two pictures.
const FRAME: Duration = Duration::from_millis(30);

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
    let mut player = Player { world, selected: 0 };
    loop {
        // From before the picture is drawn, so that no change is missed.
        let mut changes = player.computer()?.changes();
        let computer = player.computer()?;
        let count = world.computers().len();
        screen
            .0
            .draw(|frame| view::draw(frame, computer, player.selected, count))
            .context("the terminal can't be drawn in")?;
        tokio::select! {
            event = input.recv() => {
                let event = event.context("the terminal is gone")??;
                let size = screen.0.size().context("the terminal is gone")?;
                if player.obey(event, Rect::from((Position::ORIGIN, size))) == Wish::Leave {
                    return Ok(());
                }
            }
            changed = changes.changed() => {
                changed.context("the computer is gone")?;
                tokio::time::sleep(FRAME).await;
            }
        }
    }
}

/// A terminal that is drawn in; dropping it gives it back as it was.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        // It also gives the terminal back before a panic is reported.
        let screen = Self(ratatui::try_init()?);
        execute!(io::stdout(), EnableBracketedPaste, EnableMouseCapture)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), DisableMouseCapture, DisableBracketedPaste);
        if !thread::panicking() {
            ratatui::restore();
        }
    }
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

struct Player<'world> {
    world: &'world World,
    /// The computer they sit before, by its place in the world.
    selected: usize,
}

impl Player<'_> {
    fn computer(&self) -> anyhow::Result<&Computer> {
        let computers = self.world.computers();
        computers.get(self.selected).context("there is no computer")
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
        if key.modifiers.contains(KeyModifiers::CONTROL)
            && let KeyCode::Char(letter) = key.code
        {
            match letter.to_ascii_lowercase() {
                'q' | 'c' => return Wish::Leave,
                't' => computer.terminate(),
                'r' => computer.reboot(),
                's' => computer.shutdown(),
                letter => drop(computer.press_key(&letter.to_string())),
            }
            return Wish::Stay;
        }
        match key.code {
            KeyCode::F(1) => self.selected = (self.selected + 1) % self.world.computers().len(),
            KeyCode::F(2) if computer.is_paused() => self.world.resume(),
            KeyCode::F(2) => self.world.pause(),
            KeyCode::F(3) if computer.state() == State::Unloaded => computer.load(),
            KeyCode::F(3) => computer.unload(),
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
