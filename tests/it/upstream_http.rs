//! MCP servers over HTTP as they are: they forget sessions, move, answer with the wrong id, or speak the protocol's older
//! transport. They are `tests/upstream/http_server.py`, as rude as each test needs it.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tokio::{process::Child, time::timeout};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    is,
    servers::{Place, file, http_server, listed, status, with},
    until,
};

/// A server, and a bridge that knows it.
struct Rude {
    place: Place,
    bridge: Bridge,
    port: String,
    _server: Child,
}

impl Rude {
    /// A server of this mode, at this path, and a session with a bridge.
    async fn at(mode: &str, path: &str) -> Self {
        Self::entered(mode, path, json!({})).await
    }

    /// The same, with more in its entry.
    async fn entered(mode: &str, path: &str, more: Value) -> Self {
        let place = Place::new();
        let (server, port) = http_server(mode, &place.path("")).await;
        let url = format!("http://127.0.0.1:{port}{path}");
        let entry = with(json!({ "url": url }), more);
        place.write("config/mcp.json", &json!({"mcpServers": {"rude": entry}}));
        let bridge = place.session().await;
        Self {
            place,
            bridge,
            port,
            _server: server,
        }
    }

    /// A call, which is answered soon, whatever the server does.
    async fn note(&mut self, text: &str) -> ToolAnswer {
        ToolAnswer::of(&self.reply(text).await)
    }

    /// The same, with what the answer is in: a result, or an error of the server's own.
    async fn reply(&mut self, text: &str) -> Value {
        let call = json!({"name": "rude__note", "arguments": {"text": text}});
        let reply = self.bridge.request("tools/call", call);
        let reply = timeout(Duration::from_secs(10), reply).await;
        reply.expect("an answer, and no waiting for one that never comes")
    }

    /// What the server says is wrong.
    async fn trouble(&mut self) -> String {
        status(&mut self.bridge, |state| state.contains("rude: failed")).await
    }
}

#[tokio::test]
async fn a_call_into_a_lost_session_that_cant_have_begun_is_made_again_in_a_new_one() {
    for mode in [
        "forgets-404",
        "forgets-400",
        "forgets-400-text",
        "forgets-200-null",
    ] {
        let mut rude = Rude::at(mode, "/mcp").await;
        assert_eq!(rude.note("one").await.text, "noted one", "{mode}");
        for text in ["two", "three"] {
            fs::write(rude.place.path("forget"), "").unwrap();
            let answer = rude.note(text).await;
            assert_eq!(answer.text, format!("noted {text}"), "{mode}");
        }
        assert_eq!(rude.place.lines("calls"), ["one", "two", "three"], "{mode}");
        assert_eq!(rude.place.lines("sessions").len(), 3, "{mode}");
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_call_into_a_lost_session_that_may_have_begun_is_answered_and_the_next_one_works() {
    for (mode, words) in [
        ("forgets-500", "Internal error"),
        ("forgets-500-text", "HTTP 500 Internal Server Error"),
        ("forgets-200-another", "Who are you?"),
    ] {
        let mut rude = Rude::at(mode, "/mcp").await;
        assert_eq!(rude.note("one").await.text, "noted one", "{mode}");
        fs::write(rude.place.path("forget"), "").unwrap();
        let lost = rude.reply("two").await;
        let is_error = lost.get("error").is_some() || lost["result"]["isError"] == true;
        assert!(
            is_error && lost.to_string().contains(words),
            "{mode}: {lost}"
        );
        let next = rude.note("three").await;
        assert_eq!(next.text, "noted three", "{mode}");
        assert_eq!(rude.place.lines("calls"), ["one", "three"], "{mode}");
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_bad_answer_fails_its_own_call_and_no_other() {
    const UNKNOWN: &str =
        "Whether it did what was asked is unknown: find that out before you ask again.";
    let mut rude = Rude::entered("fails", "/mcp", json!({"parallel": true})).await;
    listed(&mut rude.bridge, "rude__note").await;
    let mut others = Vec::new();
    for text in ["waits", "streams"] {
        let call = rude.bridge.start_call("rude__note", json!({"text": text}));
        others.push((call.await, format!("noted {text}")));
    }
    let place = &rude.place;
    until("both have begun", async || {
        let begun = place.lines("calls").len();
        is(begun == 2, "they have not")
    })
    .await;
    for (text, words) in [
        (
            "503",
            "it answers HTTP 503 Service Unavailable (to be tried again in 7 s): Busy.",
        ),
        (
            "502",
            "it answers HTTP 502 Bad Gateway: The backend is away.",
        ),
        ("500", "it answers HTTP 500 Internal Server Error: Oops."),
        (
            "429",
            r#"it answers HTTP 429 Too Many Requests: {"error": "too many sessions"}."#,
        ),
        ("400", "it answers HTTP 400 Bad Request: Not so."),
        (
            "html",
            "its answer is text/html, and no message of the protocol: <html>.",
        ),
        ("no-json", "{oops."),
        ("drop", "closed the connection before it answered."),
        ("cut", "closed the connection in mid answer."),
        ("half", "its answer broke off before it was whole."),
    ] {
        let bad = rude.note(text).await;
        assert!(bad.is_error, "{text}: {}", bad.text);
        let begin = "The server `rude` did not answer this call: ";
        assert!(bad.text.starts_with(begin), "{text}: {}", bad.text);
        let told = format!("{words} {UNKNOWN}");
        assert!(bad.text.ends_with(&told), "{text}: {}", bad.text);
        // Without a wait.
        assert_eq!(rude.note("good").await.text, "noted good", "after {text}");
    }
    fs::write(rude.place.path("go"), "").unwrap();
    for (call, text) in others {
        assert_eq!(rude.bridge.answer(call).await.text, text);
    }
    assert_eq!(rude.place.lines("sessions").len(), 1);
    rude.bridge.leave().await;
}

#[tokio::test]
async fn an_answer_to_a_post_is_that_to_its_request_whatever_its_id() {
    // So is one from a server that does not say its version.
    for mode in [
        "wrong-id-number",
        "wrong-id-text",
        "wrong-id-in-a-stream",
        "odd",
    ] {
        let mut rude = Rude::at(mode, "/mcp").await;
        assert_eq!(rude.note("one").await.text, "noted one", "{mode}");
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_server_that_moved_within_itself_is_followed() {
    for mode in ["moved-301", "moved-302", "moved-307", "moved-308"] {
        let mut rude = Rude::at(mode, "/old").await;
        assert_eq!(rude.note("one").await.text, "noted one", "{mode}");
        assert_eq!(rude.place.lines("calls"), ["one"], "{mode}");
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_server_of_the_older_transport_is_spoken_to_by_that() {
    for more in [json!({}), json!({"type": "sse"})] {
        let mut rude = Rude::entered("older", "/sse", more).await;
        for text in ["one", "two"] {
            assert_eq!(rude.note(text).await.text, format!("noted {text}"));
        }
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_said_in_a_persons_words() {
    for (mode, words) in [
        (
            "moved-away",
            "can't be reached: it says that it is at http://mcp.example/mcp: if you trust that, write it as its `url`",
        ),
        (
            "goes-in-circles",
            "can't be reached: it answers HTTP 301 Moved Permanently",
        ),
        (
            "asks-for-authorization",
            "can't be reached: it asks who you are (HTTP 401): run `mcp-bridge upstream login rude`, or have its entry send a token",
        ),
        (
            "is-down",
            "can't be reached: it answers HTTP 503 Service Unavailable",
        ),
        (
            "refuses",
            "can't be reached: it answers HTTP 400 Bad Request: This is no place for you;",
        ),
        (
            "is-a-web-page",
            "can't be reached: it answers text/html, which is not MCP; perhaps its `url` is not that of its MCP endpoint",
        ),
    ] {
        let mut rude = Rude::at(mode, "/mcp").await;
        let state = rude.trouble().await;
        assert!(state.contains(words), "{mode}: {state}");
        rude.bridge.leave().await;
    }
}

#[tokio::test]
async fn a_call_to_a_server_whose_entry_is_changed_meanwhile_is_told_that() {
    let mut rude = Rude::at("holds-calls", "/mcp").await;
    listed(&mut rude.bridge, "rude__note").await;
    let call = rude
        .bridge
        .start_call("rude__note", json!({"text": "one"}))
        .await;
    file(&rude.place.path("calls")).await;
    let url = format!("http://127.0.0.1:{}/mcp", rude.port);
    let entry = json!({"url": url, "callTimeoutMs": 60_000});
    let config = "config/mcp.json";
    rude.place
        .write(config, &json!({"mcpServers": {"rude": entry}}));
    assert_eq!(
        rude.bridge.answer(call).await.text,
        format!(
            "mcp-bridge closed its connection to the server `rude` before it answered this call, since its entry in {} \
             was changed. Whether it did what was asked is unknown.",
            rude.place.path(config).display()
        )
    );
    rude.bridge.leave().await;
}

#[tokio::test]
async fn a_place_where_nobody_is_is_said_in_a_persons_words() {
    let mut rude = Rude::at("well", "/mcp").await;
    listed(&mut rude.bridge, "rude__note").await;
    rude._server.kill().await.unwrap();
    let answer = rude.note("one").await;
    assert!(answer.is_error);
    assert_eq!(
        answer.text,
        format!(
            "The server `rude` can't be reached: nothing listens at 127.0.0.1:{} (connection refused); perhaps it does \
             not run. This call did not reach it.",
            rude.port
        )
    );
    // That is so of all that it would be asked.
    rude.trouble().await;
    rude.bridge.leave().await;

    for (url, words) in [
        (
            "http://nowhere.invalid/mcp",
            "the name nowhere.invalid is not known (DNS)",
        ),
        (
            "https://127.0.0.1:1/mcp",
            "nothing listens at 127.0.0.1:1 (connection refused)",
        ),
    ] {
        let place = Place::with_servers(json!({ "rude": {"url": url} }));
        let mut bridge = place.session().await;
        let state = status(&mut bridge, |state| state.contains("rude: failed")).await;
        assert!(state.contains(words), "{state}");
        bridge.leave().await;
    }
}
