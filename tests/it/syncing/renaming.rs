//! Names: those that differ in capital letters alone, and those of copies that a sync keeps.

use std::fs;

use serde_json::json;

use super::{Allowed, User, has, has_not};

#[tokio::test]
async fn a_file_that_is_renamed_in_capitals_alone_is_renamed_on_the_computer() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    let folder = user.folder();
    let rename = |from: &str, to: &str| {
        fs::rename(folder.join(from), folder.join(to)).unwrap();
    };
    user.write("Foo.lua", "1");
    user.write("Bar.lua", "1");
    user.write("Lib/a.lua", "1");
    has(&user.syncs(json!({})).await, "3 sent");
    rename("Foo.lua", "foo.lua");
    rename("Bar.lua", "bar.lua");
    rename("Lib", "lib");
    fs::write(user.folder().join("bar.lua"), "2").unwrap();
    let said = user.syncs(json!({})).await;
    has(
        &said,
        "1 sent, 2 renamed on the computer, 1 bytes, 1 alike already.",
    );
    has(
        &said,
        "Renamed on the computer: Bar.lua to bar.lua, Foo.lua to foo.lua.",
    );
    // Where the game takes both for one, a folder's name stays.
    has(
        &said,
        "Not synced: Lib/a.lua: this machine has it as lib/a.lua, in other capital and small letters, which may be one file in \
         the game: give it the same name on both.",
    );
    let there = |path: &str| computer.read_file(&format!("programs/{path}"));
    assert_eq!(there("foo.lua").as_deref(), Some(b"1".as_slice()));
    assert_eq!(there("bar.lua").as_deref(), Some(b"2".as_slice()));
    assert_eq!((there("Foo.lua"), there("Bar.lua")), (None, None));
    assert!(there("Lib/a.lua").is_some());

    // What the computer has renamed, and what no sync has brought, is nobody's to rename.
    user.bridge
        .lua(12, "fs.move('/programs/foo.lua', '/programs/FOO.lua')")
        .await;
    user.write("new.lua", "1");
    computer.write_file("programs/New.lua", b"own").unwrap();
    for way in ["push", "both"] {
        let said = user.syncs(json!({"way": way})).await;
        has(
            &said,
            "Not synced: FOO.lua: this machine has it as foo.lua, ",
        );
        has(
            &said,
            "Not synced: New.lua: this machine has it as new.lua, ",
        );
        has_not(&said, "enamed");
    }
    assert_eq!(there("New.lua").as_deref(), Some(b"own".as_slice()));
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_is_named_like_a_kept_copy_is_said_to_be_left_on_either_side() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    user.write("main.conflict-12.lua", "mine");
    computer
        .write_file("programs/a.conflict-4.lua", b"of the game")
        .unwrap();
    for way in ["push", "pull", "both"] {
        let said = user.syncs(json!({"way": way, "delete": true})).await;
        for path in ["a.conflict-4.lua", "main.conflict-12.lua"] {
            has(
                &said,
                &format!(
                    "Not synced: {path}: it is named as what a sync kept of a file that both sides had changed, and so left where \
                     it is: rename it to have it synced, or delete it once it is not needed."
                ),
            );
        }
    }
    assert!(user.read("main.conflict-12.lua").is_some());
    assert!(computer.read_file("programs/a.conflict-4.lua").is_some());
    assert_eq!(user.read("a.conflict-4.lua"), None);
    user.bridge.leave().await;
}

#[tokio::test]
async fn a_file_that_lies_too_deep_is_said_with_a_way_on() {
    let mut user = User::new(Allowed::Push).await;
    let _computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    user.write(&format!("{}deep.lua", "a/".repeat(16)), "1");
    has(
        &user.syncs(json!({})).await,
        "a/deep.lua: it lies more than 16 folders deep: sync a folder nearer to it.",
    );
    user.bridge.leave().await;
}
