//! What a sync takes from a computer, and how it comes back.

use std::fs;

use serde_json::{Value, json};

use super::{Allowed, User, has, has_not};

impl User {
    /// What `manage-files` answers.
    async fn manages(&mut self, arguments: Value) -> String {
        let call = json!({"name": "manage-files", "arguments": arguments});
        let answer = self.bridge.call("call-tool", call).await;
        assert!(!answer.is_error, "{}", answer.text);
        answer.text
    }
}

#[tokio::test]
async fn what_a_sync_deletes_and_overwrites_on_a_computer_comes_back_by_undo() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let there = |path: &str| computer.read_file(path);
    for name in ["gone.lua", "lib/deep.lua", "changed.lua", "plain.lua"] {
        user.write(name, "first");
    }
    has(&user.syncs(json!({})).await, "4 sent");
    fs::remove_file(user.folder().join("gone.lua")).unwrap();
    fs::remove_dir_all(user.folder().join("lib")).unwrap();
    user.write("changed.lua", "second");
    user.write("plain.lua", "second");
    computer
        .write_file("programs/changed.lua", b"of the game")
        .unwrap();
    let said = user.syncs(json!({"delete": true})).await;
    has(&said, "Deleted on the computer: gone.lua, lib/deep.lua.");
    has(
        &said,
        "Overwritten though changed since the last sync: changed.lua.",
    );
    has(
        &said,
        "What was there is in the computer's /.trash for a while: manage-files {\"action\":\"undo\",\"path\":\"/programs/changed.lua\"} ",
    );
    has_not(&said, "Gone for good");
    assert_eq!(
        (there("programs/gone.lua"), there("programs/lib/deep.lua")),
        (None, None)
    );

    for name in ["gone.lua", "lib/deep.lua"] {
        let path = format!("/programs/{name}");
        let said = user.manages(json!({"action": "undo", "path": path})).await;
        has(&said, &format!("{path} is back; "));
        assert_eq!(there(&path[1..]).as_deref(), Some(b"first".as_slice()));
    }
    // What was overwritten lies beside what is there now. What the last sync had brought is not kept.
    let undo = json!({"action": "undo", "path": "/programs/changed.lua", "to": "/mine.lua"});
    has(
        &user.manages(undo).await,
        "/mine.lua is back; 0 more in the trash.",
    );
    assert_eq!(
        there("mine.lua").as_deref(),
        Some(b"of the game".as_slice())
    );
    assert_eq!(
        there("programs/changed.lua").as_deref(),
        Some(b"second".as_slice())
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_the_trash_has_no_room_for_is_said_to_be_gone() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    let large = vec![b'x'; 250_000];
    computer.write_file("programs/large.txt", &large).unwrap();
    for number in 0..60 {
        let path = format!("programs/f{number:02}.lua");
        computer.write_file(&path, b"1").unwrap();
    }
    let answer = user.answers(user.call(json!({"delete": true}))).await;
    let said = &answer.text;
    has(said, "1 sent, 61 deleted on the computer");
    has(
        said,
        "What was there is in the computer's /.trash for a while",
    );
    has(
        said,
        "Gone for good, since the computer's trash takes 50 files, 250000 bytes, and no room that the sync needs: f00.lua, ",
    );
    let gone = answer.structured.unwrap()["computers"][0]["gone"].take();
    let gone: Vec<String> = serde_json::from_value(gone).unwrap();
    let expected: Vec<_> = (0..10)
        .map(|number| format!("f{number:02}.lua"))
        .chain(["large.txt".to_owned()])
        .collect();
    assert_eq!(gone, expected);
    let path = "/programs/f10.lua";
    let said = user.manages(json!({"action": "undo", "path": path})).await;
    has(&said, "/programs/f10.lua is back; 49 more in the trash.");

    // A disk that would be too full otherwise is not kept full.
    computer
        .write_file("programs/old.txt", &vec![b'o'; 200_000])
        .unwrap();
    let fill = "local file = fs.open('/fills.txt', 'w')
        file.write(('x'):rep(fs.getFreeSpace('/') - 100000))
        file.close()";
    user.bridge.lua(12, fill).await;
    user.write("main.lua", vec![b'n'; 150_000]);
    let said = user.syncs(json!({"delete": true})).await;
    has(&said, "1 sent, 2 deleted on the computer");
    has(&said, ": f10.lua, old.txt.");
    has(&said, "Gone for good");
    has_not(&said, "/.trash");
    user.bridge.leave().await;
}
