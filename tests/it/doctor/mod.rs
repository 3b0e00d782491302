//! What `mcp-bridge doctor` says of set-ups that are broken in one way each, and what `--fix` makes of them.

mod bridge;
mod clients;
mod game;
mod in_game;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::common::{bridge::Bridge, port::Port, soon};

/// The machine of a person who has set everything up, with folders and a link port of its own.
struct Machine {
    folder: TempDir,
    port: Port,
    /// What the person's environment has besides.
    variables: Vec<(String, String)>,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
            port: Port::reserve(),
            variables: Vec::new(),
        };
        for folder in ["home", "config", "project"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and the folders that it is in.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A client that starts this bridge, so that something is set up.
    fn has_a_client(&self) {
        let servers = json!({"mcpServers": {"computercraft": {
            "command": env!("CARGO_BIN_EXE_mcp-bridge"),
            "env": {"CC_LINK_HOST": "127.0.0.1", "CC_LINK_PORT": self.port.number().to_string()},
        }}});
        self.file("home/.cursor/mcp.json", &servers.to_string());
    }

    fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// A program in the place of this person, who has nothing to do with whoever runs the tests.
    fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env("HOME", self.path("home"))
            .env("USERPROFILE", self.path("home"))
            .env("APPDATA", self.path("home/AppData/Roaming"))
            .env("LOCALAPPDATA", self.path("home/AppData/Local"))
            .env("XDG_CONFIG_HOME", self.path("home/.config"))
            .env("XDG_DATA_HOME", self.path("home/.local/share"))
            .env("PATH", self.path("bin"))
            .env("MCP_BRIDGE_CONFIG_DIR", self.path("config"))
            .env("MCP_BRIDGE_STATE_DIR", self.path("state"))
            .env("CC_LINK_HOST", "127.0.0.1")
            .env("CC_LINK_PORT", self.port.number().to_string())
            .env_remove("CC_LINK_TOKEN");
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    /// A bridge of a client, in its role.
    async fn bridge(&self) -> Bridge {
        let mut bridge = Bridge::start_with(|command| self.settle(command));
        bridge.initialize("2025-11-25").await;
        bridge.link_port().await;
        bridge
    }

    /// What a command does that this person enters.
    async fn enters(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        self.settle(&mut command);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let start = Instant::now();
        let output = soon("the command ends", command.output()).await.unwrap();
        // All checks have 10 s together; the rest is a busy machine's.
        assert!(start.elapsed() < Duration::from_secs(18), "{arguments:?}");
        output
    }

    /// What the doctor says, in the form for programs.
    async fn examined(&self) -> Examined {
        Examined::of(&self.enters(&["doctor", "--json"]).await)
    }
}

/// What the doctor said.
#[derive(Debug)]
struct Examined {
    all: Value,
    exit: i32,
}

impl Examined {
    fn of(output: &Output) -> Self {
        let said = String::from_utf8_lossy(&output.stdout);
        let exit = output.status.code().unwrap();
        let all: Value = serde_json::from_str(&said).unwrap_or_else(|_| {
            panic!("{exit}: {said}{}", String::from_utf8_lossy(&output.stderr))
        });
        // Both forms and the exit code say the same.
        assert_eq!(all["ok"], json!(exit == 0), "{all:#}");
        assert!(exit < 2, "{all:#}");
        Self { all, exit }
    }

    fn findings(&self) -> impl Iterator<Item = &Value> {
        self.all["checks"].as_array().unwrap().iter()
    }

    /// The findings of this check that are as bad as this.
    fn of_check(&self, id: &str, result: &str) -> Vec<&Value> {
        let is_it = |finding: &&Value| finding["id"] == id && finding["result"] == result;
        self.findings().filter(is_it).collect()
    }

    /// Whether everything is well.
    fn well(&self) {
        let bad: Vec<_> = self
            .findings()
            .filter(|finding| finding["result"] != "ok")
            .collect();
        assert!(bad.is_empty() && self.exit == 0, "{bad:#?}");
    }

    /// A finding of this check that is as bad as this and says all of that, in what it says or why it matters. It says
    /// what to do, and that has this in it.
    fn names(&self, id: &str, result: &str, words: &[&str], mend: &str) -> &Value {
        let says = |finding: &&Value| {
            let said = format!("{} {}", finding["message"], finding["why"]);
            words.iter().all(|word| said.contains(word))
        };
        let found = self.of_check(id, result).into_iter().find(says);
        let found =
            found.unwrap_or_else(|| panic!("no {result} of {id} with {words:?} in {:#}", self.all));
        let said = found["mend"].as_str().unwrap_or_default();
        assert!(
            said.contains(mend) && !said.is_empty(),
            "{mend} in {found:#}"
        );
        assert_eq!(
            self.exit == 1,
            self.findings()
                .any(|finding| finding["result"] == "problem")
        );
        found
    }
}

/// How others see that a finding can be mended without hands.
fn can_be_fixed(finding: &Value) {
    assert_eq!(finding["canFix"], true, "{finding:#}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn names_path(finding: &Value, path: &Path) {
    assert_eq!(finding["path"], json!(path), "{finding:#}");
}

#[tokio::test]
async fn a_set_up_in_which_nothing_is_wrong_is_well() {
    let machine = Machine::new();
    machine.has_a_client();
    machine.examined().await.well();
    let said = machine.enters(&["doctor"]).await;
    let words = text(&said.stdout);
    assert!(
        said.status.success() && words.ends_with("\nAll is well.\n"),
        "{words}"
    );
    for line in [
        "program\n  ✓ version: mcp-bridge ",
        "\nlink\n  ✓ port: 127.0.0.1:",
        "\ncomputers\n  ✓ linked: ",
    ] {
        assert!(words.contains(line), "no {line:?} in {words}");
    }
}

#[tokio::test]
async fn where_nothing_is_set_up_that_is_said_and_that_it_is_left_to_a_person() {
    let machine = Machine::new();
    let examined = machine.examined().await;
    let words = ["nothing is set up yet", "no MCP client"];
    examined.names("entries", "warning", &words, "mcp-bridge setup");
    let said = machine.enters(&["doctor", "--fix", "--yes"]).await;
    let words = text(&said.stdout);
    assert!(
        words.contains("`--fix` mends none of these") && !words.contains("All is well"),
        "{words}"
    );
}

#[tokio::test]
async fn tools_that_the_settings_name_and_that_are_not_there() {
    let machine = Machine::new();
    for (flag, word, words) in [
        (
            "--tools",
            "my-tolls",
            "there is no tool and no folder `my-tolls`",
        ),
        ("--toolsets", "coer", "there is no set of tools `coer`"),
    ] {
        let line = ["doctor", "settings", "--json", flag, word];
        let examined = Examined::of(&machine.enters(&line).await);
        examined.names("settings", "problem", &[words], "mcp-bridge tools list");
        // Whoever starts a bridge so is told too, in a client's log or here.
        let bridge = text(&machine.enters(&[flag, word]).await.stderr);
        assert!(bridge.contains(words), "{bridge}");
        let run = machine.enters(&["tools", "run", "greet", flag, word]).await;
        assert!(text(&run.stderr).contains(words), "{run:?}");
    }
}

#[tokio::test]
async fn checks_are_named_and_a_wrong_name_or_flag_is_wrong_usage() {
    let machine = Machine::new();
    let list = text(&machine.enters(&["doctor", "--checks"]).await.stdout);
    let all = machine.examined().await;
    for finding in all.findings() {
        let (group, id) = (
            finding["group"].as_str().unwrap(),
            finding["id"].as_str().unwrap(),
        );
        assert!(
            list.contains(&format!("{group:<10} {id:<10} ")),
            "{group} {id}: {list}"
        );
    }
    let some = Examined::of(
        &machine
            .enters(&["doctor", "--json", "port", "program"])
            .await,
    );
    let named = |finding: &Value| finding["id"] == "port" || finding["group"] == "program";
    assert!(
        some.findings().all(named) && some.findings().count() > 2,
        "{some:?}"
    );
    for (arguments, words) in [
        (
            &["doctor", "nothing"][..],
            "no check or group nothing; `mcp-bridge doctor --checks`",
        ),
        (
            &["doctor", "--link-port", "many"],
            "the flag --link-port is `many`",
        ),
        (&["doctor", "--yes"], "--fix"),
    ] {
        let said = machine.enters(arguments).await;
        assert_eq!(said.status.code(), Some(2));
        assert!(text(&said.stderr).contains(words), "{said:?}");
    }
}
