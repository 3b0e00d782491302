//! `call-tool` on several computers at once: who answered what, and that no answer is longer than a client takes.

use serde_json::{Value, json};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::{Computer, version_1_agent},
};

/// A bridge with computers 1 to 3, which are called a, b and c.
async fn three() -> Bridge {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (id, label) in [(1, "a"), (2, "b"), (3, "c")] {
        Computer::link(port, id, Some(label))
            .await
            .serve(version_1_agent(id, label));
        bridge.linked(id).await;
    }
    bridge
}

async fn run(bridge: &mut Bridge, code: &str, computers: Value) -> ToolAnswer {
    let call = json!({"name": "exec-lua", "arguments": {"code": code}, "computers": computers});
    bridge.call("call-tool", call).await
}

#[tokio::test]
async fn each_computer_answers_and_those_that_say_the_same_are_named_together() {
    let mut bridge = three().await;
    let same = run(&mut bridge, "return 6 * 7", json!([1, 3, 2, 1])).await;
    assert!(!same.is_error, "{}", same.text);
    assert_eq!(
        same.text,
        "Computers 1 (Label: a), 3 (Label: c), 2 (Label: b):\n=> 42"
    );
    // One that is not there takes nothing from the others.
    let some = run(&mut bridge, "return 1", json!([2, 9])).await;
    assert!(
        !some.is_error
            && some
                .text
                .starts_with("Computer 2 (Label: b):\n=> 1\n\nComputer 9, failed:\n"),
        "{}",
        some.text
    );
    let none = run(&mut bridge, "return 1", json!([8, 9])).await;
    assert!(none.is_error, "{}", none.text);
    bridge.leave().await;
}

#[tokio::test]
async fn long_answers_share_the_room_and_the_rest_is_kept() {
    let mut bridge = three().await;
    let code = "return string.rep(tostring({}), 2000)";
    let long = run(&mut bridge, code, json!([1, 2, 3])).await;
    let length = long.text.chars().count();
    assert!((30_000..=40_000).contains(&length), "{length}");
    assert_eq!(
        long.text.matches("are left out here: get-job").count(),
        3,
        "{:.500}",
        long.text
    );
    let (_, id) = long.text.split_once("\"jobId\": \"").unwrap();
    let id = id.split_once('"').unwrap().0;
    let rest = bridge
        .call("get-job", json!({"jobId": id, "maxChars": 8_000_000}))
        .await;
    assert!(
        !rest.is_error && rest.text.chars().count() > 20_000,
        "{:.500}",
        rest.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_can_not_be_called_on_computers_says_so() {
    let mut bridge = three().await;
    for (call, told) in [
        (
            json!({"name": "list-computers", "computers": [1]}),
            "list-computers is not called on a computer: it takes no `computerId`.",
        ),
        (
            json!({"name": "list-files", "arguments": {"computerId": 1}, "computers": [2]}),
            "The computers are named in `computers` and again as `computerId` in `arguments`",
        ),
        (
            json!({"name": "list-files", "computers": []}),
            "`computers` names 0 computers",
        ),
        (
            json!({"name": "list-files", "computers": (0..101).collect::<Vec<_>>()}),
            "`computers` names 101 computers",
        ),
    ] {
        let answer = bridge.call("call-tool", call.clone()).await;
        assert!(
            answer.is_error && answer.text.contains(told),
            "{call}: {}",
            answer.text
        );
    }
    bridge.leave().await;
}
