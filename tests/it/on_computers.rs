//! Handlers that run on computers: what they tell while they run, by `progress`, `log` and what they print, and `json`, on
//! agents of every age.

use std::{fs, path::Path, time::Instant};

use mcp_bridge::link::agent;
use serde_json::{Value, json};

use crate::{
    bridges::Place,
    common::{bridge::Bridge, computer, linked::of_version, tools::Tools},
};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// Calls a tool for a computer as a client that wants to be told.
async fn call(bridge: &mut Bridge, tool: &str, computer: u64) -> u64 {
    let call = json!({"name": tool, "arguments": {"computerId": computer}, "_meta": {"progressToken": "p"}});
    bridge.ask("tools/call", call).await
}

/// What a client was told until the answer of a call, and that answer: the parameters of each notification of progress,
/// and those of each log message.
async fn told_until_answer(bridge: &mut Bridge, call: u64) -> (Vec<Value>, Vec<Value>, Value) {
    let (mut progress, mut logged) = (Vec::new(), Vec::new());
    loop {
        let message = bridge
            .message("what a call tells, or its answer", |message| {
                message["method"].is_string() || message["id"] == call
            })
            .await;
        match message["method"].as_str() {
            Some("notifications/progress") => progress.push(message["params"].clone()),
            Some("notifications/message") => logged.push(message["params"].clone()),
            Some(_) => {}
            None => return (progress, logged, message["result"].clone()),
        }
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// What the log of a bridge with this state folder says.
fn log(state: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&log(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(
                &fs::read(path).unwrap_or_default(),
            ));
        }
    }
    all
}

/// A handler that tells something, and goes on only when a file is there.
const STEPS: &str = "print('printed \\195\\164') progress('digging \\195\\164', 1, 3) log.warn('low', { fuel = 7 }, nil) \
    log.debug('unseen') log('loud') \
    repeat sleep(0.05) until fs.exists('/go') \
    progress('home', 3, 3) return json.encode({ json.array(), json.null, 'x' })";

#[tokio::test]
async fn a_handler_on_a_computer_tells_its_progress_while_it_runs() {
    let tools = Tools::new();
    tools.add_on_computer("steps", STEPS);
    let state = tempfile::tempdir().unwrap();
    let mut bridge = Bridge::start_with(|command| {
        command
            .arg("--tools")
            .arg(tools.path())
            .env("MCP_BRIDGE_STATE_DIR", state.path());
    });
    bridge.initialize("2025-11-25").await;
    for (id, version) in [(1, "1.80"), (2, "1.89"), (3, "1.113.1")] {
        let _computer = of_version(&mut bridge, id, version, agent::program()).await;
        let steps = call(&mut bridge, "steps", id).await;
        let mut said = String::new();
        let counted = loop {
            let told = bridge
                .message("progress", |told| {
                    told["method"] == "notifications/progress"
                })
                .await["params"]
                .clone();
            said.push_str(told["message"].as_str().unwrap());
            if said.contains("digging ä") {
                break told;
            }
        };
        assert!(said.contains("printed ä\n"), "{version}: {said}");
        assert_eq!(counted["progress"], 1.0, "{version}: {counted}");
        assert_eq!(counted["total"], 3.0, "{version}: {counted}");
        for (level, line) in [("warning", "low {\"fuel\":7} nil"), ("info", "loud")] {
            let logged = bridge
                .message("the log", |told| told["method"] == "notifications/message")
                .await;
            let expected = json!({"level": level, "logger": "handler.lua", "data": line});
            assert_eq!(logged["params"], expected, "{version}");
        }
        bridge.lua(id, "fs.open('/go', 'w').close()").await;
        let (progress, logged, answer) = told_until_answer(&mut bridge, steps).await;
        assert_eq!(text(&answer), "[[],null,\"x\"]", "{version}");
        let last = progress.last().unwrap();
        assert_eq!(
            (&last["message"], &last["progress"]),
            (&json!("home"), &json!(3.0)),
            "{version}: {progress:?}"
        );
        assert_eq!(logged, Vec::<Value>::new(), "{version}");
    }
    bridge.leave().await;
    let log = log(state.path());
    assert_eq!(log.matches("low {\"fuel\":7} nil").count(), 3, "{log}");
    assert!(log.contains("handler=\"handler.lua\" computer=1"), "{log}");
}

#[tokio::test]
async fn what_a_handler_on_a_computer_tells_is_bounded_and_the_last_is_told() {
    let tools = Tools::new();
    tools.add_on_computer(
        "floods",
        "for i = 1, 3000 do progress('step ' .. i .. ('x'):rep(9000), i) log.error(('y'):rep(5000)) end \
         for i = 1, 3000 do log('line ' .. i) end \
         progress('last', 3001) return 'done'",
    );
    let mut bridge = tools.bridge(&[]).await;
    let _computer = of_version(&mut bridge, 1, "1.113.1", agent::program()).await;
    let start = Instant::now();
    let flood = call(&mut bridge, "floods", 1).await;
    let (progress, logged, answer) = told_until_answer(&mut bridge, flood).await;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(text(&answer), "done");
    assert!(
        progress.len() as f64 <= seconds * 10.0 + 4.0,
        "{}",
        progress.len()
    );
    for told in &progress {
        let message = told["message"].as_str().unwrap();
        assert!(message.len() < 2100, "{}", message.len());
    }
    assert_eq!(progress.last().unwrap()["message"], "last");
    assert_eq!(progress.last().unwrap()["progress"], 3001.0);
    assert!(logged.len() <= 202, "{}", logged.len());
    for told in &logged {
        assert!(told["data"].as_str().unwrap().len() < 2100);
    }
    // What was not told is counted, or said.
    let lost: u64 = logged
        .iter()
        .filter_map(|told| {
            let text = told["data"].as_str().unwrap();
            text.strip_suffix(" lines of the log were lost here")?
                .parse::<u64>()
                .ok()
        })
        .sum();
    let told = logged
        .iter()
        .filter(|told| told["data"].as_str().unwrap().starts_with("yyy"))
        .count();
    assert_eq!(lost + told as u64, 200, "{lost} lost, {told} told");
    let more = "more than 200 lines were logged: the rest is not told";
    assert_eq!(logged.last().unwrap()["data"], more);
    // The link stands.
    assert_eq!(bridge.lua(1, "return 1").await, "=> 1");
    bridge.leave().await;
}

/// What `json` has to do, wherever a handler runs.
const JSON: &str = "local fails = {} \
    for _, text in ipairs({ '', '{', '[1,]', '{\"a\" 1}', '01', '\"\\\\x\"', '1 2', ('['):rep(100) }) do \
      local ok, why = pcall(json.decode, text) \
      if ok or type(why) ~= 'string' or not why:find('json.decode: ', 1, true) then fails[#fails + 1] = text end \
    end \
    local cycle = {} cycle.cycle = cycle \
    local ok, why = pcall(json.encode, cycle) \
    if ok or not why:find('json.encode: the value holds tables inside more than 64 others, or a cycle', 1, true) then \
      fails[#fails + 1] = tostring(why) \
    end \
    local bytes = string.char(0xE9, 0xFF, 1, 34) \
    if json.decode(json.encode(bytes)) ~= bytes then fails[#fails + 1] = 'bytes' end \
    local t = json.decode('{\"a\": [1, null, {\"b\": null}], \"u\": \"\\\\u00e9\\\\ud83d\\\\ude00\", \"e\": [], \"n\": -1.5e2}') \
    if t.a[2] ~= json.null or next(t.a[3]) ~= nil or #t.a ~= 3 then fails[#fails + 1] = 'null' end \
    if tostring(json.null) ~= 'null' or json.decode('null') ~= json.null then fails[#fails + 1] = 'null itself' end \
    if pcall(function() json.null.x = 1 end) then fails[#fails + 1] = 'null can be changed' end \
    return json.encode({ fails = json.array(fails), t = t, o = {}, f = print })";

const JSON_ANSWER: &str =
    r#"{"f":null,"fails":[],"o":{},"t":{"a":[1,null,{}],"e":[],"n":-150,"u":"é😀"}}"#;

#[tokio::test]
async fn json_is_the_same_wherever_a_handler_runs() {
    let tools = Tools::new();
    tools.add("here", JSON);
    tools.add_on_computer("there", JSON);
    let mut bridge = tools.bridge(&[]).await;
    assert_eq!(bridge.call("here", json!({})).await.text, JSON_ANSWER);
    let port = bridge.link_port().await;
    let mut computers = Vec::new();
    let agents = [agent::program(), RELEASED.to_owned()];
    for (id, version, agent) in [
        (1, "1.80", &agents[0]),
        (2, "1.113.1", &agents[0]),
        (3, "1.89", &agents[1]),
        (4, "1.113.1", &agents[1]),
    ] {
        computers.push(of_version(&mut bridge, id, version, agent).await);
    }
    let old = computer::version_1_agent(5, "old");
    let serving = computer::Computer::link(port, 5, Some("old"))
        .await
        .serve(old);
    bridge.linked(5).await;
    for id in 1..=5 {
        let answer = bridge.call("there", json!({"computerId": id})).await;
        assert_eq!(answer.text, JSON_ANSWER, "computer {id}");
    }
    serving.abort();
    bridge.leave().await;
}

#[tokio::test]
async fn on_older_agents_what_a_handler_tells_is_printed() {
    let tools = Tools::new();
    let handler = "progress('dig', 1, 3)\n for i = 1, 1000 do progress('dig', 2, 3) end log.warn('low', {}, nil) log('x')\n\
        error(json.encode({ 'end' }))";
    tools.add_on_computer("steps", handler);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let _released = of_version(&mut bridge, 1, "1.89", RELEASED).await;
    let old = computer::version_1_agent(2, "old");
    let serving = computer::Computer::link(port, 2, Some("old"))
        .await
        .serve(old);
    bridge.linked(2).await;
    for id in [1, 2] {
        let answer = bridge.call("steps", json!({"computerId": id})).await;
        assert!(answer.is_error, "{}", answer.text);
        for part in [
            ":3: [\"end\"]",
            "Output before the error:\ndig (1 of 3)\n",
            "[warning] low {} nil\n[info] x",
        ] {
            assert!(
                answer.text.contains(part),
                "no `{part}` in: {}",
                answer.text
            );
        }
    }
    serving.abort();
    bridge.leave().await;
}

/// Asks a raw agent for the tool `steps`, and returns the request, which it has taken.
async fn asked(bridge: &mut Bridge, agent: &mut computer::Computer) -> (u64, Value) {
    let steps = call(bridge, "steps", 5).await;
    let request = agent.request().await;
    agent.accept(&request).await;
    (steps, request)
}

#[tokio::test]
async fn an_agent_that_gives_handlers_nothing_is_sent_what_they_need() {
    let tools = Tools::new();
    tools.add_on_computer("steps", "progress('x') return 1");
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    for (capabilities, has_helpers) in [(json!([]), true), (json!(["tells"]), false)] {
        let mut agent = computer::Computer::connect(port).await;
        let hello = json!({"type": "hello", "computerId": 5, "protocol": 2, "boot": capabilities.to_string(),
            "capabilities": capabilities});
        assert_eq!(agent.hello(hello).await["type"], "hello-ok");
        bridge.linked(5).await;
        let (steps, request) = asked(&mut bridge, &mut agent).await;
        let source = request["params"]["source"].as_str().unwrap();
        assert_eq!(source.contains("json.decode"), has_helpers, "{source}");
        agent.respond(&request, json!({"values": [1]})).await;
        bridge.answer(steps).await;
        drop(agent);
        bridge
            .computer(5, |computer| computer["linked"] == false)
            .await;
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_an_agent_tells_is_not_trusted() {
    let tools = Tools::new();
    tools.add_on_computer("steps", "progress('x') return 1");
    let mut bridge = tools.bridge(&[]).await;
    let mut agent = computer::Computer::link_v2(bridge.link_port().await, 5).await;
    bridge.linked(5).await;
    let (steps, request) = asked(&mut bridge, &mut agent).await;
    let mut seq = 0;
    let mut tell = |told: Value| {
        seq += 1;
        json!({"type": "output", "id": request["id"], "seq": seq, "at": 0, "text": "", "told": told})
    };
    for told in [
        json!("x"),
        json!({"progress": "x"}),
        json!([7, null, {"log": "info"}, {"log": "loud", "text": "x"}, {"progress": {}}]),
        json!([{"progress": "far", "done": 1e300, "total": "x"}]),
    ] {
        agent.send(&tell(told)).await;
    }
    for _ in 0..50 {
        let line = json!({"log": "info", "text": "z".repeat(5_000)});
        agent.send(&tell(json!(vec![line; 20]))).await;
    }
    agent
        .send(&tell(json!([{"progress": "near\u{1b}[31m", "done": 2}])))
        .await;
    // All of it has arrived.
    loop {
        let ack = agent.frame_of_type("output-ack").await;
        if ack["seq"] == 55 {
            break;
        }
    }
    agent.respond(&request, json!({"values": ["done"]})).await;
    let (progress, logged, answer) = told_until_answer(&mut bridge, steps).await;
    assert_eq!(text(&answer), "done");
    assert!(logged.len() <= 202 + 4, "{}", logged.len());
    assert!(progress.len() < 10, "{progress:?}");
    let numbers: Vec<_> = progress
        .iter()
        .map(|told| told["progress"].as_f64().unwrap())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let last = progress.last().unwrap()["message"].as_str().unwrap();
    assert!(last.starts_with("near"), "{last}");
    // A job that tells, and is no handler's, tells nobody.
    let other = bridge
        .start_call("exec-lua", json!({"computerId": 5, "code": "x()"}))
        .await;
    let request = agent.request().await;
    agent.accept(&request).await;
    agent
        .send(
            &json!({"type": "output", "id": request["id"], "seq": 1, "at": 0, "text": "",
            "told": [{"log": "error", "text": "nobody's"}]}),
        )
        .await;
    agent
        .respond(&request, json!({"returns": [], "outputBytes": 0}))
        .await;
    bridge.answer(other).await;
    assert!(!bridge.printed().concat().contains("nobody's"));
    bridge.leave().await;
}

#[tokio::test]
async fn a_guests_client_is_told_what_its_handler_tells() {
    let tools = Tools::new();
    tools.add_on_computer("steps", STEPS);
    let arguments = ["--tools", tools.path().to_str().unwrap()];
    let place = Place::new();
    let owner = place.bridge_with(&arguments).await;
    let mut guest = place.bridge_with(&arguments).await;
    let _computer = place.computer(1);
    guest.linked(1).await;
    let steps = call(&mut guest, "steps", 1).await;
    guest
        .message("the log", |told| told["method"] == "notifications/message")
        .await;
    guest.lua(1, "fs.open('/go', 'w').close()").await;
    let (progress, _, answer) = told_until_answer(&mut guest, steps).await;
    assert_eq!(text(&answer), "[[],null,\"x\"]");
    assert_eq!(progress.last().unwrap()["message"], "home");
    let printed = owner.printed().concat();
    assert!(!printed.contains("digging"), "{printed}");
    guest.leave().await;
    owner.leave().await;
}
