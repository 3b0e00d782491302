//! All kinds of bad servers at once, and a good one beside them: it must notice nothing.

use std::{fs, time::Duration};

use serde_json::{Map, json};
use tokio::time::Instant;

use crate::common::{
    bridge::Bridge,
    servers::{Place, http_server, listed, server, status},
};

/// How long a server has to start unless its entry says otherwise.
const DEADLINE: Duration = Duration::from_secs(60);

/// Bad servers over standard input and output.
const PROGRAMS: &[&str] = &[
    "mute",
    "garbage",
    "rubbish",
    "dies",
    "needs",
    "floods",
    "circles",
    "stands-still",
    "odd",
    #[cfg(unix)]
    "helpers",
    #[cfg(unix)]
    "stubborn",
];

/// Bad servers over HTTP, each with the path it is reached by.
const ADDRESSES: &[(&str, &str)] = &[
    ("hangs", "/mcp"),
    ("forgets-404", "/mcp"),
    ("forgets-400", "/mcp"),
    ("forgets-400-text", "/mcp"),
    ("forgets-500", "/mcp"),
    ("forgets-500-text", "/mcp"),
    ("forgets-200-null", "/mcp"),
    ("forgets-200-another", "/mcp"),
    ("wrong-id-number", "/mcp"),
    ("moved-301", "/old"),
    ("moved-away", "/mcp"),
    ("goes-in-circles", "/mcp"),
    ("older", "/sse"),
    ("asks-for-authorization", "/mcp"),
    ("login", "/mcp"),
    ("is-down", "/mcp"),
    ("is-a-web-page", "/mcp"),
    ("odd", "/mcp"),
];

async fn good_works(bridge: &mut Bridge) {
    let answer = bridge.call("zgood__echo", json!({"text": "here"})).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("here", false));
}

#[tokio::test]
async fn beside_all_bad_servers_at_once_a_good_one_is_listed_before_any_deadline_of_theirs() {
    let place = Place::new();
    let mut servers = Map::new();
    for mode in PROGRAMS {
        servers.insert(format!("p-{mode}"), place.server(mode, &["HELPERS"]));
    }
    let mut running = Vec::new();
    for (mode, path) in ADDRESSES {
        let folder = place.path(mode);
        fs::create_dir(&folder).unwrap();
        let (process, port) = http_server(mode, &folder).await;
        running.push(process);
        let url = format!("http://127.0.0.1:{port}{path}");
        servers.insert((*mode).to_owned(), json!({ "url": url }));
    }
    // The last in their order.
    servers.insert("zgood".to_owned(), server("good"));
    place.write("config/mcp.json", &json!({ "mcpServers": servers }));

    let begun = Instant::now();
    let mut bridge = place.session().await;
    listed(&mut bridge, "zgood__echo").await;
    good_works(&mut bridge).await;
    let took = begun.elapsed();
    assert!(took < DEADLINE, "{took:?}");
    let state = status(&mut bridge, |state| {
        ["p-dies", "p-needs", "is-down", "moved-away", "login"]
            .iter()
            .all(|failed| state.contains(&format!("{failed}: failed")))
    })
    .await;
    // These wait for their deadline yet, or for the turn to be started.
    for waiting in ["p-mute", "p-garbage", "hangs"] {
        let is = |phase: &str| state.contains(&format!("{waiting}: {phase}"));
        assert!(is("starting") || is("waiting"), "{waiting} in {state}");
    }
    assert!(!state.contains("did not answer `initialize`"), "{state}");

    // Those that only look bad, or have something to offer all the same, work too.
    for tool in [
        "p-rubbish__echo",
        "p-floods__echo",
        "p-circles__echo",
        "p-odd__choice",
        "moved-301__note",
        "older__note",
        "odd__note",
    ] {
        let tools = listed(&mut bridge, tool);
        tokio::time::timeout(DEADLINE, tools).await.unwrap();
    }
    // The sessions of all are lost at once.
    for (mode, _) in ADDRESSES
        .iter()
        .filter(|(mode, _)| mode.starts_with("forgets"))
    {
        listed(&mut bridge, &format!("{mode}__note")).await;
        fs::write(place.path(mode).join("forget"), "").unwrap();
    }
    for (mode, _) in ADDRESSES
        .iter()
        .filter(|(mode, _)| mode.starts_with("forgets"))
    {
        let tool = format!("{mode}__note");
        // Some of them answer this one with an error.
        let params = json!({"name": tool, "arguments": {"text": "one"}});
        bridge.request("tools/call", params).await;
        let second = bridge.call(&tool, json!({"text": "two"})).await;
        assert_eq!(second.text, "noted two", "{mode}");
    }
    good_works(&mut bridge).await;
    bridge.leave().await;
}
