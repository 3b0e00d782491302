//! From a computer.

use std::fs;

use mcp_bridge::link::agent;
use serde_json::json;

use super::{Allowed, User, has, has_not, names_in};

#[tokio::test]
async fn a_pull_writes_what_programs_of_the_game_have_and_nothing_that_this_machine_might_run() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    let picture: Vec<u8> = (0..=255).cycle().take(120_000).collect();
    let files: &[(&str, &[u8])] = &[
        ("startup", b"print('hi')"),
        ("lib/util.lua", b"return {}\r\n"),
        ("empty.txt", b""),
        ("picture.nfp", &picture),
        ("data.json", b"{}"),
    ];
    let bad: &[(&str, &[u8])] = &[
        (".git/hooks/pre-commit", b"x"),
        (".envrc", b"x"),
        (".vscode/tasks.json", b"x"),
        ("Makefile", b"x"),
        ("package.json", b"{}"),
        ("run.sh", b"x"),
        ("a.bat", b"x"),
        ("a.PS1", b"x"),
        ("CLAUDE.md", b"x"),
        ("sub/AGENTS.md", b"x"),
        ("nul.txt", b"x"),
        ("git~1/config", b"x"),
        ("script", b"#!/bin/sh\n"),
        ("tool.bin", b"\x7fELF..."),
        ("Twin.lua", b"1"),
        ("twin.lua", b"2"),
    ];
    for (path, bytes) in files.iter().chain(bad) {
        computer
            .write_file(&format!("programs/{path}"), bytes)
            .unwrap();
    }
    let answer = user.answers(user.call(json!({"way": "pull"}))).await;
    // Two are known by their contents alone, which were fetched.
    assert!(answer.is_error, "{}", answer.text);
    let said = answer.text;
    has(&said, "5 fetched, ");
    has(
        &said,
        "Failed: script: it is a program of this machine by its first bytes.",
    );
    has(
        &said,
        "Not synced: Makefile: programs of this machine look for that name by themselves.",
    );
    has(
        &said,
        "Not synced: Twin.lua: the computer has another of the same name but for capital letters: rename one of them there.",
    );
    for (path, bytes) in files {
        assert!(user.read(path).as_deref() == Some(*bytes), "{path}");
    }
    assert_eq!(
        names_in(&user.folder()),
        ["data.json", "empty.txt", "lib", "picture.nfp", "startup"]
    );

    // What is changed here is overwritten, and that is said; what is deleted there stays here.
    user.write("startup", "mine");
    computer.write_file("programs/startup", b"theirs").unwrap();
    user.bridge
        .lua(12, "fs.delete('/programs/empty.txt')")
        .await;
    let said = user.answers(user.call(json!({"way": "pull"}))).await.text;
    has(&said, "1 fetched, 6 bytes, 3 alike already.");
    let words = "Overwritten though changed since the last sync, and kept in .before-sync/";
    has(&said, words);
    has(&said, ": startup.\n");
    let (_, kept) = said.split_once(words).unwrap();
    let kept = format!(".before-sync/{}/startup", kept.split(':').next().unwrap());
    assert_eq!(user.read(&kept).as_deref(), Some(b"mine".as_slice()));
    has(
        &said,
        "left on the other (delete takes them away there too): empty.txt.",
    );
    assert!(user.read("empty.txt").is_some());
    // What no sync has brought is not deleted either.
    user.write("own.lua", "mine");
    let said = user
        .answers(user.call(json!({"way": "pull", "delete": true})))
        .await
        .text;
    has(&said, "Deleted on this machine, and kept in .before-sync/");
    has(&said, ": empty.txt.");
    assert_eq!(user.read("empty.txt"), None);
    assert_eq!(user.read("own.lua").as_deref(), Some(b"mine".as_slice()));

    let said = user.fails(json!({"way": "pull", "path": "/none"})).await;
    has(
        &said,
        "There is no folder /none on computer 12 (Label: nil). Nothing was changed.",
    );
    let said = user
        .fails(json!({"way": "pull", "path": "/programs/startup"}))
        .await;
    has(&said, "/programs/startup is a file, not a folder.");
    has(
        &user.fails(json!({"path": "/rom/programs"})).await,
        "/rom is the game's own",
    );
    user.bridge.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_pull_follows_no_link_and_replaces_no_program() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    let outside = user.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("target.lua"), "safe").unwrap();
    symlink(&outside, user.folder().join("linked")).unwrap();
    symlink(outside.join("target.lua"), user.folder().join("file.lua")).unwrap();
    symlink(outside.join("new.lua"), user.folder().join("dangling.lua")).unwrap();
    user.write("tool", "mine");
    fs::set_permissions(
        user.folder().join("tool"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    for path in [
        "linked/a.lua",
        "linked/target.lua",
        "file.lua",
        "dangling.lua",
        "tool",
        "fine.lua",
    ] {
        computer
            .write_file(&format!("programs/{path}"), b"of the game")
            .unwrap();
    }
    let said = user.fails(json!({"way": "pull"})).await;
    has(&said, "Fetched: fine.lua.");
    has(
        &said,
        "Failed: tool: it is a program of this machine: the system may run it.",
    );
    has(&said, "Not synced: file.lua: it is a symbolic link.");
    has(
        &said,
        "Not synced: linked: it is a symbolic link, so 2 files below it are left as they are.",
    );
    assert_eq!(names_in(&outside), ["target.lua"]);
    assert_eq!(
        fs::read_to_string(outside.join("target.lua")).unwrap(),
        "safe"
    );
    assert_eq!(user.read("tool").as_deref(), Some(b"mine".as_slice()));
    let mode = fs::metadata(user.folder().join("fine.lua"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0);

    // A folder that is a link itself is not one that was allowed.
    let mut call = user.call(json!({}));
    call["folder"] = json!(user.folder().join("linked"));
    let answer = user.answers(call).await;
    assert!(answer.is_error);
    has(
        &answer.text,
        "a symbolic link, or `..`, is on the way to it",
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn an_old_agent_a_read_only_one_and_one_that_asks_are_pulled_from() {
    let mut user = User::new(Allowed::Pull).await;
    let old = include_str!("../released/mcp-computer-1.0.0.lua");
    let bytes: Vec<u8> = (0..=255).cycle().take(30_000).collect();
    let computers = [
        user.computer_of(1, "1.89", old, "").await,
        user.computer(2, "--policy read-only").await,
        user.computer(3, "--policy ask").await,
        user.computer_of(4, "1.89", &agent::program(), "").await,
    ];
    for computer in &computers {
        computer.write_file("programs/data.bin", &bytes).unwrap();
        let _ = fs::remove_file(user.folder().join("data.bin"));
        let said = user
            .syncs(json!({"way": "pull", "computerId": computer.id()}))
            .await;
        has(&said, "1 fetched, 30000 bytes, 0 alike already.");
        assert!(
            user.read("data.bin").as_deref() == Some(bytes.as_slice()),
            "{}",
            computer.id()
        );
    }
    let said = user
        .fails(json!({"way": "both", "computerIds": [1, 2]}))
        .await;
    has(&said, "Files come from one computer at a time");
    user.write("mine.lua", "1");
    let said = user.fails(json!({"computerId": 2})).await;
    has(&said, "its agent was started read-only");
    has_not(&said, "sent");
    user.bridge.leave().await;
}
