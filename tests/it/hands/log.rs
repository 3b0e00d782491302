//! The log of calls: one line a call, of all bridges and clients, without secrets.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use super::User;
use crate::common::{
    bridge::Bridge,
    computer::{Computer, version_1_agent},
    soon, until,
};

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The log, once it has this many lines.
async fn logged(user: &User, count: usize) -> Vec<Value> {
    until(&format!("{count} calls are logged"), async || {
        let text = user.enters(&["log", "calls", "-n", "1000"]).await.well();
        // Until the first is written, it says in words that there is none.
        if text.matches("\n{").count() + usize::from(text.starts_with('{')) < count {
            return Err(text);
        }
        Ok(lines(&text))
    })
    .await
}

#[tokio::test]
async fn each_call_of_each_client_is_one_line_without_secrets() {
    let user = User::new();
    let secret = "of-the-environment";
    let mut own = Bridge::start_with(|command| {
        user.settings(command);
        command
            .env("SOME_API_KEY", secret)
            .env("CC_LINK_TOKEN", "of-the-link-port");
    });
    own.initialize("2025-11-25").await;
    let served = user.served().await;
    let mut over_http = served.client("2025-11-25").await;
    let headers = [("authorization", "Bearer of-the-link-port")];
    let computer = Computer::connect_with(user.port.address(), &headers).await;
    let mut computer = computer.unwrap();
    let hello = json!({"type": "hello", "computerId": 12, "computerLabel": "base"});
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    let agent = computer.serve(version_1_agent(12, "base"));
    over_http.linked(12).await;
    let before = logged(&user, 1).await.len();

    own.lua(12, "local token = 'x1y2z3' return 1").await;
    own.lua_error(12, &format!("error('{secret} of-the-link-port')"))
        .await;
    let call = json!({"name": "exec-lua", "arguments": {"computerId": 12, "code": "return 7"}});
    over_http.call("call-tool", call).await;
    let odd = json!({"name": "no-such-tool", "arguments": {"password": "x1y2z3"}});
    own.request("tools/call", odd).await;
    let waits = json!({"code": "return 1", "computerId": 99, "timeoutMs": 60000});
    let gone = own.call("exec-lua", waits).await;
    assert!(gone.is_error, "{}", gone.text);
    user.enters(&["pause"]).await.well();
    own.call("exec-lua", json!({"code": "return 1"})).await;
    let call = json!({"name": "exec-lua", "arguments": "{\"code\": \"return 8\"}"});
    own.call("call-tool", call).await;

    let all = logged(&user, before + 7).await;
    let text = serde_json::to_string(&all).unwrap();
    for hidden in ["x1y2z3", secret, "of-the-link-port"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    let of = |tool: &str, outcome: &str| {
        let mut found = all
            .iter()
            .filter(|line| line["tool"] == tool && line["outcome"] == outcome);
        let line = found.next_back();
        line.unwrap_or_else(|| panic!("no {tool} that is {outcome}: {text}"))
    };
    let ok = of("exec-lua", "ok");
    assert_eq!(
        (&ok["client"], &ok["version"], &ok["over"], &ok["computer"]),
        (&json!("tests"), &json!("1"), &json!("stdio"), &json!(12))
    );
    assert_eq!(ok["bridge"], own.pid());
    assert_eq!(ok["arguments"]["code"], "local token = '[hidden]' return 1");
    assert!(ok["ms"].is_u64() && ok["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(of("exec-lua", "error")["arguments"]["computerId"], 99);
    assert_eq!(of("exec-lua", "refused")["computer"], Value::Null);
    let called = of("call-tool", "ok");
    assert_eq!(
        (&called["over"], &called["computer"]),
        (&json!("http"), &json!(12))
    );
    assert_eq!(called["arguments"]["arguments"]["code"], "return 7");
    let held = of("call-tool", "refused");
    assert_eq!(held["arguments"]["arguments"]["code"], "return 8");
    assert_eq!(
        of("no-such-tool", "unknown")["arguments"]["password"],
        "[hidden]"
    );
    agent.abort();
    own.leave().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_logged_as_that_also_when_the_bridge_leaves() {
    let user = User::new();
    let mut bridge = user.bridge().await;
    let mut computer = user.computer(4).await;
    let cancelled = bridge
        .start_call("exec-lua", json!({"code": "one()"}))
        .await;
    computer.request().await;
    let params = json!({"requestId": cancelled});
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    computer.frame_of_type("cancel").await;
    bridge
        .start_call("exec-lua", json!({"code": "two()"}))
        .await;
    computer.request().await;
    bridge.leave().await;
    let all = logged(&user, 3).await;
    for code in ["one()", "two()"] {
        let mut lines = all.iter();
        let line = lines
            .find(|line| line["arguments"]["code"] == code)
            .unwrap();
        assert_eq!(line["outcome"], "cancelled");
    }
}

#[tokio::test]
async fn the_log_of_calls_is_followed_and_can_be_switched_off() {
    let user = User::new();
    let mut silent = Bridge::start_with(|command| {
        user.settings(command);
        command.args(["--call-log", "off"]);
    });
    silent.initialize("2025-11-25").await;
    silent.call("find-tools", json!({})).await;
    let said = user.enters(&["log", "calls"]).await.well();
    assert!(said.contains("No call has been logged"), "{said}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    user.settings(&mut command);
    let mut following = command
        .args(["log", "calls", "--follow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut followed = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut bridge = user.bridge().await;
    for number in 0..3 {
        let query = json!({"query": format!("number {number}")});
        bridge.call("find-tools", query.clone()).await;
        loop {
            let line = soon("a line follows", followed.next_line()).await.unwrap();
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if line["arguments"] == query {
                break;
            }
        }
    }
    silent.leave().await;
    bridge.leave().await;
}
