//! README.md says what is so: its commands, settings, files, tools and messages are the real ones.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{PATIENCE, bridge::Bridge};
use mcp_bridge::{
    link::agent,
    settings::Config,
    simulator::{Computer, ComputerOptions, Kind},
};
use mlua::Lua;
use serde_json::json;
use tokio::runtime::Handle;

const README: &str = include_str!("../../README.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block of the README.
struct Block {
    /// The line before it, or before the blank line above it.
    before: &'static str,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = README.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let body = lines.by_ref().take_while(|line| !line.starts_with("```"));
            let text = body.map(|line| format!("{line}\n")).collect();
            blocks.push(Block { before, text });
        } else if !line.is_empty() {
            before = line;
        }
    }
    blocks
}

/// The blocks below an invisible mark.
fn marked(mark: &str) -> Vec<String> {
    let mark = format!("<!-- {mark} -->");
    let found: Vec<_> = blocks()
        .into_iter()
        .filter(|block| block.before == mark)
        .map(|block| block.text)
        .collect();
    assert!(!found.is_empty(), "no block stands below {mark}");
    found
}

/// The README's tables: each a list of rows, each a list of cells, without the line below the header.
fn tables() -> Vec<Vec<Vec<&'static str>>> {
    let mut tables = vec![Vec::new()];
    for line in README.lines() {
        match line.strip_prefix("| ") {
            Some(row) => tables
                .last_mut()
                .unwrap()
                .push(row.trim_end_matches(" |").split(" | ").collect()),
            None => tables.push(Vec::new()),
        }
    }
    for table in &mut tables {
        table.retain(|row: &Vec<&str>| row[0] != "---");
    }
    tables.retain(|table| !table.is_empty());
    tables
}

/// The table whose header begins with this cell, without its header.
fn table(first: &str) -> Vec<Vec<&'static str>> {
    let mut found = tables().into_iter().filter(|table| table[0][0] == first);
    let table = found
        .next()
        .unwrap_or_else(|| panic!("there is no table of {first}"));
    table[1..].to_vec()
}

/// Everything between single backquotes, and every line of every block.
fn code() -> Vec<String> {
    let mut code: Vec<_> = blocks()
        .iter()
        .flat_map(|block| block.text.lines())
        .map(str::to_owned)
        .collect();
    let mut in_block = false;
    for line in README.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            code.extend(spans(line).map(str::to_owned));
        }
    }
    code
}

fn spans(line: &'static str) -> impl Iterator<Item = &'static str> {
    line.split('`').skip(1).step_by(2)
}

/// The one span of code that a cell holds, if it is one.
fn span(cell: &'static str) -> Option<&'static str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "mcp-bridge has no {arguments:?}");
    // Long lines are wrapped.
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Upper-case words with underscores, as variables are named.
fn variables(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
        .filter(|word| word.starts_with("CC_") || word.starts_with("MCP_"))
        .collect()
}

#[test]
fn every_example_is_shown_as_it_is_or_linked_to() {
    let mut shown = BTreeSet::new();
    for block in blocks() {
        let Some((_, link)) = block.before.rsplit_once("(examples/") else {
            continue;
        };
        let Some(name) = link.strip_suffix("):") else {
            continue;
        };
        let file = fs::read_to_string(root().join("examples").join(name)).unwrap();
        assert_eq!(
            block.text, file,
            "examples/{name} is not what the README shows"
        );
        shown.insert(name);
    }
    assert_eq!(shown.len(), 8, "{shown:?}");
    for file in files(&root().join("examples")) {
        let name = file
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        assert!(
            README.contains(&format!("]({name})")),
            "the README does not mention {name}"
        );
    }
}

#[test]
fn every_command_and_flag_exists() {
    let all_settings = help(&["serve"]);
    let mut commands = BTreeSet::new();
    for line in code() {
        let Some(arguments) = line.strip_prefix("mcp-bridge ") else {
            continue;
        };
        let command = arguments.split(' ').next().unwrap();
        commands.insert(command.to_owned());
        let path: Vec<_> = match command {
            "tools" => arguments.split(' ').take(2).collect(),
            command => vec![command],
        };
        let all = help(&path);
        for flag in arguments.split(' ').filter(|word| word.starts_with("--")) {
            assert!(
                all.contains(&format!("{flag} ")),
                "mcp-bridge {command} has no {flag}"
            );
        }
    }
    assert!(
        ["logs", "serve", "simulate"]
            .iter()
            .all(|command| commands.contains(*command)),
        "{commands:?}"
    );
    for flag in code().iter().filter(|code| {
        ["--link", "--probe", "--mcp", "--tools", "--read"]
            .iter()
            .any(|start| code.starts_with(start))
    }) {
        let flag = flag.split(' ').next().unwrap();
        assert!(
            all_settings.contains(&format!("{flag} ")),
            "mcp-bridge has no {flag}"
        );
    }
}

#[test]
fn every_environment_variable_exists() {
    let main = help(&[]) + &help(&["serve"]);
    let installer = fs::read_to_string(root().join("install.sh")).unwrap();
    let named = variables(README);
    assert!(named.len() >= 9, "{named:?}");
    for variable in named {
        assert!(
            main.contains(variable) || installer.contains(variable),
            "there is no {variable}"
        );
    }
}

#[test]
fn the_settings_table_has_every_setting_with_its_names_and_default() {
    let table = table("Setting");
    // `--link-host <ADDRESS> Address to listen on … [env: CC_LINK_HOST] [default: 0.0.0.0]`
    let help = help(&["serve"]);
    let options = help.split_once(" Options: ").unwrap().1;
    let mut flags = 0;
    for option in options
        .split(" --")
        .filter(|option| option.contains("[env: "))
    {
        let option = option.trim_start_matches("--");
        let flag = format!("--{}", option.split(' ').next().unwrap());
        let bracket = |name: &str| {
            let start = option.split_once(&format!("[{name}: "))?.1;
            Some(start.split_once(']')?.0)
        };
        let row = table.iter().find(|row| span(row[1]) == Some(&flag));
        let row = row.unwrap_or_else(|| panic!("the settings table has no {flag}"));
        assert_eq!(span(row[2]), bracket("env"), "{flag}");
        assert_eq!(span(row[4]), bracket("default"), "{flag}");
        assert_eq!(
            span(row[3]).unwrap(),
            flag.trim_start_matches("--").replace('-', "_")
        );
        flags += 1;
    }
    assert_eq!(flags, table.iter().filter(|row| row[1] != "none").count());

    // The error about an unknown key lists those there are.
    let unknown = Config::resolve(
        &Default::default(),
        |_| None,
        Path::new("config.toml"),
        "x = 1",
    );
    let unknown = unknown.unwrap_err().to_string();
    let keys = unknown.rsplit_once("there are ").unwrap().1;
    let listed: Vec<_> = table.iter().filter_map(|row| span(row[3])).collect();
    assert_eq!(listed.join(", "), keys);
}

#[test]
fn every_link_leads_to_something() {
    let headings: Vec<_> = README
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            // As GitHub makes them.
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect();
    let mut links = 0;
    for link in README
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
    {
        links += 1;
        match link.strip_prefix('#') {
            Some(heading) => assert!(
                headings.iter().any(|one| one == heading),
                "no heading for #{heading}"
            ),
            None if link.starts_with("https://") => {}
            None => assert!(root().join(link).exists(), "there is no {link}"),
        }
    }
    assert!(links > 15, "{links}");
}

#[test]
fn the_configuration_files_of_the_game_are_those_the_agent_names() {
    let lua = Lua::new();
    lua.globals().set("root", root().to_str().unwrap()).unwrap();
    lua.load("package.path = root .. '/lua/?.lua' game = require('mcp-computer.game')")
        .exec()
        .unwrap();
    for (minecraft, host) in [
        ("1.16", "ComputerCraft 1.101.3 (Minecraft 1.16.5)"),
        ("1.16", "ComputerCraft 1.113.1 (Minecraft 1.21.1)"),
        ("1.16", "ComputerCraft 1.97.1 (Minecraft 1.15.2)"),
        ("1.13", "ComputerCraft 1.87.0 (Minecraft 1.15.2)"),
        ("1.13", "ComputerCraft 1.86.2 (Minecraft 1.14.4)"),
        ("1.12.2", "ComputerCraft 1.89.2 (Minecraft 1.12.2)"),
        ("none", "ComputerCraft 1.109.2 (CraftOS-PC v2.8.4)"),
    ] {
        let table = table("Minecraft");
        let row = table
            .iter()
            .find(|row| row[0].starts_with(minecraft))
            .unwrap();
        let file: String = lua
            .load("return (game.config_file(game.read(...)))")
            .call(host)
            .unwrap();
        assert!(
            row[1].contains(&format!("`{file}`")),
            "{host} has its settings in {file}, not in {}",
            row[1]
        );
    }
}

#[tokio::test]
async fn the_tools_table_has_every_tool_with_its_arguments() {
    let mut bridge = Bridge::initialized().await;
    let listed = bridge.request("tools/list", json!({})).await;
    let mut tools = BTreeSet::new();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let arguments: BTreeSet<_> = tool["inputSchema"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        tools.insert((tool["name"].as_str().unwrap().to_owned(), arguments));
    }
    let shown: BTreeSet<_> = table("Tool")
        .into_iter()
        .map(|row| {
            (
                span(row[0]).unwrap().to_owned(),
                spans(row[1]).map(str::to_owned).collect(),
            )
        })
        .collect();
    assert_eq!(shown, tools);
    bridge.leave().await;
}

#[test]
fn what_the_demo_prints_is_shown_as_it_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .arg("demo")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    for excerpt in marked("printed by the demo") {
        let mut rest = printed.lines();
        for line in excerpt.lines() {
            assert!(
                rest.any(|printed| printed.trim_end() == line),
                "the demo does not print `{line}` there:\n{printed}"
            );
        }
    }
}

/// A text with its moments and addresses blotted out, which differ from run to run.
fn blotted(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let address = word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit());
        if address { "ADDRESS " } else { word }
    });
    let words: String = words.collect();
    let mut parts: Vec<_> = words.split(", ").map(str::to_owned).collect();
    for part in &mut parts {
        for event in ["linked ", "last seen "] {
            if let Some((before, moment)) = part.split_once(event) {
                let (_, after) = moment.split_once("ago").unwrap();
                *part = format!("{before}{event}AGO{after}");
            }
        }
        if let Some((before, _)) = part.split_once("(process ") {
            *part = format!("{before}(process ID) for SOME TIME");
        }
    }
    parts.join(", ").trim().to_owned()
}

#[tokio::test]
async fn what_list_computers_answers_is_shown_as_it_is() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut options = ComputerOptions::new(12).with_file("mcp-computer.lua", agent::program());
    options.kind = Kind::Turtle;
    options.label = Some("base-turtle".to_owned());
    let program = format!("mcp-computer ws://{port}");
    let turtle = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(12).await;
    let answer = bridge.call("list-computers", json!({})).await.text;
    assert_eq!(
        blotted(&marked("printed by list-computers")[0]),
        blotted(&answer)
    );

    // What the agent says, on the same turtle's screen, which is narrower than some lines.
    let shown = blocks()
        .into_iter()
        .find(|block| block.text.starts_with("mcp-computer v"))
        .unwrap();
    for line in shown.text.lines() {
        let line = line
            .replace("192.168.1.20:3001", &port.to_string())
            .replace(' ', "");
        let is_shown =
            |computer: &Computer| computer.screen().concat().replace(' ', "").contains(&line);
        assert!(
            turtle.until(PATIENCE, is_shown).await,
            "`{line}` is not in {:?}",
            turtle.screen()
        );
    }
    bridge.leave().await;
}

#[test]
fn the_messages_that_are_explained_are_those_that_are_shown() {
    /// What the game says, not this project.
    const FROM_THE_GAME: [&str; 2] = ["Domain not permitted", "Too long without yielding"];
    let sources: String = [root().join("src"), root().join("lua")]
        .iter()
        .flat_map(|folder| files(folder))
        .filter(|file| {
            file.extension()
                .is_some_and(|kind| kind == "rs" || kind == "lua")
        })
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let mut explained = 0;
    for row in table("What you see") {
        for message in spans(row[0])
            .filter(|message| message.contains(' ') && !FROM_THE_GAME.contains(message))
        {
            explained += 1;
            // Addresses and numbers are filled in.
            let fixed = message
                .split(|c: char| c.is_ascii_digit())
                .flat_map(|part| part.split("HOST"));
            for part in fixed.map(str::trim).filter(|part| part.len() > 3) {
                assert!(
                    sources.contains(part),
                    "nothing says `{part}`, of `{message}`"
                );
            }
        }
    }
    assert!(explained >= 9, "{explained}");
}

#[test]
fn the_commands_for_the_demo_and_the_tests_stand_where_ci_reads_them() {
    assert_eq!(
        marked("the demo command"),
        ["cargo run --release -- demo\n"]
    );
    assert_eq!(marked("the test command"), ["cargo test\n"]);
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    for mark in ["the demo command", "the test command"] {
        assert!(ci.contains(mark), ".ci/run does not read {mark}");
    }
}

#[test]
fn the_rust_that_is_asked_for_is_the_one_that_is_needed() {
    assert!(README.contains(concat!(
        "Rust ",
        env!("CARGO_PKG_RUST_VERSION"),
        " or later"
    )));
}
