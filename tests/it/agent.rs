//! The real agent, on simulated computers, with our bridge and with a bridge of protocol version 1.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::common::{PATIENCE, bridge::Bridge, is, port::Port, screen::shows, soon, until};
use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{
    link::agent,
    simulator::{Argument, Computer, ComputerOptions, HttpRules, Kind, ProgramState, Version},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
};
use tokio_tungstenite::{WebSocketStream, accept_async, tungstenite::Message};

/// A labelled computer with the agent on its disk.
fn options(id: u64, label: &str) -> ComputerOptions {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.label = Some(label.to_owned());
    options
}

fn start(options: ComputerOptions, program: &str) -> Computer {
    Computer::start(options, program, &Handle::current()).unwrap()
}

/// A computer whose agent links to this port.
fn linking(options: ComputerOptions, port: SocketAddr) -> Computer {
    start(options, &format!("mcp-computer ws://{port}"))
}

async fn ended(computer: &Computer) -> bool {
    let over = computer
        .until(PATIENCE, |computer| {
            matches!(computer.program(), ProgramState::Ended { .. })
        })
        .await;
    assert!(
        over,
        "the program goes on:\n{}",
        computer.screen().join("\n")
    );
    computer.program() == ProgramState::Ended { ok: true }
}

/// A bridge and a computer linked to it.
async fn linked_pair(options: ComputerOptions) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let id = options.id;
    let computer = linking(options, bridge.link_port().await);
    bridge.linked(id).await;
    (bridge, computer)
}

#[tokio::test]
async fn it_links_and_says_so() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut turtle = options(12, "base-turtle");
    turtle.kind = Kind::Turtle;
    let computer = linking(turtle, port);
    shows(
        &computer,
        &format!("mcp-computer v1.1.0 connecting to ws://{port}"),
    )
    .await;
    shows(&computer, "linked as 12 (Label: base-turtle)").await;
    shows(&computer, "waiting for requests... Press Ctrl+T to stop.").await;
    let known = bridge.linked(12).await;
    assert_eq!(
        (&known["label"], &known["kind"], &known["advanced"]),
        (&json!("base-turtle"), &json!("turtle"), &json!(true))
    );
    assert_eq!(
        known["agent"],
        json!({"name": "mcp-computer", "version": "1.1.0"})
    );
    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "pong from 12 (Label: base-turtle)"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_computer_without_a_label_is_shown_as_nil() {
    let mut plain = options(3, "");
    plain.label = None;
    let (mut bridge, computer) = linked_pair(plain).await;
    shows(&computer, "linked as 3 (Label: nil)").await;
    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "pong from 3 (Label: nil)"
    );
    bridge.lua(3, "os.setComputerLabel('named')").await;
    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "pong from 3 (Label: named)"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn code_is_a_chunk_or_an_expression() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    for (code, shown) in [
        ("1+1", "=> 2"),
        ("return 1+1", "=> 2"),
        ("-- a comment\n1", "=> 1"),
        ("local x = 4\nreturn x * x", "=> 16"),
        ("'a', nil, false", "=> \"a\"\n=> nil\n=> false"),
        ("return nil, nil", "=> nil\n=> nil"),
        (
            "print('hi', 1, nil) write('there') return true",
            "hi\t1\tnil\nthere\n=> true",
        ),
        ("printError('oh')", "oh\n"),
        ("print('hi', 'there')", "hi\tthere\n"),
        ("write 'hi'", "hi"),
        ("-- say\n--[=[ it ]] ]=] _G.print('hi') -- once", "hi\n"),
        ("return print('hi')", "hi\n=> 1"),
        ("local lines = print('hi') return lines", "hi\n=> 1"),
        ("print('hi') + 1", "hi\n=> 2"),
        ("print('hi'), 2", "hi\n=> 1\n=> 2"),
        ("for i = 1, 3 do print(i) end", "1\n2\n3\n"),
        (
            "x = 1",
            "The code ran to its end; it printed nothing and returned nothing.",
        ),
        ("x", "=> nil"),
        ("os.getComputerID()", "=> 1"),
        ("{ 1, 2, { a = true } }", "=> { 1, 2, { a = true } }"),
        ("2^53", "=> 9007199254740992"),
        ("0.1", "=> 0.1"),
        ("1/0, -1/0", "=> inf\n=> -inf"),
        ("select('#', ...)", "=> 0"),
        ("print('[1]')", "[1]\nThe code returned nothing."),
    ] {
        assert_eq!(bridge.lua(1, code).await, shown, "{code}");
    }
    assert!(bridge.lua(1, "0/0").await.contains("nan"));
    bridge.leave().await;
}

#[tokio::test]
async fn no_value_breaks_a_reply() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    for code in [
        "local t = {} t.t = t return t",
        "local t = {} return { t, t, [t] = t }",
        "{ [1] = 1, [100] = 2, [-1] = 3, [0.5] = 4, [true] = 5 }",
        "print, coroutine.create(print), {}",
        "setmetatable({}, { __tostring = function() error('no') end, __index = error, __pairs = error, __len = error })",
        "setmetatable({}, { __tostring = function() return 7 end })",
        "local t = {} for i = 1, 5000 do t[i] = { i } end return t",
        "local t = {} for i = 1, 300 do t = { t } end return t",
        "('x'):rep(50000)",
        "string.char(0, 1, 31, 127, 128, 255)",
        "_G",
    ] {
        let shown = bridge.lua(1, code).await;
        assert!(!shown.is_empty(), "{code}");
    }
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn all_bytes_survive_both_ways_in_every_version_of_the_game() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (id, version) in [(1, "1.89"), (2, "1.101"), (3, "1.113")] {
        let mut old = options(id, "bytes");
        old.version = version.parse::<Version>().unwrap();
        let _computer = linking(old, port);
        bridge.linked(id).await;
        assert_eq!(
            bridge.lua(id, "'é€\u{1F600}'").await,
            "=> \"é€\u{1F600}\"",
            "{version}"
        );
        assert_eq!(bridge.lua(id, "#'é€\u{1F600}'").await, "=> 9", "{version}");
        let sum = "local s = '' for b = 0, 255 do s = s .. string.char(b) end return s";
        let shown = bridge.lua(id, sum).await;
        // Not UTF-8, so it is read by the game's character set.
        assert!(
            shown.starts_with("=> \"\\000☺☻♥")
                && shown.contains("xyz{|}~▒ 🬀🬁")
                && shown.ends_with("ýþÿ\""),
            "{version}: {shown}"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn errors_tell_kind_message_traceback_and_output() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    let runtime = bridge
        .lua_error(
            1,
            "print('before')\nlocal function dig() error('bedrock') end\ndig()",
        )
        .await;
    for part in [
        "runtime error on computer 1 (Label: one): exec-lua:2: bedrock",
        "traceback",
        "exec-lua:3",
        "Output before the error:\nbefore",
    ] {
        assert!(runtime.contains(part), "no `{part}` in: {runtime}");
    }
    let syntax = bridge.lua_error(1, "local x = 1\nlocal y = = 2").await;
    assert!(
        syntax.starts_with("syntax error on computer 1 (Label: one): exec-lua:2:"),
        "{syntax}"
    );
    let table = bridge.lua_error(1, "error({ code = 5 })").await;
    assert!(table.contains("{ code = 5 }"), "{table}");
    for code in [
        "error()",
        "error(nil)",
        "error(setmetatable({}, { __tostring = error }))",
        "error(error)",
        "local a = nil .. 'x'",
    ] {
        bridge.lua_error(1, code).await;
    }
    let turtle = bridge.lua_error(1, "turtle.forward()").await;
    assert!(
        turtle.contains("Hint: ") && turtle.contains("turtle"),
        "{turtle}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_result_over_the_message_limit_comes_in_parts_and_one_over_16_mib_is_a_clear_error() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    let large = bridge.lua_whole(1, "return ('x'):rep(200000)").await;
    assert_eq!(large.len(), 200_005);
    let too_large = bridge
        .lua_error(1, "return ('x'):rep(17 * 1024 * 1024)")
        .await;
    assert!(too_large.starts_with("too-large error"), "{too_large}");
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn code_that_yields_does_not_hold_up_the_rest() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    let sleeper = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "repeat sleep(0.05) until fs.exists('/done') return 'slept'"}),
        )
        .await;
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    // Only now may the other end.
    bridge.lua(1, "fs.open('/done', 'w').close()").await;
    assert_eq!(bridge.answer(sleeper).await.text, "=> \"slept\"");
    for (code, shown) in [
        (
            "os.queueEvent('mine', 7) return select(2, os.pullEvent('mine'))",
            "=> 7",
        ),
        (
            "local n = 0 parallel.waitForAll(function() sleep(0) n = n + 1 end, function() n = n + 1 end) return n",
            "=> 2",
        ),
        (
            "local id = os.startTimer(0) repeat local _, got = os.pullEvent('timer') until got == id return 'ticked'",
            "=> \"ticked\"",
        ),
        (
            "shell.run('id')",
            "This is computer #1\nThis computer is labelled \"one\"\n=> true",
        ),
        (
            "local ok = shell.run('no-such-program') return ok",
            "No such program\n=> false",
        ),
        (
            "coroutine.wrap(function() coroutine.yield(1) end)()",
            "=> 1",
        ),
        (
            "pcall(function() sleep(0) error('x', 0) end)",
            "=> false\n=> \"x\"",
        ),
    ] {
        assert_eq!(bridge.lua(1, code).await, shown, "{code}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn the_players_input_reaches_no_code_but_the_worlds_events_do() {
    let (mut bridge, computer) = linked_pair(options(1, "one")).await;
    let call = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "print('ready') return os.pullEvent()"}),
        )
        .await;
    // The next request is worked on after the first one waits.
    bridge.lua(1, "1").await;
    for (name, argument) in [
        ("char", Argument::from("x")),
        ("key", Argument::from(65.0)),
        ("paste", Argument::from("text")),
        ("mouse_click", Argument::from(1.0)),
    ] {
        assert!(computer.queue_event(name, &[argument]));
    }
    assert!(computer.queue_event("redstone", &[]));
    assert_eq!(bridge.answer(call).await.text, "ready\n=> \"redstone\"");
    bridge.leave().await;
}

#[tokio::test]
async fn code_that_catches_the_games_abort_is_ended_and_the_computer_lives() {
    let mut short = options(1, "one");
    short.limits.event_time = Duration::from_millis(400);
    short.limits.grace_time = Duration::from_millis(400);
    let (mut bridge, computer) = linked_pair(short).await;
    for code in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function(e) return e end) end",
        "while true do xpcall(function() while true do end end, function() return 1 end) end",
        "while true do xpcall(function() while true do end end, print) end",
        "while true do xpcall(function() while true do end end, debug.traceback) end",
        "while true do xpcall(error, function() while true do end end) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "while true do pcall(pcall, function() while true do end end) end",
    ] {
        let ended = bridge.lua_error(1, code).await;
        assert!(
            ended.starts_with("timeout error")
                && ended.contains("Too long without yielding")
                && ended.contains("Hint: "),
            "{code}: {ended}"
        );
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2", "{code}");
    }
    assert_eq!(computer.boots(), 1);
    bridge.leave().await;
}

#[tokio::test]
async fn each_call_has_an_environment_of_its_own() {
    let (mut bridge, _computer) = linked_pair(options(1, "one")).await;
    bridge.lua(1, "leak = 1 print = nil").await;
    assert_eq!(
        bridge.lua(1, "leak, _G.leak, type(print)").await,
        "=> nil\n=> nil\n=> \"function\""
    );
    assert_eq!(
        bridge
            .lua(
                1,
                "_G == getfenv and true or _G ~= nil, type(require), type(shell)"
            )
            .await,
        "=> true\n=> \"function\"\n=> \"table\""
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_reboot_in_code_is_answered_first() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // A program of the player's sees that the game's functions are what they are.
    let beside = format!(
        "local game = os.reboot \
         parallel.waitForAny(function() shell.run('mcp-computer ws://{port}') end, function() \
         while true do os.pullEvent() if os.reboot ~= game then fs.open('replaced', 'w').close() end end end)"
    );
    let computer = start(options(1, "one").with_file("startup.lua", beside), "");
    bridge.linked(1).await;
    // The game's own program calls a function that no code of the job has seen.
    let codes = [
        "print('bye') os.reboot()",
        "print('bye') shell.run('reboot')",
    ];
    for (boots, code) in (2..).zip(codes) {
        let answer = bridge
            .call("exec-lua", json!({"computerId": 1, "code": code}))
            .await;
        assert!(
            !answer.is_error
                && answer.text.starts_with("bye\n")
                && answer
                    .text
                    .ends_with("[os.reboot was called; the computer goes down now]\n"),
            "{}",
            answer.text
        );
        assert!(
            computer
                .until(PATIENCE, |computer| computer.boots() == boots)
                .await
        );
        until("the computer links again", async || {
            let call = json!({"computerId": 1, "code": "1+1"});
            let answer = bridge.call("exec-lua", call).await.text;
            is(answer == "=> 2", answer)
        })
        .await;
    }
    assert!(computer.read_file("replaced").is_none());
    bridge.leave().await;
}

#[tokio::test]
async fn a_new_label_is_known_at_once_and_one_set_by_the_player_soon() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // A program of the player's that sets a label after the agent had its turn.
    let beside = format!(
        "parallel.waitForAny(function() shell.run('mcp-computer ws://{port}') end, function() \
         os.pullEvent('rename') os.setComputerLabel('by hand') os.pullEvent('unname') os.setComputerLabel(nil) \
         os.pullEvent('never') end)"
    );
    let _computer = start(options(1, "one").with_file("startup.lua", beside), "");
    bridge.linked(1).await;
    let error = bridge
        .lua_error(1, "os.setComputerLabel('n\\195\\169w') error('stop')")
        .await;
    assert!(error.contains("on computer 1 (Label: néw): "), "{error}");
    let listed = bridge.call("list-computers", json!({})).await;
    assert!(
        listed.text.starts_with("1 (Label: néw): linked "),
        "{}",
        listed.text
    );
    for (event, label) in [("rename", json!("by hand")), ("unname", json!(null))] {
        bridge.lua(1, &format!("os.queueEvent('{event}')")).await;
        bridge
            .computer(1, |computer| computer["label"] == label)
            .await;
    }
    // One that changes all the time costs the link nothing.
    bridge
        .lua(
            1,
            "for i = 1, 600 do os.setComputerLabel('n' .. i) os.queueEvent('x') os.pullEvent('x') end",
        )
        .await;
    bridge
        .computer(1, |computer| computer["label"] == "n600")
        .await;
    let jobs = bridge.call("list-computers", json!({})).await.text;
    assert!(!jobs.contains("offline"), "{jobs}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_lost_link_is_told_to_the_player_without_the_games_words() {
    // One sees the connection go. The other has no room in its queue for that event, and finds it closed later.
    let (mut bridge, seeing) = linked_pair(options(1, "one")).await;
    let finding = linking(options(2, "two"), bridge.link_port().await);
    bridge.linked(2).await;
    let code = "for i = 1, 256 do os.queueEvent('x') end print('full') \
                local from = os.clock() while os.clock() < from + 3 do end";
    bridge
        .start_call("exec-lua", json!({"computerId": 2, "code": code}))
        .await;
    until("the queue is full", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        is(jobs.contains("running"), jobs)
    })
    .await;
    bridge.kill().await;
    for computer in [&seeing, &finding] {
        shows(
            computer,
            "Link lost: the connection broke off. mcp-bridge has ended",
        )
        .await;
    }
}

#[tokio::test]
async fn a_script_that_reboots_a_computer_goes_on() {
    let (mut bridge, computer) = linked_pair(options(1, "one")).await;
    let code = "local on = computers.exec({ 1 }, \"print('bye') os.reboot()\")[1]\n\
                return on.ok, on.n, on.output";
    let answer = bridge.call("run-script", json!({"code": code})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(
        answer.text,
        "=> true\n=> 0\n=> bye\n[os.reboot was called; the computer goes down now]\n"
    );
    assert!(
        computer
            .until(PATIENCE, |computer| computer.boots() == 2)
            .await
    );
    bridge.leave().await;
}

#[tokio::test]
async fn ctrl_t_ends_the_agent_and_its_link() {
    let (mut bridge, computer) = linked_pair(options(1, "one")).await;
    computer.terminate();
    ended(&computer).await;
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    // The shell is the player's again.
    computer.type_line("id");
    shows(&computer, "This is computer #1").await;
    bridge.leave().await;
}

#[tokio::test]
async fn it_links_again_when_the_bridge_comes_back() {
    let mut first = Bridge::initialized().await;
    let port = first.link_port().await;
    let mut quick = options(1, "one");
    quick.clock_speed = 10.0;
    let computer = linking(quick, port);
    first.linked(1).await;
    first.leave().await;
    let mut second = Bridge::start_with(|command| {
        command.env("CC_LINK_PORT", port.port().to_string());
    });
    second.initialize("2025-11-25").await;
    second.linked(1).await;
    assert_eq!(second.lua(1, "1+1").await, "=> 2");
    drop(computer);
    second.leave().await;
}

#[tokio::test]
async fn a_token_is_given_as_an_argument_or_as_a_setting() {
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_TOKEN", "s3cret");
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let _by_argument = start(
        options(1, "one"),
        &format!("mcp-computer ws://{port} --token s3cret"),
    );
    bridge.linked(1).await;
    let saved =
        options(2, "two").with_file(".settings", r#"{ [ "mcp_computer.token" ] = "s3cret" }"#);
    let _by_setting = linking(saved, port);
    bridge.linked(2).await;
    // As `setup game --token` gives them to new computers.
    let all = format!(
        r#"{{ [ "mcp_computer.token" ] = "s3cret", [ "mcp_computer.url" ] = "ws://{port}" }}"#
    );
    let all = options(4, "four").with_file(".settings", all);
    let _by_settings_alone = start(all, "mcp-computer");
    bridge.linked(4).await;
    let without = linking(options(3, "three"), port);
    assert!(!ended(&without).await);
    shows(&without, "CC_LINK_TOKEN").await;
    bridge.leave().await;
}

#[tokio::test]
async fn the_command_line_is_explained() {
    for (arguments, text, ok) in [
        ("", "Usage", false),
        ("--help", "Usage", true),
        ("-help", "Usage", true),
        ("help", "Usage", true),
        ("--version", "mcp-computer v1.1.0", true),
        ("-version", "mcp-computer v1.1.0", true),
        ("version", "mcp-computer v1.1.0", true),
        ("http://192.168.1.20:3001", "ws://", false),
        ("ws://", "host", false),
        ("ws://host:port", "port", false),
        ("--loud", "--loud", false),
    ] {
        let computer = start(options(1, "one"), &format!("mcp-computer {arguments}"));
        assert_eq!(
            ended(&computer).await,
            ok,
            "{arguments}: {:?}",
            computer.screen()
        );
        shows(&computer, text).await;
    }
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _by_flag = start(
        options(4, "four"),
        &format!("mcp-computer -url ws://{port}/any/path"),
    );
    bridge.linked(4).await;
    bridge.leave().await;
}

#[tokio::test]
async fn what_the_server_forbids_is_explained_with_the_file_to_edit() {
    let mut no_http = options(1, "one");
    no_http.http = HttpRules {
        enabled: false,
        ..HttpRules::default()
    };
    let computer = start(no_http, "mcp-computer ws://127.0.0.1:3001");
    assert!(!ended(&computer).await);
    shows(&computer, "computercraft-server.toml").await;

    let mut no_sockets = options(2, "two");
    no_sockets.http = HttpRules {
        websockets: false,
        ..HttpRules::default()
    };
    let computer = start(no_sockets, "mcp-computer ws://127.0.0.1:3001");
    assert!(!ended(&computer).await);
    shows(&computer, "websocket_enabled").await;

    let mut private = options(3, "three");
    private.http = HttpRules {
        private_addresses: false,
        ..HttpRules::default()
    };
    let computer = start(private, "mcp-computer ws://127.0.0.1:3001");
    for part in [
        "computercraft-server.toml",
        "[[http.rules]]",
        "127.0.0.0/8",
        "allow",
        "$private",
    ] {
        shows(&computer, part).await;
    }
    assert_eq!(computer.program(), ProgramState::Running);
}

#[tokio::test]
async fn a_bridge_that_is_not_there_is_named_and_tried_again() {
    let reserved = Port::reserve();
    let port = reserved.address();
    let mut quick = options(1, "one");
    quick.clock_speed = 20.0;
    let computer = linking(quick, port);
    shows(&computer, "Nothing answers at").await;
    let listener = TcpListener::bind(port).await.unwrap();
    let mut bridge = OldBridge::accept(&listener).await;
    bridge.frame().await;
}

#[tokio::test]
async fn the_installer_fetches_the_agent_and_starts_it_with_the_computer() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // Typed, so that it does not run again after the reboot.
    let computer = start(ComputerOptions::new(5), "");
    computer.type_line(&format!("wget run http://{port}/install.lua --startup"));
    shows(&computer, "It starts with this computer").await;
    assert!(
        computer
            .read_file("mcp-computer.lua")
            .is_some_and(|program| program.starts_with(b"--[[ mcp-computer"))
    );
    computer.reboot();
    bridge.linked(5).await;
    assert_eq!(bridge.lua(5, "1+1").await, "=> 2");
    bridge.leave().await;
}

/// A bridge of protocol version 1, written from the protocol's text.
struct OldBridge {
    socket: WebSocketStream<TcpStream>,
}

impl OldBridge {
    async fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = soon("the agent connects", listener.accept()).await.unwrap();
        Self {
            socket: soon("the agent's handshake", accept_async(stream))
                .await
                .unwrap(),
        }
    }

    async fn frame(&mut self) -> Value {
        loop {
            match soon("a frame from the agent", self.socket.next())
                .await
                .unwrap()
                .unwrap()
            {
                Message::Text(text) => {
                    assert!(text.is_ascii(), "{text}");
                    return serde_json::from_str(&text).unwrap();
                }
                Message::Binary(_) => panic!("a binary message"),
                _ => {}
            }
        }
    }

    async fn send(&mut self, text: &str) {
        self.socket
            .send(Message::Text(text.to_owned().into()))
            .await
            .unwrap();
    }

    async fn request(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.send(
            &json!({"type": "request", "id": id, "method": method, "params": params}).to_string(),
        )
        .await;
        let response = self.frame().await;
        assert_eq!(
            (&response["type"], &response["id"]),
            (&json!("response"), &json!(id)),
            "{response}"
        );
        response
    }
}

/// A version-1 bridge with the agent of computer 12 linked to it, and its hello.
async fn old_bridge(says_hello_ok: bool) -> (OldBridge, Value, Computer, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let computer = linking(options(12, "base-turtle"), listener.local_addr().unwrap());
    let mut bridge = OldBridge::accept(&listener).await;
    let hello = bridge.frame().await;
    if says_hello_ok {
        bridge.send(r#"{"type":"hello-ok"}"#).await;
    }
    (bridge, hello, computer, listener)
}

#[tokio::test]
async fn it_works_with_a_version_1_bridge() {
    let (mut bridge, hello, computer, _listener) = old_bridge(true).await;
    assert_eq!(
        (
            &hello["type"],
            &hello["computerId"],
            &hello["computerLabel"]
        ),
        (&json!("hello"), &json!(12), &json!("base-turtle"))
    );
    shows(&computer, "linked as 12 (Label: base-turtle)").await;
    let pong = bridge.request("req-123", "ping", json!(null)).await;
    assert_eq!(
        (&pong["ok"], &pong["result"]),
        (&json!(true), &json!("pong from 12 (Label: base-turtle)"))
    );
    let unknown = bridge.request("req-124", "dance", json!({})).await;
    assert_eq!(
        (&unknown["ok"], &unknown["error"]),
        (&json!(false), &json!("unknown method"))
    );
    let sum = bridge
        .request(
            "req-125",
            "exec-lua",
            json!({"code": "print('out') return 1+1, 'é€', nil, { 1 }"}),
        )
        .await;
    assert_eq!(
        sum["result"],
        json!({"output": "out\n", "returns": [
            {"type": "number", "value": 2}, {"type": "string", "value": "é€"}, {"type": "nil"}, {"type": "table", "repr": "{ 1 }"},
        ]})
    );
    let error = bridge
        .request(
            "req-126",
            "exec-lua",
            json!({"code": "print('so far') error('boom')"}),
        )
        .await;
    assert_eq!(error["ok"], false);
    assert!(
        error["error"]
            .as_str()
            .unwrap()
            .contains("exec-lua:1: boom"),
        "{error}"
    );
    assert_eq!(error["result"]["output"], "so far\n");
}

#[tokio::test]
async fn malformed_frames_never_stop_it() {
    let (mut bridge, _, computer, _listener) = old_bridge(true).await;
    for frame in [
        "",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"request"}"#,
        r#"{"type":"request","id":7,"method":"ping"}"#,
        r#"{"type":"nonsense","id":"x"}"#,
        r#"{"type":"response","id":"x","ok":true}"#,
        r#"{"type":"hello-ok"}"#,
        "\u{0}\u{1}é",
    ] {
        bridge.send(frame).await;
    }
    bridge
        .send(&format!(
            r#"{{"type":{}1{}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        ))
        .await;
    bridge
        .send(r#"{"type":"request","id":"last","method":"ping"}"#)
        .await;
    loop {
        let frame = bridge.frame().await;
        if frame["id"] == "last" {
            assert_eq!(frame["ok"], true);
            break;
        }
        // A number for an id is answered too: version 1 does not say what an id is.
        assert!(frame["ok"] == false || frame["id"] == 7, "{frame}");
    }
    for params in [json!(null), json!({}), json!({"code": 7}), json!([])] {
        assert_eq!(bridge.request("bad", "exec-lua", params).await["ok"], false);
    }
    assert_eq!(computer.program(), ProgramState::Running);
}

#[tokio::test]
async fn a_bridge_that_never_says_hello_ok_is_greeted_again_and_served_after_two_seconds() {
    let (mut bridge, hello, computer, _listener) = old_bridge(false).await;
    let mut again = bridge.frame().await;
    assert!(again["at"].as_u64() > hello["at"].as_u64(), "{again}");
    again["at"] = hello["at"].clone();
    assert_eq!(again, hello);
    shows(&computer, "linked as 12").await;
    assert_eq!(bridge.request("r", "ping", json!(null)).await["ok"], true);
}

#[tokio::test]
async fn a_bridge_that_starts_late_is_found_within_ten_seconds() {
    const SPEED: f64 = 50.0;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut quick = options(12, "base-turtle");
    quick.clock_speed = SPEED;
    // The agent waits by the real clock, which a fast world doesn't change: so that one is made fast too.
    let program = format!(
        "local epoch = os.epoch local start = epoch('utc') \
         os.epoch = function(of) \
           return of == 'utc' and start + (epoch('utc') - start) * {SPEED} or epoch(of) \
         end \
         shell.run('mcp-computer ws://{}')",
        listener.local_addr().unwrap()
    );
    let _computer = start(quick.with_file("fast.lua", program), "fast");
    // By the eighth, waits that double each time are longer than half a minute.
    let mut attempts = Vec::new();
    while attempts.len() < 12 {
        drop(soon("the computer tries again", listener.accept()).await);
        attempts.push(Instant::now());
    }
    // The shortest of the last waits: the machine may be busy, but never too fast.
    let waits = attempts[8..].windows(2).map(|pair| pair[1] - pair[0]);
    let shortest = waits.min().unwrap().as_secs_f64() * SPEED;
    assert!((7.0..13.0).contains(&shortest), "{shortest} s");
}

#[tokio::test]
async fn each_connection_has_a_url_of_its_own_and_it_links_again_after_a_close() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut quick = options(12, "base-turtle");
    quick.clock_speed = 10.0;
    let _computer = linking(quick, listener.local_addr().unwrap());
    for _ in 0..3 {
        let mut bridge = OldBridge::accept(&listener).await;
        assert_eq!(bridge.frame().await["type"], "hello");
        bridge.send(r#"{"type":"hello-ok"}"#).await;
        assert_eq!(bridge.request("r", "ping", json!(null)).await["ok"], true);
        bridge.socket.close(None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_agent_links_and_answers_a_bridge_of_version_1() {
    for version in ["1.113.1", "1.101", "1.89"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("ws://{}", listener.local_addr().expect("an address"));
        let options = ComputerOptions {
            label: Some("base-turtle".to_owned()),
            version: version.parse().expect("a version"),
            ..ComputerOptions::new(12)
        };
        let options = options.with_file("mcp-computer.lua", agent::program());
        let runtime = Handle::current();
        let computer =
            Computer::start(options, &format!("mcp-computer {url}"), &runtime).expect("a thread");
        let (stream, _) = tokio::time::timeout(PATIENCE, listener.accept())
            .await
            .unwrap_or_else(|_| panic!("{:#?}", computer.screen()))
            .expect("a connection");
        let mut server = accept_async(stream).await.expect("a handshake");
        let hello = server.next().await.expect("a message").expect("hello");
        assert!(
            hello.to_text().expect("text").contains("\"computerId\":12"),
            "{hello}"
        );
        server
            .send(Message::text(r#"{"type":"hello-ok"}"#))
            .await
            .expect("sent");
        let mut ask = async |frame: &str| {
            server.send(Message::text(frame)).await.expect("sent");
            loop {
                let answer = tokio::time::timeout(PATIENCE, server.next())
                    .await
                    .expect("in time");
                let answer = answer
                    .expect("a message")
                    .expect("an answer")
                    .to_text()
                    .expect("text")
                    .to_owned();
                if answer.contains("\"response\"") {
                    return answer;
                }
            }
        };
        let pong = ask(r#"{"type":"request","id":"1","method":"ping"}"#).await;
        assert!(pong.contains("pong from 12 (Label: base-turtle)"), "{pong}");
        let two = ask(r#"{"type":"request","id":"2","method":"exec-lua","params":{"code":"print('hi') sleep(0.1) return 1+1"}}"#).await;
        assert!(two.contains("\"value\":2") && two.contains("hi"), "{two}");
        let failed = ask(
            r#"{"type":"request","id":"3","method":"exec-lua","params":{"code":"error('boom')"}}"#,
        )
        .await;
        assert!(failed.contains("boom"), "{failed}");
        let screen = computer.screen();
        assert!(
            screen.iter().any(|line| line.contains("linked as 12")),
            "{screen:#?}"
        );
    }
}
