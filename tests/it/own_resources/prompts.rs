//! The product's own prompts: what they say is true, and what they name is there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::computer;
use crate::common::bridge::Bridge;

/// The most tokens that one may cost.
const MOST_TOKENS: usize = 1_500;

/// Each with its arguments, those that it needs marked.
const PROMPTS: [(&str, &[&str]); 4] = [
    ("debug-program", &["program!", "computer", "problem"]),
    ("drive-turtle", &["task!", "computer"]),
    ("program-computer", &["task!", "computer", "peripheral"]),
    ("survey-base", &["question", "computer"]),
];

/// The texts of a prompt.
async fn got(bridge: &mut Bridge, name: &str, arguments: Value) -> Vec<String> {
    let reply = bridge
        .request("prompts/get", json!({"name": name, "arguments": arguments}))
        .await;
    let messages = reply["result"]["messages"].as_array();
    let messages = messages.unwrap_or_else(|| panic!("{name}: {reply}"));
    messages
        .iter()
        .map(|message| {
            assert_eq!(message["role"], "user");
            message["content"]["text"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[tokio::test]
async fn each_is_listed_with_its_arguments_says_what_was_given_and_names_tools_that_there_are() {
    let mut bridge = Bridge::start_with(|command| {
        command.args(["--toolsets", "all"]);
    });
    let agreed = bridge.initialize("2025-11-25").await;
    assert_eq!(agreed["capabilities"]["prompts"]["listChanged"], true);
    let tools = bridge.request("tools/list", json!({})).await;
    let tools = tools["result"]["tools"].as_array().unwrap().iter();
    let tools: BTreeSet<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    let tools: BTreeSet<_> = tools.into_iter().map(str::to_owned).collect();
    let listed = bridge.request("prompts/list", json!({})).await;
    let listed = listed["result"]["prompts"].as_array().unwrap().clone();
    let listed: Vec<_> = listed
        .iter()
        .map(|prompt| {
            let arguments = prompt["arguments"].as_array().unwrap().iter();
            let arguments = arguments.map(|argument| {
                let mark = if argument["required"] == true {
                    "!"
                } else {
                    ""
                };
                format!("{}{mark}", argument["name"].as_str().unwrap())
            });
            assert!(prompt["title"].is_string() && prompt["description"].is_string());
            (
                prompt["name"].as_str().unwrap().to_owned(),
                arguments.collect::<Vec<_>>(),
            )
        })
        .collect();
    let expected: Vec<_> = PROMPTS
        .iter()
        .map(|(name, arguments)| {
            let arguments = arguments.iter().map(|argument| (*argument).to_owned());
            ((*name).to_owned(), arguments.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(listed, expected);

    for (name, arguments) in PROMPTS {
        let mut given = json!({});
        for argument in arguments {
            let argument = argument.trim_end_matches('!');
            given[argument] = json!(format!("<the {argument}>"));
        }
        let texts = got(&mut bridge, name, given).await;
        let whole = texts.join("\n");
        assert_eq!(texts.len(), 2, "{name}");
        for argument in arguments {
            let argument = argument.trim_end_matches('!');
            assert!(
                whole.contains(&format!("<the {argument}>")),
                "{name}: {argument}"
            );
        }
        assert!(!whole.contains("{{"), "{whole}");
        let named = whole.split('`').skip(1).step_by(2);
        let tool_names = named.filter(|word| {
            word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !["local"].contains(word)
        });
        let mut count = 0;
        for tool in tool_names {
            assert!(tools.contains(tool), "{name} names {tool}");
            count += 1;
        }
        assert!(count > 4, "{name}");
        let tokens = tiktoken_rs::o200k_base_singleton()
            .encode_with_special_tokens(&whole)
            .len();
        assert!(tokens <= MOST_TOKENS, "{name}: {tokens}");
        // What is left out is empty.
        let least: serde_json::Map<_, _> = arguments
            .iter()
            .filter_map(|argument| argument.strip_suffix('!'))
            .map(|argument| (argument.to_owned(), json!("x")))
            .collect();
        let texts = got(&mut bridge, name, Value::Object(least.clone())).await;
        assert!(!texts[1].contains("{{"), "{}", texts[1]);
        if let Some(needed) = least.keys().next() {
            let reply = bridge
                .request("prompts/get", json!({"name": name, "arguments": {}}))
                .await;
            let words = reply["error"]["message"].as_str().unwrap();
            assert!(
                words.contains(&format!("needs the argument `{needed}`")),
                "{words}"
            );
        }
    }
    // What they extend is no prompt of a person's.
    let reply = bridge
        .request("prompts/get", json!({"name": "cc-tweaked"}))
        .await;
    assert_eq!(reply["error"]["message"], "Unknown prompt: cc-tweaked");
    bridge.leave().await;
}

#[tokio::test]
async fn what_they_say_of_the_language_is_so() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    for (code, is) in [
        (
            "return (load('return 7//2')), (load('return 1<<2')), (load('return 6&3'))",
            "nil",
        ),
        ("return os.exit, io.popen, collectgarbage", "nil"),
        (
            "return type(table.pack) == 'function' and type(table.unpack) == 'function' and type(bit32) == 'table'",
            "true",
        ),
        (
            "return type(utf8) == 'table' and load('goto done ::done::') ~= nil",
            "true",
        ),
        (
            "return peripheral.wrap('left'), peripheral.find('monitor')",
            "nil",
        ),
        (
            "local ok, why = pcall(function() return turtle.forward() end) return why:find('attempt to index') and why:find('turtle') and why:find('a nil value') ~= nil",
            "true",
        ),
        (
            "local file, why = fs.open('/rom/x', 'w') return file == nil and why:find('Access denied') ~= nil",
            "true",
        ),
        (
            "local file, why = fs.open('/none', 'r') return file == nil and why:find('No such file') ~= nil",
            "true",
        ),
    ] {
        let answer = bridge.lua(1, code).await;
        let lines: Vec<_> = answer.lines().collect();
        assert!(
            lines.iter().all(|line| *line == format!("=> {is}")),
            "{code}: {answer}"
        );
    }
    bridge.leave().await;
}
