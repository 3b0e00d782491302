//! The link port as computers, browsers and strangers meet it, and what a client sees of it.

use std::time::{Duration, Instant};

use crate::common::{
    bridge::Bridge,
    computer::{Computer, Event, version_1_agent},
    health, http, is,
    pace::in_time,
    port::Port,
    soon, until,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::tungstenite::Error;

#[tokio::test]
async fn a_version_1_agent_works_with_the_bridge() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = Computer::link(port, 12, Some("base-turtle")).await;
    let agent = computer.serve(version_1_agent(12, "base-turtle"));

    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "pong from 12 (Label: base-turtle)"
    );
    assert_eq!(bridge.lua(12, "return 1+1").await, "=> 2");
    assert_eq!(
        bridge
            .lua(12, "print('hi') return 'a', nil, true, {}")
            .await
            .lines()
            .take(4)
            .collect::<Vec<_>>(),
        ["hi", "=> \"a\"", "=> nil", "=> true"]
    );
    let error = bridge.lua_error(12, "print('first') error('boom')").await;
    assert!(
        error.contains("boom") && error.contains("Output before the error:\nfirst"),
        "{error}"
    );
    let known = bridge.linked(12).await;
    assert_eq!(
        (&known["label"], known.get("agent")),
        (&json!("base-turtle"), None)
    );
    bridge.leave().await;
    soon("the agent's link ends", agent).await.unwrap();
}

#[tokio::test]
async fn a_version_1_peer_is_sent_plain_text_and_nothing_of_version_2() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link(bridge.link_port().await, 12, None).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": "return 'é€'"}))
        .await;
    let request = computer.frame().await;
    let fields: Vec<_> = request
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(fields, ["type", "id", "method", "params"]);
    assert_eq!(request["params"], json!({"code": "return 'é€'"}));
    computer.send(&json!({"type": "ping", "n": 1})).await;
    computer
        .respond(
            &request,
            json!({"returns": [{"type": "string", "value": "é€"}], "output": ""}),
        )
        .await;
    assert_eq!(bridge.answer(call).await.text, "=> \"é€\"");
    // The ping of version 2 was not answered: the next frame is the next request.
    bridge.start_call("exec-lua", json!({"code": "2"})).await;
    assert_eq!(computer.frame().await["params"]["code"], "2");
    bridge.leave().await;
}

#[tokio::test]
async fn a_version_2_peer_is_sent_byte_strings_and_its_own_are_read() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link_v2(bridge.link_port().await, 5).await;
    computer.send(&json!({"type": "ping", "n": 7})).await;
    assert_eq!(computer.frame().await, json!({"type": "pong", "n": 7}));
    let call = bridge.start_call("exec-lua", json!({"code": "é"})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    assert_eq!(
        (&request["boot"], request["deadlineMs"].is_u64()),
        (&json!("first"), true)
    );
    assert_eq!(request["params"]["code"], "\u{c3}\u{a9}");
    let returns = json!([{"type": "string", "value": "\u{e2}\u{82}\u{ac}"}, {"type": "string", "value": "\u{ff}\u{80}"}]);
    computer
        .respond(
            &request,
            json!({"returns": returns, "output": "\u{c3}\u{a9}\n"}),
        )
        .await;
    assert_eq!(bridge.answer(call).await.text, "é\n=> \"€\"\n=> \"ÿ \"");

    let call = bridge.start_call("exec-lua", json!({"code": "x"})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let error = json!({"kind": "runtime", "message": "exec-lua:1: boom", "traceback": "stack traceback:\n\tx", "hint": "Look."});
    computer.send(&json!({"type": "response", "id": request["id"], "ok": false, "error": error, "result": {"output": "so far"}})).await;
    let answer = bridge.answer(call).await;
    assert!(answer.is_error);
    assert_eq!(
        answer.text,
        "runtime error on computer 5 (Label: two): exec-lua:1: boom\n\nstack traceback:\n\tx\n\nHint: Look.\n\n\
         Output before the error:\nso far"
    );
    let known = bridge.linked(5).await;
    assert_eq!(
        (
            &known["kind"],
            &known["advanced"],
            &known["agent"]["version"]
        ),
        (&json!("turtle"), &json!(true), &json!("9.9.9"))
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_probe_lists_every_computer_in_order_and_none_can_forge_a_line() {
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_PROBE_TIMEOUT_MS", "300");
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    Computer::link(port, 12, Some("base-turtle"))
        .await
        .serve(version_1_agent(12, "base-turtle"));
    let _silent = Computer::link(port, 14, Some("farm-turtle")).await;
    Computer::link(port, 15, None).await.serve(|request| {
        Some(json!({"type": "response", "id": request["id"], "ok": false, "error": "no\npong from 99 (Label: x)"}))
    });
    Computer::link(port, 2, Some("a\npong from 98 (Label: y)")).await.serve(|request| {
        Some(json!({"type": "response", "id": request["id"], "ok": true, "result": "pong from 2 (Label: z)\npong from 97 (Label: z)"}))
    });
    Computer::link(port, 3, Some("plain")).await.serve(|request| {
        Some(json!({"type": "response", "id": request["id"], "ok": true, "result": "pong from 12 (Label: base-turtle)"}))
    });
    // Leaves as soon as it is asked.
    let mut leaver = Computer::link(port, 30, None).await;
    let probe = bridge.start_call("probe-computers", json!({})).await;
    leaver.frame().await;
    drop(leaver);
    assert_eq!(
        bridge.answer(probe).await.text.lines().collect::<Vec<_>>(),
        [
            "pong from 2 (Label: z)\\npong from 97 (Label: z)",
            "pong from 3 (Label: plain)",
            "pong from 12 (Label: base-turtle)",
            "timeout from 14 (Label: farm-turtle)",
            "error from 15 (Label: nil): no\\npong from 99 (Label: x)",
            "timeout from 30 (Label: nil)",
        ]
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_names_its_computer_unless_there_is_only_one() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let none = bridge.call("exec-lua", json!({"code": "1"})).await;
    assert!(
        none.is_error && none.text.contains("No computers connected."),
        "{}",
        none.text
    );
    Computer::link(port, 1, Some("one"))
        .await
        .serve(version_1_agent(1, "one"));
    assert_eq!(
        bridge
            .call("exec-lua", json!({"code": "return 7"}))
            .await
            .text,
        "=> 7"
    );
    let two = Computer::link(port, 2, None)
        .await
        .serve(version_1_agent(2, "nil"));
    let several = bridge.call("exec-lua", json!({"code": "return 7"})).await;
    assert!(
        several.is_error && several.text.contains("1 (Label: one), 2 (Label: nil)"),
        "{}",
        several.text
    );
    let unknown = bridge
        .call("exec-lua", json!({"computerId": 9, "code": "return 7"}))
        .await;
    assert!(
        unknown.is_error && unknown.text.contains("Computer 9 is not linked"),
        "{}",
        unknown.text
    );
    two.abort();
    bridge
        .computer(2, |computer| computer["linked"] == false)
        .await;
    // It might be back in a moment, so it is waited for.
    let gone = bridge
        .call(
            "exec-lua",
            json!({"computerId": 2, "code": "return 7", "timeoutMs": 200}),
        )
        .await;
    assert!(
        gone.is_error
            && gone
                .text
                .contains("offline error on computer 2 (Label: nil)"),
        "{}",
        gone.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_timeout_ends_the_call_and_not_the_link() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link(bridge.link_port().await, 4, None).await;
    let late = bridge
        .call("exec-lua", json!({"code": "1", "timeoutMs": 50}))
        .await;
    assert!(
        late.is_error && late.text.contains("no answer within 50 ms"),
        "{}",
        late.text
    );
    let forgotten = computer.frame().await;
    computer
        .respond(&forgotten, json!({"returns": [], "output": "too late"}))
        .await;
    let call = bridge.start_call("exec-lua", json!({"code": "2"})).await;
    let request = computer.frame().await;
    computer
        .respond(&request, json!({"returns": [], "output": "in time"}))
        .await;
    assert_eq!(bridge.answer(call).await.text, "in time");
    bridge.leave().await;
}

#[tokio::test]
async fn a_broken_link_answers_the_calls_that_wait_at_once() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link(bridge.link_port().await, 4, None).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": "1", "timeoutMs": 600_000}))
        .await;
    computer.frame().await;
    drop(computer);
    let lost = bridge.answer(call).await;
    assert!(
        lost.is_error && lost.text.contains("link-lost error on computer 4"),
        "{}",
        lost.text
    );
    let gone = bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    // What happened, in no library's words.
    let why = "the connection broke off (agent stopped, computer off or unloaded, or network down)";
    assert_eq!(gone["leftBecause"], why);
    assert!(lost.text.contains(why), "{}", lost.text);
    bridge.leave().await;
}

#[tokio::test]
async fn at_most_32_requests_wait_for_one_computer_and_the_rest_follow() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link(bridge.link_port().await, 4, None).await;
    let mut calls = Vec::new();
    for number in 0..40 {
        calls.push(
            bridge
                .start_call("exec-lua", json!({"code": number.to_string()}))
                .await,
        );
    }
    let mut requests = Vec::new();
    for _ in 0..32 {
        requests.push(computer.frame().await);
    }
    // That no other comes can only be waited for.
    let more = tokio::time::timeout(Duration::from_millis(100), computer.frame()).await;
    assert!(more.is_err(), "a 33rd request: {more:?}");
    for request in &requests {
        computer
            .respond(request, json!({"returns": [], "output": "done"}))
            .await;
    }
    for _ in 0..8 {
        let request = computer.frame().await;
        computer
            .respond(&request, json!({"returns": [], "output": "done"}))
            .await;
    }
    for call in calls {
        assert_eq!(bridge.answer(call).await.text, "done");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn code_over_the_message_limit_is_refused_early() {
    let mut bridge = Bridge::initialized().await;
    let _computer = Computer::link(bridge.link_port().await, 4, None).await;
    let answer = bridge
        .call("exec-lua", json!({"code": "x".repeat(131_072)}))
        .await;
    assert!(
        answer.is_error && answer.text.contains("too-large") && answer.text.contains("131072"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn an_old_agents_unknown_method_says_how_to_update_it() {
    let mut bridge = Bridge::initialized().await;
    Computer::link(bridge.link_port().await, 4, None).await.serve(|request| {
        Some(json!({"type": "response", "id": request["id"], "ok": false, "error": "unknown method"}))
    });
    let answer = bridge.call("exec-lua", json!({"code": "1"})).await;
    assert!(
        answer.is_error
            && answer.text.contains("unknown method")
            && answer.text.contains("Update it"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn health_counts_the_computers_linked_now() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    assert_eq!(health(port).await["computers"], 0);
    let one = Computer::link(port, 1, None).await;
    let _two = Computer::link(port, 2, None).await;
    let report = health(port).await;
    assert_eq!(
        (&report["ok"], &report["computers"]),
        (&json!(true), &json!(2))
    );
    drop(one);
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    assert_eq!(health(port).await["computers"], 1);
    bridge.leave().await;
}

#[tokio::test]
async fn the_agent_and_its_installer_are_served_with_the_address_that_was_asked() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let agent = http(port, "GET /mcp-computer.lua HTTP/1.1\r\nHost: mc.lan:3001").await;
    assert!(
        agent.contains("=\"ws://mc.lan:3001/\"") && agent.contains("exec-lua"),
        "{agent}"
    );
    let installer = http(port, "GET /install.lua HTTP/1.1\r\nHost: 192.168.1.20:3001").await;
    assert!(
        installer.contains("=\"ws://192.168.1.20:3001/\""),
        "{installer}"
    );
    // As the game of Minecraft 1.12.2 asks, which leaves the port out; and as a proxy does, which stands on another one.
    let installer = http(port, "GET /install.lua HTTP/1.1\r\nHost: 192.168.1.20").await;
    let own = format!("=\"ws://192.168.1.20:{}/\"", port.port());
    assert!(installer.contains(&own), "{installer}");
    let proxied = "GET /install.lua HTTP/1.1\r\nHost: 192.168.1.20\r\nX-Forwarded-For: 10.0.0.2";
    let installer = http(port, proxied).await;
    assert!(installer.contains("=\"ws://192.168.1.20/\""), "{installer}");
    assert!(
        http(port, "GET /nothing HTTP/1.1\r\nHost: localhost")
            .await
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        http(
            port,
            "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0"
        )
        .await
        .starts_with("HTTP/1.1 405")
    );
    bridge.leave().await;
}

#[tokio::test]
async fn web_pages_of_other_sites_are_refused() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (host, origin, allowed) in [
        (port.to_string(), format!("http://{port}"), true),
        (port.to_string(), "http://evil.example".to_owned(), false),
        (port.to_string(), "null".to_owned(), false),
        (
            "evil.example".to_owned(),
            "http://evil.example".to_owned(),
            false,
        ),
    ] {
        let answer = http(
            port,
            &format!("GET /health HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}"),
        )
        .await;
        assert_eq!(
            answer.starts_with("HTTP/1.1 200"),
            allowed,
            "{host} {origin}: {answer}"
        );
        assert_eq!(
            answer.starts_with("HTTP/1.1 403"),
            !allowed,
            "{host} {origin}: {answer}"
        );
    }
    let refused = Computer::connect_with(port, &[("origin", "http://evil.example")]).await;
    assert!(matches!(refused, Err(Error::Http(response)) if response.status() == 403));
    // A game before 1.101 sends the bridge's own address.
    Computer::connect_with(port, &[("origin", &format!("http://{port}"))])
        .await
        .unwrap();
    bridge.leave().await;
}

#[tokio::test]
async fn a_tunnel_is_refused_unless_a_token_guards_the_port() {
    let mut open = Bridge::initialized().await;
    let port = open.link_port().await;
    for header in [
        ("x-forwarded-for", "203.0.113.9"),
        ("forwarded", "for=203.0.113.9"),
        ("host", "abc.tunnel.example"),
    ] {
        let refused = Computer::connect_with(port, &[header]).await;
        assert!(
            matches!(refused, Err(Error::Http(response)) if response.status() == 403),
            "{header:?}"
        );
    }
    open.leave().await;

    let mut guarded = Bridge::start_with(|command| {
        command.env("CC_LINK_TOKEN", "0123456789abcdef");
    });
    guarded.initialize("2025-11-25").await;
    let port = guarded.link_port().await;
    let mut computer = Computer::connect_with(port, &[("x-forwarded-for", "203.0.113.9")])
        .await
        .unwrap();
    assert_eq!(
        computer
            .hello(json!({"type": "hello", "computerId": 1, "token": "0123456789abcdef"}))
            .await["type"],
        "hello-ok"
    );
    guarded.leave().await;
}

#[tokio::test]
async fn a_wrong_or_missing_token_is_told_what_to_do() {
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_TOKEN", "s3cret");
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    for hello in [
        json!({"type": "hello", "computerId": 1}),
        json!({"type": "hello", "computerId": 1, "protocol": 2, "token": "wrong"}),
        json!({"type": "hello", "computerId": 1, "protocol": 2, "token": ""}),
    ] {
        let mut computer = Computer::connect(port).await;
        let answer = computer.hello(hello).await;
        assert_eq!(
            (&answer["type"], &answer["retry"]),
            (&json!("hello-error"), &json!(false))
        );
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains("CC_LINK_TOKEN")
                && error.contains("--token")
                && !error.contains("s3cret"),
            "{error}"
        );
        assert_eq!(computer.closed().await.0, 4401);
    }
    assert_eq!(health(port).await["computers"], 0);
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_program_was_asked_that_is_gone_is_lost_once_another_has_its_number() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut older = Computer::link_v2(port, 7).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": "1", "timeoutMs": 600_000}))
        .await;
    older.request().await;
    drop(older);
    let newer = Computer::link(port, 7, Some("new")).await;
    assert!(bridge.answer(call).await.text.contains("link-lost"));
    newer.serve(version_1_agent(7, "new"));
    assert_eq!(
        bridge.lua(7, "return 'from the newer'").await,
        "=> \"from the newer\""
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_hello_that_can_not_be_read_is_answered_with_the_reason() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for hello in [
        json!({"type": "hello"}),
        json!({"type": "hello", "computerId": -1}),
        json!({"type": "hello", "computerId": 1.5}),
        json!({"type": "hello", "computerId": "12"}),
        json!({"type": "hello", "computerId": 1, "computerLabel": 7}),
        json!({"type": "hello", "computerId": 1, "protocol": "two"}),
    ] {
        let mut computer = Computer::connect(port).await;
        let answer = computer.hello(hello.clone()).await;
        assert_eq!(answer["type"], "hello-error", "{hello}");
        assert_eq!(computer.closed().await.0, 4400, "{hello}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_connection_without_a_hello_is_dropped_after_ten_seconds() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let start = Instant::now();
    let mut mute = Computer::connect(port).await;
    assert_eq!(mute.closed().await.0, 4408);
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(9), "{took:?}");
    in_time("the end", took, Duration::from_secs(15)).await;
    bridge.leave().await;
}

#[tokio::test]
async fn offenders_are_dropped_with_a_code_that_says_why() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let witness = Computer::link(port, 100, Some("witness")).await;
    witness.serve(version_1_agent(100, "witness"));

    let mut large = Computer::link(port, 1, None).await;
    large.send_text(" ".repeat(131_073)).await;
    assert_eq!(large.closed().await.0, 1009);

    let mut binary = Computer::link(port, 2, None).await;
    use futures_util::SinkExt;
    binary
        .socket
        .send(tokio_tungstenite::tungstenite::Message::Binary(
            vec![0; 10].into(),
        ))
        .await
        .unwrap();
    assert_eq!(binary.closed().await.0, 1003);

    let mut flood = Computer::link(port, 3, None).await;
    for _ in 0..2_000 {
        flood.send_text("{}".to_owned()).await;
    }
    assert!(matches!(
        flood.event().await,
        Event::Closed(_) | Event::Broken(_)
    ));
    let gone = bridge
        .computer(3, |computer| computer["linked"] == false)
        .await;
    assert!(
        gone["leftBecause"]
            .as_str()
            .unwrap()
            .contains("more frames than anyone asked for"),
        "{gone}"
    );

    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "pong from 100 (Label: witness)"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn before_its_hello_a_connection_may_say_little() {
    use futures_util::SinkExt;
    use tokio_tungstenite::tungstenite::Message;

    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let hello = |id: u64, jobs: Vec<String>| json!({"type": "hello", "computerId": id, "protocol": 2, "boot": "b", "jobs": jobs});

    // What an agent can know of at most, by ids longer than ours.
    let all = (0..384)
        .map(|job| format!("{job:03}-{}", "i".repeat(32)))
        .collect();
    let mut busy = Computer::connect(port).await;
    for _ in 0..15 {
        busy.send(&json!({"type": "ping", "n": 1})).await;
    }
    assert_eq!(busy.hello(hello(1, all)).await["type"], "hello-ok");

    let mut talks = Computer::connect(port).await;
    for _ in 0..17 {
        talks.send(&json!({"type": "ping", "n": 1})).await;
    }
    assert_eq!(talks.closed().await.0, 4429);

    let mut pings = Computer::connect(port).await;
    for _ in 0..17 {
        let ping = Message::Ping(vec![0; 100].into());
        pings.socket.send(ping).await.unwrap();
    }
    let ended = soon("the end", async {
        loop {
            match pings.event().await {
                Event::Closed(Some(close)) => return u16::from(close.code),
                Event::Closed(None) | Event::Broken(_) => return 0,
                Event::Frame(_) => {}
            }
        }
    });
    assert_eq!(ended.await, 4429);

    // Each of these is less than may come, but not all.
    let mut parts = Computer::connect(port).await;
    for _ in 0..4 {
        parts
            .send(&json!({"type": "x", "a": "y".repeat(10_000)}))
            .await;
    }
    let (code, why) = parts.closed().await;
    assert_eq!(code, 1009);
    assert!(why.contains("more than 32768 bytes"), "{why}");

    let mut long = Computer::connect(port).await;
    long.send(&hello(2, vec!["a".repeat(250); 200])).await;
    let (code, why) = long.closed().await;
    assert_eq!(code, 1009);
    assert!(why.contains("more than 32768 bytes"), "{why}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_message_of_exactly_the_limit_is_taken() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Computer::link(bridge.link_port().await, 1, None).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": "1", "maxChars": 200_000}))
        .await;
    let request = computer.frame().await;
    let empty = json!({"type": "response", "id": request["id"], "ok": true, "result": {"returns": [], "output": ""}}).to_string();
    let full = empty.replace(
        r#""output":"""#,
        &format!(r#""output":"{}""#, "x".repeat(131_072 - empty.len())),
    );
    assert_eq!(full.len(), 131_072);
    computer.send_text(full).await;
    assert_eq!(bridge.answer(call).await.text.len(), 131_072 - empty.len());
    bridge.leave().await;
}

#[tokio::test]
async fn a_thousand_hostile_frames_hurt_nobody_else() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    Computer::link(port, 100, Some("witness"))
        .await
        .serve(version_1_agent(100, "witness"));
    let deep = format!(
        r#"{{"type":"response","id":"x","ok":true,"result":{}{}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let frames: Vec<String> = [
        "",
        "{",
        "[]",
        "null",
        "7",
        "\"text\"",
        "{}",
        r#"{"type":null}"#,
        r#"{"type":"nonsense"}"#,
        r#"{"type":"response"}"#,
        r#"{"type":"response","id":"unknown","ok":true}"#,
        r#"{"type":"response","id":7,"ok":true}"#,
        r#"{"type":"response","id":"unknown","ok":"yes"}"#,
        r#"{"type":"hello","computerId":3}"#,
        r#"{"type":"request","id":"a","method":"exec-lua"}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"ping","n":-1}"#,
        r#"{"type":"response","id":"x","ok":true,"result":"\ud800"}"#,
        r#"{"type":"event","name":"log","text":"\u0000"}"#,
        r#"{"type":"response","type":"hello"}"#,
    ]
    .iter()
    .map(|frame| (*frame).to_owned())
    .chain([
        deep,
        "x".repeat(131_072),
        "\u{0}\u{1}".to_owned(),
        "é\u{1F600}".to_owned(),
        format!("{{\"type\":\"{}\"}}", "y".repeat(100_000)),
    ])
    .collect();
    assert_eq!(frames.len() * 40, 1_000);
    for round in 0..40 {
        let mut hostile = Computer::connect(port).await;
        if round % 2 == 0 {
            hostile
                .hello(json!({"type": "hello", "computerId": round, "protocol": 1 + round % 4 / 2}))
                .await;
        }
        for frame in &frames {
            hostile.send_text(frame.clone()).await;
        }
        if round % 10 == 0 {
            assert_eq!(bridge.lua(100, "return 1+1").await, "=> 2");
        }
    }
    let probe = bridge.call("probe-computers", json!({})).await.text;
    assert!(
        probe
            .lines()
            .any(|line| line == "pong from 100 (Label: witness)"),
        "{probe}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn bytes_that_are_no_websocket_do_no_harm() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: x\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(port).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = soon("the connection ends", stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let mut half = Computer::link(port, 1, None).await;
    use tokio_tungstenite::MaybeTlsStream;
    let MaybeTlsStream::Plain(stream) = half.socket.get_mut() else {
        panic!()
    };
    // A text frame whose bytes are no UTF-8, masked with zeros.
    stream
        .write_all(&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe])
        .await
        .unwrap();
    assert!(matches!(
        half.event().await,
        Event::Closed(_) | Event::Broken(_)
    ));
    assert_eq!(health(port).await["ok"], true);
    bridge.leave().await;
}

#[tokio::test]
async fn a_taken_port_is_explained_and_opened_when_it_is_free() {
    let reserved = Port::reserve();
    let port = reserved.address();
    let holder = TcpListener::bind(port).await.unwrap();
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_PORT", port.port().to_string());
    });
    bridge.initialize("2025-11-25").await;
    for (tool, arguments) in [
        ("probe-computers", json!({})),
        ("list-computers", json!({})),
        ("exec-lua", json!({"code": "1"})),
    ] {
        let answer = bridge.call(tool, arguments).await;
        assert!(
            answer.is_error
                && answer.text.contains(&port.to_string())
                && answer.text.contains("CC_LINK_PORT"),
            "{}",
            answer.text
        );
    }
    drop(holder);
    until("the port is tried again", async || {
        let answer = bridge.call("probe-computers", json!({})).await;
        is(!answer.is_error, answer.text)
    })
    .await;
    Computer::link(port, 1, None).await;
    bridge.leave().await;
}
