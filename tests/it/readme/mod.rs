//! README.md and the papers beside the examples say what is so: their commands, settings, files, tools and messages are
//! the real ones.

mod papers;

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
    tools::namespace::SECRET_VARIABLE,
};
use mlua::Lua;
use papers::{PAPERS, blocks, code, marked, span, spans, table, tables};
use serde_json::json;
use tokio::runtime::Handle;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
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

/// The links of a paper, each as it stands there.
fn links(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_example_is_shown_as_it_is_or_linked_to() {
    let mut shown = BTreeSet::new();
    for block in blocks() {
        let Some((_, link)) = block.before.rsplit_once("](") else {
            continue;
        };
        let Some(name) = link.strip_suffix("):") else {
            continue;
        };
        let file = root().join(block.folder).join(name);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(block.text, text, "{} is shown otherwise", file.display());
        shown.insert(file);
    }
    assert_eq!(shown.len(), 13, "{shown:?}");
    let linked: BTreeSet<_> = PAPERS
        .iter()
        .flat_map(|paper| links(paper.text).map(|link| root().join(paper.folder()).join(link)))
        .filter_map(|file| file.canonicalize().ok())
        .collect();
    for file in files(&root().join("examples")) {
        let linked = linked.contains(&file.canonicalize().unwrap());
        assert!(linked, "no paper mentions {}", file.display());
    }
}

#[test]
fn the_readme_is_short_and_has_a_list_of_its_contents() {
    let readme = &PAPERS[0];
    assert!(readme.text.lines().count() < 250);
    let contents = readme.text.split_once("## Contents\n").unwrap().1;
    for title in contents.lines().filter_map(|line| line.strip_prefix("## ")) {
        let entry = format!("- [{title}](#");
        let listed = readme.text.contains(&entry) || title == "License";
        assert!(listed, "the contents lack {title}");
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
        // What stands after that belongs to another program.
        let arguments = arguments.split(" -- ").next().unwrap();
        let command = arguments.split(' ').next().unwrap();
        commands.insert(command.to_owned());
        let path: Vec<_> = match command {
            "tools" | "setup" | "upstream" => arguments
                .split(' ')
                .take(2)
                .filter(|word| !word.starts_with("--"))
                .collect(),
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
    let named: BTreeSet<_> = PAPERS
        .iter()
        .flat_map(|paper| variables(paper.text))
        .collect();
    assert!(named.len() >= 9, "{named:?}");
    for variable in named {
        assert!(
            main.contains(variable)
                || installer.contains(variable)
                || variable.starts_with(SECRET_VARIABLE),
            "there is no {variable}"
        );
    }
}

#[test]
fn the_settings_table_has_every_setting_with_its_names_and_default() {
    let table = table(&["Setting"]);
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

/// The headings of a paper, as GitHub makes links of them.
fn headings(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

#[test]
fn every_link_leads_to_something() {
    let mut count = 0;
    for paper in &PAPERS {
        for link in links(paper.text).filter(|link| !link.starts_with("https://")) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = match file {
                "" => root().join(paper.path),
                file => root().join(paper.folder()).join(file),
            };
            assert!(file.exists(), "{}: there is no {link}", paper.path);
            let there = heading.is_empty()
                || headings(&fs::read_to_string(&file).unwrap()).contains(heading);
            assert!(there, "{}: no heading for {link}", paper.path);
        }
    }
    assert!(count > 30, "{count}");
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
        let table = table(&["Minecraft"]);
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
    let shown: BTreeSet<_> = table(&["Tool", "Arguments"])
        .into_iter()
        .map(|row| {
            (
                span(row[0]).unwrap().to_owned(),
                spans(row[1]).map(str::to_owned).collect(),
            )
        })
        .collect();
    assert_eq!(shown, tools);
    // README.md has their names only.
    let named: BTreeSet<_> = table(&["Tool", "What it does"])
        .into_iter()
        .flat_map(|row| spans(row[0]).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(named, tools.into_iter().map(|(name, _)| name).collect());
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
    let explaining = tables()
        .into_iter()
        .filter(|table| table[0][0] == "What you see");
    for row in explaining.flat_map(|table| table[1..].to_vec()) {
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
    assert!(PAPERS[0].text.contains(concat!(
        "Rust ",
        env!("CARGO_PKG_RUST_VERSION"),
        " or later"
    )));
}
