//! The agent's own windows: what is drawn on them is on the screen as on the game's, and can be read.

use mcp_bridge::simulator::{Computer, ComputerOptions};
use tokio::runtime::Handle;

use crate::common::{PATIENCE, rounds, screen};

const WINDOW: &str = include_str!("../../lua/mcp-computer/window.lua");
const SAME: &str = include_str!("windows.lua");

#[tokio::test]
async fn a_window_of_ours_does_what_the_games_does() {
    for version in ["1.89", "1.101", "1.113"] {
        for seed in 1..=rounds(3) {
            let mut options = ComputerOptions::new(1)
                .with_file("mcp-computer-window.lua", WINDOW)
                .with_file("windows.lua", SAME);
            options.version = version.parse().unwrap();
            let program = format!("windows {seed}");
            let computer = Computer::start(options, &program, &Handle::current()).unwrap();
            screen::says(&computer, "all alike").await;
        }
    }
}

/// What is on the native terminal alone: its lines at once, by `clear` and `scroll`.
#[tokio::test]
async fn a_window_that_is_the_whole_screen_is_on_it_as_it_is_remembered() {
    let program = "local ours = dofile('/mcp-computer-window.lua') local width, height = term.getSize()
        local w = ours.create(term.native(), 1, 1, width, height, true) term.redirect(w)
        w.setBackgroundColour(colours.blue) w.clear() for i = 1, 60 do print('line ' .. i) end
        w.setBackgroundColour(colours.red) w.setTextColour(colours.lime) w.scroll(-2) w.setCursorPos(3, 1)
        w.write('top') while true do os.pullEvent() end";
    let mut options = ComputerOptions::new(1)
        .with_file("mcp-computer-window.lua", WINDOW)
        .with_file("whole.lua", program);
    options.advanced = false;
    let computer = Computer::start(options, "whole", &Handle::current()).unwrap();
    let is_there = computer
        .until(PATIENCE, |computer| computer.screen()[0] == "  top")
        .await;
    assert!(is_there, "{:?}", computer.screen());
    let lines = computer.screen();
    assert_eq!(lines[1], "");
    assert_eq!(lines[2], "line 43");
    assert_eq!(lines[18], "line 59");
    let cell = computer.terminal().row(1)[0];
    assert_eq!((cell.foreground, cell.background), (5, 14));
}
