//! What a person sees and does before `mcp-bridge simulate --show`, in a pseudo-terminal.

use std::process::ExitStatus;

use rustix::{
    process::{Pid, Signal, kill_process},
    termios::tcgetattr,
};
use vt100::{Color, MouseProtocolMode, Screen};

use crate::common::{soon, terminal::Terminal};

const CTRL_C: &str = "\x03";
const CTRL_R: &str = "\x12";
const CTRL_S: &str = "\x13";
const CTRL_T: &str = "\x14";
const F1: &str = "\x1bOP";
const F2: &str = "\x1bOQ";
const F10: &str = "\x1b[21~";

/// The view of this many computers, in a terminal of this size, at the shell's prompt: the agent is ended.
async fn shown(count: u64, size: (u16, u16)) -> Terminal {
    let count = count.to_string();
    // Nobody listens there: the agent says so, and goes on trying.
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(["simulate", "--show", "--url", "ws://127.0.0.1:9"])
        .args(["--count", &count]);
    let mut terminal = Terminal::running(command, size);
    terminal.shows("Ctrl+T stops.").await;
    terminal.write(CTRL_T).await;
    terminal
        .until("the prompt", |screen| screen.contents().contains("\n> "))
        .await;
    terminal
}

/// Waits for the view's end, and checks that it left the terminal as it was.
async fn ended(mut terminal: Terminal) -> ExitStatus {
    let end = async {
        while terminal.take_in().await {}
        terminal.child.wait().await.unwrap()
    };
    let status = soon("the view ends", end).await;
    let screen = terminal.screen();
    assert!(!screen.alternate_screen(), "its picture is still there");
    assert!(!screen.hide_cursor(), "the cursor is still hidden");
    assert!(!screen.bracketed_paste(), "pastes still come in brackets");
    assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None);
    let (before, after) = (&terminal.before, tcgetattr(&terminal.pty).unwrap());
    assert_eq!(
        (before.local_modes, before.input_modes, before.output_modes),
        (after.local_modes, after.input_modes, after.output_modes)
    );
    status
}

#[tokio::test]
async fn a_person_sees_the_screen_in_its_colours_and_uses_the_computer() {
    let mut terminal = shown(1, (24, 80)).await;
    let of_craftos = terminal.screen().cell(0, 0).unwrap();
    // The game's yellow on its black.
    assert_eq!(of_craftos.fgcolor(), Color::Rgb(0xde, 0xde, 0x6c));
    assert_eq!(of_craftos.bgcolor(), Color::Rgb(0x11, 0x11, 0x11));

    terminal.write("lua\r").await;
    terminal.shows("lua> ").await;
    terminal
        .write("while true do print(os.pullEvent()) end\r")
        .await;
    terminal.shows("key_up 257").await;
    terminal.write("é").await;
    terminal.shows("char é").await;
    terminal.write("\x1b[200~a line\nanother\x1b[201~").await;
    terminal.shows("paste a line").await;
    // The left button goes down in column 5 of row 3, moves on and goes up; then the wheel turns.
    for (report, event) in [
        ("\x1b[<0;5;3M", "mouse_click 1 5 3"),
        ("\x1b[<32;6;3M", "mouse_drag 1 6 3"),
        ("\x1b[<0;6;3m", "mouse_up 1 6 3"),
        ("\x1b[<65;6;3M", "mouse_scroll 1 6 3"),
    ] {
        terminal.write(report).await;
        terminal.shows(event).await;
    }
    assert!(!terminal.screen().contents().contains("another"));
    terminal.write(F10).await;
    assert!(ended(terminal).await.success());
}

#[tokio::test]
async fn the_picture_fits_a_terminal_that_changes_its_size() {
    let mut terminal = shown(2, (24, 80)).await;
    let last_row = |screen: &Screen| {
        let (height, width) = screen.size();
        let row = screen.rows(0, width).nth(usize::from(height) - 1).unwrap();
        row.trim_end().to_owned()
    };
    let told = last_row(terminal.screen());
    assert!(
        told.contains("1 of 2") && told.ends_with("F10 quit"),
        "{told}"
    );
    for (height, width) in [(10, 40), (30, 100)] {
        terminal.resize(height, width);
        terminal
            .until("the status in the last row", |screen| {
                last_row(screen).ends_with("F10 quit") && screen.contents().contains("\n> ")
            })
            .await;
    }
    terminal.write(F1).await;
    terminal.shows("2 of 2").await;
    terminal.write(F2).await;
    terminal.shows("paused").await;
    terminal.write(F10).await;
    assert!(ended(terminal).await.success());
}

#[tokio::test]
async fn a_key_that_is_held_acts_once() {
    let mut terminal = shown(1, (24, 80)).await;
    // Each of these ends something: first what runs, then the shell, and the computer with it.
    terminal.write("lua\r").await;
    terminal.shows("lua> ").await;
    terminal.write(&CTRL_T.repeat(30)).await;
    terminal.write("id\r").await;
    terminal.shows("This is computer #1").await;
    terminal.write(&CTRL_S.repeat(3)).await;
    terminal.shows(": off, Ctrl+R switches it on").await;
    terminal.write(CTRL_R).await;
    terminal.shows("CraftOS").await;
    terminal.write(F10).await;
    assert!(ended(terminal).await.success());
}

#[tokio::test]
async fn the_terminal_is_given_back_however_the_view_ends() {
    let terminal = || async { shown(1, (24, 80)).await };
    for key in [F10, CTRL_C, "\x11"] {
        let mut terminal = terminal().await;
        terminal.write(key).await;
        assert!(ended(terminal).await.success(), "{key:?}");
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let terminal = terminal().await;
        let process = i32::try_from(terminal.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
        assert!(ended(terminal).await.success(), "{signal:?}");
    }
}
