//! Who has a number: two computers of one, one that comes for many, a key that changes hands, and agents that run nothing
//! of a bridge's.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    bridges::Place,
    common::{
        PATIENCE,
        bridge::{Bridge, ToolAnswer},
        computer::{Computer as RawComputer, Event, version_1_agent},
        is,
        pace::in_time,
        screen::shows,
        soon, until,
    },
};
use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Handle};
use tokio_tungstenite::{accept_async, tungstenite::Message};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// The hello of a computer of version 2.
fn hello(id: u64, boot: &str, key: Option<&str>) -> Value {
    let mut hello = json!({
        "type": "hello", "computerId": id, "computerLabel": boot, "protocol": 2, "boot": boot, "jobs": [],
        "agent": {"name": "test-agent", "version": "9.9.9"}, "policy": "full", "capabilities": [], "maxMessage": 131072,
    });
    if let Some(key) = key {
        hello["key"] = json!(key);
    }
    hello
}

/// A computer that has linked with this hello.
async fn linked(port: SocketAddr, id: u64, boot: &str, key: Option<&str>) -> RawComputer {
    let mut computer = RawComputer::connect(port).await;
    let answer = computer.hello(hello(id, boot, key)).await;
    assert_eq!(answer["type"], "hello-ok", "{answer}");
    computer
}

/// Serves pings and requests of a computer of version 2, each with a word of its own, until the link ends.
fn living(mut computer: RawComputer, word: &'static str) -> tokio::task::JoinHandle<RawComputer> {
    tokio::spawn(async move {
        loop {
            let Event::Frame(frame) = computer.event().await else {
                return computer;
            };
            match frame["type"].as_str() {
                Some("ping") => {
                    computer
                        .send(&json!({"type": "pong", "n": frame["n"]}))
                        .await;
                }
                Some("request") => {
                    computer.accept(&frame).await;
                    let returns = json!([{"type": "string", "value": word}]);
                    computer.respond(&frame, json!({"returns": returns})).await;
                }
                _ => {}
            }
        }
    })
}

/// Who answers for a number.
async fn word_of(bridge: &mut Bridge, id: u64) -> ToolAnswer {
    let answer = bridge
        .call("exec-lua", json!({"computerId": id, "code": "return word"}))
        .await;
    assert!(!answer.is_error, "{}", answer.text);
    answer
}

/// All that a bridge with this state folder has logged.
fn log(state: &Path) -> String {
    let files = fs::read_dir(state.join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|kind| kind == "log"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

fn options(id: u64, program: impl Into<Vec<u8>>, port: SocketAddr) -> ComputerOptions {
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", program)
        .with_file(
            "startup.lua",
            format!("shell.run('mcp-computer ws://{port}')"),
        );
    options.clock_speed = 10.0;
    options
}

fn start(options: ComputerOptions) -> Computer {
    Computer::start(options, "", &Handle::current()).unwrap()
}

#[tokio::test]
async fn a_second_of_one_number_is_told_who_has_it_and_to_try_again() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _holder = living(linked(port, 7, "holder", Some("a")).await, "holder");
    let address = bridge.linked(7).await["address"].clone();
    for key in [Some("a"), Some("b"), None] {
        let start = Instant::now();
        let mut second = RawComputer::connect(port).await;
        let told = second.hello(hello(7, "second", key)).await;
        in_time("to be refused", start.elapsed(), Duration::from_secs(1)).await;
        assert_eq!(
            (&told["type"], &told["retry"], &told["retryAfterMs"]),
            (&json!("hello-error"), &json!(true), &json!(null)),
            "{told}"
        );
        let error = told["error"].as_str().unwrap();
        for part in [
            "another computer of the same number is linked from ",
            address.as_str().unwrap(),
            " since ",
            "Z",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(second.closed().await.0, 4409);
    }
    // An agent of version 1 knows no hello-error: it sees the close, which says the same.
    let mut second = RawComputer::connect(port).await;
    second
        .send(&json!({"type": "hello", "computerId": 7}))
        .await;
    match second.event().await {
        Event::Closed(Some(close)) => assert!(
            u16::from(close.code) == 4409 && close.reason.contains("is linked from "),
            "{close:?}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(word_of(&mut bridge, 7).await.text, "=> \"holder\"");
    bridge.leave().await;
}

#[tokio::test]
async fn one_that_says_nothing_for_ten_seconds_makes_room_for_the_next_try() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // Its connection stands, and nobody is there any more.
    let mute = linked(port, 7, "holder", None).await;
    let start = Instant::now();
    let mut second = RawComputer::connect(port).await;
    let told = second.hello(hello(7, "second", None)).await;
    let after = told["retryAfterMs"].as_u64().unwrap();
    assert!((5_000..10_000).contains(&after), "{told}");
    let linked = until("it is taken", async || {
        let mut again = RawComputer::connect(port).await;
        let answer = again.hello(hello(7, "second", None)).await;
        is(answer["type"] == "hello-ok", answer).map(|()| again)
    })
    .await;
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(10), "{took:?}");
    in_time("to be taken", took, Duration::from_secs(12)).await;
    living(linked, "second");
    assert_eq!(word_of(&mut bridge, 7).await.text, "=> \"second\"");
    drop(mute);
    bridge.leave().await;
}

#[tokio::test]
async fn the_same_start_of_an_agent_replaces_its_older_link_at_once() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut older = linked(port, 7, "start", Some("a")).await;
    let newer = linked(port, 7, "start", Some("a")).await;
    let told = older.frame_of_type("hello-error").await;
    assert_eq!(told["retry"], true, "{told}");
    assert_eq!(older.closed().await.0, 4409);
    living(newer, "newer");
    assert_eq!(word_of(&mut bridge, 7).await.text, "=> \"newer\"");
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_of_version_1_keeps_its_number_while_its_connection_stands() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let holder = RawComputer::link(port, 8, Some("one"))
        .await
        .serve(version_1_agent(8, "one"));
    for hello in [
        json!({"type": "hello", "computerId": 8}),
        hello(8, "second", Some("a")),
    ] {
        let mut second = RawComputer::connect(port).await;
        second.send(&hello).await;
        assert_eq!(second.closed().await.0, 4409, "{hello}");
    }
    assert_eq!(bridge.lua(8, "return 'one'").await, "=> \"one\"");
    // It reboots: its connection goes with it, and there is room at once.
    holder.abort();
    let start = Instant::now();
    let again = RawComputer::link(port, 8, Some("again")).await;
    in_time("to be back", start.elapsed(), Duration::from_secs(2)).await;
    again.serve(version_1_agent(8, "again"));
    assert_eq!(bridge.lua(8, "return 'again'").await, "=> \"again\"");
    bridge.leave().await;
}

#[tokio::test]
async fn a_loop_over_all_numbers_stops_no_computer_and_answers_for_none() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let simulated = [
        start(options(1, agent::program(), port)),
        start(options(2, RELEASED, port)),
    ];
    living(linked(port, 3, "three", Some("c")).await, "three");
    RawComputer::link(port, 4, None)
        .await
        .serve(version_1_agent(4, "four"));
    for id in 1..=4 {
        bridge.linked(id).await;
    }
    let call = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": "sleep(20) return 'still here'"}),
        )
        .await;
    let attacker = tokio::spawn(async move {
        let mut impostors = Vec::new();
        for round in 0..9 {
            for id in 1..=20 {
                let mut impostor = RawComputer::connect(port).await;
                let hello = match round % 3 {
                    0 => json!({"type": "hello", "computerId": id}),
                    1 => hello(id, "impostor", None),
                    _ => hello(id, "impostor", Some("impostor")),
                };
                impostor.send(&hello).await;
                // It answers whatever it may be asked.
                impostors.push(living(impostor, "impostor"));
            }
        }
        // Most are turned away, and those that have a number of their own live on.
        let ends = impostors.iter().filter(|one| one.is_finished());
        assert!(ends.count() > 4, "nobody was turned away yet");
        impostors
    });
    while !attacker.is_finished() {
        assert_eq!(bridge.lua(1, "return os.getComputerID()").await, "=> 1");
        assert_eq!(bridge.lua(2, "return os.getComputerID()").await, "=> 2");
        assert_eq!(word_of(&mut bridge, 3).await.text, "=> \"three\"");
        assert_eq!(bridge.lua(4, "return 'four'").await, "=> \"four\"");
    }
    let impostors = attacker.await.unwrap();
    assert_eq!(bridge.answer(call).await.text, "=> \"still here\"");
    for computer in &simulated {
        assert_eq!(computer.boots(), 1, "{}", computer.screen().join("\n"));
    }
    for impostor in impostors {
        impostor.abort();
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_number_that_changed_hands_is_said_to_have() {
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let port = place.address();
    let former = linked(port, 7, "former", Some("a")).await;
    let from = owner.linked(7).await["address"]
        .as_str()
        .unwrap()
        .to_owned();
    drop(former);
    // The same computer after a restart: nothing has changed.
    let former = living(linked(port, 7, "restarted", Some("a")).await, "former");
    for bridge in [&mut owner, &mut guest] {
        bridge
            .computer(7, |computer| computer["label"] == "restarted")
            .await;
        assert_eq!(word_of(bridge, 7).await.text, "=> \"former\"");
        let listed = bridge.call("list-computers", json!({})).await;
        assert!(!listed.text.contains("changed hands"), "{}", listed.text);
    }
    former.abort();
    let _ = former.await;
    living(linked(port, 7, "other", Some("b")).await, "other");
    let mut late = place.bridge().await;
    for bridge in [&mut owner, &mut guest, &mut late] {
        let known = bridge
            .computer(7, |computer| computer["label"] == "other")
            .await;
        assert!(known["changedHands"].is_string(), "{known}");
        let listed = bridge.call("list-computers", json!({})).await.text;
        assert!(listed.contains("changed hands "), "{listed}");
        for _ in 0..2 {
            let said = word_of(bridge, 7).await.text;
            assert!(
                said.starts_with("=> \"other\"\nNote: computer 7 (Label: other) changed hands ")
                    && said.contains(&from[..from.len() - 6]),
                "{said}"
            );
        }
        let probed = bridge.call("probe-computers", json!({})).await.text;
        assert!(probed.contains("changed hands"), "{probed}");
        let script = json!({"code": "return computers.exec(7, 'return word')"});
        let scripted = bridge.call("run-script", script).await.text;
        assert!(scripted.contains("changed hands"), "{scripted}");
    }
    let state = place.state();
    until("the log says so", async || {
        let log = log(state);
        is(log.contains("changed hands"), log)
    })
    .await;
    assert!(!log(state).contains("\"a\""));
    for bridge in [late, guest, owner] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_guest_that_takes_the_port_knows_whose_numbers_are() {
    let place = Place::new();
    let owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let port = place.address();
    let former = linked(port, 7, "former", Some("a")).await;
    guest.linked(7).await;
    drop(former);
    owner.kill().await;
    let other = until("the guest has the port", async || {
        let Ok(mut computer) = RawComputer::connect_with(port, &[]).await else {
            return Err("nobody listens");
        };
        let answer = computer.hello(hello(7, "other", None)).await;
        is(answer["type"] == "hello-ok", "refused").map(|()| computer)
    })
    .await;
    living(other, "other");
    let said = word_of(&mut guest, 7).await.text;
    assert!(said.contains("changed hands"), "{said}");
    guest.leave().await;
}

#[tokio::test]
async fn who_has_a_number_and_its_label_are_known_over_the_end_of_all_bridges() {
    let place = Place::new();
    let port = place.address();
    let mut bridge = place.bridge().await;
    let former = linked(port, 7, "farm", Some("a")).await;
    let same = linked(port, 8, "mine", Some("c")).await;
    for id in [7, 8] {
        bridge.linked(id).await;
    }
    bridge.leave().await;
    drop((former, same));

    let mut bridge = place.bridge().await;
    // It is known where it is not there, by its label too.
    let said = bridge
        .call(
            "exec-lua",
            json!({"computerId": "farm", "code": "return word"}),
        )
        .await;
    assert!(
        said.is_error && said.text.contains("7 (Label: farm)") && said.text.contains("offline"),
        "{}",
        said.text
    );
    living(linked(port, 7, "other", Some("b")).await, "other");
    living(linked(port, 8, "mine", Some("c")).await, "same");
    bridge
        .computer(7, |computer| computer["label"] == "other")
        .await;
    let said = word_of(&mut bridge, 7).await.text;
    assert!(
        said.contains("computer 7 (Label: other) changed hands"),
        "{said}"
    );
    assert_eq!(word_of(&mut bridge, 8).await.text, "=> \"same\"");
    bridge.leave().await;

    // What was kept of a key shows none, and is its user's alone.
    let file = place
        .state()
        .join(format!("computers-of-port-{}.json", port.port()));
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept.as_array().unwrap().len(), 2, "{kept:#}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }
    // A damaged file is as none.
    fs::write(&file, "{").unwrap();
    let mut bridge = place.bridge().await;
    let listed = bridge.call("list-computers", json!({})).await.text;
    assert!(!listed.contains("farm"), "{listed}");
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_draws_its_key_once_and_keeps_it_in_its_settings() {
    for version in ["1.79", "1.89", "1.113.1"] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let mut options = options(5, agent::program(), port)
            .with_file(".settings", r#"{ [ "a.players" ] = "own" }"#);
        options.version = version.parse().unwrap();
        let computer = start(options);
        bridge.linked(5).await;
        let kept = || String::from_utf8(computer.read_file(".settings").unwrap()).unwrap();
        let settings = kept();
        assert!(
            settings.contains("mcp_computer.key") && settings.contains("a.players"),
            "{version}: {settings}"
        );
        // A restart shows the same one; without its settings it is another's.
        for (code, changed) in [
            ("os.reboot()", false),
            ("fs.delete('/.settings') os.reboot()", true),
        ] {
            let boots = computer.boots();
            bridge
                .call("exec-lua", json!({"computerId": 5, "code": code}))
                .await;
            assert!(
                computer
                    .until(PATIENCE, |computer| computer.boots() > boots)
                    .await
            );
            bridge.linked(5).await;
            let said = bridge.lua(5, "return 1").await;
            assert_eq!(said.contains("changed hands"), changed, "{version}: {said}");
        }
        assert!(kept().contains("mcp_computer.key"));
        bridge.leave().await;
    }
}

#[tokio::test]
async fn of_two_computers_with_one_number_the_second_says_so_and_follows_the_first() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut first = options(7, agent::program(), port);
    first.label = Some("first".to_owned());
    let first = start(first);
    bridge.linked(7).await;
    let mut second = options(7, agent::program(), port);
    second.label = Some("second".to_owned());
    let second = start(second);
    shows(
        &second,
        "The bridge says: another computer of the same number is linked from 127.0.0.1",
    )
    .await;
    shows(&second, "Trying again until this one is taken.").await;
    assert_eq!(bridge.lua(7, "os.getComputerLabel()").await, "=> \"first\"");
    first.shutdown();
    bridge
        .computer(7, |computer| {
            computer["label"] == "second" && computer["linked"] == true
        })
        .await;
    let said = bridge.lua(7, "os.getComputerLabel()").await;
    assert!(
        said.starts_with("=> \"second\"\n") && said.contains("changed hands"),
        "{said}"
    );
    bridge.leave().await;
}

/// A hostile bridge: it sends this agent what it likes, and tells what came back.
async fn asked_by_a_hostile_bridge(arguments: &str, requests: &[Value]) -> (Computer, Vec<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap();
    let startup = format!("shell.run('mcp-computer ws://{port} {arguments}')");
    let computer = start(options(6, agent::program(), port).with_file("startup.lua", startup));
    let (stream, _) = soon("the agent comes", listener.accept()).await.unwrap();
    let mut socket = accept_async(stream).await.unwrap();
    let mut answers = Vec::new();
    for request in [json!({"type": "hello-ok", "protocol": 2})]
        .iter()
        .chain(requests)
    {
        let sent = socket.send(Message::Text(request.to_string().into())).await;
        sent.unwrap();
    }
    while answers.len() < requests.len() {
        let message = soon("the agent answers", socket.next()).await;
        let Some(Ok(Message::Text(text))) = message else {
            panic!("{message:?}");
        };
        let frame: Value = serde_json::from_str(&text).unwrap();
        match frame["type"].as_str() {
            Some("hello") => assert_eq!(
                frame["policy"] == "read-only",
                arguments.contains("--read-only")
            ),
            Some("response") => answers.push(frame),
            _ => {}
        }
    }
    (computer, answers)
}

#[tokio::test]
async fn a_read_only_agent_refuses_the_source_of_a_hostile_bridge_under_any_name_and_hash() {
    let source = "fs.open('/ran', 'w').close() return 'ran'";
    let run = |id: &str, params: Value| {
        let params = params.as_object().unwrap().clone();
        json!({"type": "request", "id": id, "method": "run-handler", "params": params})
    };
    let requests = [
        // What is built in under that name, and under no hash at all, is another thing.
        run(
            "a-1",
            json!({"name": "ping", "source": source, "arguments": []}),
        ),
        run(
            "a-2",
            json!({"name": "ping", "hash": "ping", "source": source, "arguments": []}),
        ),
        run(
            "a-3",
            json!({"name": "ping", "hash": "ping", "arguments": []}),
        ),
        run(
            "a-4",
            json!({"name": "list-files", "hash": "0-0", "source": source, "arguments": []}),
        ),
        json!({"type": "request", "id": "a-5", "method": "exec-lua", "params": {"code": source}}),
        json!({"type": "request", "id": "a-6", "method": "ping"}),
    ];
    let (computer, answers) = asked_by_a_hostile_bridge("--read-only", &requests).await;
    for (request, answer) in requests.iter().zip(&answers) {
        assert_eq!(request["id"], answer["id"]);
        if request["method"] == "ping" {
            assert_eq!(answer["ok"], true, "{answer}");
            continue;
        }
        let error = &answer["error"];
        assert_eq!(
            (&answer["ok"], &error["kind"]),
            (&json!(false), &json!("refused")),
            "{answer}"
        );
        assert!(
            error["message"].as_str().unwrap().contains("read-only"),
            "{answer}"
        );
    }
    assert!(computer.read_file("ran").is_none());
    // Without the option it runs: so what was sent would have done it.
    let (computer, answers) = asked_by_a_hostile_bridge("", &requests[..1]).await;
    assert_eq!(answers[0]["ok"], true, "{answers:?}");
    assert!(computer.read_file("ran").is_some());
}

#[tokio::test]
async fn a_read_only_agent_runs_nothing_that_a_bridge_sends_whatever_it_is_called() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let by_option = options(1, agent::program(), port).with_file(
        "startup.lua",
        format!("shell.run('mcp-computer ws://{port} --read-only')"),
    );
    let by_setting = options(2, agent::program(), port)
        .with_file(".settings", r#"{ [ "mcp_computer.read_only" ] = true }"#);
    let computers = [start(by_option), start(by_setting)];
    for id in [1, 2] {
        bridge.linked(id).await;
        let refused = bridge
            .lua_error(id, "fs.open('/ran', 'w').close() return 1")
            .await;
        assert!(
            refused.contains("refused") && refused.contains("read-only"),
            "{refused}"
        );
    }
    let probed = bridge.call("probe-computers", json!({})).await.text;
    assert_eq!(probed.matches("pong from ").count(), 2, "{probed}");
    bridge.leave().await;
    for computer in computers {
        assert!(computer.read_file("ran").is_none());
    }
}
