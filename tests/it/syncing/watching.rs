//! `mcp-bridge sync --watch`, and `sync-folder` with `watchSeconds`: what is said of what comes and goes meanwhile.

#[cfg(unix)]
use std::fs;

use serde_json::json;

use super::{Allowed, User, has};
#[cfg(unix)]
use crate::common::soon;
use crate::common::{is, until};

#[tokio::test]
async fn a_watch_follows_both_sides_until_it_is_ended() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    let mut watch = user.watch(&["programs", "12:/programs", "--both"]);
    watch.says("Sent: main.lua.").await;
    // Another sync waits for its turn.
    has(&user.syncs(serde_json::json!({})).await, "1 alike already.");
    user.write("main.lua", "2");
    watch.says("Sent: main.lua.").await;
    assert_eq!(
        computer.read_file("programs/main.lua").as_deref(),
        Some(b"2".as_slice())
    );
    computer.write_file("programs/main.lua", b"3").unwrap();
    watch.says("Fetched: main.lua.").await;
    assert_eq!(user.read("main.lua").as_deref(), Some(b"3".as_slice()));

    // A computer that goes away is told of, and synced when it is back.
    computer.unload();
    user.write("main.lua", "4");
    watch.says("Stopped: ").await;
    computer.load();
    watch.says("Sent: main.lua.").await;
    until("it is there", async || {
        is(
            computer.read_file("programs/main.lua").as_deref() == Some(b"4".as_slice()),
            "not yet",
        )
    })
    .await;
    #[cfg(unix)]
    {
        let pid =
            rustix::process::Pid::from_raw(watch.process.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let ended = soon("it ends", watch.process.wait()).await.unwrap();
        assert!(ended.success());
    }
    #[cfg(not(unix))]
    watch.process.kill().await.unwrap();
    user.bridge.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_watch_says_once_that_its_folder_is_away_and_syncs_whatever_comes_in_its_place() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    let comes = async |text: &str| {
        until("it is there", async || {
            let there = computer.read_file("programs/main.lua");
            is(there.as_deref() == Some(text.as_bytes()), "not yet")
        })
        .await;
    };
    user.write("main.lua", "1");
    let mut watch = user.watch(&["programs", "12:/programs", "--delete"]);
    watch.says("Sent: main.lua.").await;
    let (folder, away) = (user.folder(), user.home.path().join("away"));
    fs::rename(&folder, &away).unwrap();
    let words = " is not there any more: it was moved, renamed or deleted. Nothing is synced until a folder is there again.";
    watch.says(words).await;
    // What is done elsewhere is not meant.
    fs::write(away.join("main.lua"), "2").unwrap();
    fs::remove_file(away.join("main.lua")).unwrap();
    fs::write(away.join("main.lua"), "3").unwrap();
    fs::rename(&away, &folder).unwrap();
    let said = watch.says("Sent: main.lua.").await.join("\n");
    has(&said, "/programs is there again, and is synced.");
    assert!(!said.contains(words), "{said}");
    comes("3").await;

    // Another folder may come at once, and is followed from then on.
    fs::rename(&folder, &away).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("main.lua"), "4").unwrap();
    comes("4").await;
    user.write("main.lua", "5");
    comes("5").await;
    // A link is not taken for it.
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&away, &folder).unwrap();
    watch.says(words).await;
    assert!(computer.read_file("programs/main.lua").is_some());
    watch.process.kill().await.unwrap();
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_holds_a_watch_up_is_said_once() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    let call = user.call(json!({"watchSeconds": 15}));
    let call = json!({"name": "sync-folder", "arguments": call});
    let call = user.bridge.start_call("call-tool", call).await;
    let there = || computer.read_file("programs/main.lua");
    until("the first sync is done", async || {
        is(there().is_some(), "not yet")
    })
    .await;
    user.pauses();
    // It is tried every few seconds from then on.
    user.write("main.lua", "2");
    let said = user.bridge.slow_answer(call).await.text;
    has(&said, "a person has paused this ");
    assert_eq!(said.matches("Stopped: ").count(), 1, "{said}");
    assert_eq!(there().as_deref(), Some(b"1".as_slice()));
    user.bridge.leave().await;
}
