//! `mcp-bridge upstream import` on a machine with other clients.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A user's home folder with clients in it, each with servers.
struct Home(TempDir);

impl Home {
    fn with_clients() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let same = json!({"command": "npx", "args": ["-y", "server-files", "--token", "s3cret"]});
        home.write(
            ".cursor/mcp.json",
            &json!({"mcpServers": {
                "files": same,
                "tracker": {"url": "https://mcp.example.org/mcp", "headers": {"Authorization": "Bearer ${env:TRACKER}"}},
                "computercraft": {"command": "/usr/local/bin/mcp-bridge", "env": {"CC_LINK_PORT": "3001"}},
                "served": {"url": "http://localhost:3000/mcp"},
            }})
            .to_string(),
        );
        home.write(
            ".claude.json",
            &json!({
                "mcpServers": {"disk": {"type": "stdio", "command": "npx", "args": same["args"]}},
                "projects": {"/home/ann/farm": {"mcpServers": {"tracker": {"type": "stdio", "command": "farm-tracker"}}}},
            })
            .to_string(),
        );
        home.write(
            ".gemini/settings.json",
            "{\n  // of Gemini\n  \"mcpServers\": {\"shell\": {\"command\": \"$HOME/run\", \"excludeTools\": [\"rm\"], \"oauth\": {}}}\n}\n",
        );
        home.write(
            ".codex/config.toml",
            "[mcp_servers.docs]\ncommand = \"docs\"\nenabled = false\n",
        );
        home.write(".lmstudio/mcp.json", "{\"mcpServers\": {");
        home.write(
            ".warp/.mcp.json",
            &json!({"mcpServers": {"odd": {"comand": "x"}}}).to_string(),
        );
        fs::create_dir_all(home.at("project")).unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut all = vec![
            ("HOME", self.at("")),
            ("USERPROFILE", self.at("")),
            ("APPDATA", self.at("AppData/Roaming")),
            ("LOCALAPPDATA", self.at("AppData/Local")),
            ("MCP_BRIDGE_STATE_DIR", self.at("state")),
            ("MCP_BRIDGE_CONFIG_DIR", self.at("config")),
        ];
        for name in ["SYSTEMROOT", "TEMP", "TMP"] {
            all.extend(std::env::var_os(name).map(|value| (name, value.into())));
        }
        all
    }

    fn import(&self, arguments: &[&str]) -> Output {
        Command::new(Path::new(env!("CARGO_BIN_EXE_mcp-bridge")))
            .env_clear()
            .envs(self.environment())
            .current_dir(self.at("project"))
            .stdin(Stdio::null())
            .args(["upstream", "import"])
            .args(arguments)
            .output()
            .unwrap()
    }

    /// What stands in our own file.
    fn own(&self) -> Value {
        let text = fs::read_to_string(self.at("config/mcp.json"));
        text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn what_other_clients_have_is_shown_but_for_ourselves_and_nothing_is_taken_without_a_yes() {
    let home = Home::with_clients();
    let output = home.import(&[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for line in [
        "  1  disk: runs npx -y server-files --token … (Claude Code; Cursor)\n",
        "  2  tracker: runs farm-tracker (Claude Code, in /home/ann/farm)\n",
        "  3  tracker-2: connects to https://mcp.example.org/mcp (Cursor)\n",
        "  4  docs: runs docs (Codex); switched off there, and so here\n",
        "  5  shell: runs $HOME/run (Gemini CLI)\n     ! `oauth` is not known here, and has no effect\n",
        "! LM Studio: ",
        "! The server `odd` of Warp can't be taken: it has neither `command` nor `url` (",
        "Nothing was changed: nobody can be asked here. `--yes` takes all of them, and with `--server NAME` that one.\n",
    ] {
        assert!(said.contains(line), "no {line} in {said}");
    }
    for ours in ["computercraft", "served", "s3cret"] {
        assert!(!said.contains(ours), "{said}");
    }
    assert_eq!(home.own(), Value::Null);
    let output = home.import(&["--dry-run"]);
    assert!(
        output.status.success() && text(&output).contains("+    \"disk\": {\n"),
        "{output:?}"
    );
    assert_eq!(home.own(), Value::Null);
}

#[test]
fn what_is_picked_is_taken_as_it_means_there_and_known_the_next_time() {
    let home = Home::with_clients();
    home.write(
        "config/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"docs\": { \"command\": \"mine\" }\n  }\n}\n",
    );
    let output = home.import(&["gemini-cli", "codex", "--yes"]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(" now has `shell`, `docs-2`. Bridges that run take that up within seconds. "),
        "{said}"
    );
    let written = fs::read_to_string(home.at("config/mcp.json")).unwrap();
    assert!(
        written.starts_with(
            "{\n  // mine\n  \"mcpServers\": {\n    \"docs\": { \"command\": \"mine\" },\n"
        ),
        "{written}"
    );
    let own: Value = serde_json::from_str(&written.replace("  // mine\n", "")).unwrap();
    assert_eq!(
        own["mcpServers"],
        json!({
            "docs": {"command": "mine"},
            "docs-2": {"command": "docs", "enabled": false},
            "shell": {"command": "${HOME}/run", "disabledTools": ["rm"]},
        })
    );
    let output = home.import(&["gemini-cli", "--yes"]);
    let said = text(&output);
    assert!(
        said.contains("✓ `shell` of Gemini CLI is in ") && said.contains("mcp.json already.\n"),
        "{said}"
    );
    assert!(
        said.contains("No other client on this machine has a server that could be taken.\n"),
        "{said}"
    );

    let output = home.import(&["--server", "tracker", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    let own = fs::read_to_string(home.at("config/mcp.json")).unwrap();
    assert!(
        own.contains("\"farm-tracker\"") && !own.contains("mcp.example.org"),
        "{own}"
    );
}

#[test]
fn what_can_not_be_done_is_said() {
    let home = Home::with_clients();
    for (arguments, words) in [
        (
            &["emacs"][..],
            "✗ No client is called `emacs`. There are claude-desktop, ",
        ),
        (
            &["--server", "none", "--yes"],
            "✗ None of these is called `none`.\n",
        ),
    ] {
        let output = home.import(arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said}");
    }
    home.write("config/mcp.json", "{");
    let said = text(&home.import(&["--yes"]));
    assert!(
        said.contains("✗ ") && said.contains("mcp.json: is not valid JSON: "),
        "{said}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_person_picks_by_numbers() {
    use crate::common::terminal::Terminal;

    let home = Home::with_clients();
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .env_clear()
        .envs(home.environment())
        .current_dir(home.at("project"))
        .args(["upstream", "import"]);
    let mut terminal = Terminal::running(command, (60, 160));
    terminal
        .until("asked which", |screen| {
            screen
                .contents()
                .contains("Which of them? Numbers, such as `1 3`, or `all`:")
        })
        .await;
    terminal.write("1, 4\n").await;
    terminal
        .until("asked for a yes", |screen| {
            screen.contents().contains("Write this? [y/N]")
        })
        .await;
    terminal.write("y\n").await;
    terminal
        .until("said that it is done", |screen| {
            screen.contents().contains("now has `disk`, `docs`.")
        })
        .await;
    let own = home.own();
    let names: Vec<_> = own["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["disk", "docs"]);
}
