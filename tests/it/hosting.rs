//! The player's shell beside the agent: it goes on as it would alone, whatever the agent does, and what is on its screen can
//! be read.

use std::{fs, path::Path, time::Duration};

use mcp_bridge::{
    link::agent,
    simulator::{Cell, Computer, ComputerOptions, Kind, State},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::common::{PATIENCE, bridge::Bridge, is, screen, until};

const VERSIONS: [&str; 3] = ["1.89", "1.101", "1.113"];

/// What a player's programs are.
const PROGRAMS: [(&str, &str); 8] = [
    (
        "asks.lua",
        "write('name? ') local name = read() print('hello ' .. name)",
    ),
    (
        "events.lua",
        "print('listening') while true do local e = { os.pullEventRaw() }
         if e[1] == 'terminate' then print('told to end') break end
         if e[1] == 'char' or e[1] == 'paste' or e[1] == 'mouse_click' then print(e[1], e[2], e[3], e[4]) end end",
    ),
    (
        "draws.lua",
        "local t = term.native() print(t == term.current(), term.getSize())
         term.setPaletteColour(colours.lime, 1, 0, 0.5) term.setBackgroundColour(colours.green) term.clearLine()
         term.setCursorPos(3, 7) term.blit('blit', '0123', 'fedc') term.setCursorBlink(true)
         local w = window.create(term.current(), 5, 9, 12, 3) local old = term.redirect(w)
         for i = 1, 5 do print('line ' .. i) end term.redirect(old) term.setBackgroundColour(colours.black)
         term.setCursorPos(1, 13)",
    ),
    (
        "beside.lua",
        "parallel.waitForAny(function() os.pullEvent('char') print('char came') end,
         function() while true do os.pullEvent('never') end end)",
    ),
    ("fails.lua", "local function deep() error('it broke') end\ndeep()"),
    ("quiet.lua", "error('', 0)"),
    ("draw.lua", "local function top(...) return peripheral.call('top', ...) end
        top('setTextScale', 0.5) top('setBackgroundColour', colours.red) top('clear')
        top('setCursorPos', 2, 2) top('write', 'on it') print('drawn')"),
    ("waits.lua", "print('waiting') local _, b, x, y = os.pullEvent('mouse_click') print(b, x, y) print('done ' .. read())
         os.pullEvent('never')"),
];

fn options(version: &str, advanced: bool, kind: Kind) -> ComputerOptions {
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    options.version = version.parse().unwrap();
    options.advanced = advanced;
    options.kind = kind;
    for (path, text) in PROGRAMS {
        options = options.with_file(path, text);
    }
    options
}

fn start(options: ComputerOptions, program: &str) -> Computer {
    Computer::start(options, program, &Handle::current()).unwrap()
}

/// A bridge, and a computer on it whose shell is hosted.
async fn hosted(version: &str, advanced: bool) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let program = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
    let computer = start(options(version, advanced, Kind::Computer), &program);
    bridge.linked(1).await;
    (bridge, computer)
}

/// Types a command, and waits for what it leads to.
async fn typed(computer: &Computer, line: &str, shown: &str) {
    computer.type_line(line);
    screen::says(computer, shown).await;
}

/// The screen of the hosted shell can be read.
async fn is_seen(bridge: &mut Bridge) {
    let shown = bridge.call("read-screen", json!({})).await;
    assert!(!shown.is_error, "{}", shown.text);
}

/// Everything that is on a screen.
type Picture = (Vec<Vec<Cell>>, [u32; 16], (i64, i64, bool));

/// The screen once nothing more is drawn on it.
async fn picture(computer: &Computer) -> Picture {
    let a_while = Duration::from_millis(300);
    loop {
        let seen = computer.terminal().generation();
        let is_changed = |computer: &Computer| computer.terminal().generation() != seen;
        if !computer.until(a_while, is_changed).await {
            break;
        }
    }
    let terminal = computer.terminal();
    let rows = (0..terminal.size().1).map(|y| terminal.row(y).to_vec());
    (rows.collect(), *terminal.palette(), terminal.cursor())
}

/// What a player does, and how the screen looks after each step.
async fn session(computer: &Computer) -> Vec<Picture> {
    let mut pictures = Vec::new();
    typed(computer, "clear", "").await;
    let cleared = computer
        .until(PATIENCE, |computer| screen::words(computer) == ">")
        .await;
    assert!(cleared, "{}", screen::words(computer));
    let steps: [(&str, &str); 6] = [
        ("asks", "name?"),
        ("Ada", "hello Ada >"),
        ("draws", "line 5"),
        ("fails", "it broke >"),
        ("nothing", "No such program >"),
        ("events", "listening"),
    ];
    for (line, shown) in steps {
        typed(computer, line, shown).await;
        pictures.push(picture(computer).await);
    }
    computer.press_character('q');
    screen::says(computer, "char q").await;
    computer.paste("pasted text");
    screen::says(computer, "paste pasted text").await;
    computer.queue_event("mouse_click", &[1.0.into(), 4.0.into(), 5.0.into()]);
    screen::says(computer, "mouse_click 1 4 5").await;
    computer.terminate();
    screen::says(computer, "told to end >").await;
    pictures.push(picture(computer).await);
    typed(computer, "beside", "> beside").await;
    computer.press_character('z');
    screen::says(computer, "char came >").await;
    pictures.push(picture(computer).await);
    pictures
}

#[tokio::test]
async fn a_hosted_shell_shows_what_it_would_show_alone() {
    for version in VERSIONS {
        for (advanced, kind) in [
            (true, Kind::Computer),
            (false, Kind::Computer),
            (true, Kind::Turtle),
            (false, Kind::Pocket),
        ] {
            let alone = start(options(version, advanced, kind), "");
            let expected = session(&alone).await;
            let mut bridge = Bridge::initialized().await;
            let program = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
            let computer = start(options(version, advanced, kind), &program);
            bridge.linked(1).await;
            let got = session(&computer).await;
            for (step, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(got, expected, "{version} {advanced} {kind} step {step}");
            }
            assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
            bridge.leave().await;
        }
    }
}

#[tokio::test]
async fn a_player_and_jobs_work_side_by_side_and_ctrl_t_is_the_players() {
    for version in VERSIONS {
        let (mut bridge, computer) = hosted(version, true).await;
        typed(&computer, "events", "listening").await;
        // A job's key is its own, and its Ctrl+T too.
        let code =
            "os.queueEvent('char', 'j') local _, c = os.pullEvent('char') return c, term.getSize()";
        assert_eq!(bridge.lua(1, code).await, "=> \"j\"\n=> 51\n=> 19");
        computer.press_character('p');
        screen::says(&computer, "char p").await;
        assert!(!screen::words(&computer).contains("char j"));
        computer.terminate();
        screen::says(&computer, "told to end").await;
        assert_eq!(bridge.lua(1, "2+2").await, "=> 4");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn closing_the_shell_shuts_the_computer_down() {
    for (version, advanced) in [("1.89", true), ("1.113", false), ("1.113", true)] {
        let (mut bridge, computer) = hosted(version, advanced).await;
        typed(&computer, "exit", "Goodbye").await;
        let off = computer
            .until(PATIENCE, |computer| computer.state() == State::Off)
            .await;
        assert!(off, "{version}: {:?}", computer.state());
        bridge
            .computer(1, |computer| computer["linked"] == false)
            .await;
        bridge.leave().await;
    }
}

#[tokio::test]
async fn what_a_shell_dies_of_stays_on_the_screen_until_a_key_is_pressed() {
    let breaks = "term.redirect({}) print('never')";
    for version in ["1.89", "1.113"] {
        let mut bridge = Bridge::initialized().await;
        let hosted = format!("mcp-computer --shell ws://{}", bridge.link_port().await);
        let mut shown = Vec::new();
        for program in ["", &hosted] {
            let options = options(version, false, Kind::Computer).with_file("breaks.lua", breaks);
            let computer = start(options, program);
            if !program.is_empty() {
                bridge.linked(1).await;
            }
            screen::says(&computer, ">").await;
            typed(&computer, "breaks", "Press any key to continue").await;
            let words = screen::words(&computer);
            let (_, words) = words.split_once("> breaks ").unwrap();
            shown.push(words.to_owned());
            assert_eq!(computer.state(), State::Running, "{version}");
            computer.press_key("space");
            let off = computer
                .until(PATIENCE, |computer| computer.state() == State::Off)
                .await;
            assert!(off, "{version}: {:?}", computer.state());
        }
        assert!(shown[0].contains("missing method"), "{shown:?}");
        assert_eq!(shown[0], shown[1], "{version}");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_stopped_agent_leaves_the_shell_and_begins_again_in_it() {
    for advanced in [true, false] {
        let (mut bridge, computer) = hosted("1.113", advanced).await;
        let port = bridge.link_port().await;
        typed(
            &computer,
            "mcp-computer ws://127.0.0.1:1",
            "runs on this computer already",
        )
        .await;
        screen::says(&computer, "`mcp-computer stop`").await;
        computer.type_line("clear");
        typed(&computer, "mcp-computer stop", "This shell stays.").await;
        bridge
            .computer(1, |computer| computer["linked"] == false)
            .await;
        typed(&computer, "asks", "name?").await;
        typed(&computer, "Bob", "hello Bob").await;
        typed(&computer, "mcp-computer pause", "No mcp-computer runs").await;
        typed(&computer, "mcp-computer stat", "stat is no command;").await;
        typed(
            &computer,
            &format!("mcp-computer --shell ws://{port}"),
            "runs again, beside this shell",
        )
        .await;
        bridge.linked(1).await;
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn nothing_new_begins_while_the_player_has_paused_the_computer() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // It holds without a hosted shell too: in a tab, and after a reboot.
    let startup = format!("shell.openTab('/mcp-computer.lua ws://{port}')");
    let options = options("1.113", true, Kind::Computer).with_file("startup.lua", startup);
    let computer = start(options, "");
    bridge.linked(1).await;
    let runs = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "repeat sleep(0) until fs.exists('/go') return 'ran'"}),
        )
        .await;
    until("the job runs", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        is(jobs.contains("running"), jobs)
    })
    .await;
    assert_eq!(bridge.linked(1).await.get("paused"), None);
    typed(&computer, "mcp-computer pause", "Nothing new begins").await;
    bridge
        .computer(1, |computer| computer["paused"] == true)
        .await;
    let listed = bridge.call("list-computers", json!({})).await.text;
    let said = "paused by its player: nothing new begins until `mcp-computer resume` there";
    assert!(listed.contains(said), "{listed}");
    let refused = bridge.lua_error(1, "error('ran')").await;
    assert!(refused.contains("1 (Label: nil) is paused"), "{refused}");
    assert!(refused.contains("mcp-computer resume"), "{refused}");
    let probed = bridge.call("probe-computers", json!({})).await.text;
    assert!(probed.contains("pong"), "{probed}");
    typed(&computer, "mkdir go", "> mkdir go >").await;
    assert_eq!(bridge.answer(runs).await.text, "=> \"ran\"");
    computer.reboot();
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    // The next start says so as it links.
    let linked = bridge.linked(1).await;
    assert_eq!(linked["paused"], true, "{linked}");
    let refused = bridge.lua_error(1, "error('ran')").await;
    assert!(refused.contains("is paused"), "{refused}");
    typed(&computer, "mcp-computer resume", "begins again").await;
    bridge
        .computer(1, |computer| computer.get("paused").is_none())
        .await;
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    typed(&computer, "mcp-computer stop", "mcp-computer has ended.").await;
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_status_line_takes_the_top_line_and_programs_see_one_less() {
    let (mut bridge, computer) = hosted("1.113", true).await;
    typed(&computer, "events", "listening").await;
    assert_eq!(bridge.lua(1, "select(2, term.getSize())").await, "=> 19");
    computer.terminate();
    screen::says(&computer, "told to end").await;
    typed(&computer, "mcp-computer status-line on", "is shown").await;
    screen::says(&computer, "linked to ws://").await;
    assert!(
        computer.screen()[0].contains("linked to"),
        "{:?}",
        computer.screen()
    );
    assert_eq!(bridge.lua(1, "select(2, term.getSize())").await, "=> 18");
    typed(&computer, "events second", "> events second listening").await;
    // The line itself is nobody's; beneath it the first line is 1.
    computer.queue_event("mouse_click", &[1.0.into(), 1.0.into(), 1.0.into()]);
    computer.queue_event("mouse_click", &[2.0.into(), 7.0.into(), 3.0.into()]);
    screen::says(&computer, "mouse_click 2 7 2").await;
    assert!(!screen::words(&computer).contains("mouse_click 1"));
    let runs = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "repeat sleep(0) until fs.exists('/go')"}),
        )
        .await;
    let shown = computer
        .until(PATIENCE, |computer| {
            computer.screen()[0].contains("exec-lua for tests | linked")
        })
        .await;
    assert!(shown, "{:?}", computer.screen());
    bridge.lua(1, "fs.makeDir('/go')").await;
    bridge.answer(runs).await;
    computer.terminate();
    typed(&computer, "mcp-computer status-line off", "is hidden").await;
    assert_eq!(bridge.lua(1, "select(2, term.getSize())").await, "=> 19");
    // Without an agent the line is the player's as well.
    computer.type_line("clear");
    typed(&computer, "mcp-computer stop", "This shell stays.").await;
    typed(&computer, "mcp-computer status-line on", "is shown").await;
    assert!(
        computer.screen()[0].contains("mcp-computer has ended"),
        "{:?}",
        computer.screen()
    );
    typed(&computer, "mcp-computer status-line off", "is hidden").await;
    typed(&computer, "mcp-computer pause", "No mcp-computer runs").await;
    // Called again, it is beside its shell again, also if nobody says so.
    let port = bridge.link_port().await;
    typed(
        &computer,
        &format!("mcp-computer ws://{port}"),
        "runs again, beside this shell",
    )
    .await;
    bridge.linked(1).await;
    is_seen(&mut bridge).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_question_to_the_player_takes_the_screen_until_it_is_answered() {
    for advanced in [true, false] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let computer = start(
            options("1.113", advanced, Kind::Computer),
            &format!("mcp-computer --shell ws://{port} --policy ask"),
        );
        bridge.linked(1).await;
        typed(&computer, "events", "listening").await;
        let before = picture(&computer).await;
        let call = json!({"computerId": 1, "code": "return 'it ran'", "timeoutMs": 60000});
        let call = bridge.start_call("exec-lua", call).await;
        screen::says(&computer, "return 'it ran'").await;
        screen::says(&computer, "Type yes or no").await;
        assert!(!screen::words(&computer).contains("listening"));
        computer.type_line("yes");
        assert_eq!(bridge.answer(call).await.text, "=> \"it ran\"");
        // The shell has its screen back, and has got none of that.
        screen::says(&computer, "listening").await;
        assert_eq!(picture(&computer).await, before);
        // What a program queues comes as it was queued.
        computer.terminate();
        let queues = "os.queueEvent('char', 'k') local e = table.pack(os.pullEvent('char')) print('got', e.n, e[2])";
        typed(&computer, "lua", "lua>").await;
        typed(&computer, queues, "got 2 k").await;
        bridge.leave().await;
    }
}

#[tokio::test]
async fn an_update_leaves_the_shell_and_its_programs_where_they_are() {
    let older = agent::program().replacen("\"1.1.0\"", "\"1.0.9\"", 1);
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut with_older = options("1.113", true, Kind::Computer);
    with_older.files[0].1 = older.into_bytes();
    let computer = start(with_older, &format!("mcp-computer --shell ws://{port}"));
    let is_of = async |bridge: &mut Bridge, version: &str| {
        bridge
            .computer(1, |computer| {
                computer["linked"] == true && computer["agent"]["version"] == version
            })
            .await
    };
    is_of(&mut bridge, "1.0.9").await;
    typed(&computer, "asks", "name?").await;
    let said = bridge
        .lua(
            1,
            &format!("shell.run('wget run http://{port}/install.lua')"),
        )
        .await;
    assert!(said.contains("updates itself"), "{said}");
    is_of(&mut bridge, "1.1.0").await;
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    typed(&computer, "Eve", "hello Eve").await;
    typed(&computer, "fails", "it broke").await;
    // What the host knows, the new agent tells.
    let told = bridge.call("recent-errors", json!({"computerId": 1})).await;
    assert!(told.text.contains("it broke"), "{}", told.text);
    typed(&computer, "mcp-computer stop", "This shell stays.").await;
    bridge.leave().await;
}

#[tokio::test]
async fn what_the_players_programs_died_of_is_told() {
    for version in VERSIONS {
        let (mut bridge, computer) = hosted(version, true).await;
        let none = bridge.call("recent-errors", json!({})).await;
        assert!(
            !none.is_error && none.text.contains("No program"),
            "{}",
            none.text
        );
        typed(&computer, "fails", "it broke").await;
        typed(&computer, "quiet", "> quiet >").await;
        typed(&computer, "nothing", "No such program").await;
        typed(&computer, "asks", "name?").await;
        computer.terminate();
        screen::says(&computer, "Terminated").await;
        // Nor is it a fault of the player's what our own program says.
        typed(
            &computer,
            "mcp-computer ws://127.0.0.1:1",
            "runs on this computer already",
        )
        .await;
        typed(&computer, "bg fails", "").await;
        until("both are told", async || {
            let told = bridge
                .call("recent-errors", json!({"computerId": 1}))
                .await
                .text;
            is(told.contains("2 of the last 2 errors"), told)
        })
        .await;
        let told = bridge.call("recent-errors", json!({"limit": 1})).await.text;
        assert!(told.starts_with("1 of the last 2 errors"), "{told}");
        assert!(told.contains("/fails.lua: "), "{told}");
        assert!(told.contains("fails.lua:1: it broke"), "{told}");
        assert!(told.contains("\n  "), "no traceback: {told}");
        assert!(!told.contains("mcp-computer/"), "{told}");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn the_last_fifty_errors_are_kept_and_an_agent_without_a_shell_says_so() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let many = "for i = 1, 60 do local f = fs.open('/n' .. i, 'w') f.write('error(\"number ' .. i .. '\", 0)') f.close()
        shell.run('/n' .. i) end term.clear() print('all failed')";
    let options = options("1.113", false, Kind::Computer).with_file("many.lua", many);
    let computer = start(options, &format!("mcp-computer --shell ws://{port}"));
    bridge.linked(1).await;
    typed(&computer, "many", "all failed").await;
    let told = bridge
        .call("recent-errors", json!({"limit": 50}))
        .await
        .text;
    assert!(told.starts_with("50 of the last 50"), "{told}");
    assert!(
        told.contains("/n60: number 60") && told.contains("/n11: number 11"),
        "{told}"
    );
    assert!(!told.contains("/n10: "), "{told}");
    let mut alone = ComputerOptions::new(2).with_file("mcp-computer.lua", agent::program());
    alone.version = "1.113".parse().unwrap();
    let _alone = start(alone, &format!("mcp-computer ws://{port}"));
    bridge.linked(2).await;
    let refused = bridge.call("recent-errors", json!({"computerId": 2})).await;
    assert!(
        refused.is_error && refused.text.contains("mcp-computer --shell"),
        "{}",
        refused.text
    );
    bridge.leave().await;
}

/// What the program `hosting.lua` reports of the screens that it looks at.
async fn looked_at(version: &str, advanced: bool) -> String {
    let mut options = options(version, advanced, Kind::Computer)
        .with_file("hosting.lua", include_str!("hosting.lua"));
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/mcp-computer");
    for entry in fs::read_dir(modules).unwrap() {
        let entry = entry.unwrap();
        let name = format!("mcp-computer/{}", entry.file_name().to_str().unwrap());
        options = options.with_file(&name, fs::read(entry.path()).unwrap());
    }
    let computer = start(options, "hosting");
    until("all screens were looked at", async || {
        let report = computer.read_file("report.txt").unwrap_or_default();
        let report = String::from_utf8(report).unwrap();
        match report.ends_with("end\n") {
            true => Ok(report),
            false => Err(format!("{report}\n{}", computer.screen().join("\n"))),
        }
    })
    .await
}

#[tokio::test]
async fn what_is_on_the_screen_on_tabs_and_on_monitors_can_be_read() {
    for version in VERSIONS {
        let report = looked_at(version, true).await;
        let expected =
            "names terminal, tab 1, top\nunseen nil true\nabsent nil\nmonitor /on it nil 40 10\n";
        let expected = expected.replace("/on it", "/ on it");
        assert!(report.starts_with(&expected), "{version}: {report}");
        let rest = "behind eeee\nas it is true\nnames terminal, tab 1, tab 2, top\nfront draw\n\
            tab waiting 1 3 4 x done x\nfront still true\nend\n";
        let blanks = report.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(blanks.ends_with(&wanted), "{version}: {report}");
    }
    let report = looked_at("1.113", false).await;
    assert!(report.contains("names terminal, top\n"), "{report}");
    assert!(report.ends_with("tab nil\nend\n"), "{report}");
}
