//! What a model does at a computer, by MCP alone: it opens the editor, types a program, saves and runs it, answers what that
//! asks and ends it; it uses a panel with buttons on the screen and on a monitor. It goes by what it is told of the screen.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Land},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::common::{bridge::Bridge, until};

const VERSIONS: [&str; 3] = ["1.89", "1.101", "1.113"];

/// A panel that draws with `paintutils` and takes clicks and touches.
const PANEL: &str = include_str!("panel.lua");

/// What is typed into the editor. It indents by itself, so no line begins with blanks.
const GREETER: &str = "write(\"Your name? \")\nlocal name = read()\nprint(\"Hello, \" .. name)\nwhile true do sleep(1) end";

/// How long a step waits for a text, in milliseconds: on a busy machine.
const WAIT: u64 = 30_000;

/// A computer with a monitor of two blocks above it.
const WITH_MONITOR: &str = r#"
[[block]]
block = "computercraft:monitor_advanced"
at = [0, 65, 0]
size = [2, 1]
[[computer]]
id = 1
at = [0, 64, 0]
"#;

/// A bridge, and computer 1 with a monitor, whose shell the agent hosts.
async fn hosted(version: &str, advanced: bool) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
    let (land, residents) = Land::read(WITH_MONITOR).unwrap();
    let mut options: ComputerOptions = residents.into_iter().next().unwrap().options;
    options.version = version.parse().unwrap();
    options.advanced = advanced;
    let options = options
        .with_file("mcp-computer.lua", agent::program())
        .with_file("panel.lua", PANEL)
        .with_file("greet.lua", GREETER);
    let computer = Computer::start_in(&land, options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    let prompt = json!([{"do": "wait", "text": ">", "ms": WAIT}]);
    does(&mut bridge, "terminal", prompt).await;
    (bridge, computer)
}

/// Does all these steps, and returns what is on the screen then.
async fn does(bridge: &mut Bridge, target: &str, steps: Value) -> String {
    let answer = bridge
        .call("send-input", json!({"target": target, "steps": steps}))
        .await;
    assert!(!answer.is_error, "{target} {steps}: {}", answer.text);
    answer.text
}

/// A line that is typed at the screen, and what it leads to.
async fn types(bridge: &mut Bridge, target: &str, line: &str, then: &str) -> String {
    let steps = json!([
        {"do": "type", "text": format!("{line}\n")},
        {"do": "wait", "text": then, "ms": WAIT},
    ]);
    does(bridge, target, steps).await
}

/// Where a text stands on a screen, from what was told of it.
fn place(screen: &str, text: &str) -> (usize, usize) {
    let found = screen.lines().find_map(|line| {
        let (row, shown) = line.split_once('|')?;
        let row = row.trim().parse().ok()?;
        let before = &shown[..shown.find(text)?];
        Some((before.chars().count() + 1, row))
    });
    found.unwrap_or_else(|| panic!("no `{text}` on it: {screen}"))
}

/// Clicks where this text stands on the screen, and waits for what that leads to.
async fn clicks(bridge: &mut Bridge, target: &str, text: &str, then: &str) -> String {
    let shown = bridge.call("read-screen", json!({"target": target})).await;
    assert!(!shown.is_error, "{target}: {}", shown.text);
    let (x, y) = place(&shown.text, text);
    let steps = json!([{"do": "click", "x": x, "y": y}, {"do": "wait", "text": then, "ms": WAIT}]);
    does(bridge, target, steps).await
}

#[tokio::test]
async fn a_program_is_typed_in_the_editor_saved_run_answered_and_ended() {
    let kinds = VERSIONS.map(|version| (version, true));
    for (version, advanced) in kinds.into_iter().chain([("1.113", false)]) {
        let (mut bridge, _computer) = hosted(version, advanced).await;
        types(&mut bridge, "terminal", "edit hello", "Ln 1").await;
        let steps =
            json!([{"do": "type", "text": GREETER}, {"do": "wait", "text": "Ln 4", "ms": WAIT}]);
        let typed = does(&mut bridge, "terminal", steps).await;
        for (row, line) in GREETER.lines().enumerate() {
            assert!(typed.contains(&format!(" {}|{line}\n", row + 1)), "{typed}");
        }
        let steps = json!([
            {"do": "key", "text": "ctrl"},
            {"do": "wait", "text": "[Save]", "ms": WAIT},
            {"do": "key", "text": "enter"},
            {"do": "wait", "text": "Saved to hello.lua", "ms": WAIT},
            {"do": "key", "text": "ctrl"},
            {"do": "type", "text": "e"},
            {"do": "wait", "text": ">", "ms": WAIT},
        ]);
        let left = does(&mut bridge, "terminal", steps).await;
        assert!(!left.contains("Saved to"), "{left}");
        let saved = bridge.lua(
            1,
            "local f = fs.open('/hello.lua', 'r') local t = f.readAll() f.close() return t",
        );
        let saved = saved.await;
        assert_eq!(saved, format!("=> {}", json!(format!("{GREETER}\n"))));
        types(&mut bridge, "terminal", "hello", "Your name? ").await;
        let greeted = types(&mut bridge, "terminal", "Alex", "Hello, Alex").await;
        assert!(greeted.contains("|Your name? Alex\n"), "{greeted}");
        let steps = json!([{"do": "terminate"}, {"do": "wait", "text": "Terminated", "ms": WAIT}]);
        does(&mut bridge, "terminal", steps).await;
        if advanced {
            is_run_by_the_editors_menu(&mut bridge, version).await;
        }
        bridge.leave().await;
    }
}

/// The editor's own way of running a program: in a tab, by a click.
async fn is_run_by_the_editors_menu(bridge: &mut Bridge, version: &str) {
    types(bridge, "terminal", "edit hello", "Ln 1").await;
    clicks(bridge, "terminal", "access menu", "[Save]").await;
    let run = clicks(bridge, "terminal", "Run", "Your name? ").await;
    // The line of the tabs is above it.
    assert_eq!(place(&run, "Your name?"), (1, 2), "{run}");
    types(bridge, "terminal", "Eve", "Hello, Eve").await;
    does(bridge, "terminal", json!([{"do": "terminate"}])).await;
    if version != "1.89" {
        let steps = json!([
            {"do": "wait", "text": "Press any key to continue.", "ms": WAIT},
            {"do": "key", "text": "enter"},
        ]);
        does(bridge, "terminal", steps).await;
    }
    let steps = json!([
        {"do": "wait", "text": "Ln 1", "ms": WAIT},
        {"do": "key", "text": "ctrl"},
        {"do": "wait", "text": "[Save]", "ms": WAIT},
        {"do": "type", "text": "e"},
    ]);
    does(bridge, "terminal", steps).await;
}

/// Uses the panel that a target shows: its buttons, its submenu, its text field, which is typed `at` a screen.
async fn uses_the_panel(bridge: &mut Bridge, target: &str, at: &str) {
    clicks(bridge, target, "Lamp", "lamp on").await;
    let styled = json!({"target": target, "as": "styled"});
    let styled = bridge.call("read-screen", styled).await.text;
    assert!(styled.contains("2-7 white on lime"), "{styled}");
    clicks(bridge, target, "Doors...", "Panel: doors").await;
    clicks(bridge, target, "Open all", "doors open").await;
    let back = clicks(bridge, target, "Back", "Panel: main").await;
    let (x, y) = place(&back, "Name:");
    let field = json!([{"do": "click", "x": x + 8, "y": y}]);
    does(bridge, target, field).await;
    let steps = json!([{"do": "type", "text": "Annx"}, {"do": "key", "text": "backspace"}, {"do": "key", "text": "enter"}]);
    does(bridge, at, steps).await;
    let shown = until("the name is taken", async || {
        let answer = bridge.call("read-screen", json!({"target": target})).await;
        match answer.text.contains("name Ann") {
            true => Ok(answer.text),
            false => Err(answer.text),
        }
    })
    .await;
    assert_eq!(place(&shown, "Ann"), (8, 7), "{shown}");
}

/// What the panel ends with.
const DONE: &str = "Done: lamp on, doors open, name Ann";

#[tokio::test]
async fn a_panel_with_buttons_a_submenu_and_a_text_field_is_used_on_the_screen_and_on_a_monitor() {
    for version in VERSIONS {
        let (mut bridge, _computer) = hosted(version, true).await;
        types(&mut bridge, "terminal", "panel", "Panel: main").await;
        uses_the_panel(&mut bridge, "terminal", "terminal").await;
        clicks(&mut bridge, "terminal", "Quit", DONE).await;
        let steps = json!([{"do": "type", "text": "clear\npanel top\n"}]);
        does(&mut bridge, "terminal", steps).await;
        until("the panel is on the monitor", async || {
            let answer = bridge.call("read-screen", json!({"target": "top"})).await;
            match !answer.is_error && answer.text.contains("Panel: main") {
                true => Ok(()),
                false => Err(answer.text),
            }
        })
        .await;
        uses_the_panel(&mut bridge, "top", "terminal").await;
        let shown = bridge.call("read-screen", json!({"target": "top"})).await;
        let (x, y) = place(&shown.text, "Quit");
        does(&mut bridge, "top", json!([{"do": "click", "x": x, "y": y}])).await;
        does(
            &mut bridge,
            "terminal",
            json!([{"do": "wait", "text": DONE, "ms": WAIT}]),
        )
        .await;
        bridge.leave().await;
    }
}

/// The id of the one job that runs.
async fn running(bridge: &mut Bridge) -> String {
    until("a job runs", async || {
        let listed = bridge.call("list-jobs", json!({"state": "running"})).await;
        let line = listed
            .text
            .lines()
            .find(|line| line.contains(": running for "));
        match line.and_then(|line| line.split_once(" on ")) {
            Some((id, _)) => Ok(id.to_owned()),
            None => Err(listed.text),
        }
    })
    .await
}

#[tokio::test]
async fn a_program_that_runs_as_a_job_is_answered_and_clicked_by_input() {
    for version in VERSIONS {
        let (mut bridge, computer) = hosted(version, true).await;
        let call = json!({"command": "greet", "timeoutMs": 600_000});
        let call = bridge.start_call("run-program", call).await;
        let target = format!("job {}", running(&mut bridge).await);
        does(
            &mut bridge,
            &target,
            json!([{"do": "wait", "text": "Your name? ", "ms": WAIT}]),
        )
        .await;
        types(&mut bridge, &target, "Alex", "Hello, Alex").await;
        does(&mut bridge, &target, json!([{"do": "terminate"}])).await;
        let ended = bridge.answer(call).await;
        assert!(
            ended.is_error && ended.text.contains("Terminated"),
            "{}",
            ended.text
        );
        assert!(ended.text.contains("Hello, Alex"), "{}", ended.text);
        let call = json!({"command": "panel", "timeoutMs": 600_000});
        let call = bridge.start_call("run-program", call).await;
        let target = format!("job {}", running(&mut bridge).await);
        does(
            &mut bridge,
            &target,
            json!([{"do": "wait", "text": "Panel: main", "ms": WAIT}]),
        )
        .await;
        uses_the_panel(&mut bridge, &target, &target).await;
        let shown = bridge.call("read-screen", json!({"target": target})).await;
        let (x, y) = place(&shown.text, "Quit");
        bridge
            .call(
                "send-input",
                json!({"target": target, "steps": [{"do": "click", "x": x, "y": y}]}),
            )
            .await;
        let ended = bridge.answer(call).await;
        assert!(
            !ended.is_error && ended.text.contains(DONE),
            "{}",
            ended.text
        );
        // None of it was on the player's own screen.
        let own = computer.screen().join("\n");
        assert!(!own.contains("Alex") && !own.contains("Panel"), "{own}");
        bridge.leave().await;
    }
}
