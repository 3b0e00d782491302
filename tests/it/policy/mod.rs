//! What an agent lets bridges do: `--policy full`, `ask` and `read-only`. The agent keeps to it, whatever a bridge says.

mod questions;

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
};
use tokio_tungstenite::{WebSocketStream, accept_async, tungstenite::Message};

use crate::common::{
    bridge::Bridge,
    computer::Computer as RawComputer,
    is, screen, soon,
    tools::{Tools, manifest},
    until,
};

/// What a question ends with.
const ASKED: &str = "Type yes or no";

/// A computer whose agent was started with these arguments.
fn start(id: u64, version: &str, port: SocketAddr, arguments: &str) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.version = version.parse().unwrap();
    let program = format!("mcp-computer ws://{port} {arguments}");
    Computer::start(options, &program, &Handle::current()).unwrap()
}

/// A bridge, and a computer that asks its player.
async fn asking(version: &str) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let computer = start(1, version, bridge.link_port().await, "--policy ask");
    bridge.linked(1).await;
    (bridge, computer)
}

/// Begins a call of `exec-lua` on computer 1.
async fn exec(bridge: &mut Bridge, code: &str, ms: u64) -> u64 {
    let arguments = json!({"computerId": 1, "code": code, "timeoutMs": ms});
    bridge.start_call("exec-lua", arguments).await
}

/// What a command says that a person enters.
async fn outside(bridge: &Bridge, arguments: &[&str]) -> String {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .args(arguments)
        .env("MCP_BRIDGE_CONFIG_DIR", bridge.folder.path().join("config"))
        .env("MCP_BRIDGE_STATE_DIR", bridge.folder.path().join("state"))
        .kill_on_drop(true);
    let output = soon("the command ends", command.output()).await.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The id of the job that an answer names.
fn job_of(answer: &str) -> String {
    let (_, rest) = answer.split_once("as job ").expect(answer);
    let id = rest.split([':', '.', ' ']).next().unwrap();
    id.to_owned()
}

/// What a call answers that waits for the player; `call` is given how long it may take, in milliseconds. One that is over
/// before the agent has begun to ask is made again.
async fn waits(mut call: impl AsyncFnMut(u64) -> String) -> String {
    let mut answer = String::new();
    for ms in [500, 1_000, 2_000, 4_000, 8_000] {
        answer = call(ms).await;
        if answer.contains("waits for the answer") {
            return answer;
        }
    }
    panic!("no call waits for the player: {answer}");
}

/// What `get-job` says once the job has ended.
async fn ended(bridge: &mut Bridge, job: &str) -> String {
    until("the job ends", async || {
        let arguments = json!({"jobId": job, "waitMs": 1000});
        let shown = bridge.call("get-job", arguments).await.text;
        let is_over = !shown.contains("running") && !shown.contains("waiting");
        is(is_over, shown.clone()).map(|()| shown)
    })
    .await
}

#[tokio::test]
async fn what_a_player_says_yes_to_runs_and_what_they_say_no_to_does_not() {
    for version in ["1.89", "1.113.1"] {
        let (mut bridge, computer) = asking(version).await;
        let told = bridge.computer(1, |computer| computer["policy"] == "ask");
        told.await;
        let call = exec(
            &mut bridge,
            "fs.open('/ran', 'w').close()\nreturn 1 + 1",
            60_000,
        )
        .await;
        screen::says(&computer, ASKED).await;
        screen::shows(&computer, "A bridge wants to run here, by exec-lua:").await;
        screen::shows(&computer, "fs.open('/ran', 'w').close()").await;
        assert!(computer.read_file("ran").is_none());
        // The bridge is told so while the question is being shown.
        until("the job waits for its player", async || {
            let jobs = bridge.call("list-jobs", json!({})).await.text;
            is(jobs.contains("waiting for the player's yes"), jobs)
        })
        .await;
        // So is whoever asks from outside.
        let jobs = outside(&bridge, &["jobs"]).await;
        assert!(
            jobs.contains("waiting for the player's yes for ") && !jobs.contains("running for"),
            "{jobs}"
        );
        let jobs = outside(&bridge, &["jobs", "--json"]).await;
        let jobs: Value = serde_json::from_str(&jobs).unwrap();
        let job = &jobs["jobs"][0];
        assert!(
            job["begun"] == false && job["waitsForPlayer"] == true,
            "{jobs}"
        );
        computer.type_line("yes");
        let answer = bridge.answer(call).await;
        assert_eq!(answer.text, "=> 2");
        assert!(computer.read_file("ran").is_some());

        let call = exec(&mut bridge, "fs.open('/again', 'w').close()", 60_000).await;
        screen::says(&computer, "/again").await;
        // What is neither is no answer.
        computer.type_line("perhaps");
        screen::says(&computer, "Please type yes or no").await;
        computer.press_character('n');
        computer.press_character('x');
        computer.press_key("backspace");
        computer.type_line("o");
        let answer = bridge.answer(call).await;
        assert!(answer.is_error, "{}", answer.text);
        assert!(
            answer.text.contains("refused error on computer 1")
                && answer.text.contains("the player at that computer said no"),
            "{}",
            answer.text
        );
        assert!(computer.read_file("again").is_none());
        // What changes nothing is not asked about.
        let probed = bridge.call("probe-computers", json!({})).await.text;
        assert!(probed.contains("pong from 1"), "{probed}");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn input_from_a_bridge_is_asked_about_and_never_answers_the_question() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = start(1, "1.113.1", port, "--policy ask --shell");
    bridge.linked(1).await;
    screen::says(&computer, ">").await;
    let input = json!({"steps": [{"do": "type", "text": "mkdir by-input\n"}]});
    let call = bridge.start_call("send-input", input.clone()).await;
    screen::says(&computer, ASKED).await;
    screen::shows(&computer, "A bridge wants to run here, by send-input:").await;
    screen::shows(
        &computer,
        r#"On terminal: type "mkdir by-input"; press enter"#,
    )
    .await;
    // What another one types waits for its turn and a yes of its own, and is not taken for one.
    let yes = json!({"steps": [{"do": "type", "text": "yes\n"}]});
    let second = bridge.start_call("send-input", yes).await;
    until("both wait for their player", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        is(jobs.matches("send-input to terminal").count() == 2, jobs)
    })
    .await;
    // What only looks is not asked about.
    let seen = bridge.call("read-screen", json!({})).await;
    assert!(!seen.is_error && seen.text.contains("|>"), "{}", seen.text);
    computer.type_line("yes");
    let done = bridge.answer(call).await;
    assert!(
        !done.is_error && done.text.contains("The step was done."),
        "{}",
        done.text
    );
    screen::says(&computer, ASKED).await;
    computer.type_line("no");
    let refused = bridge.answer(second).await;
    assert!(
        refused.is_error && refused.text.contains("the player at that computer said no"),
        "{}",
        refused.text
    );
    until("the command was run", async || {
        is(
            screen::words(&computer).ends_with("mkdir by-input >"),
            screen::words(&computer),
        )
    })
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn ctrl_t_at_a_question_is_a_no_and_leaves_the_shell_where_it_is() {
    for version in ["1.89", "1.113.1"] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let computer = start(1, version, port, "--policy ask --shell");
        bridge.linked(1).await;
        screen::says(&computer, ">").await;
        let call = exec(&mut bridge, "error('it ran')", 60_000).await;
        screen::says(&computer, ASKED).await;
        computer.terminate();
        let answer = bridge.answer(call).await;
        assert!(
            answer.is_error && answer.text.contains("the player at that computer said no"),
            "{}",
            answer.text
        );
        // The agent goes on, and the shell at its prompt has heard of nothing.
        let call = exec(&mut bridge, "return 'allowed'", 60_000).await;
        screen::says(&computer, ASKED).await;
        computer.type_line("y");
        assert_eq!(bridge.answer(call).await.text, "=> \"allowed\"");
        computer.type_line("echo still here");
        screen::says(&computer, "> echo still here still here >").await;
        bridge.leave().await;
    }
}

#[tokio::test]
async fn at_its_deadline_a_call_says_that_the_job_waits_for_the_player_and_a_yes_still_starts_it() {
    let (mut bridge, computer) = asking("1.113.1").await;
    let code = "print('late') return 7";
    let call = waits(async |ms| {
        let call = exec(&mut bridge, code, ms).await;
        bridge.answer(call).await.text
    })
    .await;
    assert!(
        call.contains("asks its player first") && call.contains("Nothing of it has run yet"),
        "{call}"
    );
    let job = job_of(&call);
    screen::says(&computer, ASKED).await;
    computer.type_line("yes");
    let shown = ended(&mut bridge, &job).await;
    assert!(
        shown.contains("ended well") && shown.contains("late\n=> 7"),
        "{shown}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_question_that_is_taken_back_or_not_answered_ends_as_refused() {
    // A clock of its own shows when a minute has passed.
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let startup = format!(
        "local epoch = os.epoch
        os.epoch = function(...) return epoch(...) + (fs.exists('/later') and 61000 or 0) end
        shell.run('mcp-computer ws://{port} --policy ask')"
    );
    let options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file("startup.lua", startup);
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    bridge.linked(1).await;
    let first = exec(&mut bridge, "return 'first'", 60_000).await;
    screen::says(&computer, "'first'").await;
    let second = exec(&mut bridge, "return 'second'", 60_000).await;
    let job = until("the job is listed", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        let line = jobs.lines().find(|line| line.contains("'first'"));
        line.map(|line| line.split(' ').next().unwrap().to_owned())
            .ok_or(jobs.clone())
    })
    .await;
    let cancelled = bridge.call("cancel-job", json!({"jobId": job})).await;
    assert!(
        cancelled.text.contains("was taken back"),
        "{}",
        cancelled.text
    );
    let answer = bridge.answer(first).await;
    assert!(
        answer.text.contains("refused error")
            && answer.text.contains("cancelled before the player"),
        "{}",
        answer.text
    );
    // Then comes the next.
    screen::says(&computer, "'second'").await;
    computer.write_file("later", b"").unwrap();
    computer.queue_event("look", &[]);
    let answer = bridge.answer(second).await;
    assert!(
        answer.text.contains("refused error") && answer.text.contains("did not answer within 60 s"),
        "{}",
        answer.text
    );
    screen::says(&computer, "No answer came").await;
    let jobs = bridge.call("list-jobs", json!({})).await.text;
    assert_eq!(jobs.matches("not run").count(), 2, "{jobs}");
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_program_queues_never_answers() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // Another program of the player's presses keys without end; what it queues goes to the tab in front.
    let presses = "local rounds = 0
        while true do
          for letter in ('yes'):gmatch('.') do os.queueEvent('char', letter) end
          os.queueEvent('key', keys.enter, false)
          sleep(0.05)
          rounds = rounds + 1
          local file = fs.open('/rounds', 'w') file.write(tostring(rounds)) file.close()
        end";
    let startup = format!(
        "shell.openTab('/presses.lua')
        shell.run('mcp-computer ws://{port} --policy ask')"
    );
    let options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file("presses.lua", presses)
        .with_file("startup.lua", startup);
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    bridge.linked(1).await;
    let call = exec(&mut bridge, "fs.open('/ran', 'w').close()", 60_000).await;
    screen::says(&computer, ASKED).await;
    let rounds = || {
        let file = computer.read_file("rounds").unwrap_or_default();
        String::from_utf8(file).unwrap().parse::<u32>().unwrap_or(0)
    };
    let before = rounds();
    until("the other program goes on", async || {
        is(rounds() > before + 5, rounds())
    })
    .await;
    assert!(computer.read_file("ran").is_none());
    computer.type_line("yes");
    let answer = bridge.answer(call).await;
    assert!(!answer.is_error, "{}", answer.text);
    // A job that was allowed presses keys in vain too.
    let code = "for _, key in ipairs({ 'y', 'e', 's' }) do os.queueEvent('char', key) end
        os.queueEvent('key', keys.enter, false)
        shell.run('/presses2.lua') return 'pressed'";
    computer
        .write_file(
            "presses2.lua",
            b"os.queueEvent('char', 'y') os.queueEvent('char', 'e') os.queueEvent('char', 's')
            os.queueEvent('key', keys.enter, false)
            repeat sleep(0.05) until fs.exists('/enough')",
        )
        .unwrap();
    let presses = exec(&mut bridge, code, 60_000).await;
    screen::says(&computer, "presses2").await;
    computer.type_line("yes");
    let call = exec(&mut bridge, "fs.open('/second', 'w').close()", 60_000).await;
    screen::says(&computer, "/second").await;
    let before = rounds();
    until("the other program goes on", async || {
        is(rounds() > before + 5, rounds())
    })
    .await;
    assert!(computer.read_file("second").is_none());
    computer.type_line("no");
    assert!(bridge.answer(call).await.is_error);
    computer.write_file("enough", b"").unwrap();
    assert_eq!(bridge.answer(presses).await.text, "=> \"pressed\"");
    bridge.leave().await;
}

#[tokio::test]
async fn a_tool_of_a_users_own_waits_for_the_player_too() {
    let tools = Tools::new();
    let handler = "return { call = function() return 'hello' end }";
    tools.write("greet/handler.lua", handler);
    let meta = "      mcp.timeoutMs: 2000\n";
    tools.write(
        "greet/_index.yaml",
        &manifest("greet", "computer.lua", meta),
    );
    let mut bridge = tools.bridge(&[]).await;
    let computer = start(1, "1.113.1", bridge.link_port().await, "--policy=ask");
    bridge.linked(1).await;
    let answer = waits(async |_| bridge.call("greet", json!({"computerId": 1})).await.text).await;
    screen::says(&computer, ASKED).await;
    screen::shows(&computer, "function() return 'hello' end").await;
    computer.type_line("yes");
    let shown = ended(&mut bridge, &job_of(&answer)).await;
    assert!(shown.contains("=> \"hello\""), "{shown}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_bridge_does_not_even_ask_a_read_only_agent() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computer = RawComputer::connect(port).await;
    let hello = json!({
        "type": "hello", "computerId": 5, "protocol": 2, "boot": "b", "jobs": [], "policy": "read-only",
        "agent": {"name": "test-agent", "version": "9.9.9"}, "capabilities": [], "maxMessage": 131072,
    });
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    bridge
        .computer(5, |computer| computer["policy"] == "read-only")
        .await;
    let refused = bridge.lua_error(5, "return 1").await;
    assert!(
        refused.contains("refused error on computer 5")
            && refused.contains("read-only")
            && refused.contains("set mcp_computer.policy full"),
        "{refused}"
    );
    let script = json!({"code": "return computers.exec(5, 'return 1')"});
    let refused = bridge.call("run-script", script).await;
    assert!(
        refused.is_error && refused.text.contains("read-only"),
        "{}",
        refused.text
    );
    // Nothing of it has come.
    let probe = bridge.start_call("probe-computers", json!({})).await;
    let request = computer.request().await;
    assert_eq!(request["method"], "ping", "{request}");
    computer.respond(&request, json!("pong")).await;
    bridge.answer(probe).await;
    bridge.leave().await;
}

/// Arguments that a tool asks for, of the kinds that it takes.
fn required_of(tool: &Value) -> Value {
    let schema = &tool["inputSchema"];
    let mut arguments = json!({});
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let property = &schema["properties"][name];
        arguments[name] = match (&property["enum"][0], property["type"].as_str()) {
            (Value::Null, Some("string")) => json!("x"),
            (Value::Null, Some("integer" | "number")) => json!(1),
            (Value::Null, Some("array")) => json!([]),
            (Value::Null, Some("boolean")) => json!(true),
            (Value::Null, _) => json!({}),
            (first, _) => first.clone(),
        };
    }
    arguments
}

#[tokio::test]
async fn each_tool_of_ours_that_promises_to_change_nothing_works_on_a_read_only_agent() {
    let mut bridge = Bridge::start_with(|command| {
        command.args(["--toolsets", "all"]);
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let _computer = start(1, "1.113.1", port, "--policy read-only");
    bridge.linked(1).await;
    let listed = bridge.request("tools/list", json!({})).await;
    let mut asked = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let is_of_computer = tool["inputSchema"]["properties"]["computerId"].is_object();
        // The one waits for as long as it may, and the other has nothing to do here.
        if !is_of_computer || ["wait-event", "update-agent"].contains(&name) {
            continue;
        }
        let mut arguments = required_of(tool);
        arguments["computerId"] = json!(1);
        let answer = bridge.call(name, arguments).await;
        let is_refused = answer.text.contains("was started read-only");
        let promises = tool["annotations"]["readOnlyHint"] == true;
        // Arguments that fit the schema may still be none that mean something.
        assert!(
            !(promises && is_refused) && (promises || answer.is_error),
            "{name}: {}",
            answer.text
        );
        asked += 1;
    }
    assert!(asked >= 3, "{asked}");
    bridge.leave().await;
}

/// A bridge written by hand, to which a computer has linked.
struct Hand(WebSocketStream<TcpStream>);

impl Hand {
    /// Lets in what comes, and says this.
    async fn accept(listener: &TcpListener, hello_ok: Value) -> Self {
        let (stream, _) = soon("the agent comes", listener.accept()).await.unwrap();
        let mut hand = Self(accept_async(stream).await.unwrap());
        hand.say(hello_ok).await;
        hand
    }

    async fn say(&mut self, frame: Value) {
        let sent = self.0.send(Message::Text(frame.to_string().into())).await;
        sent.unwrap();
    }

    /// The next frame that fits.
    async fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = soon("the agent says something", self.0.next()).await;
            let Some(Ok(Message::Text(text))) = message else {
                panic!("{message:?}");
            };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if fits(&frame) {
                return frame;
            }
        }
    }
}

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({"type": "request", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn an_agent_says_that_it_asks_over_each_link_and_that_it_begins() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap();
    let computer = start(6, "1.113.1", port, "--policy ask");
    let hello_ok = json!({"type": "hello-ok", "protocol": 2});
    let mut bridge = Hand::accept(&listener, hello_ok.clone()).await;
    let hello = bridge.hear(|frame| frame["type"] == "hello").await;
    assert_eq!(hello["policy"], "ask");
    let asked = request("a-1", "exec-lua", json!({"code": "return 1"}));
    bridge.say(asked.clone()).await;
    let accepted = bridge.hear(|frame| frame["type"] == "accepted").await;
    assert_eq!(accepted["asking"], true, "{accepted}");
    // What can't wait for a yes is refused, by whatever name.
    bridge.say(request("a-2", "run-nothing", json!({}))).await;
    let refused = bridge.hear(|frame| frame["id"] == "a-2").await;
    assert_eq!(refused["error"]["kind"], "unsupported", "{refused}");
    drop(bridge);
    let mut bridge = Hand::accept(&listener, hello_ok).await;
    let job = bridge.hear(|frame| frame["name"] == "job").await;
    assert_eq!(
        (&job["job"]["asking"], &job["job"]["notBegun"]),
        (&json!(true), &Value::Null),
        "{job}"
    );
    bridge.say(asked).await;
    let accepted = bridge.hear(|frame| frame["type"] == "accepted").await;
    assert_eq!(accepted["asking"], true, "{accepted}");
    computer.type_line("YES");
    let accepted = bridge.hear(|frame| frame["type"] == "accepted").await;
    assert_eq!(accepted["asking"], Value::Null, "{accepted}");
    let answer = bridge.hear(|frame| frame["type"] == "response").await;
    assert_eq!(answer["result"]["returns"][0]["value"], 1, "{answer}");
}

#[tokio::test]
async fn a_read_only_agent_refuses_what_a_bridge_labels_as_read_only() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap();
    let computer = start(6, "1.113.1", port, "--policy read-only");
    let hello_ok = json!({"type": "hello-ok", "protocol": 2});
    let mut bridge = Hand::accept(&listener, hello_ok).await;
    let hello = bridge.hear(|frame| frame["type"] == "hello").await;
    assert_eq!(hello["policy"], "read-only");
    let source = "fs.open('/ran', 'w').close() return {}";
    let label = json!({"readOnlyHint": true, "destructiveHint": false});
    let handler = json!({
        "name": "list-files", "source": source, "arguments": [], "readOnly": true, "policy": "full",
        "annotations": label, "readOnlyHint": true,
    });
    let program = json!({"command": "mkdir /ran", "readOnly": true, "annotations": label});
    let input =
        json!({"target": "terminal", "acts": [["event", "terminate", []]], "limitMs": 1000});
    for (id, method, params) in [
        ("a-1", "run-handler", handler),
        ("a-2", "run-program", program),
        ("a-3", "exec-lua", json!({"code": source, "readOnly": true})),
        ("a-4", "send-input", input),
    ] {
        let mut request = request(id, method, params);
        request["readOnly"] = json!(true);
        bridge.say(request).await;
        let answer = bridge.hear(|frame| frame["id"] == id).await;
        let kind = &answer["error"]["kind"];
        // A method that an agent does not know does nothing either.
        assert!(
            answer["type"] == "response" && (kind == "refused" || kind == "unsupported"),
            "{method}: {answer}"
        );
    }
    assert!(computer.read_file("ran").is_none());
    bridge.say(request("a-5", "ping", json!({}))).await;
    let is_pong = |frame: &Value| frame["id"] == "a-5" && frame["type"] == "response";
    let pong = bridge.hear(is_pong).await;
    assert_eq!(pong["ok"], true, "{pong}");
}

#[tokio::test]
async fn a_bridge_of_version_1_waits_for_the_player_as_well() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap();
    let computer = start(6, "1.113.1", port, "--policy ask");
    let mut bridge = Hand::accept(&listener, json!({"type": "hello-ok"})).await;
    for (word, ok) in [("yes", true), ("no", false)] {
        let code = json!({"code": format!("return '{word}'")});
        bridge.say(request(word, "exec-lua", code)).await;
        screen::says(&computer, &format!("return '{word}'")).await;
        computer.type_line(word);
        let answer = bridge.hear(|frame| frame["id"] == word).await;
        assert_eq!(answer["ok"], ok, "{answer}");
    }
}

#[tokio::test]
async fn a_policy_comes_from_the_command_line_or_the_settings_and_a_wrong_one_is_an_error() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let with_setting = |id, setting: &str, arguments: &str| {
        let options = ComputerOptions::new(id)
            .with_file("mcp-computer.lua", agent::program())
            .with_file(".settings", format!("{{ {setting} }}"));
        let program = format!("mcp-computer ws://{port} {arguments}");
        Computer::start(options, &program, &Handle::current()).unwrap()
    };
    let ask = "[ \"mcp_computer.policy\" ] = \"ask\",";
    let read_only = "[ \"mcp_computer.read_only\" ] = true,";
    let _computers = [
        with_setting(1, ask, ""),
        with_setting(2, ask, "--policy full"),
        with_setting(3, &format!("{ask} {read_only}"), ""),
        with_setting(4, ask, "--read-only"),
    ];
    for (id, policy) in [
        (1, json!("ask")),
        (2, Value::Null),
        (3, json!("read-only")),
        (4, json!("read-only")),
    ] {
        let computer = bridge.linked(id).await;
        assert_eq!(computer["policy"], policy, "{computer}");
    }
    let odd = with_setting(5, "[ \"mcp_computer.policy\" ] = \"perhaps\",", "");
    screen::shows(
        &odd,
        "The setting mcp_computer.policy must be full, ask or read-only, not perhaps",
    )
    .await;
    for (arguments, said) in [
        (
            "--policy never",
            "--policy must be full, ask or read-only, not never",
        ),
        ("--policy full --read-only", "One policy is enough"),
    ] {
        let odd = start(6, "1.113.1", port, arguments);
        screen::shows(&odd, said).await;
    }
    bridge.leave().await;
}
