//! Every file of `examples/` does what it is there for.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::bridge::Bridge;
use mcp_bridge::{
    link::agent,
    settings::{Config, Flags, McpConfig},
    simulator::{Computer, ComputerOptions, Kind},
};
use mlua::Lua;
use serde_json::Value;
use tokio::runtime::Handle;

fn example(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// How a client would start the bridge.
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "their programs are started on Unix alone")
)]
struct Start {
    program: String,
    arguments: Vec<String>,
    variables: BTreeMap<String, String>,
}

/// What each client reads from its configuration.
fn start_by(name: &str) -> Start {
    let config: Value = serde_json::from_str(&example(name)).unwrap();
    let strings = |value: &Value| -> Vec<String> {
        serde_json::from_value(value.clone()).unwrap_or_default()
    };
    let (entry, command, variables) = if name == "clients/opencode.json" {
        let entry = &config["mcp"]["computercraft"];
        assert_eq!(entry["type"], "local");
        (entry, strings(&entry["command"]), "environment")
    } else {
        let entry = &config["mcpServers"]["computercraft"];
        let mut command = vec![entry["command"].as_str().unwrap().to_owned()];
        command.extend(strings(&entry["args"]));
        (entry, command, "env")
    };
    let (program, arguments) = command.split_first().unwrap();
    Start {
        program: program.clone(),
        arguments: arguments.to_vec(),
        variables: serde_json::from_value(entry[variables].clone()).unwrap_or_default(),
    }
}

const CLIENTS: [&str; 4] = [
    "clients/claude-code.mcp.json",
    "clients/claude-desktop.json",
    "clients/claude-desktop-wsl.json",
    "clients/opencode.json",
];

#[tokio::test]
#[cfg(unix)]
async fn the_command_of_every_client_configuration_starts_a_bridge_that_serves() {
    // A home folder as install.sh leaves it.
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".local/bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcp-bridge"), folder.join("mcp-bridge"))
        .unwrap();
    let path = std::env::join_paths(
        [folder.clone()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();

    for name in CLIENTS {
        let start = start_by(name);
        let program = match start.program.as_str() {
            // In WSL, Windows' bash.exe hands its arguments to bash.
            "bash.exe" => "bash".into(),
            installed => installed.replace("/home/YOU", home.path().to_str().unwrap()),
        };
        let mut bridge = Bridge::start_with(|command| {
            let mut as_client = tokio::process::Command::new(program);
            as_client
                .args(start.arguments)
                .envs(start.variables)
                .env("HOME", home.path())
                .env("PATH", path.clone())
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .kill_on_drop(true);
            // The harness's folders and free port win: tests touch nothing of the user's.
            for (variable, value) in command.as_std().get_envs() {
                match value {
                    Some(value) => as_client.env(variable, value),
                    None => as_client.env_remove(variable),
                };
            }
            *command = as_client;
        });
        let result = bridge.initialize("2025-06-18").await;
        assert_eq!(result["serverInfo"]["name"], "mcp-bridge", "{name}");
        bridge.leave().await;
    }
}

#[test]
fn what_client_configurations_set_is_a_setting_and_its_default() {
    let mut set = 0;
    for (variable, value) in CLIENTS.iter().flat_map(|name| start_by(name).variables) {
        set += 1;
        let with = |value: &str| {
            let given = |name: &str| (name == variable).then(|| value.to_owned());
            Config::resolve(&Flags::default(), given, Path::new("config.toml"), "")
        };
        assert_eq!(
            format!("{:?}", with(&value).unwrap()),
            format!("{:?}", with("").unwrap())
        );
        assert!(
            with("no such value")
                .unwrap_err()
                .to_string()
                .contains(&variable)
        );
    }
    assert_eq!(set, 2);
}

/// What a service manager does with each of its files: the command with its arguments, and the environment.
#[cfg(unix)]
fn services() -> [(&'static str, Vec<String>, BTreeMap<String, String>); 2] {
    let unit = example("service/mcp-bridge.service");
    let command = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let command = command.unwrap().split(' ').map(str::to_owned).collect();
    // What is suggested there is tried too.
    let variables = unit
        .lines()
        .find_map(|line| line.strip_prefix("#Environment="));
    let variables = variables.unwrap().split(' ').map(|variable| {
        let (name, value) = variable.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });

    let plist = property_list("service/mcp-bridge.plist");
    let arguments = serde_json::from_value(plist["ProgramArguments"].clone()).unwrap();
    let environment = serde_json::from_value(plist["EnvironmentVariables"].clone()).unwrap();
    [
        ("service/mcp-bridge.service", command, variables.collect()),
        ("service/mcp-bridge.plist", arguments, environment),
    ]
}

/// A property list, read by Python's own reader.
#[cfg(unix)]
fn property_list(name: &str) -> Value {
    let read =
        "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    let output = std::process::Command::new("python3")
        .args(["-c", read])
        .arg(file)
        .output()
        .expect("Python 3 reads the property list");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {problem}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
#[cfg(unix)]
async fn the_command_of_every_service_starts_a_bridge_that_serves_over_http() {
    use crate::common::served::Served;

    for (name, command, variables) in services() {
        let (program, arguments) = command.split_first().unwrap();
        assert!(
            [
                "%h/.local/bin/mcp-bridge",
                "/Users/YOU/.local/bin/mcp-bridge"
            ]
            .contains(&program.as_str()),
            "{name} does not start what install.sh installs: {program}"
        );
        for (variable, value) in &variables {
            let given = |name: &str| (name == variable).then(|| value.clone());
            let file = Path::new("config.toml");
            let link = Config::resolve(&Flags::default(), given, file, "").unwrap();
            let mcp = McpConfig::resolve(&Flags::default(), given, file, "").unwrap();
            assert_eq!(
                (link.link.port, mcp.port),
                default_ports(),
                "{name}: {variable}"
            );
        }
        assert_eq!(variables.len(), 2, "{name}");
        let bridge = Served::start_with(|command| {
            // `serve` is there already.
            command.args(&arguments[1..]);
        })
        .await;
        assert_eq!(arguments[0], "serve", "{name}");
        bridge.client("2025-11-25").await;
    }
}

#[test]
#[cfg(unix)]
fn launchd_starts_its_service_at_login_and_again_when_it_fails() {
    let plist = property_list("service/mcp-bridge.plist");
    assert_eq!(plist["Label"], "mcp-bridge");
    assert_eq!(plist["RunAtLoad"], true);
    assert_eq!(plist["KeepAlive"]["SuccessfulExit"], false);
}

#[test]
#[cfg(target_os = "linux")]
fn systemd_finds_nothing_wrong_with_its_unit() {
    let unit = example("service/mcp-bridge.service");
    for section in ["[Unit]", "[Service]", "[Install]"] {
        assert_eq!(unit.matches(section).count(), 1, "{section}");
    }
    // It looks whether the program is there.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp-bridge.service");
    let here = env!("CARGO_BIN_EXE_mcp-bridge");
    fs::write(&file, unit.replace("%h/.local/bin/mcp-bridge", here)).unwrap();
    let verified = std::process::Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no", "--recursive-errors=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    match verified {
        Ok(output) => {
            let problem = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && problem.is_empty(),
                "{}: {problem}",
                output.status
            );
        }
        // Not every Linux has systemd; the checks above and the start of its command hold anywhere.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
}

#[test]
fn the_address_in_opencodes_configuration_is_the_default_one() {
    let config: Value = serde_json::from_str(&example("clients/opencode-remote.json")).unwrap();
    let entry = &config["mcp"]["computercraft"];
    assert_eq!(entry["type"], "remote");
    let (_, mcp_port) = default_ports();
    let url = format!("http://127.0.0.1:{mcp_port}/mcp");
    assert_eq!(entry["url"], url.as_str());
}

fn config_of(text: &str) -> (Config, McpConfig) {
    let file = Path::new("config.toml");
    (
        Config::resolve(&Flags::default(), |_| None, file, text).unwrap(),
        McpConfig::resolve(&Flags::default(), |_| None, file, text).unwrap(),
    )
}

/// The link port, and the port of MCP over HTTP, where nothing sets them.
fn default_ports() -> (u16, u16) {
    let (config, mcp) = config_of("");
    (config.link.port, mcp.port)
}

#[test]
fn the_configuration_file_shows_the_defaults() {
    let shown = config_of(&example("settings/config.toml"));
    assert_eq!(format!("{shown:?}"), format!("{:?}", config_of("")));
}

#[test]
fn the_configuration_file_has_every_setting() {
    // Settings without a default have a `#` before their example.
    let text = example("settings/config.toml")
        .replace("\n#link", "\nlink")
        .replace("\n#tool", "\ntool")
        .replace("\n#list", "\nlist")
        .replace("\n#sync", "\nsync")
        .replace("\n#mcp", "\nmcp");
    let (config, mcp) = config_of(&text);
    assert!(
        mcp.token
            .is_some_and(|token| token.matches("another-long-random-text"))
    );
    assert!(
        config
            .link
            .token
            .is_some_and(|token| token.matches("a-long-random-text"))
    );
    assert_eq!(config.link.names, ["bridge.example.org"]);
    assert!(config.tools.chosen.folders[0].ends_with("more-tools") && config.tools.sets.is_some());

    let keys: toml::Table = toml::from_str(&text).unwrap();
    let unknown = Config::resolve(
        &Flags::default(),
        |_| None,
        Path::new("config.toml"),
        "x = 1",
    );
    let unknown = unknown.unwrap_err().to_string();
    let all = unknown.rsplit_once("there are ").unwrap().1;
    for key in all.split(", ") {
        assert!(keys.contains_key(key), "config.toml does not show {key}");
    }
}

#[test]
fn the_rule_for_the_game_permits_the_link_port_before_private_addresses_are_denied() {
    let config: toml::Table = toml::from_str(&example("game/computercraft-server.toml")).unwrap();
    let rules = config["http"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0]["host"].as_str(), Some("127.0.0.0/8"));
    assert_eq!(
        rules[0]["port"].as_integer(),
        Some(default_ports().0.into())
    );
    assert_eq!(rules[0]["action"].as_str(), Some("allow"));
    assert_eq!(rules[1]["host"].as_str(), Some("$private"));
    assert_eq!(rules[1]["action"].as_str(), Some("deny"));
}

#[test]
fn the_rule_for_the_game_is_the_one_the_agent_shows() {
    let lua = Lua::new();
    lua.globals()
        .set("root", env!("CARGO_MANIFEST_DIR"))
        .unwrap();
    let shown: Vec<String> = lua
        .load(
            r#"package.path = root .. "/lua/?.lua"
            local address = require("mcp-computer.url").parse("ws://127.0.0.1:3001")
            local host = "ComputerCraft 1.113.1 (Minecraft 1.20.1)"
            return require("mcp-computer.advice").explain("Domain not permitted", address, host).lines"#,
        )
        .eval()
        .unwrap();
    let text = example("game/computercraft-server.toml");
    let rule = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .take_while(|line| !line.is_empty());
    for line in rule {
        assert!(
            shown.iter().any(|shown| shown.trim() == line.trim()),
            "`{line}` is not in {shown:?}"
        );
    }
}

/// The chunks for exec-lua, and a part of what each prints or returns on a computer and on a turtle.
const CHUNKS: [(&str, &str, &str); 6] = [
    (
        "dig-line",
        "This computer is no turtle.",
        "Went 3 of 3 blocks ahead and came 3 back.",
    ),
    ("inventory", "No items.", "No items."),
    ("list-files", "mcp-computer.lua  ", "bytes free"),
    (
        "peripherals",
        "No peripheral is attached.",
        "No peripheral is attached.",
    ),
    ("redstone", "top     in  0  out  0", "left    in  0  out  0"),
    ("who-am-i", "kind = \"computer\"", "kind = \"turtle\""),
];

#[tokio::test]
async fn every_chunk_runs_on_computers_and_turtles_of_every_version() {
    let mut names: Vec<_> =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/lua"))
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name();
                Some(name.to_str().unwrap().strip_suffix(".lua")?.to_owned())
            })
            .collect();
    names.sort();
    assert_eq!(names, CHUNKS.map(|(name, ..)| name));

    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computers = Vec::new();
    for (number, version) in ["1.89", "1.101", "1.113"].into_iter().enumerate() {
        for (digit, kind) in [(4, Kind::Computer), (2, Kind::Turtle)] {
            let mut options = ComputerOptions::new(10 * number as u64 + digit)
                .with_file("mcp-computer.lua", agent::program());
            options.kind = kind;
            options.version = version.parse().unwrap();
            options.clock_speed = 20.0;
            let program = format!("mcp-computer ws://{port}");
            let id = options.id;
            computers.push(Computer::start(options, &program, &Handle::current()).unwrap());
            bridge.linked(id).await;
            for (name, on_computer, on_turtle) in CHUNKS {
                let answer = bridge.lua(id, &example(&format!("lua/{name}.lua"))).await;
                let expected = if kind == Kind::Turtle {
                    on_turtle
                } else {
                    on_computer
                };
                assert!(
                    answer.contains(expected),
                    "{name} on a {kind} of {version}: {answer}"
                );
            }
        }
    }
    bridge.leave().await;
}
