//! What is not synced, and what is said of it.

use serde_json::json;

use super::{Allowed, User, has};
use crate::common::screen;

#[tokio::test]
async fn without_a_folder_that_is_allowed_the_lines_to_add_are_said() {
    let mut user = User::new(Allowed::Nothing).await;
    let _computer = user.computer(12, "").await;
    let said = user.fails(json!({})).await;
    let folder = user.folder();
    has(
        &said,
        "No folder of this machine may be synced yet. Its user can allow one: add to ",
    );
    has(
        &said,
        &format!(
            "{}",
            user.home
                .path()
                .join("config")
                .join("config.toml")
                .display()
        ),
    );
    has(&said, &format!("sync_push = [\"{}\"]", folder.display()));

    // The lines are what the settings take.
    let config = user.home.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("sync_"))
        .collect();
    std::fs::write(config.join("config.toml"), lines.join("\n")).unwrap();
    let home = user.home.path().to_owned();
    let mut bridge = crate::common::bridge::Bridge::start_with(|command| {
        command
            .env("MCP_BRIDGE_STATE_DIR", home.join("state-of-another"))
            .env("MCP_BRIDGE_CONFIG_DIR", home.join("config"));
    });
    bridge.initialize("2025-11-25").await;
    let call = json!({"name": "sync-folder", "arguments": user.call(json!({"way": "pull"}))});
    let answer = bridge.call("call-tool", call).await;
    has(&answer.text, "No computers connected.");
    bridge.leave().await;
    user.bridge.leave().await;
}

#[tokio::test]
async fn only_what_lies_in_an_allowed_folder_is_synced_and_only_that_way() {
    let mut user = User::new(Allowed::Push).await;
    let _computer = user.computer(12, "").await;
    user.write("sub/a.lua", "1");
    std::fs::create_dir(user.home.path().join("other")).unwrap();
    for (folder, said) in [
        (
            user.home.path().join("other"),
            "is in no folder that may be synced so (these may: ",
        ),
        (
            user.folder().join("../other"),
            "a symbolic link, or `..`, is on the way to it",
        ),
        (user.folder().join("none"), "can't be opened as a folder"),
        (
            user.folder().join("sub/a.lua"),
            "can't be opened as a folder",
        ),
    ] {
        let answer = user
            .answers(json!({"folder": folder, "path": "/programs"}))
            .await;
        assert!(answer.is_error);
        has(&answer.text, said);
    }
    has(
        &user.fails(json!({"way": "pull"})).await,
        "files may only be pushed",
    );
    has(
        &user.fails(json!({"path": "/a/../b"})).await,
        "leads out of itself",
    );
    has(
        &user.fails(json!({"path": "/a:b"})).await,
        "signs that the game can't hold",
    );
    // A name below the allowed one is enough.
    let answer = user
        .answers(json!({"folder": "sub", "path": "/programs"}))
        .await;
    has(&answer.text, "Sent: a.lua.");
    user.bridge.leave().await;
}

#[tokio::test]
async fn a_player_who_is_asked_a_pause_and_a_file_of_too_many_bytes_hold_a_push_up() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "--policy ask").await;
    user.write("main.lua", "1");
    user.write("large.bin", vec![0; 4 * 1024 * 1024 + 1]);
    let call = json!({"name": "sync-folder", "arguments": user.call(json!({}))});
    let call = user.bridge.start_call("call-tool", call.clone()).await;
    screen::says(&computer, "yes").await;
    computer.type_line("no");
    let answer = user.bridge.answer(call).await;
    assert!(answer.is_error);
    has(&answer.text, "Stopped: ");
    has(&answer.text, "the next sync goes on from there.");
    has(
        &answer.text,
        "Not synced: large.bin: it has more than 4 MiB, the most of a file that is synced: split it, or leave it out by a .gitignore.",
    );
    assert_eq!(computer.read_file("programs/main.lua"), None);

    user.pauses();
    has(&user.fails(json!({})).await, "paused");
    let (is_well, said, _) = user.enters(&["programs", "12:/programs"]).await;
    assert!(!is_well);
    has(&said, "paused");
    user.bridge.leave().await;
}

#[tokio::test]
async fn two_syncs_of_the_same_folders_do_not_go_on_at_once() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "--policy ask").await;
    user.write("main.lua", "1");
    let call = json!({"name": "sync-folder", "arguments": user.call(json!({}))});
    let call = user.bridge.start_call("call-tool", call).await;
    screen::says(&computer, "yes").await;
    let (is_well, said, _) = user.enters(&["programs", "12:/programs"]).await;
    assert!(!is_well);
    has(&said, "Stopped: Another sync of ");
    has(
        &said,
        " goes on. Wait for its end, or stop it: it may be one with --watch. Nothing was changed.",
    );
    computer.type_line("yes");
    let answer = user.bridge.slow_answer(call).await;
    has(&answer.text, "1 sent");
    user.bridge.leave().await;
}
