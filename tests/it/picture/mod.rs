//! The picture at the top of README.md shows a real run: a client's calls, and the screen of the computer that they are
//! about, as `mcp-bridge simulate --show` draws it. With `MCP_BRIDGE_UPDATE_PICTURE=1` the run is drawn anew.

mod svg;

use std::{env, fs, path::Path};

use serde_json::{Value, json};
use vt100::Screen;

use crate::common::{bridge::Bridge, terminal::Terminal};
use svg::{Line, Window};

/// The environment variable that makes the committed picture anew.
const UPDATE: &str = "MCP_BRIDGE_UPDATE_PICTURE";

/// Rows and columns of a turtle's screen, and a row for the view's own line.
const TERMINAL: (u16, u16) = (14, 39);

/// What the client runs: something that is to be seen.
const CODE: &str = r#"local ores = {{"coal", 41}, {"iron", 28}, {"gold", 17}, {"diamond", 6}}
local colour = {colours.grey, colours.orange, colours.yellow, colours.cyan}
term.clear()
for i, ore in ipairs(ores) do
  term.setCursorPos(2, 3 * i - 1)
  term.write(ore[1])
  term.setCursorPos(11, 3 * i - 1)
  term.setBackgroundColour(colour[i])
  term.write((" "):rep(ore[2] * 0.6))
  term.setBackgroundColour(colours.black)
  term.write(" " .. ore[2])
end
return #ores .. " bars on the screen of " .. os.getComputerLabel()"#;

/// Waits until all of these words are drawn.
async fn drawn(view: &mut Terminal, words: &[&str]) {
    let seen = |screen: &Screen| {
        let contents = screen.contents();
        words.iter().all(|word| contents.contains(word))
    };
    view.until("the picture is on the screen", seen).await;
}

/// One call, in the lines that the picture has for it.
async fn call(bridge: &mut Bridge, tool: &str, arguments: Value, lines: &mut Vec<Line>) {
    let answer = bridge.call(tool, arguments.clone()).await;
    assert!(!answer.is_error, "{}", answer.text);
    lines.push(Line::called(tool));
    for (name, value) in arguments.as_object().expect("arguments") {
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        for (index, line) in text.lines().enumerate() {
            let name = if index == 0 { name.as_str() } else { "" };
            lines.push(Line::argument(name, line));
        }
    }
    lines.extend(answer.text.lines().map(Line::answered));
    lines.push(Line::empty());
}

#[tokio::test]
async fn the_picture_of_the_readme_is_of_a_real_run() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let url = format!("ws://{port}");
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(["simulate", "--show", "--kind", "turtle", "--first-id", "12"])
        .args(["--label", "base-turtle", "--url", &url]);
    let mut view = Terminal::running(command, TERMINAL);
    drawn(&mut view, &["waiting for requests"]).await;
    bridge.linked(12).await;

    let mut lines = Vec::new();
    call(&mut bridge, "probe-computers", json!({}), &mut lines).await;
    let arguments = json!({ "computerId": 12, "where": "screen", "code": CODE });
    call(&mut bridge, "exec-lua", arguments, &mut lines).await;
    lines.pop();
    drawn(&mut view, &["diamond", " 6"]).await;
    bridge.leave().await;

    let picture = svg::picture(&[
        Window::of_lines("What an assistant calls, and what it gets", &lines),
        Window::of_screen(
            "The screen of turtle 12 (mcp-bridge simulate --show)",
            view.screen(),
        ),
    ]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/picture.svg");
    if env::var_os(UPDATE).is_some() {
        fs::write(&file, &picture).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed.replace("\r\n", "\n") == picture,
        "examples/picture.svg is not what a run looks like now: if that is meant, run this test with {UPDATE}=1, look \
         at what it draws, and commit it"
    );
}
