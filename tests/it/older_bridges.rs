//! Bridges that are older than this one: that of 1.0.0, as it was recorded, with an agent, an owner and a guest of today.

use std::{net::SocketAddr, time::Duration};

use crate::bridges::owner;
use crate::common::{
    bridge::Bridge,
    computer::Computer as RawComputer,
    is,
    recorded::{Line, has_all_of, proof, recorded},
    soon, until,
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    process::Command,
    runtime::Handle,
    time::{Instant, timeout_at},
};
use tokio_tungstenite::{
    MaybeTlsStream, accept_async, accept_hdr_async, connect_async,
    tungstenite::{
        client::IntoClientRequest,
        handshake::server::{Request, Response},
    },
};

const GUEST: &str = "mcp-bridge.guest";

/// A bridge of today beside one of 1.0.0 that holds the link port: its listener, and the line to its guest.
async fn beside_an_older_owner() -> (Bridge, TcpListener, Line<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_PORT", port);
    });
    bridge.initialize("2025-11-25").await;
    let (stream, _) = soon("the guest comes", listener.accept()).await.unwrap();
    #[expect(clippy::result_large_err)]
    let choose = |request: &Request, mut response: Response| {
        assert_eq!(request.headers()["Sec-WebSocket-Protocol"], GUEST);
        let headers = response.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", GUEST.parse().unwrap());
        Ok(response)
    };
    let socket = accept_hdr_async(stream, choose).await.unwrap();
    let mut line = Line::over(socket);
    let guest = line.hear("guest").await;
    assert!(has_all_of(
        &guest,
        &recorded("guest to owner", "guest", &[])
    ));
    let nonce = recorded("owner to guest", "challenge", &[])["nonce"].clone();
    let state = bridge.folder.path().join("state");
    let own = proof(&state, "owner", &guest["nonce"], &nonce);
    line.say(&recorded("owner to guest", "challenge", &[("/proof", own)]));
    let answer = line.hear("proof").await;
    assert_eq!(
        answer["proof"],
        proof(&state, "guest", &guest["nonce"], &nonce)
    );
    let ping = recorded("owner to guest", "ping", &[]);
    for name in ["welcome", "linked", "bridges", "seen"] {
        line.say(&recorded("owner to guest", name, &[]));
    }
    line.keep_saying(&ping, Duration::from_secs(2));
    bridge.linked(1).await;
    (bridge, listener, line)
}

/// A recorded frame of the computer about this request, as the owner hands it on.
fn handed(name: &str, request: &Value) -> Value {
    recorded(
        "owner to guest",
        name,
        &[("/frame/id", request["frame"]["id"].clone())],
    )
}

const IS_OLDER: &str = "mcp-bridge 1.0.0 (process ";

#[tokio::test]
async fn a_bridge_beside_one_of_1_0_0_says_what_that_lacks_and_what_to_do() {
    let (mut bridge, listener, line) = beside_an_older_owner().await;
    let listed = bridge.call("list-computers", json!({})).await;
    let pid = recorded("owner to guest", "welcome", &[])["owner"]["pid"].clone();
    for part in [
        &format!("{IS_OLDER}{pid}), which is older than this one"),
        "is not known whether code that a computer did not take in time begins later",
        "End that process, or restart the MCP client that started it",
    ] {
        assert!(
            listed.text.contains(part),
            "no `{part}` in: {}",
            listed.text
        );
    }
    let fields = listed.structured.unwrap();
    assert!(
        listed.text.ends_with(fields["notice"].as_str().unwrap()),
        "{fields}"
    );
    let probed = bridge.call("probe-computers", json!({})).await.text;
    assert!(
        probed.starts_with(
            "timeout from 1 (Label: base)\n\nThe link port is held by mcp-bridge 1.0.0"
        ),
        "{probed}"
    );
    // What it says to do helps: the port is this bridge's then, and it is no longer told.
    drop((line, listener));
    until("it holds the port", async || {
        let listed = bridge.call("list-computers", json!({})).await.text;
        is(listed.contains("held by this mcp-bridge"), listed)
    })
    .await;
    let listed = bridge.call("list-computers", json!({})).await;
    assert!(
        !listed.text.contains(IS_OLDER) && listed.structured.unwrap().get("notice").is_none(),
        "{}",
        listed.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn code_runs_through_a_bridge_of_1_0_0_and_no_more_is_said_of_it_than_that_tells() {
    let (mut bridge, _listener, mut line) = beside_an_older_owner().await;
    let call = json!({"code": "print('hi') return 1+1,'\\200\\255'", "where": "screen"});
    let call = bridge.start_call("exec-lua", call).await;
    let request = line.hear("request").await;
    assert!(
        has_all_of(
            &request,
            &recorded("guest to owner", "request exec-lua", &[])
        ),
        "{request}"
    );
    // What only newer ones keep to is not asked for.
    let frame = &request["frame"];
    assert!(
        frame.get("startBefore").is_none() && frame.get("attached").is_none(),
        "{frame}"
    );
    for name in ["accepted", "output", "response"] {
        line.say(&handed(name, &request));
    }
    for name in ["output-ack", "ack"] {
        let said = line.hear(name).await;
        let id = ("/frame/id", frame["id"].clone());
        assert_eq!(said, recorded("guest to owner", name, &[id]));
    }
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.starts_with("hi\n=> 2\n=> \"Èÿ\"\n")
            && answer
                .text
                .contains("isn't known: the mcp-bridge that holds the link port is older"),
        "{}",
        answer.text
    );

    // One that is not taken: it may begin later, for all that is known.
    let call = json!({"code": "x()", "timeoutMs": 300});
    let call = bridge.start_call("exec-lua", call).await;
    line.hear("request").await;
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.contains("It is not known whether the code ran")
            && answer.text.contains("It may run there, or yet begin."),
        "{}",
        answer.text
    );

    // One that goes on, and one that is stopped.
    let call = json!({"code": "x()", "timeoutMs": 300});
    let call = bridge.start_call("exec-lua", call).await;
    let request = line.hear("request").await;
    line.say(&handed("accepted", &request));
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.starts_with("The code still runs on computer 1"),
        "{}",
        answer.text
    );
    line.say(&handed("response runtime", &request));
    // It knows no `detach`, and would note each in its log.
    let (before, _) = line.until("ack").await;
    assert!(!before.contains(&"detach".to_owned()), "{before:?}");
    until("its end is known", async || {
        let job = json!({"jobId": request["frame"]["id"]});
        let shown = bridge.call("get-job", job).await.text;
        is(shown.contains("exec-lua:1: boom"), shown)
    })
    .await;
    let call = json!({"code": "x()", "timeoutMs": 300, "onTimeout": "cancel"});
    let call = bridge.start_call("exec-lua", call).await;
    let request = line.hear("request").await;
    line.say(&handed("accepted", &request));
    line.hear("cancel").await;
    line.say(&handed("response cancelled", &request));
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.contains("was stopped, as `onTimeout` asks."),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn jobs_of_a_bridge_of_1_0_0_are_listed_read_and_stopped() {
    let (mut bridge, _listener, mut line) = beside_an_older_owner().await;
    let call = bridge.start_call("list-jobs", json!({})).await;
    let asked = line.hear("ask").await;
    assert_eq!(
        asked,
        recorded("guest to owner", "ask jobs", &[("/n", asked["n"].clone())])
    );
    let reply =
        |name, asked: &Value| recorded("owner to guest", name, &[("/n", asked["n"].clone())]);
    line.say(&reply("reply jobs", &asked));
    let jobs = bridge.answer(call).await.text;
    for part in ["ended well ", "ended with a runtime error ", "running for "] {
        assert!(jobs.contains(part), "no `{part}` in: {jobs}");
    }
    let job = recorded("guest to owner", "ask job", &[])["question"]["id"].clone();
    let call = bridge.start_call("get-job", json!({"jobId": job})).await;
    let asked = line.hear("ask").await;
    assert!(
        has_all_of(&asked, &recorded("guest to owner", "ask job", &[])),
        "{asked}"
    );
    line.say(&reply("reply job", &asked));
    let shown = bridge.answer(call).await.text;
    assert!(
        shown.contains("4 bytes printed. Cursor: 4.\nown\n"),
        "{shown}"
    );
    let call = bridge.start_call("cancel-job", json!({"jobId": job})).await;
    for name in ["reply job", "reply cancelled", "reply job"] {
        let asked = line.hear("ask").await;
        line.say(&reply(name, &asked));
    }
    let stopped = bridge.answer(call).await.text;
    assert!(stopped.contains(" was stopped."), "{stopped}");
    line.say(&recorded("owner to guest", "left", &[]));
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    bridge.leave().await;
}

/// A guest of 1.0.0 at a bridge of today.
async fn older_guest(owner: &Bridge, port: SocketAddr) -> Line<MaybeTlsStream<TcpStream>> {
    let mut request = format!("ws://{port}/").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("Sec-WebSocket-Protocol", GUEST.parse().unwrap());
    let (socket, _) = connect_async(request).await.unwrap();
    let pong = recorded("guest to owner", "pong", &[]);
    let mut line = Line::over(socket);
    let guest = recorded("guest to owner", "guest", &[]);
    line.say(&guest);
    let challenge = line.hear("challenge").await;
    assert!(has_all_of(
        &challenge,
        &recorded("owner to guest", "challenge", &[])
    ));
    let state = owner.folder.path().join("state");
    let own = proof(&state, "guest", &guest["nonce"], &challenge["nonce"]);
    line.say(&recorded("guest to owner", "proof", &[("/proof", own)]));
    let welcome = line.hear("welcome").await;
    assert!(has_all_of(
        &welcome,
        &recorded("owner to guest", "welcome", &[])
    ));
    line.keep_saying(&pong, Duration::from_secs(2));
    line
}

#[tokio::test]
async fn a_person_is_told_of_a_guest_of_1_0_0_which_can_be_asked_nothing() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let enters = async |command: &str| {
        let mut enters = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        enters
            .arg(command)
            .env("MCP_BRIDGE_CONFIG_DIR", bridge.folder.path().join("config"))
            .env("MCP_BRIDGE_STATE_DIR", bridge.folder.path().join("state"))
            .env("CC_LINK_HOST", "127.0.0.1")
            .env("CC_LINK_PORT", port.port().to_string());
        let output = soon("the command ends", enters.output()).await.unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    until("the bridge can be asked", async || {
        let said = enters("jobs").await;
        is(said == "Nothing runs (1 bridge told so).\n", said)
    })
    .await;
    let _line = older_guest(&bridge, port).await;
    for command in ["jobs", "pause"] {
        let said = enters(command).await;
        assert!(
            said.contains("Of the 2 bridges that share the link port only 1 can be asked."),
            "{command}: {said}"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_guest_of_1_0_0_is_served_as_it_always_was() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computer = RawComputer::connect(port).await;
    let hello = json!({
        "type": "hello", "computerId": 1, "computerLabel": "base", "protocol": 2, "boot": "first", "jobs": [],
        "agent": {"name": "mcp-computer", "version": "1.1.0"}, "maxMessage": 131_072, "at": 1_764_331_200_123_u64,
        "computer": {"kind": "computer", "advanced": true, "host": "tests"},
        "capabilities": ["cancel", "output", "parts", "jobs", "exclusive", "handlers", "detach", "where", "startBefore"],
    });
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    bridge.linked(1).await;
    let mut line = older_guest(&bridge, port).await;
    for name in ["linked", "bridges", "seen"] {
        let told = line.hear(name).await;
        assert!(
            has_all_of(&told, &recorded("owner to guest", name, &[])),
            "{told}"
        );
    }
    let boot = ("/frame/boot", json!("first"));
    let ask = recorded("guest to owner", "request exec-lua", &[boot]);
    line.say(&ask);
    let request = computer.request().await;
    // As it came: what its bridge doesn't ask for is not asked in its name.
    assert_eq!(request, ask["frame"]);
    computer.accept(&request).await;
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": 1, "at": 0, "text": "hi\n"}))
        .await;
    let result = recorded("owner to guest", "response", &[])["frame"]["result"].clone();
    computer
        .send(&json!({"type": "response", "id": request["id"], "ok": true, "outputBytes": 3, "result": result}))
        .await;
    for name in ["accepted", "output", "response"] {
        let handed = line.hear(name).await;
        let id = ("/frame/id", request["id"].clone());
        assert_eq!(handed, recorded("owner to guest", name, &[id]));
    }
    for name in ["output-ack", "ack"] {
        let id = ("/frame/id", request["id"].clone());
        line.say(&recorded("guest to owner", name, &[id]));
        let said = computer.frame_of_type(name).await;
        assert_eq!(said["id"], request["id"]);
    }

    // It knows no word of a new label, and would note each in its log.
    computer
        .send(&json!({"type": "event", "name": "label", "label": "new"}))
        .await;
    bridge
        .computer(1, |computer| computer["label"] == "new")
        .await;

    // What it asks of other bridges' jobs.
    let call = json!({"code": "print('own')", "timeoutMs": 60_000});
    bridge.start_call("exec-lua", call).await;
    let own = computer.request().await;
    computer.accept(&own).await;
    computer
        .send(&json!({"type": "output", "id": own["id"], "seq": 1, "at": 0, "text": "own\n"}))
        .await;
    computer.frame_of_type("output-ack").await;
    line.say(&recorded("guest to owner", "ask jobs", &[]));
    let (before, told) = line.until("reply").await;
    assert!(!before.contains(&"label".to_owned()), "{before:?}");
    let jobs = told["answer"]["jobs"].as_array().unwrap();
    let known = &recorded("owner to guest", "reply jobs", &[])["answer"]["jobs"];
    for job in jobs {
        let of_its_stage = |known: &&Value| {
            known["stage"] == job["stage"] && known["end"].is_null() == job["end"].is_null()
        };
        let mut known = known.as_array().unwrap().iter().filter(of_its_stage);
        assert!(known.any(|known| has_all_of(job, known)), "{job}");
    }
    let id = ("/question/id", own["id"].clone());
    line.say(&recorded(
        "guest to owner",
        "ask job",
        std::slice::from_ref(&id),
    ));
    let told = line.hear("reply").await;
    assert!(
        has_all_of(&told, &recorded("owner to guest", "reply job", &[])),
        "{told}"
    );
    line.say(&recorded("guest to owner", "ask cancel", &[id]));
    assert_eq!(computer.frame_of_type("cancel").await["id"], own["id"]);
    let cancelled = json!({"kind": "cancelled", "message": "cancelled"});
    computer
        .send(&json!({"type": "response", "id": own["id"], "ok": false, "error": cancelled, "outputBytes": 4}))
        .await;
    let told = line.hear("reply").await;
    assert!(
        has_all_of(&told, &recorded("owner to guest", "reply cancelled", &[])),
        "{told}"
    );

    // Its own: by its word, and never because it is gone, since it can't say whether a call still waits.
    let (boot, id) = (
        ("/frame/boot", json!("first")),
        ("/frame/id", json!("779c41bbbbab-77")),
    );
    line.say(&recorded(
        "guest to owner",
        "request exec-lua",
        &[boot, id.clone()],
    ));
    let request = computer.request().await;
    computer.accept(&request).await;
    line.hear("accepted").await;
    drop(line);
    until("it is gone", async || {
        is(owner(&mut bridge).await.2 == 1, "it is still there")
    })
    .await;
    let after = Instant::now() + Duration::from_millis(3_500);
    let stopped = timeout_at(after, computer.frame_of_type("cancel")).await;
    assert!(stopped.is_err(), "{stopped:?}");
    bridge.leave().await;
}

/// Where a computer's agent is to find a bridge of 1.0.0: the same place after each time that it was away.
async fn port_again(address: SocketAddr) -> TcpListener {
    until("the port is free", async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).and_then(|()| socket.listen(8))
    })
    .await
}

/// The line of a bridge of 1.0.0 to the agent that comes to it, and the agent's hello.
async fn older_bridge(listener: &TcpListener) -> (Line<TcpStream>, Value) {
    let (stream, _) = soon("the agent comes", listener.accept()).await.unwrap();
    let socket = accept_async(stream).await.unwrap();
    let mut line = Line::over(socket);
    let hello = line.hear("hello").await;
    line.say(&recorded("to an agent", "hello-ok", &[]));
    // Its seconds may be shorter than ours.
    let ping = recorded("to an agent", "ping", &[]);
    line.keep_saying(&ping, Duration::from_millis(100));
    (line, hello)
}

/// A computer so many times as fast as the game's, by every clock of it, which writes down its own time.
fn fast_computer(address: SocketAddr, version: &str, speed: f64) -> Computer {
    let startup = format!(
        "local epoch = os.epoch
        local start = epoch('utc')
        os.epoch = function(of)
            return of == 'utc' and math.floor(start + (epoch('utc') - start) * {speed}) or epoch(of)
        end
        parallel.waitForAny(
            function() shell.run('mcp-computer ws://{address}') end,
            function()
                while true do
                    local f = fs.open('/clock', 'w') f.write(os.clock()) f.close()
                    sleep(0.05)
                end
            end)"
    );
    let mut options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file("startup.lua", startup);
    options.version = version.parse().unwrap();
    options.clock_speed = speed;
    Computer::start(options, "", &Handle::current()).unwrap()
}

async fn after(computer: &Computer, seconds: f64) {
    let now = || {
        let clock = computer.read_file("clock").unwrap_or_default();
        String::from_utf8(clock).unwrap().parse().unwrap_or(0.0)
    };
    let until_then = now() + seconds;
    until("the time has passed", async || {
        is(now() >= until_then, now())
    })
    .await;
}

/// A recorded request for this agent: its code, and an id of its own.
fn code_for(hello: &Value, id: &str, code: &str) -> Value {
    let changes = [
        ("/id", json!(id)),
        ("/boot", hello["boot"].clone()),
        ("/params/code", json!(code)),
    ];
    recorded("to an agent", "request exec-lua", &changes)
}

#[tokio::test]
async fn a_bridge_of_1_0_0_has_the_agent_do_all_that_it_could() {
    for version in ["1.89", "1.113.1"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _computer = fast_computer(listener.local_addr().unwrap(), version, 1.0);
        let (mut line, hello) = older_bridge(&listener).await;
        let code = recorded("to an agent", "request exec-lua", &[])["params"]["code"].clone();
        line.say(&code_for(&hello, "a-1", code.as_str().unwrap()));
        for name in ["accepted", "output", "response"] {
            let frame = line.hear(name).await;
            let known = recorded("owner to guest", name, &[("/frame/id", json!("a-1"))]);
            assert_eq!(frame, known["frame"], "{version}");
        }
        let id = ("/id", json!("a-1"));
        for name in ["output-ack", "ack"] {
            line.say(&recorded("to an agent", name, std::slice::from_ref(&id)));
        }
        line.say(&code_for(&hello, "a-2", "error('boom')"));
        let failed = line.hear("response").await;
        let known = recorded("owner to guest", "response runtime", &[])["frame"].clone();
        assert!(has_all_of(&failed, &known), "{version}: {failed}");
        assert_eq!(failed["error"]["message"], known["error"]["message"]);
        line.say(&code_for(&hello, "a-3", "while true do sleep(0) end"));
        line.hear("accepted").await;
        line.say(&recorded("to an agent", "cancel", &[("/id", json!("a-3"))]));
        let stopped = line.hear("response").await;
        assert_eq!(stopped["error"]["kind"], "cancelled", "{version}");
        // That bridge shows it as it is.
        assert!(
            stopped["error"]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{stopped}"
        );
        let changes = [("/id", json!("a-4")), ("/boot", hello["boot"].clone())];
        line.say(&recorded("to an agent", "request run-handler", &changes));
        assert_eq!(
            line.hear("response").await["result"],
            json!({"values": [2]})
        );
        let changes = [("/id", json!("a-5")), ("/boot", hello["boot"].clone())];
        line.say(&recorded("to an agent", "request ping", &changes));
        assert_eq!(
            line.hear("response").await["result"],
            "pong from 1 (Label: nil)"
        );
        let pong = line.hear("pong").await;
        assert_eq!(pong["n"], 1, "{pong}");
    }
}

#[tokio::test]
async fn a_bridge_of_1_0_0_gets_a_mebibyte_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _computer = fast_computer(listener.local_addr().unwrap(), "1.113.1", 10.0);
    let (mut line, hello) = older_bridge(&listener).await;
    let code = "for i = 1, 16384 do write(('%063d\\n'):format(i)) end";
    line.say(&code_for(&hello, "a-1", code));
    let mut output = String::new();
    while output.len() < 1024 * 1024 {
        let piece = line.hear("output").await;
        assert!(piece.get("dropped").is_none(), "{piece}");
        // Sent again, since no word of it came in time.
        if piece["at"] == output.len() {
            output.push_str(piece["text"].as_str().unwrap());
        }
        let changes = [("/id", json!("a-1")), ("/seq", piece["seq"].clone())];
        line.say(&recorded("to an agent", "output-ack", &changes));
    }
    let response = line.hear("response").await;
    assert_eq!(response["outputBytes"], 1024 * 1024);
    let expected: String = (1..=16_384).map(|i| format!("{i:063}\n")).collect();
    assert!(output == expected);
}

#[tokio::test]
async fn no_job_of_a_bridge_of_1_0_0_is_stopped_because_nobody_claims_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let computer = fast_computer(address, "1.113.1", 20.0);
    let (line, hello) = older_bridge(&listener).await;
    let code = "repeat sleep(1) until fs.exists('/go') return 'end'";
    let mut request = code_for(&hello, "a-1", code);
    request["deadlineMs"] = json!(1_000);
    line.say(&request);
    let mut line = line;
    line.hear("accepted").await;
    drop((line, listener));
    // Without any bridge, then with one that doesn't ask for it: 60 s is as long as what is attached goes on.
    after(&computer, 90.0).await;
    let listener = port_again(address).await;
    let (mut line, again) = older_bridge(&listener).await;
    assert_eq!(again["boot"], hello["boot"]);
    assert_eq!(again["jobs"], json!(["a-1"]));
    let told = line.hear("event").await;
    assert_eq!(
        (&told["name"], &told["job"]["state"]),
        (&json!("job"), &json!("running")),
        "{told}"
    );
    after(&computer, 90.0).await;
    // A label is told by an event that it doesn't know, and counts: once for each change.
    let label = "os.setComputerLabel('new') fs.open('/go', 'w').close()";
    line.say(&code_for(&hello, "a-2", label));
    let before = async {
        let mut labels = 0;
        loop {
            let frame = line.next().await.unwrap();
            labels += usize::from(frame["name"] == "label");
            if frame["type"] == "response" && frame["id"] == "a-1" {
                return (labels, frame);
            }
        }
    };
    let (labels, ended) = soon("the job ends", before).await;
    assert_eq!(labels, 1);
    assert_eq!(ended["result"]["returns"][0]["value"], "end", "{ended}");
}
