//! Both ways, and what changes while a sync goes on.

use serde_json::json;

use super::{Allowed, User, has, has_not, names_in};
use crate::common::{is, until};

#[tokio::test]
async fn whichever_has_changed_goes_to_the_other_and_of_both_both_are_kept() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    let both = json!({"way": "both"});
    for name in [
        "here.lua",
        "there.lua",
        "clash.lua",
        "gone-here.lua",
        "gone-there.lua",
        "Makefile",
    ] {
        user.write(name, "first");
    }
    has(&user.syncs(both.clone()).await, "6 sent");
    user.write("here.lua", "changed here");
    user.write("new-here.lua", "new");
    user.write("clash.lua", "mine");
    std::fs::remove_file(user.folder().join("gone-here.lua")).unwrap();
    for (path, text) in [
        ("there.lua", "changed there"),
        ("clash.lua", "theirs"),
        ("new-there.lua", "new"),
        ("Makefile", "changed there"),
    ] {
        computer
            .write_file(&format!("programs/{path}"), text.as_bytes())
            .unwrap();
    }
    user.bridge
        .lua(12, "fs.delete('/programs/gone-there.lua')")
        .await;

    let said = user.syncs(both.clone()).await;
    has(&said, "3 sent, 2 fetched, ");
    has(&said, "Sent: here.lua, new-here.lua, clash.lua.");
    has(&said, "Fetched: new-there.lua, there.lua.");
    has(
        &said,
        "Both sides had changed clash.lua: this machine's is on both now, and the computer's is kept here as clash.conflict-12.lua.",
    );
    has(
        &said,
        "left on the other (delete takes them away there too): gone-here.lua, gone-there.lua.",
    );
    has(
        &said,
        "Not synced: Makefile: programs of this machine look for that name by themselves.",
    );
    let there = |path: &str| computer.read_file(&format!("programs/{path}"));
    for (path, text) in [
        ("here.lua", "changed here"),
        ("there.lua", "changed there"),
        ("clash.lua", "mine"),
        ("new-here.lua", "new"),
        ("new-there.lua", "new"),
    ] {
        assert_eq!(there(path).as_deref(), Some(text.as_bytes()), "{path}");
        assert_eq!(user.read(path).as_deref(), Some(text.as_bytes()), "{path}");
    }
    assert_eq!(
        user.read("clash.conflict-12.lua").as_deref(),
        Some(b"theirs".as_slice())
    );
    assert_eq!(there("clash.conflict-12.lua"), None);
    assert_eq!(user.read("Makefile").as_deref(), Some(b"first".as_slice()));
    assert_eq!(
        (user.read("gone-here.lua"), there("gone-there.lua")),
        (None, None)
    );

    // Both can be changed no more than once without a word.
    user.write("Makefile", "changed here");
    let said = user.fails(both.clone()).await;
    has(&said, "Failed: Makefile: both sides have changed it");
    has_not(&said, "sent");
    let said = user
        .answers(user.call(json!({"way": "both", "delete": true})))
        .await
        .text;
    has(&said, "Deleted on the computer: gone-here.lua.");
    has(&said, "Deleted on this machine, and kept in .before-sync/");
    has(&said, ": gone-there.lua.");
    assert_eq!(
        (user.read("gone-there.lua"), there("gone-here.lua")),
        (None, None)
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn a_watch_of_the_tool_goes_on_for_so_long_and_tells_what_it_did() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    let call = user.call(json!({"way": "both", "watchSeconds": 9}));
    let call = json!({"name": "sync-folder", "arguments": call});
    let call = user.bridge.start_call("call-tool", call).await;
    let there = |path: &str| computer.read_file(&format!("programs/{path}"));
    let comes = async |path: &str, text: &[u8]| {
        until(path, async || {
            is(there(path).as_deref() == Some(text), "it is not there")
        })
        .await;
    };
    comes("main.lua", b"1").await;
    user.write("main.lua", "2");
    comes("main.lua", b"2").await;
    // Nothing is left over of how it is written.
    assert_eq!(names_in(&user.folder()), ["main.lua"]);
    computer
        .write_file("programs/made.lua", b"in the game")
        .unwrap();
    until("it is fetched", async || {
        is(
            user.read("made.lua").as_deref() == Some(b"in the game".as_slice()),
            "it is not here",
        )
    })
    .await;
    // Another sync waits for its turn.
    let (is_well, said, _) = user.enters(&["programs", "12:/programs"]).await;
    assert!(is_well, "{said}");
    let answer = user.bridge.slow_answer(call).await;
    assert!(!answer.is_error, "{}", answer.text);
    has(&answer.text, "Sent: main.lua.");
    has(&answer.text, "Fetched: made.lua.");
    user.bridge.leave().await;
}
