//! What runs is seen and stopped from outside, whichever bridge and client it is of.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Entered, User};
use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::Computer,
    is,
    servers::{self, file, listed},
    until,
};

/// What runs, once it is as it should be.
async fn runs(user: &User, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    until(what, async || {
        let text = user.enters(&["jobs", "--json"]).await.well();
        let runs: Value = serde_json::from_str(&text).unwrap();
        if fits(&runs) { Ok(runs) } else { Err(text) }
    })
    .await
}

fn count(runs: &Value) -> (usize, usize) {
    let length = |list: &str| runs[list].as_array().unwrap().len();
    (length("calls"), length("jobs"))
}

/// A job whose code is this, and the number of the call that waits for it.
fn job_of(runs: &Value, code: &str) -> (String, String) {
    let mut jobs = runs["jobs"].as_array().unwrap().iter();
    let job = jobs.find(|job| job["code"] == code);
    let job = job.unwrap_or_else(|| panic!("no {code} in {runs}"));
    let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
    (text("job"), text("call"))
}

/// Runs code that the computer takes.
async fn begins(bridge: &mut Bridge, computer: &mut Computer, id: u64, code: &str) -> (u64, Value) {
    let arguments = json!({"computerId": id, "code": code, "timeoutMs": 60_000});
    let call = bridge.start_call("exec-lua", arguments).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    (call, request)
}

/// Confirms that so many jobs were stopped. Each may be told to stop more than once.
async fn confirms(computer: &mut Computer, jobs: usize) {
    let mut stopped = HashSet::new();
    while stopped.len() < jobs {
        let cancel = computer.frame_of_type("cancel").await;
        if stopped.insert(cancel["id"].to_string()) {
            let error = json!({"kind": "cancelled", "message": "cancelled"});
            let answer =
                json!({"type": "response", "id": cancel["id"], "ok": false, "error": error});
            computer.send(&answer).await;
        }
    }
}

fn was_ended(answer: &ToolAnswer) {
    assert!(
        answer.is_error
            && answer
                .text
                .starts_with("A person ended this call from outside"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn what_runs_is_shown_with_whom_it_is_for_over_all_bridges() {
    let user = User::new();
    let (mut own, mut guest) = (user.bridge().await, user.bridge().await);
    let served = user.served().await;
    let mut computer = user.computer(4).await;
    served.stateless().linked(4).await;
    guest.linked(4).await;
    begins(&mut own, &mut computer, 4, "one()").await;
    begins(&mut guest, &mut computer, 4, "two()\nmore()").await;
    let mut client = served.client("2025-11-25").await;
    let script = tokio::spawn(async move {
        let code = "return computers.exec({4}, 'three()')[4].error";
        client.call("run-script", json!({"code": code})).await
    });
    let request = computer.request().await;
    computer.accept(&request).await;
    let all = runs(&user, "three jobs run", |runs| {
        let jobs = runs["jobs"].as_array().unwrap();
        jobs.iter().filter(|job| job["begun"] == true).count() == 3
    })
    .await;
    assert_eq!((count(&all), &all["bridges"]), ((3, 3), &json!(3)), "{all}");
    for (bridge, over) in [
        (own.pid(), "stdio"),
        (guest.pid(), "stdio"),
        (served.child.id().unwrap(), "http"),
    ] {
        let mut calls = all["calls"].as_array().unwrap().iter();
        let call = calls.find(|call| call["bridge"] == bridge).unwrap();
        assert_eq!(
            (&call["client"], &call["over"]),
            (&json!("tests"), &json!(over))
        );
        assert_eq!(call["jobs"].as_array().unwrap().len(), 1);
        if cfg!(unix) && over == "stdio" {
            assert_eq!(call["clientProcess"], std::process::id());
        }
    }
    let words = user.enters(&["jobs"]).await.well();
    for part in [
        format!("(over HTTP, bridge {})", served.child.id().unwrap()),
        "tests 1 (".to_owned(),
        r#": exec-lua {"computerId":4,"code":"one()""#.to_owned(),
        ": run-script ".to_owned(),
        " on 4 (Label: two), running for ".to_owned(),
        ": two()\n".to_owned(),
    ] {
        assert!(words.contains(&part), "no `{part}` in:\n{words}");
    }

    let (_, stopped) = tokio::join!(confirms(&mut computer, 3), user.enters(&["stop", "--all"]));
    let said = stopped.well();
    assert_eq!(said.matches(" was stopped.").count(), 3, "{said}");
    assert_eq!(said.matches(" was ended.").count(), 3, "{said}");
    was_ended(&script.await.unwrap());
    let nothing = user.enters(&["jobs"]).await.well();
    assert_eq!(nothing, "Nothing runs (3 bridges told so).\n");
    let nothing = user.enters(&["stop", "--all"]).await.well();
    assert_eq!(nothing, "Nothing runs that could be stopped.\n");
    for bridge in [guest, own] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_job_is_stopped_by_its_id_with_its_call_and_is_said_to_be_only_when_that_is_sure() {
    let user = User::new();
    let (own, mut guest) = (user.bridge().await, user.bridge().await);
    let mut computer = user.computer(4).await;
    guest.linked(4).await;
    let (first, _) = begins(&mut guest, &mut computer, 4, "first()").await;
    let (second, _) = begins(&mut guest, &mut computer, 4, "second()").await;
    let all = runs(&user, "both jobs run", |runs| count(runs) == (2, 2)).await;
    let (job, call) = job_of(&all, "first()");
    let (other, _) = job_of(&all, "second()");
    let arguments = ["stop", job.as_str()];
    let (_, stopped) = tokio::join!(confirms(&mut computer, 1), user.enters(&arguments));
    let said = stopped.well();
    assert!(
        said.contains(&format!("Job {job} on 4 (Label: two) was stopped."))
            && said.contains(&format!("Call {call} (exec-lua) was ended.")),
        "{said}"
    );
    let answer = guest.answer(first).await;
    was_ended(&answer);
    assert!(answer.text.contains(&job), "{}", answer.text);

    // A computer that says nothing to it has not stopped, as far as is known.
    let Entered { said, is_well } = user.enters(&["stop", &other]).await;
    assert!(
        !is_well && said.contains("was told to stop, but its computer has not confirmed it"),
        "{said}"
    );
    was_ended(&guest.answer(second).await);
    let words = user.enters(&["jobs"]).await.well();
    assert!(
        words.contains("Jobs that no call here waits for:") && words.contains(&other),
        "{words}"
    );
    let Entered { said, is_well } = user.enters(&["stop", "no-such-job"]).await;
    assert!(
        !is_well && said.contains("Nothing that runs is `no-such-job`"),
        "{said}"
    );
    for bridge in [guest, own] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn what_runs_on_one_computer_is_stopped_and_nothing_else() {
    let user = User::new();
    let mut bridge = user.bridge().await;
    let mut computers = [user.computer(4).await, user.computer(5).await];
    let [four, five] = &mut computers;
    let (on_four, _) = begins(&mut bridge, four, 4, "four()").await;
    let (on_five, request) = begins(&mut bridge, five, 5, "five()").await;
    // One that goes on by itself.
    let code = json!({"computerId": 4, "code": "free()", "timeoutMs": 100});
    let free = bridge.start_call("exec-lua", code).await;
    let taken = four.request().await;
    four.accept(&taken).await;
    let free = bridge.answer(free).await;
    assert!(!free.is_error, "{}", free.text);
    let arguments = ["stop", "--computer", "4"];
    let (_, stopped) = tokio::join!(confirms(four, 2), user.enters(&arguments));
    let said = stopped.well();
    assert_eq!(said.matches(" was stopped.").count(), 2, "{said}");
    was_ended(&bridge.answer(on_four).await);
    five.respond(&request, json!({"returns": []})).await;
    let answer = bridge.answer(on_five).await;
    assert!(!answer.is_error, "{}", answer.text);
    // A slip is no quiet one.
    for (word, told) in [
        ("99", "No computer 99 is known. There are: 4 "),
        ("six", "No computer six is known. There are: 4 "),
        (
            "two",
            "Several computers are called two: 4 (Label: two), 5 (Label: two).",
        ),
    ] {
        let Entered { said, is_well } = user.enters(&["stop", "--computer", word]).await;
        assert!(!is_well && said.contains(told), "{said}");
    }
    let quiet = user.enters(&["stop", "--computer", "4"]).await.well();
    assert_eq!(quiet, "Nothing runs that could be stopped.\n");
    bridge.leave().await;
}

#[tokio::test]
async fn scripts_on_this_machine_and_calls_of_other_servers_end_with_their_call() {
    let place = servers::Place::new();
    let server = place.server("good", &["HEARD"]);
    place.write("config/mcp.json", &json!({"mcpServers": {"test": server}}));
    let user = User::new();
    let mut bridge = place.bridge_with(|command| user.settings(command));
    bridge.initialize("2025-11-25").await;
    listed(&mut bridge, "test__wait").await;
    let (begun, go) = (place.path("begun"), place.path("go"));
    let waits = json!({"begun": begun, "go": go});
    let upstream = bridge.start_call("test__wait", waits).await;
    let code = json!({"code": "print('so far') while true do end", "timeoutMs": 60_000});
    let script = bridge.start_call("run-script", code).await;
    file(&begun).await;
    let all = runs(&user, "both calls run", |runs| {
        count(runs) == (2, 0) && runs["calls"].to_string().contains(r#""servers":["test"]"#)
    })
    .await;
    let mut calls = all["calls"].as_array().unwrap().iter();
    let number = calls.find(|call| call["name"] == "run-script").unwrap()["call"].clone();
    let number = number.as_str().unwrap();
    let said = user.enters(&["stop", number]).await.well();
    assert_eq!(said, format!("Call {number} (run-script) was ended.\n"));
    let script = bridge.answer(script).await;
    was_ended(&script);
    assert!(script.text.ends_with("so far\n"), "{}", script.text);
    let said = user.enters(&["stop", "--all"]).await.well();
    assert!(
        said.contains("Told that it is cancelled, and free not to heed that: test."),
        "{said}"
    );
    was_ended(&bridge.answer(upstream).await);
    until("the server is told", async || {
        let heard = place.lines("heard").join("\n");
        is(heard.contains("notifications/cancelled"), heard)
    })
    .await;
    bridge.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_bridge_that_does_not_answer_is_told_of() {
    use rustix::process::Signal;

    use crate::bridges::signal;

    let user = User::new();
    let (own, guest) = (user.bridge().await, user.bridge().await);
    runs(&user, "both answer", |runs| runs["bridges"] == 2).await;
    let frozen = guest.pid();
    signal(frozen, Signal::STOP);
    let words = user.enters(&["jobs"]).await.well();
    assert!(
        words.contains("Nothing runs (1 bridge told so).")
            && words.contains(&format!("Bridge {frozen} runs, but does not answer")),
        "{words}"
    );
    let Entered { said, is_well } = user.enters(&["stop", "--all"]).await;
    assert!(!is_well && said.contains(&frozen.to_string()), "{said}");
    signal(frozen, Signal::CONT);
    for bridge in [guest, own] {
        bridge.leave().await;
    }
    let words = user.enters(&["jobs"]).await.well();
    assert!(
        words.starts_with("No bridge that could be asked runs."),
        "{words}"
    );
}
