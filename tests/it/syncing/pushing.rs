//! To computers.

use mcp_bridge::link::agent;
use serde_json::json;

use super::{Allowed, User, has, has_not};
use crate::common::until;

/// Bytes of all kinds, most of which are no text.
fn binary(length: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test]
async fn a_push_makes_a_computers_folder_what_the_hosts_is_and_says_what_it_did() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let picture = binary(300_000);
    user.write("main.lua", "print('hello')\n");
    user.write("lib/util.lua", "return {}\r\n");
    user.write("empty", "");
    user.write("latin", b"caf\xe9\0\xff\x01");
    user.write("picture.bin", &picture);
    user.write(".gitignore", "*.log\n/build/\n!keep.log\n");
    for ignored in ["a.log", "build/out.lua", ".env", ".git/config"] {
        user.write(ignored, "secret");
    }
    user.write("keep.log", "kept");
    user.write("caf\u{e9}.lua", "");

    let said = user.syncs(json!({})).await;
    has(&said, "Computer 12 (Label: nil): 6 sent, ");
    has(
        &said,
        "Sent: empty, keep.log, latin, lib/util.lua, main.lua, picture.bin.",
    );
    has(
        &said,
        "Not synced: caf\u{e9}.lua: its name has signs that the game can't hold.",
    );
    for (path, bytes) in [
        ("main.lua", b"print('hello')\n".as_slice()),
        ("lib/util.lua", b"return {}\r\n"),
        ("empty", b""),
        ("latin", b"caf\xe9\0\xff\x01"),
        ("keep.log", b"kept"),
        ("picture.bin", &picture),
    ] {
        let there = computer.read_file(&format!("programs/{path}"));
        assert!(there.as_deref() == Some(bytes), "{path}");
    }
    for path in [
        "a.log",
        "build/out.lua",
        ".env",
        ".git/config",
        ".gitignore",
        "picture.bin.sync-new",
    ] {
        assert_eq!(
            computer.read_file(&format!("programs/{path}")),
            None,
            "{path}"
        );
    }

    let said = user.syncs(json!({})).await;
    has(&said, "Computer 12 (Label: nil): 6 alike already.");
    has_not(&said, "Sent");

    // What has changed goes; what the game has changed is overwritten, and that is said.
    user.write("main.lua", "print('again')\n");
    computer
        .write_file("programs/lib/util.lua", b"return { 1 }")
        .unwrap();
    computer
        .write_file("programs/own.lua", b"of the game")
        .unwrap();
    computer
        .write_file("programs/x.log", b"of the game")
        .unwrap();
    std::fs::remove_file(user.folder().join("empty")).unwrap();
    let said = user.syncs(json!({})).await;
    has(&said, "2 sent, 26 bytes, 3 alike already.");
    has(
        &said,
        "Overwritten though changed since the last sync: lib/util.lua.",
    );
    has(
        &said,
        "Deleted on one side since the last sync, and left on the other (delete takes them away there too): empty.",
    );
    assert!(computer.read_file("programs/empty").is_some());

    // A mirror takes away what is not here, but not what is left out.
    let said = user.syncs(json!({"delete": true})).await;
    has(&said, "Deleted on the computer: empty, own.lua.");
    assert_eq!(computer.read_file("programs/own.lua"), None);
    assert_eq!(
        computer.read_file("programs/x.log").as_deref(),
        Some(b"of the game".as_slice())
    );
    has(
        &user.fails(json!({"path": "/", "delete": true})).await,
        "The whole disk of a computer is not mirrored",
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn a_push_goes_to_many_computers_at_once_of_every_age() {
    let mut user = User::new(Allowed::Push).await;
    let bytes = binary(40_000);
    user.write("main.lua", "print('hello')\n");
    user.write("data.bin", &bytes);
    let old = include_str!("../released/mcp-computer-1.0.0.lua");
    let computers = [
        user.computer(1, "").await,
        user.computer_of(2, "1.89", &agent::program(), "").await,
        user.computer_of(3, "1.89", &agent::program(), "").await,
        user.computer_of(4, "1.101", old, "").await,
        user.computer(5, "").await,
    ];
    let all = json!({"computerIds": [1, 2, 3, 4, 5]});
    let said = user.syncs(all.clone()).await;
    for computer in &computers {
        has(
            &said,
            &format!(
                "Computer {} (Label: nil): 2 sent, 40015 bytes, 0 alike already.",
                computer.id()
            ),
        );
        assert!(
            computer.read_file("programs/data.bin").as_deref() == Some(bytes.as_slice()),
            "{}",
            computer.id()
        );
        assert!(computer.read_file("programs/main.lua").is_some());
    }
    let said = user.syncs(all).await;
    assert_eq!(said.matches("2 alike already.").count(), 5, "{said}");
    let said = user.fails(json!({"computerIds": [1, 9]})).await;
    has(&said, "Computer 9 is not linked.");
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_was_written_stands_when_a_computer_goes_away_and_the_next_sync_goes_on() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let text = "-- a line of a long program\n".repeat(1_000);
    for number in 0..20 {
        user.write(&format!("f{number:02}.lua"), format!("{text}{number}"));
    }
    let call = json!({"name": "sync-folder", "arguments": user.call(json!({}))});
    let call = user.bridge.start_call("call-tool", call).await;
    // The answer of the first ones has come by then.
    until("some files are there", async || {
        computer
            .read_file("programs/f06.lua")
            .map(drop)
            .ok_or("not yet")
    })
    .await;
    computer.unload();
    let answer = user.bridge.slow_answer(call).await;
    assert!(answer.is_error, "{}", answer.text);
    has(&answer.text, "\nStopped: ");
    has(
        &answer.text,
        "What is told here as done is done; the next sync goes on from there.",
    );
    let sent = answer
        .text
        .split(" sent")
        .next()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap();
    let sent: usize = sent.parse().unwrap_or_else(|_| panic!("{}", answer.text));
    assert!((1..20).contains(&sent), "{sent}");

    computer.load();
    user.bridge.linked(12).await;
    let said = user.syncs(json!({})).await;
    // What was under way may have been written, too.
    let alike = said
        .split(" alike already")
        .next()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap();
    let alike: usize = alike.parse().unwrap();
    assert!(alike >= sent, "{sent}: {said}");
    for number in 0..20 {
        let there = computer
            .read_file(&format!("programs/f{number:02}.lua"))
            .unwrap();
        assert!(there == format!("{text}{number}").as_bytes(), "{number}");
    }
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_has_no_room_is_told_before_anything_is_written() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    for name in ["a", "b"] {
        user.write(name, vec![b' '; 450_000]);
    }
    let said = user.fails(json!({})).await;
    has(
        &said,
        "The files take 900000 bytes of computer 12 (Label: nil), and ",
    );
    has(&said, "Nothing was changed.");
    assert_eq!(computer.read_file("programs/a"), None);
    // One alone has room, and is written over where there is none for a second one beside it.
    std::fs::remove_file(user.folder().join("b")).unwrap();
    has(&user.syncs(json!({})).await, "1 sent");
    user.write("a", vec![b'x'; 450_000]);
    has(&user.syncs(json!({})).await, "1 sent");
    assert!(computer.read_file("programs/a").unwrap() == vec![b'x'; 450_000]);
    assert_eq!(computer.read_file("programs/a.sync-new"), None);
    user.bridge.leave().await;
}
