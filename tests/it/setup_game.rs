//! `mcp-bridge setup game`, on made-up machines: what is found, what is changed, and that it can be taken out again.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The game's file of 1.20.1 and later, as it writes it.
const TODAY: &str = include_str!("../../src/setup/game/config/samples/1.20.1.toml");

/// A token that must never be seen.
const TOKEN: &str = "s3cret-s3cret-s3cret";

/// A user's home folder with games in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A server with ComputerCraft and a world, and its configuration file.
    fn with_server(&self, text: &str) -> PathBuf {
        self.write("server/server.properties", "level-name=world\n");
        self.write("server/mods/cc-tweaked-1.20.1-forge-1.113.1.jar", "");
        self.write("server/world/level.dat", "");
        self.write("server/world/session.lock", "☃");
        self.write("server/world/serverconfig/computercraft-server.toml", text)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            // No client is found by its program.
            .env("PATH", "")
            .env("MCP_BRIDGE_CONFIG_DIR", self.path("bridge"))
            .env("MCP_BRIDGE_STATE_DIR", self.path("state"))
            .env_remove("CC_LINK_TOKEN")
            .env_remove("CC_LINK_PORT")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let arguments = [&["setup", "game"], arguments].concat();
        self.command(&arguments).output().unwrap()
    }

    /// What it says on standard output, if it ends with this code.
    fn says(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stdout).unwrap();
        let noted = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}\n{noted}");
        assert!(
            !said.contains(TOKEN) && !noted.contains(TOKEN),
            "{said}\n{noted}"
        );
        said
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn all_games_of_a_machine_are_shown_changed_and_changed_back() {
    const OLD: &str = include_str!("../../src/setup/game/config/samples/1.12.2.cfg");
    const CCEMUX: &str = include_str!("../../src/setup/game/config/samples/ccemux.json");
    let home = Home::new();
    let prism = "data/PrismLauncher/instances/atm";
    home.write(&format!("{prism}/instance.cfg"), "name=All the Mods\n");
    home.write(
        &format!("{prism}/minecraft/mods/cc-tweaked-1.20.1-forge-1.113.1.jar"),
        "",
    );
    home.write(&format!("{prism}/minecraft/saves/New/level.dat"), "");
    let config = "serverconfig/computercraft-server.toml";
    let first = home.write(&format!("{prism}/minecraft/saves/One/{config}"), TODAY);
    let with_mark = format!("\u{feff}{}", TODAY.replace('\n', "\r\n"));
    let second = home.write(&format!("{prism}/minecraft/saves/Two/{config}"), &with_mark);
    for world in ["One", "Two"] {
        home.write(&format!("{prism}/minecraft/saves/{world}/level.dat"), "");
    }
    let old = home.write(".minecraft/config/ComputerCraft.cfg", OLD);
    home.write(".minecraft/mods/cc-tweaked-1.12.2-1.89.2.jar", "");
    let ccemux = home.write("data/ccemux/ccemux.json", CCEMUX);
    home.write("data/craftos-pc/config/global.json", "{}");
    let files = [&first, &second, &old, &ccemux];
    let before = files.map(|file| read(file));

    let said = home.says(0, &["--yes", "--token", TOKEN]);
    assert_has(
        &said,
        &[
            "All the Mods (Prism Launcher)  1.20.1     1.113.1",
            "no: `$private` denies it, line 42",
            "no: the game has written no settings for it yet",
            "1.12.2     1.89.2",
            "no: `127.0.0.0/8` denies it, line 51",
            "CraftOS-PC",
            "+\t\thost = \"127.0.0.1\"",
            "All the Mods: computers can reach ws://127.0.0.1:3001 now.",
            "wget run http://127.0.0.1:3001/install.lua",
        ],
    );
    for (file, before) in files.iter().zip(&before) {
        let after = read(file);
        assert_ne!(&after, before);
        assert!(after.contains(TOKEN), "{after}");
    }
    assert!(read(&second).starts_with('\u{feff}'));

    let after = files.map(|file| read(file));
    let said = home.says(0, &["--yes", "--token", TOKEN]);
    assert_has(
        &said,
        &[
            "All the Mods: computers can reach the bridge; nothing to change.",
            "  yes",
        ],
    );
    assert_eq!(files.map(|file| read(file)), after);

    home.says(0, &["--remove", "--yes"]);
    assert_eq!(files.map(|file| read(file)), before);
    assert_eq!(
        fs::read_dir(first.parent().unwrap()).unwrap().count(),
        1,
        "the backup is gone"
    );
    assert_has(
        &home.says(0, &["--remove", "--yes"]),
        &["Nothing was added"],
    );
}

#[test]
fn what_was_added_more_than_once_is_taken_out_whole() {
    for before in [
        TODAY.to_owned(),
        TODAY.replace(
            "default_computer_settings = \"\"",
            "default_computer_settings = \"a=b\"",
        ),
        TODAY.replace("default_computer_settings = \"\"\n", ""),
    ] {
        let home = Home::new();
        let file = home.with_server(&before);
        home.says(0, &["server", "--yes", "--token", "another-token-another"]);
        home.says(0, &["server", "--yes", "--token", TOKEN]);
        home.says(0, &["server", "--yes", "--token", TOKEN, "--port", "3005"]);
        assert_has(&read(&file), &[TOKEN, "port = 3005"]);
        home.says(0, &["server", "--remove", "--yes"]);
        assert_eq!(read(&file), before);
    }
}

#[test]
fn nothing_is_written_unless_somebody_says_yes() {
    let home = Home::new();
    let file = home.with_server(TODAY);
    for (code, arguments) in [
        (2, &["server"][..]),
        (0, &["server", "--dry-run"]),
        (0, &["server", "--print"]),
    ] {
        let said = home.says(code, arguments);
        assert_has(
            &said,
            &[
                "host = \"127.0.0.1\"",
                "port = 3001",
                "computercraft-server.toml",
            ],
        );
        assert_eq!(read(&file), TODAY, "{arguments:?}");
    }
    let said = home.says(0, &["server", "--print", "--token", TOKEN]);
    assert_has(&said, &["mcp_computer.token=<the token>"]);
}

#[cfg(unix)]
#[test]
fn while_the_world_is_open_nothing_is_written_and_that_is_said() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let home = Home::new();
    let file = home.with_server(TODAY);
    let lock = home.path("server/world/session.lock");
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .open(lock)
        .unwrap();
    // As Java locks it: this is another kind of lock than that of `File::lock`.
    fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();

    let said = home.says(1, &["server", "--yes"]);
    let process = std::process::id();
    assert_has(
        &said,
        &[
            "(the world is open)",
            &format!("the world `world` is open (process {process})."),
            "Stop the server, and run this again.",
        ],
    );
    assert_eq!(read(&file), TODAY);
    home.says(0, &["server", "--yes", "--force"]);
    let open = read(&file);
    assert_ne!(open, TODAY);
    assert_has(
        &home.says(1, &["--remove", "--yes"]),
        &["the world `world` is open"],
    );
    assert_eq!(read(&file), open);

    fcntl_lock(&lock, FlockOperation::NonBlockingUnlock).unwrap();
    home.says(0, &["--remove", "--yes"]);
    assert_eq!(read(&file), TODAY);
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let home = Home::new();
    let said = home.says(1, &["nowhere"]);
    assert_has(
        &said,
        &[
            "No game with ComputerCraft was found",
            "[[http.rules]]",
            "port = 3001",
        ],
    );

    let file = home.with_server("[http]\nrules = [{ host = \"*\", action = \"deny\" }]\n");
    let said = home.says(1, &["server", "--yes"]);
    assert_has(
        &said,
        &[
            "computercraft-server.toml, line 2: ",
            "{ host = \"127.0.0.1\", port = 3001, action = \"allow\" }",
        ],
    );

    fs::remove_file(&file).unwrap();
    let said = home.says(1, &["server/world", "--yes"]);
    assert_has(
        &said,
        &["written no settings of ComputerCraft yet. Start the server once"],
    );

    home.write("bridge/config.toml", &format!("link_token = \"{TOKEN}\"\n"));
    let said = home.says(1, &["server", "--yes", "--token", "another"]);
    assert_has(&said, &["not the link token"]);
    assert_has(&home.says(1, &["server"]), &["The bridge wants a token"]);
}

#[test]
fn what_else_counts_once_http_is_on_is_said_before_it_is_turned_on() {
    let home = Home::new();
    let off = TODAY.replacen("enabled = true", "enabled = false", 1);
    let file = home.with_server(&off);
    let said = home.says(0, &["server", "--dry-run"]);
    let line = 1 + off
        .lines()
        .position(|line| line.contains("host = \"*\""))
        .unwrap();
    let at = said
        .split("`*` is allowed, line ")
        .nth(1)
        .unwrap_or_default();
    let at: usize = at.split(['.', ';']).next().unwrap().parse().unwrap();
    // The rule begins with its header.
    assert!(at <= line && line - at < 4, "{at} {line} {said}");
    assert_has(
        &said,
        &[
            "! HTTP was off in ",
            "the other rules of this file count too",
        ],
    );
    assert_eq!(read(&file), off);
    // With HTTP on already they count already.
    fs::write(&file, TODAY).unwrap();
    assert!(
        !home
            .says(0, &["server", "--dry-run"])
            .contains("HTTP was off")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_whole_setup_is_content_without_a_game() {
    let home = Home::new();
    let output = home.command(&["setup", "--yes"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_has(
        &said,
        &["No game with ComputerCraft was found in the usual places"],
    );
}

#[test]
fn another_machine_and_another_port_can_be_named() {
    let home = Home::new();
    let file = home.with_server(TODAY);
    home.write("bridge/config.toml", "link_port = 4001\n");
    home.says(0, &["server", "--yes", "--address", "192.168.1.20"]);
    assert_has(
        &read(&file),
        &["host = \"192.168.1.20\"\n\t\tport = 4001\n"],
    );
    home.says(
        0,
        &[
            "server",
            "--yes",
            "--address",
            "bridge.lan",
            "--port",
            "5001",
        ],
    );
    assert_has(&read(&file), &["host = \"bridge.lan\"\n\t\tport = 5001\n"]);
    home.says(2, &["server", "--yes", "--address", "ws://x:1/"]);
    home.says(0, &["server", "--remove", "--yes"]);
    assert_eq!(read(&file), TODAY);
}
