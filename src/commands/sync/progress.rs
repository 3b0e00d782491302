//! What a person sees of a sync while it goes on: a bar on a terminal, and elsewhere a line for each file.

use std::{
    io::{self, IsTerminal},
    sync::atomic::{AtomicBool, Ordering},
};

use ratatui::crossterm::terminal;

use crate::{base::text::one_line, commands::console, sync::Step};

/// How many signs the bar has.
const BAR: usize = 24;

/// How wide a terminal is taken for that does not tell.
const WIDTH: usize = 80;

/// The progress of a sync.
pub struct Progress {
    is_terminal: bool,
    /// Whether a bar stands in the last line.
    is_shown: AtomicBool,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            is_shown: AtomicBool::new(false),
        }
    }

    /// Shows a step.
    pub fn show(&self, step: Step<'_>) {
        let what = format!("{} {} {}", step.name, step.what, step.path);
        let what = one_line(&what);
        if !self.is_terminal {
            console::note(&format!("{}/{} {what}", step.done, step.total));
            return;
        }
        let full = BAR * step.done / step.total.max(1);
        let bar = format!(
            "[{}{}]",
            "#".repeat(full.min(BAR)),
            "-".repeat(BAR.saturating_sub(full))
        );
        self.draw(&format!("{bar} {}/{} {what}", step.done, step.total));
        self.is_shown.store(true, Ordering::Relaxed);
    }

    /// Takes the bar away, so that lines can follow.
    pub fn clear(&self) {
        if self.is_shown.swap(false, Ordering::Relaxed) {
            self.draw("");
            console::redraw("\r");
        }
    }

    /// Writes over the last line: with blanks, since not every terminal knows how to clear one.
    fn draw(&self, line: &str) {
        let width = terminal::size().map_or(WIDTH, |(width, _)| usize::from(width));
        let width = width.saturating_sub(1);
        let line: String = line.chars().take(width).collect();
        console::redraw(&format!("\r{line:<width$}"));
    }
}
