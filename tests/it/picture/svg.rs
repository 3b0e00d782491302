//! Terminals as a picture in SVG: cells of a fixed size, so that it looks alike with every font.

use std::fmt::Write as _;

use vt100::{Color, Screen};

/// A cell of a terminal, in the picture's units.
const CELL: (usize, usize) = (8, 18);
/// Where letters stand in their cell, from its top.
const BASELINE: usize = 13;
/// Room around what a window shows, and the height of its title.
const MARGIN: usize = 12;
const TITLE: usize = 28;

const FONT: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";
const PAGE: &str = "#0d1117";
const FRAME: &str = "#30363d";
const BRIGHT: &str = "#f0f0f0";
const FAINT: &str = "#8b949e";
const CALLED: &str = "#79c0ff";
const ANSWERED: &str = "#7ee787";

/// A part of a line in one colour, on a ground of its own or none.
struct Run {
    column: usize,
    text: String,
    colour: String,
    ground: Option<String>,
}

/// A line of a window.
pub(super) struct Line(Vec<Run>);

impl Line {
    fn of(parts: &[(usize, &str, &str)]) -> Self {
        let run = |&(column, text, colour): &(usize, &str, &str)| Run {
            column,
            text: text.to_owned(),
            colour: colour.to_owned(),
            ground: None,
        };
        Self(parts.iter().map(run).collect())
    }

    pub(super) fn called(tool: &str) -> Self {
        Self::of(&[(0, "->", FAINT), (3, tool, CALLED)])
    }

    pub(super) fn argument(name: &str, line: &str) -> Self {
        Self::of(&[(5, name, FAINT), (17, line, BRIGHT)])
    }

    pub(super) fn answered(line: &str) -> Self {
        Self::of(&[(0, "<-", FAINT), (3, line, ANSWERED)])
    }

    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }
}

/// A window with its title, and the lines in it.
pub(super) struct Window {
    title: String,
    lines: Vec<String>,
    columns: usize,
}

impl Window {
    pub(super) fn of_lines(title: &str, lines: &[Line]) -> Self {
        let ends = lines.iter().flat_map(|line| &line.0);
        Self {
            title: title.to_owned(),
            columns: ends
                .map(|run| run.column + run.text.chars().count())
                .max()
                .unwrap_or(0),
            lines: lines.iter().map(drawn).collect(),
        }
    }

    pub(super) fn of_screen(title: &str, screen: &Screen) -> Self {
        let (rows, columns) = screen.size();
        Self {
            title: title.to_owned(),
            columns: columns.into(),
            lines: (0..rows).map(|row| drawn(&row_of(screen, row))).collect(),
        }
    }
}

/// A row of a screen, as few runs as there are changes of colour.
fn row_of(screen: &Screen, row: u16) -> Line {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1 {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let (mut colour, mut ground) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        if cell.inverse() {
            (colour, ground) = (ground.or(Some(PAGE.into())), colour.or(Some(BRIGHT.into())));
        }
        let colour = colour.unwrap_or_else(|| BRIGHT.to_owned());
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        match runs.last_mut() {
            Some(run) if run.colour == colour && run.ground == ground => run.text.push_str(text),
            _ => runs.push(Run {
                column: column.into(),
                text: text.to_owned(),
                colour,
                ground,
            }),
        }
    }
    Line(runs)
}

/// `None` is the terminal's own. The view draws in the game's colours, each with its red, green and blue.
fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Idx(index) => Some(if index < 8 { PAGE } else { BRIGHT }.to_owned()),
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A line, at the place 0, 0.
fn drawn(line: &Line) -> String {
    let mut svg = String::new();
    for run in &line.0 {
        let (x, cells) = (run.column * CELL.0, run.text.chars().count());
        let width = cells * CELL.0;
        if let Some(ground) = &run.ground {
            let _ = write!(
                svg,
                r#"<rect x="{x}" width="{width}" height="{}" fill="{ground}"/>"#,
                CELL.1
            );
        }
        let text = run.text.trim_end();
        let start = text.len() - text.trim_start().len();
        let text = &text[start..];
        if text.is_empty() {
            continue;
        }
        let (x, width) = (x + start * CELL.0, text.chars().count() * CELL.0);
        let text = escaped(text);
        let _ = write!(
            svg,
            r#"<text x="{x}" y="{BASELINE}" textLength="{width}" lengthAdjust="spacingAndGlyphs" fill="{}">{text}</text>"#,
            run.colour
        );
    }
    svg
}

/// Windows, one below the other, as a file.
pub(super) fn picture(windows: &[Window]) -> String {
    let columns = windows
        .iter()
        .map(|window| window.columns)
        .max()
        .unwrap_or(0);
    let width = columns * CELL.0 + 2 * MARGIN;
    let mut body = String::new();
    let mut top = 0;
    for window in windows {
        let height = TITLE + window.lines.len() * CELL.1 + 2 * MARGIN;
        let _ = writeln!(
            body,
            r#"<g transform="translate(0 {top})"><rect x="0.5" y="0.5" width="{}" height="{}" rx="8" fill="{PAGE}" stroke="{FRAME}"/>"#,
            width - 1,
            height - 1,
        );
        let _ = writeln!(
            body,
            r#"<text x="{MARGIN}" y="{}" fill="{FAINT}" font-weight="bold">{}</text>"#,
            MARGIN / 2 + BASELINE,
            escaped(&window.title)
        );
        for (index, line) in window
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
        {
            let y = TITLE + MARGIN + index * CELL.1;
            let _ = writeln!(body, r#"<g transform="translate({MARGIN} {y})">{line}</g>"#);
        }
        body.push_str("</g>\n");
        top += height + MARGIN;
    }
    let height = top - MARGIN;
    let head = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{FONT}" font-size="13" xml:space="preserve">"#
    );
    format!("{head}\n{body}</svg>\n")
}
