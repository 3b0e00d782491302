//! From nothing to a linked computer, as a first-time user goes: `install.sh`, which offers `setup`; the clients, which find
//! the entry; the game, whose computer installs the agent; `doctor`, which finds nothing wrong; and nothing is left after
//! `setup --remove`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::{Duration, SystemTime},
};

use mcp_bridge::simulator::{Computer, ComputerOptions};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{process::Command, runtime::Handle};

use crate::{
    common::{bridge::Bridge, port::Port, screen, terminal::Terminal},
    setup_client::program,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-bridge");

/// The settings of the mod as it writes them today.
const GAME_SETTINGS: &str = include_str!("../../src/setup/game/config/samples/1.20.1.toml");

/// How many questions setup may have.
const MOST_QUESTIONS: usize = 20;

/// What is in the home folder when all is over, and was not before: the program, our own state, and what clients keep for
/// themselves.
const STAYS: [&str; 9] = [
    ".local/bin/mcp-bridge",
    ".local/state/mcp-bridge/",
    ".local/state/opencode/",
    ".local/share/opencode/",
    ".cache/",
    ".config/opencode/",
    ".claude/",
    ".claude.json",
    ".npm/",
];

/// The home folder of somebody who plays, and has two clients.
struct Home {
    folder: TempDir,
    port: Port,
    /// Where their programs are.
    path: String,
}

impl Home {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clients = [
            program("opencode", "opencode-", "bin/opencode").await,
            program("claude-code", "@anthropic-ai/claude-code-", "claude").await,
        ];
        let folders = clients.map(|client| client.program.parent().unwrap().to_path_buf());
        let own = folder.path().join(".local/bin");
        let all = folders
            .into_iter()
            .chain([own, "/usr/bin".into(), "/bin".into()]);
        let path = std::env::join_paths(all).unwrap();
        let home = Self {
            folder,
            port: Port::reserve(),
            path: path.into_string().unwrap(),
        };
        // Tests run side by side, so this user has a port of their own.
        home.write(
            ".config/mcp-bridge/config.toml",
            &format!(
                "link_host = \"127.0.0.1\"\nlink_port = {}\n",
                home.port.number()
            ),
        );
        home.write(".minecraft/mods/cc-tweaked-1.20.1-forge-1.113.1.jar", "");
        home.write(".minecraft/logs/latest.log", "");
        home.write(".minecraft/options.txt", "lang:en_us\n");
        let level = home.write(".minecraft/saves/Base/level.dat", "");
        home.write(
            ".minecraft/saves/Base/serverconfig/computercraft-server.toml",
            GAME_SETTINGS,
        );
        // They played last an hour ago.
        let last = SystemTime::now() - Duration::from_secs(3_600);
        let level = fs::File::options().write(true).open(level).unwrap();
        level.set_modified(last).unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Sees to it that a program sees this home and nothing of whoever runs the tests.
    fn settle(&self, command: &mut Command) {
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", &self.path)
            .env("SHELL", "/bin/sh")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .current_dir(self.folder.path());
    }

    /// What a command says that this user enters.
    async fn enters(&self, line: &[&str]) -> Output {
        let mut command = Command::new("/usr/bin/env");
        self.settle(&mut command);
        command.args(line).stdin(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(Duration::from_secs(60), command.output()).await;
        ended
            .unwrap_or_else(|_| panic!("no end: {line:?}"))
            .unwrap()
    }

    /// Runs the installer on a terminal, and says yes to all that it and setup ask. Returns all that was to be read.
    async fn install(&self) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        let command = pty_process::Command::new("/bin/sh")
            .arg(script)
            .args(["--from", PROGRAM])
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", &self.path)
            .env("SHELL", "/bin/sh")
            .env("NO_COLOR", "1")
            .current_dir(self.folder.path());
        // So high that nothing is ever scrolled away.
        let mut terminal = Terminal::running(command, (900, 160));
        let mut answered = 0;
        let story = async {
            while terminal.take_in().await {
                let text = terminal.screen().contents();
                let asked = text.matches("[Y/n]").count() + text.matches("[y/N]").count();
                if asked > answered {
                    answered = asked;
                    assert!(asked <= MOST_QUESTIONS, "{text}");
                    terminal.write("y\r").await;
                }
            }
            terminal.child.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(Duration::from_secs(120), story).await;
        let text = terminal.screen().contents();
        let status = ended.unwrap_or_else(|_| panic!("no end:\n{text}"));
        assert!(status.success(), "{status}:\n{text}");
        text
    }

    /// All files, each with what is in it.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.folder.path()).unwrap();
                    let name = name.to_string_lossy().into_owned();
                    files.insert(name, fs::read(&path).unwrap_or_default());
                }
            }
        }
        files
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whether a client says in one line that it has the server, and has reached it.
fn is_connected(said: &str) -> bool {
    said.lines()
        .any(|line| line.contains("computercraft") && line.to_lowercase().contains("connected"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_time_user_comes_from_nothing_to_a_linked_computer_and_back() {
    let home = Home::new().await;
    let before = home.files();

    let said = home.install().await;
    for part in [
        "✓ opencode has the entry.",
        "✓ Claude Code has the entry.",
        "computers can reach",
        &format!(
            "wget run http://127.0.0.1:{}/install.lua",
            home.port.number()
        ),
    ] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }

    // A client starts what its file says, and nothing else.
    let file = home.at(".config/opencode/opencode.json");
    let config: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let entry = &config["mcp"]["computercraft"];
    let words: Vec<&str> = entry["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let mut bridge = Bridge::start_program(Path::new(words[0]), |command| {
        home.settle(command);
        command.args(&words[1..]);
        for (name, value) in entry["environment"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap());
        }
    });
    bridge.initialize("2025-11-25").await;
    assert_eq!(bridge.link_port().await, home.port.address());

    for client in ["opencode", "claude"] {
        let listed = text(&home.enters(&[client, "mcp", "list"]).await);
        assert!(is_connected(&listed), "{client}: {listed}");
    }

    // In the game: what setup said is typed, and the computer has the agent after its next start too.
    let mut options = ComputerOptions::new(12);
    options.clock_speed = 10.0;
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    let address = home.port.address();
    computer.type_line(&format!("wget run http://{address}/install.lua --startup"));
    screen::shows(&computer, "It starts with this computer").await;
    computer.reboot();
    bridge.linked(12).await;
    assert_eq!(bridge.lua(12, "1 + 1").await, "=> 2");

    let examined = home.enters(&["mcp-bridge", "doctor", "--json"]).await;
    let all: Value =
        serde_json::from_slice(&examined.stdout).unwrap_or_else(|_| panic!("{}", text(&examined)));
    let not_well: Vec<_> = all["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["result"] != "ok")
        .collect();
    assert!(not_well.is_empty(), "{not_well:#?}");
    assert!(examined.status.success());

    bridge.leave().await;
    computer.stop();
    let removed = home
        .enters(&["mcp-bridge", "setup", "--remove", "--yes"])
        .await;
    assert!(removed.status.success(), "{}", text(&removed));
    let after = home.files();
    for (name, content) in &before {
        assert!(after.get(name) == Some(content), "{name} is not as it was");
    }
    for (name, content) in &after {
        let is_new = !before.contains_key(name);
        if !is_new {
            continue;
        }
        assert!(
            STAYS.iter().any(|stays| name.starts_with(stays)),
            "{name} was left behind"
        );
        assert!(!name.ends_with(".bak"), "{name} was left behind");
        let is_client_file = name.ends_with(".json") && !name.contains("mcp-bridge");
        let has_entry = String::from_utf8_lossy(content).contains("\"computercraft\"");
        assert!(!is_client_file || !has_entry, "{name} has the entry still");
    }
    for client in ["opencode", "claude"] {
        let listed = text(&home.enters(&[client, "mcp", "list"]).await);
        assert!(!listed.contains("computercraft"), "{client}: {listed}");
    }
}
