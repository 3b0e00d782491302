//! Jobs and requests as protocol version 2 has them, word by word, with computers written from its text.

use std::time::{Duration, Instant};

use crate::common::{
    bridge::{Bridge, WHOLE},
    computer::Computer,
    is,
    pace::in_time,
    soon, until,
};
use serde_json::{Value, json};

/// A bridge and a linked computer of version 2.
async fn pair() -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let computer = Computer::link_v2(bridge.link_port().await, 4).await;
    (bridge, computer)
}

fn done(request: &Value) -> Value {
    json!({"type": "response", "id": request["id"], "ok": true, "result": {"returns": []}, "outputBytes": 0})
}

fn cancelled(request: &Value) -> Value {
    let error = json!({"kind": "cancelled", "message": "cancelled"});
    json!({"type": "response", "id": request["id"], "ok": false, "error": error})
}

/// The job's id, as a call that detached tells it.
fn job_id(text: &str) -> String {
    let (_, after) = text
        .split_once("as job ")
        .unwrap_or_else(|| panic!("no job in: {text}"));
    after.split('.').next().unwrap().to_owned()
}

async fn run(bridge: &mut Bridge, arguments: Value) -> u64 {
    let mut call = json!({"computerId": 4, "code": "code()"});
    call.as_object_mut()
        .unwrap()
        .extend(arguments.as_object().unwrap().clone());
    bridge.start_call("exec-lua", call).await
}

#[tokio::test]
async fn a_request_that_is_not_accepted_is_sent_again_on_the_same_link_until_it_is() {
    let (mut bridge, mut computer) = pair().await;
    let start = Instant::now();
    let call = run(&mut bridge, json!({})).await;
    let first = computer.request().await;
    let second = computer.request().await;
    assert_eq!(first["id"], second["id"]);
    assert!(
        start.elapsed() >= Duration::from_millis(1_900),
        "{:?}",
        start.elapsed()
    );
    computer.accept(&second).await;
    let more = tokio::time::timeout(Duration::from_millis(2_500), computer.request()).await;
    assert!(more.is_err(), "sent again though it was accepted: {more:?}");
    computer.send(&done(&second)).await;
    assert!(bridge.answer(call).await.text.contains("returned nothing"));
    assert_eq!(computer.frame_of_type("ack").await["id"], first["id"]);
    bridge.leave().await;
}

#[tokio::test]
async fn after_a_relink_of_the_same_program_the_request_is_sent_again_and_answered_once() {
    let (mut bridge, mut computer) = pair().await;
    let port = bridge.link_port().await;
    let call = run(&mut bridge, json!({})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    drop(computer);
    let id = request["id"].as_str().unwrap();
    let mut again = Computer::link_boot(port, 4, "first", &[id]).await;
    let repeated = again.request().await;
    assert_eq!(
        (&repeated["id"], &repeated["boot"]),
        (&request["id"], &json!("first"))
    );
    again.send(&done(&repeated)).await;
    again.send(&done(&repeated)).await;
    bridge.answer(call).await;
    // Each is acknowledged, and only one is the answer.
    for _ in 0..2 {
        assert_eq!(again.frame_of_type("ack").await["id"], request["id"]);
    }
    bridge.request("ping", json!({})).await;
    let answers = bridge
        .printed()
        .iter()
        .filter(|line| line.contains(&format!("\"id\":{call},")))
        .count();
    assert_eq!(answers, 1);
    bridge.leave().await;
}

#[tokio::test]
async fn a_request_never_runs_on_a_later_boot() {
    let (mut bridge, mut computer) = pair().await;
    let port = bridge.link_port().await;
    for accepted in [true, false] {
        let boot = if accepted { "second" } else { "third" };
        let start = Instant::now();
        let call = run(&mut bridge, json!({"timeoutMs": 60_000})).await;
        let request = computer.request().await;
        if accepted {
            computer.accept(&request).await;
        }
        drop(computer);
        computer = Computer::link_boot(port, 4, boot, &[]).await;
        let lost = bridge.answer(call).await;
        assert!(
            lost.is_error && lost.text.contains("link-lost") && lost.text.contains("restarted"),
            "{}",
            lost.text
        );
        in_time("to know that", start.elapsed(), Duration::from_secs(10)).await;
    }
    // Nothing was sent of what was asked while it was away: so any start of its program may run it.
    drop(computer);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let call = run(&mut bridge, json!({"timeoutMs": 60_000})).await;
    bridge.request("ping", json!({})).await;
    let mut last = Computer::link_boot(port, 4, "fourth", &[]).await;
    let request = last.request().await;
    assert_eq!(request["boot"], "fourth");
    last.send(&done(&request)).await;
    bridge.answer(call).await;
    bridge.leave().await;
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let (mut bridge, computer) = pair().await;
    let port = bridge.link_port().await;
    drop(computer);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let call = run(&mut bridge, json!({"timeoutMs": 300})).await;
    let offline = bridge.answer(call).await;
    assert!(
        offline.is_error
            && offline
                .text
                .ends_with("The code was not run. list-computers shows when the computer is back."),
        "{}",
        offline.text
    );
    let mut back = Computer::link_boot(port, 4, "first", &[]).await;
    let call = run(&mut bridge, json!({"code": "new()"})).await;
    let request = back.request().await;
    assert_eq!(request["params"]["code"], "new()");
    back.send(&done(&request)).await;
    bridge.answer(call).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_computer_that_is_away_is_answered_when_it_comes_back() {
    let (mut bridge, computer) = pair().await;
    let port = bridge.link_port().await;
    drop(computer);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let call = run(&mut bridge, json!({})).await;
    let mut back = Computer::link_boot(port, 4, "first", &[]).await;
    let request = back.request().await;
    back.send(&done(&request)).await;
    assert!(!bridge.answer(call).await.is_error);
    bridge.leave().await;
}

#[tokio::test]
async fn at_its_deadline_a_job_goes_on_and_can_be_watched_to_its_end() {
    let (mut bridge, mut computer) = pair().await;
    let call = run(&mut bridge, json!({"timeoutMs": 300})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": 1, "text": "one\n"}))
        .await;
    assert_eq!(computer.frame_of_type("output-ack").await["seq"], 1);
    let detached = bridge.answer(call).await;
    assert!(
        !detached.is_error && detached.text.ends_with("Output so far:\none\n"),
        "{}",
        detached.text
    );
    let id = job_id(&detached.text);
    let whole = request["id"].as_str().unwrap();
    let (drawn, number) = whole.split_once('-').unwrap();
    assert_eq!(
        (drawn.len(), id.clone()),
        (12, format!("{}-{number}", &drawn[..4]))
    );
    let by_whole = bridge.call("get-job", json!({"jobId": whole})).await.text;
    assert!(
        by_whole.starts_with(&format!("Job {id} on computer 4 ")),
        "{by_whole}"
    );

    let listed = bridge.call("list-jobs", json!({})).await.text;
    assert!(
        listed.contains(&format!(
            "{id} on 4 (Label: two): running for 0 s, 4 bytes printed: code()"
        )),
        "{listed}"
    );
    let seen = bridge.call("get-job", json!({"jobId": id})).await.text;
    assert!(seen.contains("Cursor: 4.\none\n"), "{seen}");

    let watch = bridge
        .start_call(
            "get-job",
            json!({"jobId": id, "cursor": 4, "waitMs": 60_000}),
        )
        .await;
    bridge.request("ping", json!({})).await;
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": 2, "text": "two\n"}))
        .await;
    let news = bridge.answer(watch).await.text;
    assert!(news.contains("Cursor: 8.\ntwo\n"), "{news}");

    let watch = bridge
        .start_call(
            "get-job",
            json!({"jobId": id, "cursor": 8, "waitMs": 60_000}),
        )
        .await;
    bridge.request("ping", json!({})).await;
    let returns = json!([{"type": "number", "value": 42}]);
    computer
        .send(&json!({"type": "response", "id": request["id"], "ok": true, "result": {"returns": returns}, "outputBytes": 8}))
        .await;
    let over = bridge.answer(watch).await.text;
    assert!(
        over.contains("ended well") && over.ends_with("\n=> 42"),
        "{over}"
    );
    assert_eq!(computer.frame_of_type("ack").await["id"], request["id"]);
    bridge.leave().await;
}

#[tokio::test]
async fn at_its_deadline_a_job_is_stopped_if_the_call_says_so() {
    let (mut bridge, mut computer) = pair().await;
    let call = run(
        &mut bridge,
        json!({"timeoutMs": 200, "onTimeout": "cancel"}),
    )
    .await;
    let request = computer.request().await;
    computer.accept(&request).await;
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": 1, "text": "one\n"}))
        .await;
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);
    computer.send(&cancelled(&request)).await;
    // It is what was asked for, and no error.
    let stopped = bridge.answer(call).await;
    assert!(!stopped.is_error, "{}", stopped.text);
    assert_eq!(
        stopped.text,
        "The code had not ended on computer 4 (Label: two) after 200 ms, and was stopped, as `onTimeout` asks.\n\n\
         Output so far:\none\n"
    );
    let listed = bridge.call("list-jobs", json!({})).await.text;
    assert!(
        listed.contains(": stopped ") && !listed.contains("error"),
        "{listed}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_cancelled_call_cancels_its_job_and_cancel_job_says_whether_it_stopped() {
    let (mut bridge, mut computer) = pair().await;
    let call = run(&mut bridge, json!({})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})).await;
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);
    computer.send(&cancelled(&request)).await;
    computer.frame_of_type("ack").await;

    let call = run(&mut bridge, json!({"timeoutMs": 100})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let id = job_id(&bridge.answer(call).await.text);
    let stop = bridge.start_call("cancel-job", json!({"jobId": id})).await;
    computer.frame_of_type("cancel").await;
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": 1, "text": "one\n"}))
        .await;
    computer.send(&cancelled(&request)).await;
    let stopped = bridge.answer(stop).await.text;
    assert!(
        stopped.ends_with("was stopped.\n\nOutput so far:\none\n"),
        "{stopped}"
    );
    let seen = bridge.call("get-job", json!({"jobId": id})).await.text;
    assert!(
        seen.ends_with(
            "\none\nThe code was stopped before its end on computer 4 (Label: two), as was asked."
        ),
        "{seen}"
    );
    assert!(
        bridge
            .call("cancel-job", json!({"jobId": id}))
            .await
            .text
            .contains("had ended before")
    );

    // One that the game has to end, since it does not yield.
    let call = run(&mut bridge, json!({"timeoutMs": 100})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let id = job_id(&bridge.answer(call).await.text);
    let unconfirmed = bridge.call("cancel-job", json!({"jobId": id})).await;
    assert!(
        unconfirmed.is_error && unconfirmed.text.contains("has not confirmed it yet"),
        "{}",
        unconfirmed.text
    );
    assert!(
        bridge
            .call("cancel-job", json!({"jobId": "nonsense"}))
            .await
            .text
            .contains("There is no job nonsense")
    );
    bridge.leave().await;
}

#[tokio::test]
async fn output_reaches_a_client_that_asks_for_progress_while_the_code_runs() {
    let (mut bridge, mut computer) = pair().await;
    let params = json!({
        "name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}, "_meta": {"progressToken": "p"},
    });
    let call = bridge.ask("tools/call", params).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let start = Instant::now();
    let mut told = Vec::new();
    for seq in 1..=3 {
        computer.send(&json!({"type": "output", "id": request["id"], "seq": seq, "text": format!("line {seq}\n")})).await;
        let progress = bridge
            .message("progress", |message| {
                message["method"] == "notifications/progress"
            })
            .await;
        assert_eq!(progress["params"]["progressToken"], "p");
        assert_eq!(progress["params"]["message"], format!("line {seq}\n"));
        told.push(progress["params"]["progress"].as_f64().unwrap());
    }
    assert!(
        told.is_sorted() && start.elapsed() >= Duration::from_millis(700),
        "{told:?} in {:?}",
        start.elapsed()
    );
    // With nothing to tell it still says that it is there.
    let waiting = bridge
        .message("progress", |message| {
            message["method"] == "notifications/progress"
        })
        .await;
    assert!(
        waiting["params"]["message"]
            .as_str()
            .unwrap()
            .contains("still running"),
        "{waiting}"
    );
    in_time("a word", start.elapsed(), Duration::from_secs(12)).await;
    computer.send(&done(&request)).await;
    assert!(
        bridge
            .answer(call)
            .await
            .text
            .starts_with("line 1\nline 2\nline 3\n")
    );
    bridge.leave().await;
}

#[tokio::test]
async fn pieces_of_output_that_come_again_are_taken_once_and_losses_are_told() {
    let (mut bridge, mut computer) = pair().await;
    let call = run(&mut bridge, json!({})).await;
    let request = computer.request().await;
    for (seq, text, dropped) in [
        (1, "a", 0),
        (2, "b", 0),
        (1, "a", 0),
        (2, "b", 0),
        (3, "c", 100),
    ] {
        let piece = json!({"type": "output", "id": request["id"], "seq": seq, "text": text, "dropped": dropped});
        computer.send(&piece).await;
        assert_eq!(computer.frame_of_type("output-ack").await["seq"], seq);
    }
    let mut response = done(&request);
    response["outputBytes"] = json!(110);
    computer.send(&response).await;
    let text = bridge.answer(call).await.text;
    assert_eq!(
        text,
        "ab\n[100 bytes of output were lost here]\nc\n[7 bytes of output were lost here]\n"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn jobs_of_another_bridge_are_listed_read_and_cancelled_but_not_acknowledged() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computer = Computer::link_boot(port, 4, "first", &["other-1", "other-2"]).await;
    for (id, state) in [("other-1", "running"), ("other-2", "finished")] {
        let job = json!({"id": id, "state": state, "method": "exec-lua", "ageMs": 65_000, "code": "mine()\n", "exclusive": false, "outputBytes": 30});
        computer
            .send(&json!({"type": "event", "name": "job", "job": job}))
            .await;
    }
    computer
        .send(&json!({"type": "output", "id": "other-1", "seq": 7, "text": "late news\n"}))
        .await;
    computer.frame_of_type("output-ack").await;
    let mut response = done(&json!({"id": "other-2"}));
    response["result"] = json!({"returns": [{"type": "number", "value": 5}]});
    computer.send(&response).await;
    let listed = bridge
        .call("list-jobs", json!({"computerId": 4}))
        .await
        .text;
    assert!(
        listed.contains("other-1 on 4 (Label: two): running for 1 min")
            && listed.contains("asked by another bridge: mine()\\n"),
        "{listed}"
    );
    assert!(
        bridge
            .call("get-job", json!({"jobId": "other-1"}))
            .await
            .text
            .ends_with("late news\n")
    );
    assert!(
        bridge
            .call("get-job", json!({"jobId": "other-2"}))
            .await
            .text
            .ends_with("\n=> 5")
    );
    let stop = bridge
        .start_call("cancel-job", json!({"jobId": "other-1"}))
        .await;
    // Nothing was acknowledged before that.
    loop {
        let frame = computer.frame().await;
        assert_ne!(frame["type"], "ack", "{frame}");
        if frame["type"] == "cancel" {
            break;
        }
    }
    computer.send(&json!({"type": "response", "id": "other-1", "ok": false, "error": {"kind": "cancelled", "message": "cancelled"}})).await;
    assert!(bridge.answer(stop).await.text.contains("was stopped"));
    bridge.leave().await;
}

#[tokio::test]
async fn jobs_that_share_a_short_form_are_told_apart_by_their_whole_ids() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computer = Computer::link_boot(port, 4, "first", &[]).await;
    let tell = |id: &str| {
        let job = json!({"id": id, "state": "running", "method": "exec-lua", "code": id});
        json!({"type": "event", "name": "job", "job": job})
    };
    for id in ["3f0c9a1be2d4-41", "3f0caaaaaaaa-41", "3f0cbbbbbbbb-42"] {
        computer.send(&tell(id)).await;
    }
    let listed = async |bridge: &mut Bridge| bridge.call("list-jobs", json!({})).await.text;
    soon("the jobs are listed", async {
        while !listed(&mut bridge).await.contains("3f0c-42 on 4 ") {}
    })
    .await;
    let get =
        async |bridge: &mut Bridge, id: &str| bridge.call("get-job", json!({"jobId": id})).await;
    let both = get(&mut bridge, "3f0c-41").await;
    assert!(
        both.is_error
            && both.text.contains("3f0c9a1be2d4-41")
            && both.text.contains("3f0caaaaaaaa-41"),
        "{}",
        both.text
    );
    for id in ["3f0caaaaaaaa-41", "3f0c-42", " 3f0c-42"] {
        let one = get(&mut bridge, id).await;
        assert!(!one.is_error, "{id}: {}", one.text);
    }
    // Whoever knows the beginning of this bridge's ids can't come between a client and its own job.
    let call = run(&mut bridge, json!({"timeoutMs": 300})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let id = job_id(&bridge.answer(call).await.text);
    let (shown, number) = id.split_once('-').unwrap();
    let forged = format!("{shown}{}-{number}", "00000000");
    computer.send(&tell(&forged)).await;
    soon("the forged job is listed", async {
        let line = format!("{id} on 4 ");
        while listed(&mut bridge).await.matches(&line).count() < 2 {}
    })
    .await;
    let stop = bridge.start_call("cancel-job", json!({"jobId": id})).await;
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);
    let cancelled = json!({"kind": "cancelled", "message": "cancelled"});
    computer
        .send(&json!({"type": "response", "id": request["id"], "ok": false, "error": cancelled}))
        .await;
    assert!(bridge.answer(stop).await.text.contains("was stopped"));
    bridge.leave().await;
}

#[tokio::test]
async fn a_job_that_the_program_no_longer_knows_after_a_relink_is_lost_at_once() {
    let (mut bridge, mut computer) = pair().await;
    let port = bridge.link_port().await;
    let call = run(&mut bridge, json!({"timeoutMs": 60_000})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    bridge.request("ping", json!({})).await;
    // The accept was taken before the link ends: get-job knows it as running.
    let id = request["id"].as_str().unwrap().to_owned();
    soon("the job runs", async {
        while !bridge
            .call("get-job", json!({"jobId": id}))
            .await
            .text
            .contains("running")
        {}
    })
    .await;
    drop(computer);
    let _again = Computer::link_boot(port, 4, "first", &[]).await;
    let lost = bridge.answer(call).await;
    assert!(
        lost.is_error && lost.text.contains("no longer has the result"),
        "{}",
        lost.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn of_a_job_whose_computer_is_away_nobody_says_that_it_runs() {
    let (mut bridge, mut computer) = pair().await;
    let port = bridge.link_port().await;
    let call = run(&mut bridge, json!({"timeoutMs": 100})).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    let id = job_id(&bridge.answer(call).await.text);
    // Another one's call is still waited for when the computer goes.
    let stopping = json!({"timeoutMs": 1_500, "onTimeout": "cancel"});
    let to_stop = run(&mut bridge, stopping).await;
    let stopped = computer.request().await;
    computer.accept(&stopped).await;
    let waiting = run(&mut bridge, json!({"timeoutMs": 1_500})).await;
    let waited = computer.request().await;
    computer.accept(&waited).await;
    let script = "return computers.exec(4, 'code()', { timeoutMs = 1500 })";
    let script = bridge
        .start_call("run-script", json!({"code": script}))
        .await;
    let of_script = computer.request().await;
    computer.accept(&of_script).await;
    until("all have been accepted", async || {
        let listed = bridge.call("list-jobs", json!({})).await.text;
        is(listed.matches(": running for ").count() == 4, listed)
    })
    .await;
    drop(computer);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;

    let listed = bridge.call("list-jobs", json!({})).await.text;
    assert!(
        !listed.contains("running")
            && listed.matches(": not known whether it still runs").count() == 4
            && listed.matches(", out of reach for ").count() == 4,
        "{listed}"
    );
    let seen = bridge.call("get-job", json!({"jobId": id})).await.text;
    assert!(
        seen.contains("out of reach for ")
            && seen.contains("s, since the connection broke off (")
            && seen.contains("not known whether it still runs")
            && seen.ends_with("If it comes back without it, the job ends as lost."),
        "{seen}"
    );
    let cancel = bridge.call("cancel-job", json!({"jobId": id})).await;
    assert!(
        cancel.is_error && cancel.text.contains("has been out of reach for "),
        "{}",
        cancel.text
    );
    for call in [waiting, to_stop, script] {
        let timeout = bridge.answer(call).await.text;
        assert!(
            timeout.contains("out of reach for ")
                && timeout.contains("not known whether the code ")
                && !timeout.contains("The code still runs"),
            "{timeout}"
        );
    }

    // The same program, which has one of them; the others are lost. Then another program, which has none.
    let mut back = Computer::link_boot(port, 4, "first", &[request["id"].as_str().unwrap()]).await;
    let listed = bridge.call("list-jobs", json!({})).await.text;
    assert!(
        listed.contains(&format!("{id} on 4 (Label: two): running for "))
            && listed.matches(": lost ").count() == 3,
        "{listed}"
    );
    drop(back);
    back = Computer::link_boot(port, 4, "second", &[]).await;
    let listed = bridge.call("list-jobs", json!({})).await.text;
    assert_eq!(listed.matches(": lost ").count(), 4, "{listed}");
    drop(back);
    bridge.leave().await;
}

#[tokio::test]
async fn a_silent_computer_is_pinged_and_then_counts_as_dead() {
    // Each time is taken before what it counts from: so it is never too short, however busy the machine.
    let start = Instant::now();
    let (mut bridge, mut computer) = pair().await;
    let ping = computer.frame_of_type("ping").await;
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(4), "{took:?}");
    in_time("a ping", took, Duration::from_secs(8)).await;
    let silent = Instant::now();
    computer
        .send(&json!({"type": "pong", "n": ping["n"]}))
        .await;
    assert_eq!(computer.closed().await.0, 1001);
    let took = silent.elapsed();
    assert!(took >= Duration::from_secs(14), "{took:?}");
    in_time("the end", took, Duration::from_secs(20)).await;
    let gone = bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    assert!(
        gone["leftBecause"]
            .as_str()
            .unwrap()
            .contains("nothing came from it for 15 s"),
        "{gone}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_too_long_for_one_message_goes_and_comes_in_parts() {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let (mut bridge, mut computer) = pair().await;
    let code = "é".repeat(300_000);
    let call = run(&mut bridge, json!({"code": code, "maxChars": WHOLE})).await;
    let mut frame = Vec::new();
    loop {
        let part = computer.frame_of_type("part").await;
        assert_eq!(part["n"], frame.len());
        frame.push(STANDARD.decode(part["data"].as_str().unwrap()).unwrap());
        computer
            .send(&json!({"type": "part-ack", "of": part["of"], "n": part["n"]}))
            .await;
        if part["count"] == frame.len() {
            break;
        }
    }
    let request: Value = serde_json::from_slice(&frame.concat()).unwrap();
    assert_eq!(request["params"]["code"], code);
    computer.accept(&request).await;

    // Each byte of the frame is one code point, and those over 127 need no escape.
    let value: Vec<u8> = (0..400_000).map(|at| [b'a', 0xC3, 0xA9][at % 3]).collect();
    let mut response = br#"{"type":"response","ok":true,"outputBytes":0,"id":"#.to_vec();
    response.extend(request["id"].to_string().bytes());
    response.extend(br#","result":{"returns":[{"type":"string","value":""#);
    response.extend(&value);
    response.extend(br#""}]}}"#);
    let parts: Vec<_> = response.chunks(90_000).collect();
    for (n, part) in parts.iter().enumerate() {
        let part = json!({"type": "part", "of": "r", "n": n, "count": parts.len(), "data": STANDARD.encode(part)});
        computer.send(&part).await;
        assert_eq!(computer.frame_of_type("part-ack").await["n"], n);
    }
    let text = bridge.answer(call).await.text;
    assert_eq!(text.chars().filter(|c| *c == 'é').count(), 133_333);
    let too_much = json!({"type": "part", "of": "x", "n": 0, "count": 1_000, "data": STANDARD.encode(vec![0; 90_000])});
    computer.send(&too_much).await;
    assert_eq!(
        computer.frame_of_type("part-ack").await["error"],
        "too-large"
    );
    bridge.leave().await;
}
