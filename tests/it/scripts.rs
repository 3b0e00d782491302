//! What a script has found out is never lost: not to computers that don't answer, nor to its own end, whichever it is.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{
    bytes::simulated,
    common::{
        bridge::{Bridge, ToolAnswer},
        computer::{Computer, Event},
        pace::in_time,
    },
};

/// A computer that answers each request with its number.
fn answering(computer: Computer, id: u64) -> JoinHandle<()> {
    computer.serve(move |request| {
        let result = json!({"values": [id]});
        Some(json!({"type": "response", "id": request["id"], "ok": true, "result": result}))
    })
}

/// A computer that takes what it is asked, and answers nothing.
fn mute(mut computer: Computer) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Event::Frame(frame) = computer.event().await {
            if frame["type"] == "request" {
                computer.accept(&frame).await;
            }
        }
    })
}

/// Links computers 1 to `count`.
async fn linked(port: SocketAddr, count: u64) -> Vec<(u64, Computer)> {
    let link = |id| async move { (id, Computer::link_v2(port, id).await) };
    join_all((1..=count).map(link)).await
}

async fn run(bridge: &mut Bridge, timeout_ms: u64, code: &str) -> ToolAnswer {
    let call = json!({"code": code, "timeoutMs": timeout_ms});
    let id = bridge.start_call("run-script", call).await;
    bridge.slow_answer(id).await
}

/// Asks all computers, and returns how many answered and how many did not, with the words of the last that did not.
const ASK_ALL: &str = "
    local ids = {}
    for _, computer in ipairs(computers.list()) do ids[#ids + 1] = computer.id end
    local answered, failed, words = 0, 0, ''
    for id, outcome in pairs(computers.exec(ids, 'return os.getComputerID()')) do
      if outcome.ok and outcome.returns[1] == id then answered = answered + 1 end
      if not outcome.ok then failed, words = failed + 1, outcome.error end
    end
    return answered, failed, words";

#[tokio::test]
async fn computers_that_answer_are_heard_whoever_is_mute() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computers = linked(port, 200).await.into_iter().map(|(id, computer)| {
        if id % 67 == 0 {
            mute(computer)
        } else {
            answering(computer, id)
        }
    });
    let serving: Vec<_> = computers.collect();
    // The script's own time is shorter than what each computer has by default.
    let answer = run(&mut bridge, 6_000, ASK_ALL).await;
    assert!(
        !answer.is_error && answer.text.starts_with("=> 198\n=> 2\n=> timeout"),
        "{}",
        answer.text
    );
    serving.iter().for_each(JoinHandle::abort);
    bridge.leave().await;
}

#[tokio::test]
async fn all_computers_are_asked_at_once() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let serving: Vec<_> = linked(port, 200)
        .await
        .into_iter()
        .map(|(_, computer)| mute(computer))
        .collect();
    let start = Instant::now();
    let code = ASK_ALL.replace("getComputerID()'", "getComputerID()', { timeoutMs = 1500 }");
    let answer = run(&mut bridge, 20_000, &code).await;
    let took = start.elapsed();
    assert!(
        !answer.is_error && answer.text.starts_with("=> 0\n=> 200\n=> timeout"),
        "{}",
        answer.text
    );
    in_time("200 mute computers", took, Duration::from_millis(4_000)).await;
    serving.iter().for_each(JoinHandle::abort);
    bridge.leave().await;
}

#[tokio::test]
async fn one_that_restarts_and_one_that_says_much_take_nothing_from_the_others() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _long = simulated(21, port, "1.113");
    bridge.linked(21).await;
    let mut serving = Vec::new();
    for (id, mut computer) in linked(port, 20).await {
        serving.push(match id {
            1 => tokio::spawn(async move {
                let request = computer.request().await;
                computer.accept(&request).await;
                // Its program starts anew, and knows nothing of what it was asked.
                drop(computer);
                let again = Computer::link_boot(port, 1, "second", &[]).await;
                mute(again).await.unwrap();
            }),
            id => answering(computer, id),
        });
    }
    let code = "
        local ids = {}
        for id = 1, 21 do ids[id] = id end
        local all = computers.exec(ids, 'return os.getComputerID(), (\"x\"):rep(1e6)')
        local answered = 0
        for id = 2, 20 do if all[id].returns[1] == id then answered = answered + 1 end end
        return answered, #all[21].returns[2], all[1].error";
    let answer = run(&mut bridge, 30_000, code).await;
    let text = answer.text;
    assert!(
        !answer.is_error && text.starts_with("=> 19\n=> 1000000\n=> link-lost error"),
        "{text}"
    );
    serving.iter().for_each(JoinHandle::abort);
    bridge.leave().await;
}

#[tokio::test]
async fn whatever_ends_a_script_what_it_printed_and_what_came_back_is_shown() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut serving = Vec::new();
    for (id, computer) in linked(port, 2).await {
        serving.push(answering(computer, id));
    }
    for (time, end, said) in [
        (
            1_500,
            "while true do end",
            "timeout: script did not end within 1500 ms and was stopped.",
        ),
        (
            1_500,
            "while true do pcall(error) end",
            "timeout: script did not end",
        ),
        (
            1_500,
            "while true do write('') end",
            "timeout: script did not end",
        ),
        (
            60_000,
            "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
            "not enough memory",
        ),
        (60_000, "error('boom')", "script:1: boom"),
    ] {
        let code = format!(
            "print('begun') local all = computers.exec({{ 1, 2 }}, 'x') print('answered') write('\\255') {end}"
        );
        let answer = run(&mut bridge, time, &code).await;
        let text = answer.text;
        assert!(answer.is_error && text.contains(said), "{end}: {text}");
        for part in [
            "Output before the error:\nbegun\nanswered\n\\255",
            "\nWhat came back from computers:\n",
            "\n1: 1\n",
            "\n2: 2\n",
        ] {
            assert!(text.contains(part), "{end}: no {part:?} in {text}");
        }
    }
    serving.iter().for_each(JoinHandle::abort);
    bridge.leave().await;
}

#[tokio::test]
async fn much_that_is_printed_by_a_script_that_is_stopped_is_cut_and_that_is_said() {
    let mut bridge = Bridge::initialized().await;
    let code =
        "local i = 0 while true do i = i + 1 print(i) if i > 3 then print(('x'):rep(9999)) end end";
    let answer = run(&mut bridge, 2_000, code).await;
    let text = answer.text;
    assert!(
        answer.is_error && text.contains("before the error:\n1\n2\n3\n"),
        "{text:.200}"
    );
    assert!(
        text.contains("\n[What was printed after this is not shown]") && text.len() < 70_000,
        "{} bytes",
        text.len()
    );
    bridge.leave().await;
}

#[tokio::test]
async fn computers_that_a_script_names_wrongly_are_named_in_an_error_that_it_can_catch() {
    let mut bridge = Bridge::initialized().await;
    for (code, told) in [
        (
            "computers.exec({1, 2}, function(id) return id == 1 and 'x' or nil end)",
            "the function returned a",
        ),
        (
            "computers.exec({1, 2}, function() return {} end)",
            "returned a table for computer 1; it must return a string",
        ),
        (
            "computers.exec({1, {}}, 'x')",
            "entry 2 of the list is a table",
        ),
        ("computers.exec({1, nil, 3}, 'x')", "the list has holes"),
        ("computers.exec({a = 1}, 'x')", "has the key a"),
        (
            "computers.exec({0/0}, 'x')",
            "entry 1 of the list is a number",
        ),
        ("computers.exec(0/0, 'x')", "it is no number of a computer"),
    ] {
        let code =
            format!("local ok, problem = pcall(function() return {code} end) return ok, problem");
        let answer = bridge.call("run-script", json!({"code": code})).await;
        assert!(
            !answer.is_error && answer.text.starts_with("=> false") && answer.text.contains(told),
            "{code}: {}",
            answer.text
        );
    }
    // What the list of computers holds names them too.
    let code = json!({"code": "return computers.exec(computers.list(), 'x'), computers.exec({{id = 77}}, 'x')[77].ok"});
    let answer = bridge.call("run-script", code).await;
    assert_eq!(answer.text, "=> {}\n=> false");
    bridge.leave().await;
}
