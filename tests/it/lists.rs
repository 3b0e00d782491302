//! The lists of computers and jobs: in a useful order, bounded, with filters, and with the call that shows what follows. And
//! one that asks every tool of ours for far too much.

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::Computer as RawComputer,
    linked::pair,
};
use serde_json::{Value, json};

/// How long an answer is at most.
const MOST: usize = 40_000;

/// The call of a tool that the last line of a text names: its arguments.
fn call_named(text: &str, tool: &str) -> Value {
    let note = text
        .lines()
        .find(|line| line.starts_with('['))
        .unwrap_or_else(|| panic!("nothing is left out: {text}"));
    let (_, call) = note.split_once(&format!("{tool} {{")).unwrap();
    let (call, _) = call.split_once('}').unwrap();
    serde_json::from_str(&format!("{{{call}}}")).unwrap()
}

#[tokio::test]
async fn jobs_are_listed_running_first_then_the_newest_twenty_at_once() {
    let (mut bridge, _computer) = pair().await;
    let running = json!({"computerId": 1, "code": "sleep(600) -- goes on", "timeoutMs": 3_000});
    bridge.call("exec-lua", running).await;
    for number in 1..=30 {
        bridge
            .lua(1, &format!("return {number} -- job {number}"))
            .await;
    }
    let listed = bridge.call("list-jobs", json!({})).await.text;
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 21, "{listed}");
    assert!(lines[0].ends_with("-- goes on"), "{listed}");
    for (line, number) in lines[1..20].iter().zip((12..=30).rev()) {
        assert!(line.ends_with(&format!("-- job {number}")), "{listed}");
    }
    assert!(
        lines[20].starts_with("[11 more of 31 jobs: list-jobs {\"offset\":20}"),
        "{listed}"
    );
    let rest = bridge
        .call("list-jobs", call_named(&listed, "list-jobs"))
        .await
        .text;
    let lines: Vec<_> = rest.lines().collect();
    assert_eq!(lines.len(), 11, "{rest}");
    assert!(lines[10].ends_with("-- job 1"), "{rest}");

    for (arguments, count, last) in [
        (json!({"state": "running"}), 1, "-- goes on"),
        (json!({"state": "ended", "limit": 200}), 30, "-- job 1"),
        (json!({"computerId": 1, "limit": 3}), 4, "shows them]"),
        (json!({"computerId": 7}), 1, "No jobs."),
        (
            json!({"offset": 99}),
            1,
            "[There are 31 jobs, and no more of them]",
        ),
    ] {
        let listed = bridge.call("list-jobs", arguments.clone()).await.text;
        assert_eq!(listed.lines().count(), count, "{arguments}: {listed}");
        assert!(listed.ends_with(last), "{arguments}: {listed}");
    }
    let filtered = json!({"computerId": 1, "state": "ended", "limit": 3});
    let filtered = bridge.call("list-jobs", filtered).await.text;
    assert_eq!(
        call_named(&filtered, "list-jobs"),
        json!({"computerId": 1, "state": "ended", "offset": 3})
    );
    bridge.leave().await;
}

#[tokio::test]
async fn jobs_of_scripts_are_told_apart_and_shown_by_their_code() {
    let (mut bridge, _computer) = pair().await;
    bridge.lua(1, "return 'by a client'").await;
    let script = json!({"code": "return computers.exec(1, \"return 'by a script'\")"});
    assert!(!bridge.call("run-script", script).await.is_error);
    let listed = bridge.call("list-jobs", json!({})).await.text;
    let lines: Vec<_> = listed.lines().collect();
    assert!(
        lines[0].ends_with("asked by a script: return 'by a script'"),
        "{listed}"
    );
    assert!(
        lines[1].ends_with("0 bytes printed: return 'by a client'"),
        "{listed}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn computers_are_listed_fifty_at_once_in_words_and_for_programs_alike() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut links = Vec::new();
    for id in 1..=60 {
        links.push(RawComputer::link(port, id, Some(&format!("farm {id}"))).await);
    }
    links.push(RawComputer::link_v2(port, 99).await);
    bridge
        .call("list-computers", json!({"query": "99"}))
        .await
        .structured
        .filter(|fields| fields["computers"][0]["linked"] == true)
        .unwrap();
    let listed = bridge.call("list-computers", json!({})).await;
    let fields = listed.structured.unwrap();
    let numbers = |fields: &Value| -> Vec<u64> {
        let computers = fields["computers"].as_array().unwrap().iter();
        computers
            .map(|one| one["computerId"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(numbers(&fields), (1..=50).collect::<Vec<_>>());
    assert_eq!(
        (&fields["known"], &fields["total"], &fields["nextOffset"]),
        (&json!(61), &json!(61), &json!(50))
    );
    // Now, and nothing of processes.
    assert!(fields["now"].as_str().unwrap().ends_with('Z'), "{fields}");
    for gone in ["owner", "bridges", "pid"] {
        assert!(
            !fields.to_string().contains(&format!("\"{gone}\"")),
            "{fields}"
        );
    }
    assert_eq!(
        listed
            .text
            .lines()
            .filter(|line| line.contains("(Label: "))
            .count(),
        50
    );
    let rest = call_named(&listed.text, "list-computers");
    assert_eq!(rest, json!({"offset": 50}));
    let rest = bridge.call("list-computers", rest).await;
    let fields = rest.structured.unwrap();
    assert_eq!(numbers(&fields), (51..=60).chain([99]).collect::<Vec<_>>());
    assert!(
        fields.get("nextOffset").is_none() && !rest.text.contains('['),
        "{}",
        rest.text
    );

    for (arguments, found) in [
        (
            json!({"query": "FARM 5"}),
            vec![5, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59],
        ),
        (
            json!({"query": "5"}),
            vec![5, 15, 25, 35, 45, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59],
        ),
        (json!({"kind": "turtle"}), vec![99]),
        (json!({"query": "none"}), vec![]),
    ] {
        let listed = bridge.call("list-computers", arguments.clone()).await;
        let fields = listed.structured.unwrap();
        assert_eq!(numbers(&fields), found, "{arguments}");
        assert_eq!(
            (&fields["total"], &fields["known"]),
            (&json!(found.len()), &json!(61))
        );
    }
    bridge.leave().await;
}

/// That an answer is bounded, whatever it is.
fn bounded(tool: &str, answer: &ToolAnswer) {
    let length = answer.text.chars().count();
    assert!(
        length <= MOST,
        "{tool}: {length} characters: {:.300}",
        answer.text
    );
    let structured = answer.structured.as_ref().map(Value::to_string);
    let length = structured.unwrap_or_default().chars().count();
    assert!(length <= MOST, "{tool}: {length} characters for programs");
}

#[tokio::test]
async fn every_tool_of_ours_that_is_asked_for_far_too_much_answers_within_the_bound() {
    let (mut bridge, _computer) = pair().await;
    let port = bridge.link_port().await;
    let label = "é".repeat(400);
    let mut links = Vec::new();
    for id in 100..400 {
        let computer = RawComputer::link(port, id, Some(&label)).await;
        links.push(computer.serve(|request| {
            let result = match request["method"].as_str() {
                Some("ping") => json!("x".repeat(5_000)),
                _ => json!({"returns": [{"type": "string", "value": "x".repeat(5_000)}]}),
            };
            Some(json!({"type": "response", "id": request["id"], "ok": true, "result": result}))
        }));
    }
    let long = "x".repeat(100_000);
    let lines = "line\n".repeat(100_000);
    let print = "for i = 1, 20000 do print('line ' .. i) end";
    // So many jobs that a list of all of them is too long.
    for number in 0..120 {
        let code = format!("return {number} -- {}", "\u{1}".repeat(400));
        bridge.lua(1, &code).await;
    }
    let running =
        json!({"computerId": 1, "code": format!("{print} sleep(600)"), "timeoutMs": 3_000});
    let running = bridge.call("exec-lua", running).await;
    bounded("exec-lua", &running);
    let (_, job) = running.text.split_once("as job ").unwrap();
    let job = job.split('.').next().unwrap();
    for (tool, arguments) in [
        (
            "exec-lua",
            json!({"computerId": 1, "code": format!("{print} return ('y'):rep(300000)")}),
        ),
        (
            "exec-lua",
            json!({"computerId": 1, "code": format!("{print} error(('y'):rep(300000))")}),
        ),
        (
            "exec-lua",
            json!({"computerId": 1, "code": format!("print(('\\255'):rep(300000)) return ('\\254'):rep(300000)")}),
        ),
        (
            "exec-lua",
            json!({"computerId": 1, "code": format!("error(('\\254'):rep(300000), 0)")}),
        ),
        (
            "exec-lua",
            json!({"computerId": 1, "code": print, "onTimeout": long}),
        ),
        ("exec-lua", json!({"computerId": long, "code": print})),
        ("exec-lua", json!({"code": "return 1", "computerId": 4_000})),
        ("exec-lua", json!({"code": "return 1"})),
        ("get-job", json!({"jobId": job})),
        ("get-job", json!({"jobId": long})),
        ("get-job", json!({"jobId": job, long.as_str(): 1})),
        ("list-jobs", json!({"limit": 200})),
        ("list-computers", json!({"limit": 500})),
        ("list-computers", json!({"query": long})),
        ("probe-computers", json!({})),
        (
            "run-script",
            json!({"code": format!("{print} return ('y'):rep(300000), ('z'):rep(300000)")}),
        ),
        (
            "run-script",
            json!({"code": format!("{print} error(('y'):rep(300000))")}),
        ),
        (
            "run-script",
            json!({"code": "local all = {} for i = 1, 300 do all[i] = 99 + i end return computers.exec(all, 'return 1')"}),
        ),
        (
            "run-script",
            json!({"code": "return computers.exec(1, \"print(('x'):rep(100000)) error('no')\")"}),
        ),
        ("run-script", json!({"code": lines})),
        ("find-tools", json!({"query": long, "limit": 50})),
        ("find-tools", json!({"limit": 50})),
        ("call-tool", json!({"name": long})),
        (
            "call-tool",
            json!({"name": "exec-lua", "arguments": {"computerId": 1, "code": print}}),
        ),
        ("cancel-job", json!({"jobId": job})),
        ("cancel-job", json!({"jobId": long})),
    ] {
        let call = bridge.start_call(tool, arguments).await;
        bounded(tool, &bridge.slow_answer(call).await);
    }
    // What is no tool's answer repeats little of what it was asked too.
    for (method, params) in [
        ("tools/call", json!({"name": long, "arguments": {}})),
        ("prompts/get", json!({"name": long})),
        ("resources/read", json!({"uri": format!("a://{long}")})),
    ] {
        let reply = bridge.request(method, params).await;
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.len() < 1_000, "{method}: {}", message.len());
    }
    bridge.leave().await;
}
