//! Broken set-ups of the bridge itself: its program and files, the link port, the computers.

use std::{fs, net::TcpListener};

use serde_json::{Value, json};

use super::{Machine, can_be_fixed, names_path, text};
use crate::common::{bridge::Bridge, computer::Computer, until};

impl Machine {
    /// A bridge that knows that it can't have its port.
    async fn blocked_bridge(&self) -> Bridge {
        let mut bridge = Bridge::start_with(|command| self.settle(command));
        bridge.initialize("2025-11-25").await;
        let told = bridge.call("list-computers", json!({})).await;
        assert!(told.is_error, "{}", told.text);
        bridge
    }
}

#[tokio::test]
async fn settings_that_can_not_be_used() {
    let machine = Machine::new();
    let file = machine.file("config/config.toml", "# ports\nport = 1\n");
    let examined = machine.examined().await;
    let words = ["config.toml", "line 2: there is no setting `port`"];
    let finding = examined.names("settings", "problem", &words, "correct what is named there");
    names_path(finding, &file);

    let machine = Machine::new().variable("CC_LINK_PORT", "many");
    let examined = machine.examined().await;
    let words = ["the environment variable CC_LINK_PORT is `many`"];
    examined.names("settings", "problem", &words, "correct");
}

#[tokio::test]
async fn a_configuration_file_that_can_not_be_read() {
    let machine = Machine::new();
    fs::create_dir(machine.path("config/config.toml")).unwrap();
    let examined = machine.examined().await;
    examined.names(
        "settings",
        "problem",
        &["config.toml", "is a folder, not a file"],
        "correct",
    );
}

#[tokio::test]
async fn a_state_folder_that_can_not_be_written() {
    let machine = Machine::new();
    let file = machine.file("state", "a file in its place");
    let examined = machine.examined().await;
    let words = ["can't be written", "only one of them reaches"];
    names_path(
        examined.names("state", "problem", &words, "MCP_BRIDGE_STATE_DIR"),
        &file,
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_state_folder_that_is_open_to_others_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    machine.has_a_client();
    let state = machine.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let examined = machine.examined().await;
    let words = ["is open to other users (mode 0755)"];
    can_be_fixed(examined.names("state", "warning", &words, "chmod go="));
    // Nobody is there to say yes.
    let asked = machine.enters(&["doctor", "--fix"]).await;
    assert!(
        text(&asked.stderr).contains("nobody can be asked"),
        "{asked:?}"
    );
    assert_eq!(asked.status.code(), Some(2));
    let mode = || fs::metadata(&state).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o755);
    let fixed = machine.enters(&["doctor", "--fix", "--yes"]).await;
    assert!(text(&fixed.stdout).ends_with("All is well.\n"), "{fixed:?}");
    assert_eq!(mode(), 0o700);
}

#[tokio::test]
async fn a_secret_that_is_damaged_is_deleted() {
    let machine = Machine::new();
    machine.has_a_client();
    machine.bridge().await.leave().await;
    let file = machine.file("state/bridges.secret", "not a secret");
    let examined = machine.examined().await;
    let finding = examined.names("state", "problem", &["holds no secret"], "delete");
    can_be_fixed(finding);
    names_path(finding, &file);
    machine.enters(&["doctor", "--fix", "--yes"]).await;
    assert!(!file.exists());
    machine.examined().await.well();
}

#[tokio::test]
async fn another_program_of_the_same_name_before_this_one() {
    let machine = Machine::new();
    let name = format!("bin/mcp-bridge{}", std::env::consts::EXE_SUFFIX);
    let file = machine.file(&name, "another program");
    let examined = machine.examined().await;
    let words = [file.to_str().unwrap(), "starts that one before this one"];
    examined.names("copies", "warning", &words, "delete the one");
}

#[tokio::test]
async fn a_tool_of_ones_own_that_can_not_be_used() {
    let machine = Machine::new();
    let file = machine.file("config/tools/greet/_index.yaml", "entries:\n  - name: [\n");
    let examined = machine.examined().await;
    let finding = examined.names(
        "tools",
        "problem",
        &["_index.yaml"],
        "mcp-bridge tools check",
    );
    names_path(finding, &file);
}

#[tokio::test]
async fn a_file_of_servers_that_is_no_json() {
    let machine = Machine::new();
    let file = machine.file("config/mcp.json", "{\"mcpServers\": {");
    let examined = machine.examined().await;
    let finding = examined.names(
        "servers",
        "problem",
        &["is not valid JSON"],
        "upstream list",
    );
    names_path(finding, &file);
}

#[tokio::test]
async fn errors_in_the_log_of_the_last_day() {
    let machine = Machine::new();
    let stranger = TcpListener::bind(machine.port.address()).unwrap();
    machine.blocked_bridge().await.leave().await;
    drop(stranger);
    let examined = machine.examined().await;
    examined.names(
        "log",
        "warning",
        &["in the log of the last day"],
        "mcp-bridge logs",
    );
}

#[tokio::test]
async fn a_stranger_has_the_port() {
    let machine = Machine::new();
    let stranger = TcpListener::bind(machine.port.address()).unwrap();
    // It answers, as no bridge does.
    let answering = std::thread::spawn(move || {
        use std::io::Write;
        for connection in stranger.incoming().take(2) {
            let _ = connection
                .unwrap()
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        }
        stranger
    });
    let examined = machine.examined().await;
    let finding = examined.names(
        "port",
        "problem",
        &["listens there", "No computer can link"],
        "CC_LINK_PORT",
    );
    if cfg!(target_os = "linux") {
        let own = format!("(process {})", std::process::id());
        assert!(
            finding["message"].as_str().unwrap().contains(&own),
            "{finding}"
        );
    }
    drop(std::net::TcpStream::connect(machine.port.address()));
    answering.join().unwrap();
}

#[tokio::test]
async fn a_bridge_whose_port_a_stranger_has_reaches_no_computer() {
    let machine = Machine::new();
    let _stranger = TcpListener::bind(machine.port.address()).unwrap();
    let bridge = machine.blocked_bridge().await;
    let examined = machine.examined().await;
    let words = [&*format!("bridge {}", bridge.pid()), "reaches no computer"];
    examined.names("bridges", "problem", &words, "end what is named there");
    bridge.leave().await;
}

#[tokio::test]
async fn an_address_that_is_none_of_this_machine() {
    // Set aside for documentation (RFC 5737), so nobody has it.
    let machine = Machine::new().variable("CC_LINK_HOST", "203.0.113.9");
    let examined = machine.examined().await;
    examined.names(
        "port",
        "problem",
        &["203.0.113.9", "can't be opened"],
        "CC_LINK_HOST",
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_bridge_that_is_suspended_keeps_the_port() {
    let machine = Machine::new();
    let bridge = machine.bridge().await;
    let pid = bridge.pid();
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill")
            .args([name, &pid.to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    let examined = machine.examined().await;
    let who = format!("process id {pid}");
    examined.names(
        "port",
        "problem",
        &[&who, "does not answer"],
        &format!("process {pid}"),
    );
    examined.names(
        "bridges",
        "warning",
        &[&format!("bridge {pid} runs, but does not answer")],
        "restart its client",
    );
    signal("-CONT");
    bridge.leave().await;
}

#[tokio::test]
async fn a_token_that_could_be_guessed() {
    let machine = Machine::new().variable("CC_LINK_TOKEN", "hunter2");
    let examined = machine.examined().await;
    let finding = examined.names(
        "token",
        "warning",
        &["fewer than 16 characters"],
        "longer one",
    );
    assert!(!finding.to_string().contains("hunter2"));
}

#[tokio::test]
async fn a_computer_without_the_token() {
    let token = "a-token-of-more-than-16-characters";
    let machine = Machine::new().variable("CC_LINK_TOKEN", token);
    let bridge = machine.bridge().await;
    let mut computer = Computer::connect(machine.port.address()).await;
    let refused = computer
        .hello(json!({"type": "hello", "computerId": 7, "token": "another"}))
        .await;
    assert_eq!(refused["type"], "hello-error");
    until("the refusal is in the log", async || {
        let said = text(&machine.enters(&["logs"]).await.stdout);
        crate::common::is(said.contains("link refused"), said)
    })
    .await;
    let examined = machine.examined().await;
    let words = ["1 was refused", "the link token is missing or wrong"];
    examined.names("token", "warning", &words, "set mcp_computer.token TOKEN");
    assert!(!examined.all.to_string().contains(token));
    bridge.leave().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_bridge_whose_program_was_replaced() {
    let machine = Machine::new();
    let own = machine.path("older-bridge");
    fs::copy(env!("CARGO_BIN_EXE_mcp-bridge"), &own).unwrap();
    let mut bridge = Bridge::start_program(&own, |command| machine.settle(command));
    bridge.initialize("2025-11-25").await;
    bridge.link_port().await;
    fs::remove_file(&own).unwrap();
    let examined = machine.examined().await;
    let words = [&*format!("bridge {}", bridge.pid()), "was replaced since"];
    examined.names("bridges", "warning", &words, "restart its client");
    bridge.leave().await;
}

fn hello(id: u64, version: &str) -> Value {
    json!({
        "type": "hello", "computerId": id, "computerLabel": "base", "protocol": 2, "boot": "b",
        "agent": {"name": "mcp-computer", "version": version},
        "computer": {"kind": "turtle", "advanced": true, "host": "tests"},
        "policy": "full", "capabilities": [], "maxMessage": 131072, "jobs": [],
    })
}

#[tokio::test]
async fn no_computer_then_one_with_an_older_agent_then_one_that_left() {
    let machine = Machine::new();
    let bridge = machine.bridge().await;
    let examined = machine.examined().await;
    let install = format!("wget run http://HOST:{}/install.lua", machine.port.number());
    examined.names("linked", "warning", &["no computer is linked"], &install);

    let mut computer = Computer::connect(machine.port.address()).await;
    assert_eq!(computer.hello(hello(12, "1.0.0")).await["type"], "hello-ok");
    let examined = machine.examined().await;
    examined.names(
        "agents",
        "warning",
        &["1.0.0", "12 (Label: base)"],
        "install.lua",
    );
    let linked = examined.of_check("linked", "ok")[0];
    assert!(
        linked["message"]
            .as_str()
            .unwrap()
            .contains("1 computer is linked: 12 (Label: base)")
    );

    drop(computer);
    until("the bridge notices", async || {
        let examined = machine.examined().await;
        let lost = examined.of_check("lost", "warning").len();
        crate::common::is(lost == 1, format!("{:#}", examined.all))
    })
    .await;
    let examined = machine.examined().await;
    examined.names(
        "lost",
        "warning",
        &["12 (Label: base) left", "the connection broke off"],
        "loaded",
    );
    bridge.leave().await;
}
