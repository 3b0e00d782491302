//! `mcp-bridge setup client` as a person runs it, and what real clients make of the entry.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::common::registries::{from_npm, node_clients, sources};

/// A user's home folder, in which nothing is yet.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.at("project")).unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// A program that sees this home and nothing of whoever runs the tests.
    fn command(&self, program: &Path, path: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("USERPROFILE", self.0.path())
            .env("APPDATA", self.at("AppData/Roaming"))
            .env("LOCALAPPDATA", self.at("AppData/Local"))
            .env("PATH", path)
            .current_dir(self.at("project"))
            .stdin(Stdio::null());
        for name in ["SYSTEMROOT", "TEMP", "TMP"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// `mcp-bridge setup` with these arguments; `path` leads to the clients' programs.
    fn setup(&self, arguments: &[&str], path: &str) -> Output {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_mcp-bridge")), path);
        command.env("MCP_BRIDGE_STATE_DIR", self.at("state"));
        command.env("MCP_BRIDGE_CONFIG_DIR", self.at("config"));
        command.arg("setup").args(arguments).output().unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn nothing_is_written_where_nobody_can_say_yes() {
    let home = Home::new();
    let file = home.at(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (arguments, code, part) in [
        (&["client"][..], 2, "`--yes` says yes"),
        (&["client", "--dry-run"], 0, "+++ "),
        (
            &["client", "--print"],
            0,
            "cursor://anysphere.cursor-deeplink/",
        ),
        (&["client", "--print", "jan"], 0, "In Jan:"),
        (
            &["client", "emacs"],
            1,
            "No client is called `emacs`. There are claude-desktop, ",
        ),
        (
            &["client", "--link-port", "x", "--yes"],
            1,
            "the flag --link-port is `x`",
        ),
        (
            &["client", "--mcp-port", "1", "--yes"],
            1,
            "MCP_PORT counts only with --http",
        ),
        (
            &["client", "--http", "--link-port", "1", "--yes"],
            1,
            "CC_LINK_PORT is a setting of the bridge",
        ),
        (&["client", "--name", "a b", "--yes"], 2, "letters, digits"),
        (&["client", "--yes", "--dry-run"], 2, "cannot be used with"),
    ] {
        let output = home.setup(arguments, "");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: no {part} in {said}");
        assert!(!file.exists(), "{arguments:?}: {said}");
    }
}

#[test]
fn an_entry_is_added_to_what_is_installed_with_all_settings_and_goes_again() {
    let home = Home::new();
    fs::create_dir_all(home.at(".cursor")).unwrap();
    fs::create_dir_all(home.at(".codex")).unwrap();
    let codex = "# mine\nmodel = \"x\"\n";
    fs::write(home.at(".codex/config.toml"), codex).unwrap();
    let arguments = [
        "--yes",
        "client",
        "--link-port",
        "3002",
        "--link-token",
        "a-secret",
        "--read-only",
        "--tools",
        "./mine,exec-lua",
    ];
    fs::create_dir(home.at("project/mine")).unwrap();
    let added = home.setup(&arguments, "");
    let said = text(&added);
    assert!(
        added.status.success() && !said.contains("a-secret"),
        "{said}"
    );
    let cursor: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.at(".cursor/mcp.json")).unwrap()).unwrap();
    let entry = &cursor["mcpServers"]["computercraft"];
    assert!(
        Path::new(entry["command"].as_str().unwrap()).is_absolute(),
        "{entry}"
    );
    let env = &entry["env"];
    assert_eq!(env["CC_LINK_PORT"], "3002");
    assert_eq!(env["CC_LINK_TOKEN"], "a-secret");
    assert_eq!(env["MCP_BRIDGE_READ_ONLY"], "true");
    assert_eq!(
        env["MCP_BRIDGE_STATE_DIR"],
        home.at("state").to_str().unwrap()
    );
    let tools = env["MCP_BRIDGE_TOOLS"].as_str().unwrap();
    assert!(
        tools.ends_with("mine,exec-lua") && Path::new(tools).is_absolute(),
        "{tools}"
    );
    let toml = fs::read_to_string(home.at(".codex/config.toml")).unwrap();
    assert!(
        toml.starts_with(codex) && toml.contains("[mcp_servers.computercraft]"),
        "{toml}"
    );

    let again = home.setup(&["--yes"], "");
    assert!(again.status.success(), "{}", text(&again));
    assert_eq!(
        fs::read_to_string(home.at(".codex/config.toml")).unwrap(),
        toml
    );

    let removed = home.setup(&["--remove", "--yes"], "");
    assert!(removed.status.success(), "{}", text(&removed));
    assert_eq!(
        fs::read_to_string(home.at(".codex/config.toml")).unwrap(),
        codex
    );
    assert_eq!(fs::read_dir(home.at(".codex")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(home.at(".cursor")).unwrap().count(), 0);
}

/// The entry of this name that Cursor has.
fn of_cursor(home: &Home, name: &str) -> serde_json::Value {
    let text = fs::read_to_string(home.at(".cursor/mcp.json")).unwrap_or_default();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    all["mcpServers"][name].clone()
}

#[test]
fn a_bridge_that_a_client_starts_has_the_link_port_that_the_worlds_are_opened_for() {
    let home = Home::new();
    fs::create_dir_all(home.at(".cursor")).unwrap();
    let setup = |arguments: &[&str]| {
        let mut command = home.command(Path::new(env!("CARGO_BIN_EXE_mcp-bridge")), "");
        command.env("MCP_BRIDGE_STATE_DIR", home.at("state"));
        command.env("MCP_BRIDGE_CONFIG_DIR", home.at("config"));
        command.env("CC_LINK_PORT", "3901");
        command.env("CC_LINK_TOKEN", "s3cret");
        command.arg("setup").args(arguments).output().unwrap()
    };
    let said = text(&setup(&["client", "--yes"]));
    let env = &of_cursor(&home, "computercraft")["env"];
    assert_eq!(env["CC_LINK_PORT"], "3901", "{said}");
    assert!(
        env["CC_LINK_TOKEN"].is_null() && !said.contains("s3cret"),
        "{said}"
    );
    assert!(said.contains("! CC_LINK_TOKEN is set here"), "{said}");
    // What is given counts more.
    let said = text(&setup(&["client", "--yes", "--link-port", "3902"]));
    let env = &of_cursor(&home, "computercraft")["env"];
    assert_eq!(env["CC_LINK_PORT"], "3902", "{said}");
}

#[test]
fn tools_that_are_not_there_are_given_to_no_client() {
    let home = Home::new();
    fs::create_dir_all(home.at(".cursor")).unwrap();
    for (arguments, part) in [
        (
            ["--tools", "my-tolls"],
            "there is no tool and no folder `my-tolls`",
        ),
        (["--tools", "./my-tolls"], "There is no folder "),
        (["--toolsets", "coer"], "there is no set of tools `coer`"),
    ] {
        let output = home.setup(&[&["client", "--yes"][..], &arguments].concat(), "");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(part), "no {part} in {said}");
        assert!(!home.at(".cursor/mcp.json").exists(), "{said}");
    }
}

#[test]
fn what_somebody_else_added_is_said_when_there_are_two_and_when_it_stays() {
    let home = Home::new();
    fs::create_dir_all(home.at(".cursor")).unwrap();
    let by_hand = "{\"mcpServers\": {\"cc\": {\"command\": \"mcp-bridge\"}}}\n";
    fs::write(home.at(".cursor/mcp.json"), by_hand).unwrap();
    let said = text(&home.setup(&["client", "--yes"], ""));
    assert!(
        said.contains("! It has mcp-bridge already, as `cc`") && said.contains("`--name cc`"),
        "{said}"
    );
    let said = text(&home.setup(&["--remove", "--yes"], ""));
    assert_eq!(
        fs::read_to_string(home.at(".cursor/mcp.json")).unwrap(),
        by_hand
    );
    for part in [
        "! Cursor still has `cc`",
        "which setup did not add: take it out of `mcpServers`",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert!(!said.contains("still has `computercraft`"), "{said}");
}

#[test]
fn without_a_client_the_entry_is_shown_and_none_is_named_as_if_it_were_here() {
    let home = Home::new();
    let said = text(&home.setup(&["client", "--yes"], ""));
    assert!(
        said.contains("Most take this entry") && said.contains("\"computercraft\""),
        "{said}"
    );
    assert!(
        !said.contains("Claude") && !said.contains("Into "),
        "{said}"
    );
}

/// A client from npm.
pub struct Installed {
    /// Its id for setup, and the folder of its pins.
    id: &'static str,
    /// Its program, or the one that runs its script.
    pub program: PathBuf,
    script: Option<PathBuf>,
}

/// The `node_modules` of a client's pins.
async fn modules(id: &str) -> PathBuf {
    let installed = from_npm(&sources().join(id)).await;
    installed
        .unwrap_or_else(|problem| panic!("{problem}"))
        .join("node_modules")
}

/// A client that is a program: in the package whose name begins so, at `path`.
pub async fn program(id: &'static str, package: &str, path: &str) -> Installed {
    let (folder, prefix) = package.rsplit_once('/').unwrap_or(("", package));
    let inside = fs::read_dir(modules(id).await.join(folder))
        .unwrap()
        .flatten();
    let named = inside.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let programs = named.map(|entry| entry.path().join(path));
    let mut programs = programs.map(|path| path.with_extension(std::env::consts::EXE_EXTENSION));
    let program = programs.find(|path| path.is_file());
    Installed {
        id,
        program: program.unwrap_or_else(|| panic!("npm has no {id} for this machine")),
        script: None,
    }
}

/// A client that is a script for Node.js.
async fn script(id: &'static str, path: &str) -> Installed {
    Installed {
        id,
        program: node_clients().await.node.clone(),
        script: Some(modules(id).await.join(path)),
    }
}

/// A client from npm lists the server that setup has added with this word, and then no more.
fn lists(client: &Installed, word: &str) {
    let home = Home::new();
    let path = client.program.parent().unwrap().to_str().unwrap();
    let settings = [
        "--link-host",
        "127.0.0.1",
        "--link-port",
        "0",
        "--upstream",
        "off",
    ];
    let added = home.setup(
        &[&["client", client.id, "--yes"][..], &settings].concat(),
        path,
    );
    assert!(added.status.success(), "{}", text(&added));
    let list = || {
        let mut command = home.command(&client.program, path);
        command
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        command.args(&client.script).args(["mcp", "list"]);
        text(&command.output().unwrap())
    };
    let listed = list();
    let lines = listed.lines();
    let mut ours = lines.filter(|line| line.contains("computercraft"));
    assert!(
        ours.any(|line| line.to_lowercase().contains(word)),
        "{listed}\n{}",
        text(&added)
    );
    let again = home.setup(&["client", client.id, "--yes"], path);
    assert!(
        text(&again).contains("has the entry already"),
        "{}",
        text(&again)
    );
    let removed = home.setup(&["--remove", "--yes"], path);
    assert!(removed.status.success(), "{}", text(&removed));
    let listed = list();
    assert!(!listed.contains("computercraft"), "{listed}");
}

#[tokio::test]
async fn claude_code_connects_by_the_entry_that_its_own_command_wrote() {
    let client = program("claude-code", "@anthropic-ai/claude-code-", "claude").await;
    lists(&client, "connected");
}

#[tokio::test]
async fn opencode_connects_by_the_entry() {
    let client = program("opencode", "opencode-", "bin/opencode").await;
    lists(&client, "connected");
}

#[tokio::test]
async fn gemini_cli_connects_by_the_entry() {
    let client = script("gemini-cli", "@google/gemini-cli/bundle/gemini.js").await;
    lists(&client, "connected");
}

/// It lists what it has read, and connects only in a session.
#[tokio::test]
async fn codex_reads_the_entry() {
    let client = script("codex", "@openai/codex/bin/codex.js").await;
    lists(&client, "enabled");
}
