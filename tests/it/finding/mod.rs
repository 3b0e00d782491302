//! `find-tools` over tools as people have them: questions as a model writes them find the right one, and no answer is long.

use std::{fs, time::Instant};

use crate::common::{
    bridge::Bridge,
    servers::{Place, server, with},
    tools::{Tools, of_repository},
    until,
};
use mcp_bridge::tools::search::{Document, Index};
use rmcp::model::Tool;
use serde_json::{Value, json};

/// The most that an answer may cost a model, in tokens of `o200k`: 2,000, and what four bytes for each are wrong by.
const MOST_TOKENS: usize = 2_200;

fn fixture(name: &str) -> Vec<Value> {
    let path = of_repository("tests/it/finding").join(format!("{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A bridge whose client never lists, with a user's own tools and those of three servers.
async fn start() -> (Place, Bridge) {
    let given = |name: &str| {
        let path = of_repository("tests/it/finding").join(format!("{name}.json"));
        with(server("given"), json!({"env": {"TOOLS": path}}))
    };
    let place = Place::with_servers(json!({
        "github": given("github"), "files": given("files"), "web": given("web"),
    }));
    let entry = |tool: &Value| {
        json!({
            "name": tool["name"], "kind": "function.lua", "source": "file://handler.lua", "method": "call",
            "meta": {
                "mcp.tool": true, "mcp.name": tool["name"], "mcp.description": tool["description"],
                "mcp.inputSchema": tool["inputSchema"],
            },
        })
    };
    let entries: Vec<_> = fixture("own").iter().map(entry).collect();
    place.write("config/tools/_index.yaml", &json!({"entries": entries}));
    let handler = place.path("config/tools/handler.lua");
    fs::write(handler, "return { call = function() return 'done' end }").unwrap();
    let mut bridge = place.session().await;
    until("all servers are known", async || {
        let status = bridge.call("upstream-status", json!({})).await.text;
        let counts = ["16 tools", "11 tools", "3 tools"];
        match counts.iter().all(|count| status.contains(count)) {
            true => Ok(()),
            false => Err(status),
        }
    })
    .await;
    (place, bridge)
}

/// The tools that an answer shows, in its order.
fn names(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    let names = lines.map(|(name, _)| name.replace(" (changes nothing)", ""));
    names
        .filter(|name| !name.contains(' ') && name != "Arguments")
        .collect()
}

#[tokio::test]
async fn a_question_finds_its_tool_among_the_first_three_and_no_answer_is_long() {
    let (_place, mut bridge) = start().await;
    let tokens = tiktoken_rs::o200k_base_singleton();
    let (mut wrong, mut most) = (Vec::new(), 0);
    for pair in fixture("queries") {
        let (query, expected) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        let text = bridge
            .call("find-tools", json!({"query": query}))
            .await
            .text;
        let found = names(&text);
        if !found.iter().take(3).any(|name| name == expected) {
            let first: Vec<_> = found.iter().take(5).collect();
            wrong.push(format!("{query}: {expected} is not among {first:?}"));
        }
        most = most.max(tokens.encode_with_special_tokens(&text).len());
        // It can be called as it is shown.
        assert!(text.contains("\nArguments: {"), "{query}: {text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(most < MOST_TOKENS, "{most} tokens");

    // Of all in full there is room for some, and the rest is named.
    let much = json!({"query": "a file, an issue, a turtle, a computer or time", "limit": 50});
    let text = bridge.call("find-tools", much).await.text;
    let count = tokens.encode_with_special_tokens(&text).len();
    assert!(
        (1_200..MOST_TOKENS).contains(&count),
        "{count} tokens: {text}"
    );
    assert!(
        text.matches("\nArguments: {").count() > 5 && text.contains("\n\nAlso ("),
        "{text}"
    );
    // Page by page there are all, but for the two that stay: those of the files, ours (11 of the core,
    // 2 for turtles, 1 for agents, 19 others), and what tells how servers are.
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let text = bridge
            .call("find-tools", json!({"offset": offset}))
            .await
            .text;
        let count = tokens.encode_with_special_tokens(&text).len();
        assert!(count < MOST_TOKENS, "{count} tokens: {text}");
        seen.extend(names(&text));
        let Some((_, next)) = text.split_once("`offset: ") else {
            break;
        };
        offset = next.split_once('`').unwrap().0.parse().unwrap();
        assert_eq!(offset, seen.len());
    }
    assert_eq!(seen.len(), 32 + 16 + 11 + 3 + 33 + 1, "{seen:?}");
    assert!(seen.is_sorted(), "{seen:?}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_tool_is_found_by_what_its_examples_say_which_no_client_is_shown() {
    let tools = Tools::new();
    let examples = "      mcp.examples:\n        - name: Cross a lake of lava\n          \
                    arguments: { block: minecraft:obsidian }\n          expect: done\n";
    tools.add_with("causeway", examples, "return 'done'");
    tools.add("other", "return 'done'");
    let mut bridge = tools.bridge(&["--upstream", "off"]).await;
    for query in ["crossing lakes", "obsidian"] {
        let text = bridge
            .call("find-tools", json!({"query": query}))
            .await
            .text;
        assert!(text.starts_with("causeway: "), "{query}: {text}");
        assert!(
            !text.contains("lake") && !text.contains("obsidian"),
            "{text}"
        );
    }
    let text = bridge
        .call("find-tools", json!({"query": "zeppelin or wharf"}))
        .await
        .text;
    assert_eq!(
        text,
        "No tool has any of these words: zeppelin, wharf. Without a query all are named."
    );
    bridge.leave().await;
}

#[test]
fn among_a_thousand_tools_a_search_takes_moments() {
    let mut documents = Vec::new();
    for copy in 0..17 {
        for set in ["own", "github", "files", "web"] {
            for mut tool in fixture(set) {
                tool["name"] = json!(format!("{set}{copy}__{}", tool["name"].as_str().unwrap()));
                let tool: Tool = serde_json::from_value(tool).unwrap();
                documents.push(Document::of(&tool, &[]));
            }
        }
    }
    assert!(documents.len() > 1_000);
    let begun = Instant::now();
    let index = Index::of(&documents);
    let made = begun.elapsed();
    let queries = fixture("queries");
    let begun = Instant::now();
    for pair in &queries {
        let found = index.find(pair[0].as_str().unwrap()).unwrap();
        assert!(!found.is_empty(), "{pair}");
    }
    let each = begun.elapsed() / u32::try_from(queries.len()).unwrap();
    // Both without optimisation, on a machine that does other things: alone, and in a release, it is a fraction.
    assert!(made.as_millis() < 2_000, "the index took {made:?}");
    assert!(each.as_millis() < 5, "a search took {each:?}");
}
