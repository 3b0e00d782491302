//! What stands where files should, what a disk that is full does, and who else may read what a bridge writes. On Unix.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use mcp_bridge::base::logging;
use serde_json::json;

use crate::common::{bridge::Bridge, computer::Computer, is, soon, tools::Tools, until};

fn named_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(arguments)
        .env("MCP_BRIDGE_CONFIG_DIR", folder.join("config"))
        .env("MCP_BRIDGE_STATE_DIR", folder.join("state"))
        .output()
        .unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn log_of(bridge: &Bridge) -> String {
    let state = bridge.folder.path().join("state");
    let files = logging::files(&state).into_iter();
    files
        .map(|file| fs::read_to_string(file).unwrap())
        .collect()
}

#[tokio::test]
async fn a_tool_whose_file_is_no_file_is_named_and_the_others_go_on() {
    let tools = Tools::new();
    for name in ["good", "piped", "endless", "folder"] {
        tools.add(name, "return 'here'");
    }
    let at = |name: &str| tools.path().join(name);
    for name in ["piped", "endless", "folder"] {
        fs::remove_file(at(name).join("handler.lua")).unwrap();
    }
    named_pipe(&at("piped/handler.lua"));
    symlink("/dev/zero", at("endless/handler.lua")).unwrap();
    fs::create_dir(at("folder/handler.lua")).unwrap();
    named_pipe(&at("manifest/_index.yaml"));
    fs::create_dir(at("void")).unwrap();
    symlink("/dev/zero", at("void/_index.yaml")).unwrap();

    let begun = Instant::now();
    let checked = run(
        tools.path(),
        &["tools", "check", tools.path().to_str().unwrap()],
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    let shown = String::from_utf8(checked.stdout).unwrap();
    for (file, said) in [
        ("piped/handler.lua", "is a named pipe, not a file"),
        ("endless/handler.lua", "is a device, not a file"),
        ("folder/handler.lua", "is a folder, not a file"),
        ("manifest/_index.yaml", ": is a named pipe, not a file"),
        ("void/_index.yaml", ": is a device, not a file"),
    ] {
        let file = at(file).display().to_string();
        let found = shown
            .lines()
            .any(|line| line.contains(&file) && line.contains(said));
        assert!(found, "no {file} {said} in:\n{shown}");
    }

    let mut bridge = Bridge::start_with(|command| {
        command.env("MCP_BRIDGE_TOOLS", tools.path());
    });
    bridge.initialize("2025-11-25").await;
    assert_eq!(bridge.call("good", json!({})).await.text, "here");
    bridge.leave().await;
}

#[tokio::test]
async fn settings_and_a_secret_that_are_no_files_are_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config/config.toml");
    named_pipe(&config);
    let refused = run(folder.path(), &["status"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    let words = format!(
        "the configuration file {}: it is a named pipe, not a file",
        config.display()
    );
    assert!(said.contains(&words), "{said}");

    fs::remove_file(&config).unwrap();
    symlink("/dev/zero", &config).unwrap();
    let refused = run(folder.path(), &["status"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("it is a device, not a file"), "{said}");

    let mut bridge = Bridge::start_with(|command| {
        let state = folder.path().join("state");
        named_pipe(&state.join("bridges.secret"));
        command
            .env("MCP_BRIDGE_STATE_DIR", &state)
            .current_dir(folder.path());
        // What servers are configured by.
        named_pipe(&folder.path().join("opencode.json"));
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let _computer = Computer::link_v2(port, 4).await;
    let told = bridge.call("upstream-status", json!({})).await.text;
    assert!(
        told.contains("opencode.json") && told.contains("is a named pipe, not a file"),
        "{told}"
    );
    bridge.leave().await;
    let log = logging::files(&folder.path().join("state"));
    let log = fs::read_to_string(&log[0]).unwrap();
    assert!(
        log.contains("bridges.secret can't be used: it is a named pipe, not a file"),
        "{log}"
    );
}

#[tokio::test]
async fn a_limit_on_the_size_of_files_ends_no_bridge_and_no_call() {
    for blocks in ["0", "1"] {
        let mut bridge = Bridge::start_with(|command| {
            // The limit is that of a shell, which becomes the bridge.
            let program = command.as_std().get_program().to_owned();
            let environment: Vec<_> = command
                .as_std()
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            let mut limited = tokio::process::Command::new("sh");
            limited
                .arg("-c")
                .arg(format!("ulimit -f {blocks}; exec \"$0\""))
                .arg(program)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .kill_on_drop(true);
            for (name, value) in environment {
                match value {
                    Some(value) => limited.env(name, value),
                    None => limited.env_remove(name),
                };
            }
            *command = limited;
        });
        bridge.initialize("2025-11-25").await;
        let port = bridge.link_port().await;
        for id in 1..20 {
            let _computer = Computer::link_v2(port, id).await;
            let listed = bridge.call("list-computers", json!({})).await;
            assert!(!listed.is_error, "{listed:?}");
        }
        bridge.close_input();
        let ended = bridge.ended().await;
        assert!(ended.success(), "{ended}");
        let said = bridge.stderr().await;
        assert!(
            said.contains("can't be written: File too large"),
            "{blocks}: {said}"
        );
        assert_eq!(said.matches("File too large").count(), 1, "{said}");
        // What could not be written whole is not there, and so is made by the next bridge.
        let secret = bridge.folder.path().join("state/bridges.secret");
        assert!(blocks != "0" || !secret.exists());
    }
}

#[tokio::test]
async fn the_state_folder_and_the_logs_are_their_users_alone_also_those_that_were_there() {
    let mut bridge = Bridge::start_with(|command| {
        command.env("MCP_BRIDGE_LOG", "mcp_bridge=debug");
    });
    bridge.initialize("2025-11-25").await;
    bridge.link_port().await;
    let state = bridge.folder.path().join("state");
    let secret = state.join("bridges.secret");
    soon("the secret is made", async {
        while !secret.exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let log = logging::newest_file(&state).unwrap();
    let logs = state.join("logs");
    let modes = || [&state, &logs].map(|folder| mode(folder));
    assert_eq!(
        (modes(), mode(&log), mode(&secret)),
        ([0o700; 2], 0o600, 0o600)
    );

    // As a bridge of 1.0.0 made them.
    for (path, old) in [(&state, 0o755), (&logs, 0o775), (&log, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(old)).unwrap();
    }
    let mut second = Bridge::start_with(|command| {
        command.env("MCP_BRIDGE_STATE_DIR", &state);
    });
    second.initialize("2025-11-25").await;
    assert_eq!((modes(), mode(&log)), ([0o700; 2], 0o600));
    for (path, old, new) in [
        (&state, "0755", "0700"),
        (&logs, "0775", "0700"),
        (&log, "0644", "0600"),
    ] {
        let words = format!(
            "{} was open to other users (mode {old}), and no longer is ({new})",
            path.display()
        );
        until(&format!("the log says: {words}"), async || {
            let said = log_of(&bridge);
            is(said.contains(&words), said)
        })
        .await;
    }
    second.leave().await;
    bridge.leave().await;
}
