//! Answers of our own tools are bounded: head and tail are shown, and the calls that an answer names show all the rest.

use crate::common::{
    bridge::{Bridge, ToolAnswer, WHOLE},
    linked::pair,
};
use serde_json::{Value, json};

/// How long an answer is at most, unless the call says otherwise.
const MOST: usize = 40_000;

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The call of get-job that a text names after `mark`: its arguments.
fn call_named(text: &str, mark: &str) -> Value {
    let (_, after) = text
        .split_once(mark)
        .unwrap_or_else(|| panic!("no `{mark}` in: {text:.500}"));
    let (call, _) = after.split_once('}').unwrap();
    serde_json::from_str(&format!("{call}}}")).unwrap()
}

/// A text with what was left out of it put in again, by the calls that it and their answers name.
async fn whole(bridge: &mut Bridge, answer: &ToolAnswer, most: usize) -> String {
    assert!(length(&answer.text) <= most, "{}", length(&answer.text));
    let (head, rest) = answer.text.split_once("\n[").unwrap();
    let (note, tail) = rest.split_once("]\n").unwrap();
    let numbers: Vec<usize> = note
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let (left_out, total) = (numbers[0], numbers[1]);
    let mut missing = String::new();
    let mut next = call_named(note, "get-job ");
    while length(&missing) < left_out {
        next["maxChars"] = json!(most);
        let page = bridge.call("get-job", next.clone()).await;
        assert!(!page.is_error, "{}", page.text);
        assert!(length(&page.text) <= most, "{}", length(&page.text));
        let (heading, text) = page.text.split_once('\n').unwrap();
        missing.push_str(text);
        if !heading.contains("there is more") {
            break;
        }
        next = call_named(heading, "get-job ");
    }
    // The page on which the gap ends goes on with what was shown.
    let missing: String = missing.chars().take(left_out).collect();
    // The line break before the note may be the text's own.
    let own = total - left_out - length(head) - length(tail);
    assert!(own <= 1, "{note}");
    let head = format!("{head}{}", &"\n"[..own]);
    head + &missing + tail
}

fn same(got: &str, wanted: &str) {
    let at = got.bytes().zip(wanted.bytes()).position(|(a, b)| a != b);
    assert!(
        got == wanted,
        "{} bytes instead of {}, which part at {at:?}: {:.300}",
        got.len(),
        wanted.len(),
        got
    );
}

#[tokio::test]
async fn of_what_code_printed_and_returned_head_and_tail_are_shown_and_get_job_shows_the_rest() {
    let (mut bridge, _computer) = pair().await;
    let lines: String = (1..=20_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let code = "for i = 1, 20000 do print('line ' .. i) end return ('é'):rep(3000), 7";
    let wanted = format!("{lines}=> \"{}\"\n=> 7", "é".repeat(3000));
    for most in [MOST, 500, 9_999] {
        let mut call = json!({"computerId": 1, "code": code});
        if most != MOST {
            call["maxChars"] = json!(most);
        }
        let answer = bridge.call("exec-lua", call).await;
        assert!(
            answer.text.starts_with("line 1\nline 2\n"),
            "{:.300}",
            answer.text
        );
        assert!(most == 500 || answer.text.ends_with("é\"\n=> 7"), "{most}");
        // Cut between lines.
        let (head, _) = answer.text.split_once("\n[").unwrap();
        assert!(lines.contains(&format!("{}\n", head.rsplit('\n').next().unwrap())));
        if most > 500 {
            same(&whole(&mut bridge, &answer, most).await, &wanted);
        }
    }
    let short = bridge
        .call(
            "exec-lua",
            json!({"computerId": 1, "code": code, "maxChars": WHOLE}),
        )
        .await;
    same(&short.text, &wanted);
    bridge.leave().await;
}

#[tokio::test]
async fn a_result_of_two_megabytes_is_paged_like_output() {
    let (mut bridge, _computer) = pair().await;
    let code = "print('before') return ('0123456789'):rep(200000)";
    let answer = bridge
        .call(
            "exec-lua",
            json!({"computerId": 1, "code": code, "timeoutMs": 60_000}),
        )
        .await;
    assert!(
        !answer.is_error && length(&answer.text) <= MOST,
        "{:.300}",
        answer.text
    );
    let wanted = format!("before\n=> \"{}\"", "0123456789".repeat(200_000));
    same(&whole(&mut bridge, &answer, MOST).await, &wanted);
    bridge.leave().await;
}

#[tokio::test]
async fn a_long_error_and_what_was_printed_before_it_share_an_answer() {
    let (mut bridge, _computer) = pair().await;
    let code = "for i = 1, 9000 do print('line ' .. i) end error(('no '):rep(50000), 0)";
    let answer = bridge
        .call("exec-lua", json!({"computerId": 1, "code": code}))
        .await;
    let text = answer.text;
    assert!(
        answer.is_error && length(&text) <= MOST,
        "{}",
        length(&text)
    );
    assert!(
        text.starts_with("runtime error on computer 1 (Label: nil): no no"),
        "{text:.200}"
    );
    assert!(
        text.contains("\n\nOutput before the error:\nline 1\n"),
        "{text:.200}"
    );
    assert!(text.ends_with("line 9000\n"), "{text:.200}");
    assert_eq!(text.matches("are left out here: get-job ").count(), 1);
    let rest = call_named(&text, "get-job ");
    let page = bridge.call("get-job", rest).await.text;
    let (_, page) = page.split_once('\n').unwrap();
    assert!(page.starts_with("line "), "{page:.50}");
    bridge.leave().await;
}

#[tokio::test]
async fn of_code_that_goes_on_and_of_code_that_is_stopped_head_and_tail_are_shown() {
    let (mut bridge, _computer) = pair().await;
    let code = "for i = 1, 9000 do print('line ' .. i) end print('all') sleep(600)";
    let call = json!({"computerId": 1, "code": code, "timeoutMs": 3_000});
    let running = bridge.call("exec-lua", call.clone()).await.text;
    assert!(
        running.starts_with("The code still runs on computer 1"),
        "{running:.200}"
    );
    assert!(running.contains("Output so far:\nline 1\n") && running.ends_with("line 9000\nall\n"));
    assert!(length(&running) <= MOST);
    let page = bridge
        .call("get-job", call_named(&running, "here: get-job "))
        .await
        .text;
    assert!(page.contains(": running for "), "{page:.200}");
    let mut stopped = call;
    stopped["onTimeout"] = json!("cancel");
    let stopped = bridge.call("exec-lua", stopped).await.text;
    assert!(
        stopped.contains("and was stopped") && length(&stopped) <= MOST,
        "{stopped:.200}"
    );
    assert!(stopped.ends_with("line 9000\nall\n"));
    bridge.leave().await;
}

#[tokio::test]
async fn the_rest_of_what_a_script_printed_and_returned_is_kept_for_get_job() {
    let mut bridge = Bridge::initialized().await;
    let printed: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    for (code, is_error) in [
        (
            "for i = 1, 20000 do print(i) end return ('€'):rep(30000)",
            false,
        ),
        ("for i = 1, 20000 do print(i) end error('no', 0)", true),
    ] {
        let answer = bridge.call("run-script", json!({"code": code})).await;
        assert_eq!(answer.is_error, is_error, "{:.300}", answer.text);
        let all = whole(&mut bridge, &answer, MOST).await;
        assert!(all.contains(&printed[..printed.len() - 1]), "{all:.300}");
        if !is_error {
            same(&all, &format!("{printed}=> {}", "€".repeat(30_000)));
        }
    }
    let image = r#"
        local text = ("x"):rep(60000)
        return { content = { { type = "text", text = text }, { type = "image", data = "AAAA", mimeType = "image/png" } } }"#;
    let reply = bridge
        .request(
            "tools/call",
            json!({"name": "run-script", "arguments": {"code": image}}),
        )
        .await;
    let content = reply["result"]["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[1]["data"]), (2, &json!("AAAA")));
    assert!(length(content[0]["text"].as_str().unwrap()) <= MOST);
    bridge.leave().await;
}
