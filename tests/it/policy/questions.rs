//! What a player is shown who is asked, and what is said of a call that waits behind another's question.

use mcp_bridge::simulator::Computer;
use serde_json::json;

use super::{ASKED, asking, exec, start};
use crate::common::{
    is, screen,
    tools::{Tools, manifest},
    until,
};

/// Presses a key until the screen shows this, a page at a time.
async fn turns_to(computer: &Computer, key: &str, text: &str) {
    for _ in 0..40 {
        let before = screen::letters(computer);
        if before.contains(&screen::without_blanks(text)) {
            return;
        }
        computer.press_key(key);
        until("another page is shown", async || {
            let now = screen::letters(computer);
            is(now != before && now.ends_with("within60s:"), now)
        })
        .await;
    }
    panic!("no {text} in {}", screen::words(computer));
}

#[tokio::test]
async fn what_is_touched_is_shown_first_and_long_values_by_the_arrow_keys() {
    for version in ["1.89", "1.113.1"] {
        let (mut bridge, computer) = asking(version).await;
        let lines: Vec<_> = (0..200).map(|n| format!("print({n})")).collect();
        let content = lines.join("\n");
        let arguments = json!({"computerId": 1, "path": "/startup.lua", "content": content});
        let call = bridge.start_call("write-file", arguments).await;
        screen::says(&computer, ASKED).await;
        let shown = screen::letters(&computer);
        let path = shown.find("path:\"/startup.lua\"content:\"print(0)");
        assert!(
            path.is_some() && shown.contains("bywriting.lua,write:"),
            "{shown}"
        );
        // Its length as JSON, less what is shown.
        let left = serde_json::to_string(&content).unwrap().len() - 120;
        assert!(
            shown.contains(&format!("...({left}morecharacters)")),
            "{shown}"
        );
        assert!(
            shown.contains("morebytes:pressdown") && !shown.contains("print(199)"),
            "{shown}"
        );
        turns_to(&computer, "down", "print(199)").await;
        turns_to(&computer, "up", "path: \"/startup.lua\"").await;
        assert!(computer.read_file("startup.lua").is_none());
        computer.type_line("yes");
        until("it is written", async || {
            let there = computer.read_file("startup.lua");
            is(there.as_deref() == Some(content.as_bytes()), "not yet")
        })
        .await;
        bridge.answer(call).await;

        // What is long inside a list is cut there; what is short in it comes first.
        let edits = json!([{"replace": "x".repeat(900), "find": "print(7)\n"}]);
        let arguments = json!({"computerId": 1, "path": "/startup.lua", "edits": edits});
        let call = bridge.start_call("edit-file", arguments).await;
        screen::says(&computer, "by editing.lua, edit:").await;
        screen::says(&computer, ASKED).await;
        screen::shows(
            &computer,
            "path: \"/startup.lua\" edits: { { find: \"print(7)\\n\", replace: \"xxx",
        )
        .await;
        computer.type_line("no");
        assert!(bridge.answer(call).await.is_error);
        bridge.leave().await;
    }
}

#[tokio::test]
async fn the_end_of_long_code_can_be_seen_before_it_runs() {
    let (mut bridge, computer) = asking("1.113.1").await;
    let mut lines: Vec<_> = (0..60).map(|n| format!("local a{n} = {n}")).collect();
    lines.push("fs.delete('/name.lua')".to_owned());
    computer.write_file("name.lua", b"").unwrap();
    let call = exec(&mut bridge, &lines.join("\n"), 60_000).await;
    screen::says(&computer, ASKED).await;
    assert!(!screen::words(&computer).contains("fs.delete"));
    // A word that was begun is not a part of the answer any more, and there is no page behind the last.
    computer.press_character('y');
    turns_to(&computer, "down", "fs.delete('/name.lua')").await;
    computer.press_key("down");
    computer.type_line("no");
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.contains("the player at that computer said no"),
        "{}",
        answer.text
    );
    assert!(computer.read_file("name.lua").is_some());

    // Nothing at all is a question too.
    let call = exec(&mut bridge, "", 60_000).await;
    screen::says(&computer, "by exec-lua: Type yes or no").await;
    computer.press_key("up");
    computer.press_key("down");
    computer.type_line("yes");
    assert!(!bridge.answer(call).await.is_error);
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_waits_behind_another_question_is_told_so() {
    let tools = Tools::new();
    tools.write("greet/handler.lua", "return { call = function() end }");
    let meta = "      mcp.timeoutMs: 4000\n";
    let entry = manifest("greet", "computer.lua", meta);
    tools.write("greet/_index.yaml", &entry);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let computer = start(1, "1.113.1", port, "--policy ask --shell");
    bridge.linked(1).await;
    let first = exec(&mut bridge, "return 'first'", 60_000).await;
    screen::says(&computer, "'first'").await;
    let input = json!({"steps": [{"do": "type", "text": "yes\n"}]});
    let input = bridge.start_call("send-input", input).await;
    let mut answer = String::new();
    for _ in 0..3 {
        answer = bridge.call("greet", json!({"computerId": 1})).await.text;
        if answer.contains("asked about another") {
            break;
        }
    }
    assert!(
        answer.contains("The code was not run on computer 1 (Label: nil): its player was still asked about another"),
        "{answer}"
    );
    let mut answer = String::new();
    for ms in [500, 1_000, 2_000, 4_000, 8_000] {
        let second = exec(&mut bridge, "return 'second'", ms).await;
        answer = bridge.answer(second).await.text;
        if answer.contains("asked about another") {
            break;
        }
    }
    assert!(
        answer.contains(
            "The code was not run on computer 1 (Label: nil): its player was still asked about another, which list-jobs shows. \
             Call again once that is answered."
        ),
        "{answer}"
    );
    // To turn to a page gives another minute.
    computer.press_key("up");
    computer.press_key("down");
    let answer = bridge.slow_answer(input).await.text;
    assert!(
        answer.contains(
            "Nothing was done on computer 1 (Label: nil): its player was still asked about another"
        ),
        "{answer}"
    );
    computer.type_line("yes");
    assert_eq!(bridge.answer(first).await.text, "=> \"first\"");
    bridge.leave().await;
}
