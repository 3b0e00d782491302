//! What a client that asks for progress is told while its call goes on: not too often, not too much, and the last before
//! the answer.

use std::time::Instant;

use crate::common::bridge::Bridge;
use serde_json::{Value, json};

/// Runs a script that asks for progress, and returns what came until its answer, the answer included, and how long that
/// took in seconds.
async fn told(bridge: &mut Bridge, code: &str) -> (Vec<Value>, f64) {
    let start = Instant::now();
    let params =
        json!({"name": "run-script", "arguments": {"code": code}, "_meta": {"progressToken": "p"}});
    let call = bridge.ask("tools/call", params).await;
    let mut all = Vec::new();
    loop {
        let message = bridge
            .message("progress or the answer", |message| {
                message["method"] == "notifications/progress" || message["id"] == call
            })
            .await;
        let is_answer = message["id"] == call;
        all.push(message);
        if is_answer {
            return (all, start.elapsed().as_secs_f64());
        }
    }
}

#[tokio::test]
async fn a_client_is_told_ten_times_a_second_at_most_and_the_last_before_the_answer() {
    let mut bridge = Bridge::initialized().await;
    let code = "local start = os.clock() local count = 0 \
                repeat count = count + 1 progress('step ' .. count, count) until os.clock() > start + 1.5 \
                progress('last ' .. count + 1, count + 1) return count";
    let (all, seconds) = told(&mut bridge, code).await;
    let (answer, progress) = all.split_last().unwrap();
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    let count: u64 = shown.trim_start_matches("=> ").parse().unwrap();
    assert!(count > 100, "only {count} steps");
    let most = seconds * 10.0 + 2.0;
    assert!(
        progress.len() as f64 <= most,
        "{} in {seconds} s",
        progress.len()
    );
    assert!(progress.len() > 2, "{}", progress.len());
    let last = progress.last().unwrap();
    assert_eq!(last["params"]["message"], format!("last {}", count + 1));
    let done: Vec<_> = progress
        .iter()
        .map(|one| one["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(
        done.is_sorted() && done.last() == Some(&(count as f64 + 1.0)),
        "{done:?}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_client_is_told_is_bounded() {
    let mut bridge = Bridge::initialized().await;
    let (all, _) = told(&mut bridge, "progress(('x'):rep(1000000)) return 1").await;
    let message = all[0]["params"]["message"].as_str().unwrap();
    assert!(
        message.chars().count() <= 8_000 && message.ends_with('…'),
        "{}",
        message.len()
    );
    bridge.leave().await;
}
