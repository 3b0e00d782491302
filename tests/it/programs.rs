//! `run-program`: a command line as the shell runs it, with all that it printed, what it drew, and how it ended.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    is, screen, until,
};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// A bridge, and a computer of this version of the game with this agent and these programs.
async fn linked(version: &str, agent: &str, programs: &[(&str, &str)]) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent);
    for (name, text) in programs {
        options = options.with_file(name, *text);
    }
    options.version = version.parse().unwrap();
    let program = format!("mcp-computer ws://{port}");
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

async fn run(bridge: &mut Bridge, command: &str) -> ToolAnswer {
    run_with(bridge, json!({ "command": command })).await
}

async fn run_with(bridge: &mut Bridge, mut arguments: Value) -> ToolAnswer {
    arguments["computerId"] = json!(1);
    arguments["timeoutMs"] = json!(60_000);
    bridge.call("run-program", arguments).await
}

#[tokio::test]
async fn all_that_a_program_prints_comes_and_it_is_told_that_it_ended_well() {
    let programs = [
        (
            "count.lua",
            "local from, to = ... for n = from, to do print('line ' .. n) end return 7",
        ),
        ("quiet.lua", "local n = 1 + 1"),
        (
            "who.lua",
            "print(shell.getRunningProgram(), arg[0], arg[1], select('#', ...), shell.dir())
            local other = require('lib.other') print(other)
            _G.left_behind = 'kept' kept_apart = true print(_G.kept_apart)",
        ),
        ("lib/other.lua", "return 'of the folder of the program'"),
    ];
    for version in ["1.89", "1.113.1"] {
        let (mut bridge, computer) = linked(version, &agent::program(), &programs).await;
        let all = run(&mut bridge, "count 1 200").await;
        let lines: Vec<_> = (1..=200).map(|n| format!("line {n}")).collect();
        assert!(!all.is_error, "{}", all.text);
        assert_eq!(all.text.trim_end(), lines.join("\n"));
        let quiet = run(&mut bridge, "quiet").await;
        assert_eq!(quiet.text, "The program ended well; it printed nothing.");
        let who = run(&mut bridge, "who \"a  b\" c").await.text;
        assert_eq!(
            who.trim_end(),
            "who.lua\twho\ta  b\t2\t\nof the folder of the program\nnil"
        );
        // As if a player had typed it.
        assert_eq!(bridge.lua(1, "_G.left_behind").await, "=> \"kept\"");
        assert!(!screen::words(&computer).contains("line 7"));
        bridge.leave().await;
    }
}

#[tokio::test]
async fn where_a_program_fails_is_told_with_what_it_printed_before() {
    let programs = [
        (
            "fails.lua",
            "local function deep(n)\n  if n == 0 then error('boom') end\n  return deep(n - 1) .. ''\nend\n\
             print('before')\ndeep(2)\nprint('never')",
        ),
        ("broken.lua", "print('one')\nif then"),
        (
            "outer.lua",
            "print(shell.run('fails'))\nprint(shell.run('nothing-there'))\nlocal t = nil\nt.x = 1",
        ),
        ("gives.lua", "error({ code = 7 })"),
        ("waits.lua", "while true do os.pullEvent('never') end"),
    ];
    for version in ["1.89", "1.113.1"] {
        let (mut bridge, _computer) = linked(version, &agent::program(), &programs).await;
        let failed = run(&mut bridge, "fails").await;
        assert!(failed.is_error, "{}", failed.text);
        for part in [
            "runtime error on computer 1",
            "fails.lua:2: boom",
            "stack traceback:",
            "fails.lua:6: in",
            "Output before the error:\nbefore\n",
        ] {
            assert!(failed.text.contains(part), "no {part}: {}", failed.text);
        }
        assert!(!failed.text.contains("mcp-computer/"), "{}", failed.text);
        let broken = run(&mut bridge, "broken").await;
        assert!(
            broken.is_error && broken.text.contains("syntax error on computer 1"),
            "{}",
            broken.text
        );
        assert!(broken.text.contains("broken.lua:2:"), "{}", broken.text);
        // What a program says of those that it runs is output, as on the screen.
        let outer = run(&mut bridge, "outer").await;
        let (error, output) = outer.text.split_once("Output before the error:\n").unwrap();
        assert!(error.contains("outer.lua:4:"), "{error}");
        assert!(
            output.contains("boom\nfalse\nNo such program: nothing-there\nfalse"),
            "{output}"
        );
        let missing = run(&mut bridge, "nothing-there --at all").await;
        assert!(
            missing.is_error && missing.text.contains("No such program: nothing-there"),
            "{}",
            missing.text
        );
        let gives = run(&mut bridge, "gives").await;
        assert!(
            gives.is_error && gives.text.contains("code = 7"),
            "{}",
            gives.text
        );
        let arguments = json!({"command": "waits", "timeoutMs": 500, "onTimeout": "cancel"});
        let stopped = bridge.call("run-program", arguments).await;
        assert!(stopped.text.contains("was stopped"), "{}", stopped.text);
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_program_draws_on_a_terminal_of_its_own_unless_it_is_to_be_seen() {
    let draws = "term.clear() term.setCursorPos(3, 2) term.write('a picture')
        local width, height = term.getSize()
        term.setCursorPos(1, height) term.write(width .. ' by ' .. height)";
    let (mut bridge, computer) =
        linked("1.113.1", &agent::program(), &[("draws.lua", draws)]).await;
    let drawn = run(&mut bridge, "draws").await;
    assert!(!drawn.is_error, "{}", drawn.text);
    assert!(
        drawn
            .text
            .contains("Its terminal at the end:\n\n  a picture\n")
            && drawn.text.ends_with("51 by 19"),
        "{}",
        drawn.text
    );
    let sized = json!({"command": "draws", "width": 30, "height": 5});
    let sized = run_with(&mut bridge, sized).await.text;
    assert!(sized.contains("\n  a picture\n\n\n30 by 5"), "{sized}");
    assert!(!screen::words(&computer).contains("a picture"));
    let seen = json!({"command": "draws", "where": "screen"});
    run_with(&mut bridge, seen).await;
    screen::says(&computer, "a picture").await;
    let both = json!({"command": "draws", "where": "screen", "width": 10});
    let refused = run_with(&mut bridge, both).await;
    assert!(
        refused.is_error && refused.text.contains("leave them out"),
        "{}",
        refused.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_program_does_to_its_shell_stays_there() {
    let (mut bridge, computer) = linked(
        "1.113.1",
        &agent::program(),
        &[
            (
                "moves.lua",
                "shell.run('mkdir sub') shell.run('cd sub') print(shell.dir()) shell.run('here')",
            ),
            ("sub/here.lua", "print('found it')"),
            ("turns-off.lua", "print('down') os.shutdown()"),
        ],
    )
    .await;
    let moved = run(&mut bridge, "moves").await.text;
    assert!(moved.contains("sub\nfound it"), "{moved}");
    let dir = bridge.lua(1, "shell.dir()").await;
    assert_eq!(dir, "=> \"\"");
    // It would end the shell that the agent is in.
    assert!(!run(&mut bridge, "exit").await.is_error);
    assert!(!run(&mut bridge, "cd rom").await.is_error);
    let down = run(&mut bridge, "turns-off").await;
    assert!(down.text.contains("down\n"), "{}", down.text);
    until("the computer is off", async || {
        let state = computer.state();
        is(format!("{state:?}") != "Running", format!("{state:?}"))
    })
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn an_older_agent_runs_it_by_its_shell() {
    let programs = [
        ("says.lua", "print('said ' .. ...)"),
        ("fails.lua", "error('boom')"),
    ];
    let (mut bridge, _computer) = linked("1.113.1", RELEASED, &programs).await;
    let said = run(&mut bridge, "says \"two words\"").await;
    assert!(!said.is_error, "{}", said.text);
    assert!(
        said.text.contains("shell.run") && said.text.contains("Update it"),
        "{}",
        said.text
    );
    let failed = run(&mut bridge, "fails").await;
    assert!(
        failed.is_error && failed.text.contains("the program did not end well"),
        "{}",
        failed.text
    );
    bridge.leave().await;
}
