//! `mcp-bridge sync`, as a person enters it.

use super::{Allowed, User, has, has_not};
use crate::common::{bridge::Bridge, is, until};

#[tokio::test]
async fn a_person_syncs_any_folder_and_is_told_file_by_file() {
    let mut user = User::new(Allowed::Nothing).await;
    let computer = user.computer(12, "").await;
    user.write("main.lua", "1");
    user.write("lib/util.lua", "2");
    let (is_well, said, noted) = user.enters(&["programs", "12:/programs"]).await;
    assert!(is_well, "{said}{noted}");
    assert_eq!(
        said,
        "Computer 12 (Label: nil): 2 sent, 2 bytes, 0 alike already.\nSent: lib/util.lua, main.lua.\n"
    );
    assert_eq!(
        noted,
        "1/2 12 (Label: nil) sent lib/util.lua\n2/2 12 (Label: nil) sent main.lua\n"
    );
    assert_eq!(
        computer.read_file("programs/main.lua").as_deref(),
        Some(b"1".as_slice())
    );

    computer
        .write_file("programs/made.lua", b"in the game")
        .unwrap();
    computer
        .write_file("programs/run.sh", b"in the game")
        .unwrap();
    let (is_well, said, _) = user.enters(&["programs", "12:/programs", "--pull"]).await;
    assert!(is_well, "{said}");
    has(&said, "Fetched: made.lua.");
    has(
        &said,
        "Not synced: run.sh: files of this kind are not written here",
    );
    assert_eq!(user.read("run.sh"), None);
    let (is_well, said, _) = user.enters(&["programs", "12:/programs", "--both"]).await;
    assert!(is_well);
    has(&said, "3 alike already.");
    has_not(&said, "Fetched");

    for (arguments, words) in [
        (
            ["programs", "13:/programs"],
            "No computer 13 is linked. Linked now: 12 (Label: nil).",
        ),
        (
            ["programs", "12"],
            "12 names no folder of a computer: it takes COMPUTER:/PATH, such as 12:/programs.",
        ),
        (
            ["none", "12:/programs"],
            "none can't be opened as a folder: there is none. Make it, or name another\n",
        ),
        (
            ["programs/main.lua", "12:/programs"],
            "can't be opened as a folder: it is a file. Name the folder that it is in\n",
        ),
    ] {
        let (is_well, _, noted) = user.enters(&arguments).await;
        assert!(!is_well);
        has(&noted, words);
    }
    let (_, _, noted) = user.enters(&["programs", "12:/a", "12:/b", "--pull"]).await;
    has(&noted, "Files come from one computer at a time");
    user.bridge.close_input();
    user.bridge.ended().await;
    let (is_well, _, noted) = user.enters(&["programs", "12:/programs"]).await;
    assert!(!is_well);
    has(
        &noted,
        "No mcp-bridge of this version runs that could be asked.",
    );
}

#[tokio::test]
async fn a_bridge_that_may_write_is_asked_before_one_that_is_read_only() {
    let mut user = User::new(Allowed::Nothing).await;
    let _computer = user.computer(12, "").await;
    let port = user.bridge.link_port().await.port().to_string();
    let mut read_only = Bridge::start_with(|command| {
        command
            .arg("--read-only")
            .env("MCP_BRIDGE_STATE_DIR", user.home.path().join("state"))
            .env("CC_LINK_PORT", port);
    });
    read_only.initialize("2025-11-25").await;
    read_only.linked(12).await;
    user.write("main.lua", "1");
    let (is_well, said, noted) = user.enters(&["programs", "12:/programs"]).await;
    assert!(is_well, "{said}{noted}");

    // Where there is none but that, it is named, with what to do.
    user.bridge.close_input();
    user.bridge.ended().await;
    read_only.linked(12).await;
    user.write("main.lua", "2");
    let (is_well, said, noted) = user.enters(&["programs", "12:/programs"]).await;
    assert!(!is_well);
    has(
        &(said + &noted),
        &format!(
            "process {}, was started with --read-only and changes nothing there. Start one without",
            read_only.pid()
        ),
    );
    // What changes nothing on the computer goes on.
    let (is_well, said, noted) = user.enters(&["programs", "12:/programs", "--pull"]).await;
    assert!(is_well, "{said}{noted}");
    read_only.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn on_a_terminal_a_bar_shows_how_far_it_is() {
    let mut user = User::new(Allowed::Nothing).await;
    let _computer = user.computer(12, "").await;
    for number in 0..18 {
        user.write(
            &format!("f{number:02}.lua"),
            "-- a long line of a program\n".repeat(1_500),
        );
    }
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(["sync", "programs", "12:/programs"])
        .current_dir(user.home.path())
        .env("MCP_BRIDGE_STATE_DIR", user.home.path().join("state"))
        .env("MCP_BRIDGE_CONFIG_DIR", user.home.path().join("config"));
    let mut terminal = crate::common::terminal::Terminal::running(command, (24, 80));
    terminal.shows("/18 12 (Label: nil) sent f").await;
    has(&terminal.screen().contents(), "[#");
    terminal.shows("18 sent, ").await;
    // Nothing of the bar is left.
    has_not(&terminal.screen().contents(), "[#");
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_the_readme_says_to_enter_does_what_it_says() {
    let readme = include_str!("../../../README.md");
    let entered = readme
        .split("<!-- the sync commands -->\n```sh\nmcp-bridge sync ")
        .nth(1)
        .unwrap();
    let arguments: Vec<_> = entered.split('\n').next().unwrap().split(' ').collect();
    assert_eq!(
        arguments,
        ["programs", "12:/programs", "13:/programs", "--watch"]
    );
    let mut user = User::new(Allowed::Nothing).await;
    let computers = [user.computer(12, "").await, user.computer(13, "").await];
    let mut watching = user.command(&arguments).spawn().unwrap();
    for text in ["1", "2"] {
        user.write("main.lua", text);
        for computer in &computers {
            until("it is there", async || {
                is(
                    computer.read_file("programs/main.lua").as_deref() == Some(text.as_bytes()),
                    "not yet",
                )
            })
            .await;
        }
    }
    watching.kill().await.unwrap();
    user.bridge.leave().await;
}
