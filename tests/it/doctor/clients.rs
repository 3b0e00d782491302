//! Broken set-ups of clients: their files, their entries, and what these start.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Machine, can_be_fixed, names_path, text};

const BRIDGE: &str = env!("CARGO_BIN_EXE_mcp-bridge");

impl Machine {
    /// An entry that starts this program so that it keeps to this machine.
    fn entry(&self, program: &str) -> Value {
        let port = self.port.number().to_string();
        json!({"command": program, "env": {"CC_LINK_HOST": "127.0.0.1", "CC_LINK_PORT": port}})
    }

    /// Gives Cursor this entry, beside another server's.
    fn cursor(&self, entry: &Value) -> PathBuf {
        let text = format!(
            "{{\n  // mine\n  \"mcpServers\": {{\n    \"other\": {{\"command\": \"x\"}},\n    \"computercraft\": {entry},\n  }},\n}}\n"
        );
        self.file("home/.cursor/mcp.json", &text)
    }

    /// Gives Claude Code this entry.
    fn claude_code(&self, entry: &Value) -> PathBuf {
        let servers = json!({"numStartups": 3, "mcpServers": {"computercraft": entry}});
        self.file("home/.claude.json", &format!("{servers:#}\n"))
    }
}

fn copied(machine: &Machine, name: &str, more: &[u8]) -> PathBuf {
    let path = machine.file(name, "");
    let mut program = fs::read(BRIDGE).unwrap();
    program.extend_from_slice(more);
    fs::write(&path, program).unwrap();
    path
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

#[tokio::test]
async fn an_entry_that_is_right_starts_a_bridge_that_answers() {
    let machine = Machine::new();
    machine.cursor(&machine.entry(BRIDGE));
    let examined = machine.examined().await;
    examined.well();
    let started = examined.of_check("starts", "ok")[0]["message"]
        .as_str()
        .unwrap();
    let name = format!(
        "Cursor: mcp-bridge {} answers with ",
        env!("CARGO_PKG_VERSION")
    );
    assert!(
        started.starts_with(&name) && started.contains(" tools in "),
        "{started}"
    );
    assert_eq!(
        examined.of_check("entries", "ok")[0]["message"],
        "Cursor starts this program"
    );
}

#[tokio::test]
async fn a_client_without_an_entry() {
    let machine = Machine::new();
    machine.file("home/.cursor/mcp.json", "{}");
    let examined = machine.examined().await;
    examined.names(
        "entries",
        "warning",
        &["no client here has the bridge", "Cursor"],
        "mcp-bridge setup client",
    );
}

#[tokio::test]
async fn an_entry_whose_program_is_not_there_is_given_this_one() {
    let machine = Machine::new();
    let gone = machine.path("gone/mcp-bridge");
    let file = machine.cursor(&machine.entry(gone.to_str().unwrap()));
    let before = fs::read_to_string(&file).unwrap();
    let examined = machine.examined().await;
    let words = [
        "Cursor starts ",
        gone.to_str().unwrap(),
        "which is not there",
    ];
    let finding = examined.names(
        "entries",
        "problem",
        &words,
        "mcp-bridge setup client cursor",
    );
    can_be_fixed(finding);
    names_path(finding, &file);
    let fixed = machine.enters(&["doctor", "--fix", "--yes"]).await;
    assert!(
        text(&fixed.stderr).contains("+") && fixed.status.success(),
        "{fixed:?}"
    );
    // All else is as it was.
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let expected = before.replace(&json(gone.to_str().unwrap()), &json(BRIDGE));
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    machine.examined().await.well();
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_may_not_be_executed_is_made_so() {
    let machine = Machine::new();
    let program = copied(&machine, "older/mcp-bridge", b"");
    set_mode(&program, 0o644);
    machine.cursor(&machine.entry(program.to_str().unwrap()));
    let examined = machine.examined().await;
    can_be_fixed(examined.names("entries", "problem", &["may not be executed"], "chmod +x"));
    machine.enters(&["doctor", "--fix", "--yes"]).await;
    let examined = machine.examined().await;
    examined.well();
    assert!(
        examined
            .all
            .to_string()
            .contains("Cursor starts a copy of this program"),
        "{examined:?}"
    );
}

#[tokio::test]
async fn a_stale_program_is_started_only_once_it_is_known_to_be_a_bridge() {
    let machine = Machine::new();
    let name = format!("older/mcp-bridge{}", std::env::consts::EXE_SUFFIX);
    // A program may have more bytes than it needs.
    let older = copied(&machine, &name, b"older");
    set_mode(&older, 0o755);
    machine.cursor(&machine.entry(older.to_str().unwrap()));
    let examined = machine.examined().await;
    let words = ["which this program does not know", "was not started"];
    can_be_fixed(examined.names(
        "entries",
        "warning",
        &words,
        "mcp-bridge setup client cursor",
    ));
    assert!(
        examined.findings().all(|finding| finding["id"] != "starts"),
        "{examined:?}"
    );

    let mut itself = tokio::process::Command::new(&older);
    machine.settle(&mut itself);
    assert!(
        itself
            .args(["doctor", "entries"])
            .output()
            .await
            .unwrap()
            .status
            .success()
    );
    let examined = machine.examined().await;
    let words = [&*format!(
        "Cursor starts another mcp-bridge, {}",
        env!("CARGO_PKG_VERSION")
    )];
    can_be_fixed(examined.names(
        "entries",
        "warning",
        &words,
        "mcp-bridge setup client cursor",
    ));
    assert_eq!(examined.of_check("starts", "ok").len(), 1, "{examined:?}");
    machine.enters(&["doctor", "--fix", "--yes"]).await;
    machine.examined().await.well();
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_projects_file_names_is_not_started() {
    let machine = Machine::new();
    let mark = machine.path("was-started");
    let program = machine.file(
        "project/mcp-bridge",
        &format!("#!/bin/sh\necho > '{}'\n", mark.display()),
    );
    set_mode(&program, 0o755);
    let servers = json!({"mcpServers": {"computercraft": {"command": program}}});
    machine.file("project/.mcp.json", &servers.to_string());
    let examined = machine.examined().await;
    let words = ["Claude Code in this project starts", "does not know"];
    examined.names(
        "entries",
        "warning",
        &words,
        "mcp-bridge setup client claude-code --scope project",
    );
    assert!(!mark.exists());
}

#[tokio::test]
async fn an_entry_with_a_bare_name() {
    let machine = Machine::new();
    let name = format!("bin/mcp-bridge{}", std::env::consts::EXE_SUFFIX);
    let program = copied(&machine, &name, b"");
    set_mode(&program, 0o755);
    machine.cursor(&machine.entry("mcp-bridge"));
    let examined = machine.examined().await;
    let words = [
        "Cursor starts `mcp-bridge` by its bare name",
        "another PATH",
    ];
    can_be_fixed(examined.names(
        "entries",
        "warning",
        &words,
        "mcp-bridge setup client cursor",
    ));
    machine.enters(&["doctor", "--fix", "--yes"]).await;
    machine.examined().await.well();
}

#[tokio::test]
async fn a_file_that_can_not_be_read() {
    let machine = Machine::new();
    let file = machine.file(
        "home/.cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": }\n}\n",
    );
    let examined = machine.examined().await;
    let finding = examined.names(
        "entries",
        "problem",
        &["Cursor: ", "mcp.json, line 3"],
        "correct that",
    );
    names_path(finding, &file);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let examined = machine.examined().await;
    examined.names(
        "entries",
        "problem",
        &["mcp.json: is a folder, not a file"],
        "correct that",
    );
}

#[tokio::test]
async fn a_byte_order_mark_where_a_client_reads_strictly_is_taken_away() {
    let machine = Machine::new();
    let file = machine.claude_code(&machine.entry(BRIDGE));
    let plain = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("\u{feff}{plain}")).unwrap();
    let examined = machine.examined().await;
    let words = [
        "Claude Code",
        "begins with a byte-order mark",
        "forgets all of its servers",
    ];
    can_be_fixed(examined.names("entries", "problem", &words, "without a byte-order mark"));
    machine.enters(&["doctor", "--fix", "--yes"]).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), plain);
    machine.examined().await.well();
}

#[tokio::test]
async fn another_server_under_our_name() {
    let machine = Machine::new();
    machine.cursor(&json!({"command": "npx", "args": ["another"]}));
    let examined = machine.examined().await;
    examined.names(
        "entries",
        "warning",
        &["`computercraft` is another server's: npx"],
        "--name OTHER",
    );
}

#[tokio::test]
async fn an_entry_that_is_switched_off() {
    let machine = Machine::new();
    let entry = json!({"type": "local", "command": [BRIDGE], "enabled": false});
    let servers = json!({"mcp": {"computercraft": entry}});
    machine.file("home/.config/opencode/opencode.json", &servers.to_string());
    let examined = machine.examined().await;
    examined.names(
        "entries",
        "warning",
        &["opencode", "is switched off"],
        "switch it on",
    );
}

#[tokio::test]
async fn an_address_where_nothing_answers() {
    let machine = Machine::new();
    let url = format!("http://{}/mcp", machine.port.address());
    machine.cursor(&json!({"url": url}));
    let examined = machine.examined().await;
    examined.names(
        "entries",
        "problem",
        &["Cursor connects to", "nothing answers"],
        "mcp-bridge serve",
    );
}

#[tokio::test]
async fn two_registrations_of_one_client() {
    let machine = Machine::new();
    machine.cursor(&machine.entry(BRIDGE));
    let servers = json!({"mcpServers": {"computercraft": machine.entry(BRIDGE)}});
    machine.file("project/.cursor/mcp.json", &servers.to_string());
    let examined = machine.examined().await;
    let words = [
        "Cursor has the bridge 2 times",
        "for the user",
        "of this project",
    ];
    examined.names("twice", "warning", &words, "--remove");
}

#[tokio::test]
async fn an_entry_beside_one_for_this_folder_alone() {
    let machine = Machine::new();
    let here = fs::canonicalize(machine.path("project")).unwrap();
    let entry = machine.entry(BRIDGE);
    let all = json!({
        "mcpServers": {"computercraft": entry},
        "projects": {here.to_str().unwrap(): {"mcpServers": {"mine": {"command": BRIDGE}}}},
    });
    machine.file("home/.claude.json", &all.to_string());
    let examined = machine.examined().await;
    let words = [
        "Claude Code has the bridge 2 times",
        "`mine` for this folder alone",
    ];
    examined.names("twice", "warning", &words, "keep one");
}

#[tokio::test]
async fn a_token_that_is_missing_on_one_side_and_ports_that_differ() {
    let token = "a-token-of-more-than-16-characters";
    let machine = Machine::new();
    let mut with_token = machine.entry(BRIDGE);
    with_token["env"]["CC_LINK_TOKEN"] = json!(token);
    machine.cursor(&with_token);
    machine.claude_code(&machine.entry(BRIDGE));
    let examined = machine.examined().await;
    let words = [
        "Cursor has a link token",
        "Claude Code has none",
        "let in by one and refused by the other",
    ];
    // Whichever is named first.
    let found = examined.of_check("agree", "problem")[0].to_string();
    assert!(
        found.contains("has a link token")
            && found.contains("has none")
            && found.contains(words[2]),
        "{found}"
    );
    assert!(!examined.all.to_string().contains(token));

    let mut other = machine.entry(BRIDGE);
    other["env"]["CC_LINK_TOKEN"] = json!("another-token-of-the-same-length");
    machine.claude_code(&other);
    let examined = machine.examined().await;
    examined.names(
        "agree",
        "problem",
        &["different link tokens"],
        "--link-token TOKEN",
    );

    let mut other = with_token.clone();
    other["env"]["CC_LINK_PORT"] = json!("3999");
    machine.claude_code(&other);
    let examined = machine.examined().await;
    examined.names(
        "agree",
        "problem",
        &["link port", "3999"],
        "--link-port PORT",
    );
}

#[tokio::test]
async fn an_entry_whose_bridge_does_not_start() {
    let machine = Machine::new();
    let mut entry = machine.entry(BRIDGE);
    entry["env"]["CC_LINK_PORT"] = json!("many");
    machine.cursor(&entry);
    let examined = machine.examined().await;
    let words = [
        "Cursor: ",
        "the environment variable CC_LINK_PORT is `many`",
        "with its environment",
    ];
    examined.names("starts", "problem", &words, "the entry `computercraft`");
}

#[tokio::test]
async fn two_entries_in_one_file_and_one_whose_program_is_gone() {
    let machine = Machine::new();
    let entry = machine.entry(BRIDGE);
    let gone = machine.path("gone/mcp-bridge");
    let servers = json!({"mcpServers": {
        "computercraft": entry, "cc": entry, "old": {"command": gone}, "other": {"command": "x"},
    }});
    machine.file("home/.cursor/mcp.json", &servers.to_string());
    let examined = machine.examined().await;
    let words = [
        "Cursor has the bridge 3 times",
        "`cc`",
        "`computercraft`",
        "`old`",
    ];
    examined.names("twice", "warning", &words, "keep one");
    let words = [gone.to_str().unwrap(), "which is not there"];
    let finding = examined.names(
        "entries",
        "problem",
        &words,
        "take `old` out of `mcpServers`",
    );
    assert_eq!(finding["canFix"], false, "{finding:#}");
    assert!(
        !examined.all.to_string().contains("`other`"),
        "{examined:?}"
    );
}

#[tokio::test]
async fn a_client_with_another_link_port_than_the_worlds_are_looked_at_for() {
    let machine = Machine::new();
    let mut entry = machine.entry(BRIDGE);
    entry["env"]["CC_LINK_PORT"] = json!("0");
    machine.cursor(&entry);
    let here = format!("the worlds too, is port {}", machine.port.number());
    let examined = machine.examined().await;
    let words = ["the bridge of Cursor has link port 0", here.as_str()];
    examined.names("agree", "warning", &words, "--link-port PORT");
}
