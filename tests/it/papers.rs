//! What stands in the repository's papers beside README.md is so: their links lead somewhere, and the files, messages and
//! commands that they give are there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mcp_bridge::wire::{
    frame::{self, AgentFrame},
    text::TextMode,
};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All papers below a folder of the repository, what was built and what is hidden left out.
fn papers(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_ours = !name.starts_with('.') && name != "target" && name != "node_modules";
        if path.is_dir() && is_ours {
            found.extend(papers(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

fn paper(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn every_link_of_a_paper_leads_to_a_file() {
    let papers = papers(root());
    assert!(papers.len() > 4, "{papers:?}");
    for paper in papers {
        let text = fs::read_to_string(&paper).unwrap();
        for link in text.split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap();
            if !link.is_empty() && !link.contains(':') {
                let target = paper.parent().unwrap().join(link);
                assert!(target.exists(), "{}: {link}", paper.display());
            }
        }
    }
}

/// Papers name files as seen from the repository, from `src/` or from their own folder.
#[test]
fn each_file_that_a_paper_of_the_code_names_is_there() {
    let mut missing = Vec::new();
    for name in [
        "src/README.md",
        "src/simulator/README.md",
        "src/wire/PROTOCOL.md",
        "lua/README.md",
    ] {
        let text = paper(name);
        let own = root().join(name).with_file_name("");
        let places = [root(), &root().join("src"), &own];
        let is_file = |file: &&str| {
            let endings = [".rs", ".lua", ".md", ".yaml", ".json"];
            file.ends_with('/') || endings.iter().any(|ending| file.ends_with(ending))
        };
        let is_there = |file: &&str| {
            // What begins so is the game's, or a bridge's answer.
            let elsewhere = file.starts_with('/') || file.contains(['<', ' ', ':']);
            elsewhere || places.iter().any(|place| place.join(file).exists())
        };
        let files = text.split('`').skip(1).step_by(2).filter(is_file);
        missing.extend(
            files
                .filter(|file| !is_there(file))
                .map(|file| format!("{name}: {file}")),
        );
    }
    assert!(
        missing.is_empty(),
        "not there any more:\n{}",
        missing.join("\n")
    );
}

/// The messages that the protocol's paper shows, each with who says it.
fn examples() -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    for line in paper("src/wire/PROTOCOL.md")
        .lines()
        .filter(|line| line.starts_with("    "))
    {
        match line.split_once(" → ") {
            Some((who, text)) => examples.push((who.trim().to_owned(), text.to_owned())),
            None => examples.last_mut().unwrap().1.push_str(line.trim()),
        }
    }
    examples
}

#[test]
fn each_message_that_the_protocol_shows_is_one() {
    let examples = examples();
    assert!(examples.len() > 25, "{examples:?}");
    for (who, text) in examples {
        let value: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let known = match who.as_str() {
            "agent" => {
                let frame = frame::read(&text, TextMode::Bytes);
                frame.is_ok_and(|frame| !matches!(frame, AgentFrame::Unknown(_)))
            }
            // What bridges read of each other is tested beside its types.
            "bridge" => value["type"].is_string(),
            "guest" | "owner" => value["type"].is_string() || value["frame"]["type"].is_string(),
            other => panic!("who is `{other}`?"),
        };
        assert!(known, "{who}: {text}");
    }
}

#[test]
fn the_commands_for_contributors_are_there() {
    let text = paper("CONTRIBUTING.md");
    let mut commands = 0;
    for block in text.split("```sh\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            commands += 1;
            let words: Vec<_> = line.split(' ').collect();
            let program = words
                .iter()
                .find(|word| !word.contains('='))
                .expect("a program");
            if program.contains('/') {
                assert!(root().join(program).is_file(), "{line}");
            } else {
                assert_eq!(*program, "cargo", "{line}");
            }
            if let Some(module) = words.last().and_then(|word| word.strip_suffix("::")) {
                let folder = root().join(if line.contains("--lib") {
                    "src"
                } else {
                    "tests/it"
                });
                let is_there = [format!("{module}.rs"), format!("{module}/mod.rs")]
                    .iter()
                    .any(|file| folder.join(file).is_file());
                assert!(is_there, "{line}");
            }
            for variable in words.iter().filter_map(|word| word.strip_suffix("=1")) {
                let used = [
                    "src/commands/mod.rs",
                    "tests/it/picture/mod.rs",
                    "tests/it/screens/mod.rs",
                    "tests/it/tool_list.rs",
                ];
                assert!(
                    used.iter().any(|file| paper(file).contains(variable)),
                    "{line}"
                );
            }
        }
    }
    assert!(commands > 10, "{commands}");
}

#[test]
fn the_changelog_begins_with_what_is_not_released_and_goes_on_with_this_version_or_the_one_before()
{
    let text = paper("CHANGELOG.md");
    let mut versions = text.split("\n## [").skip(1);
    let coming = versions.next().unwrap();
    assert!(coming.starts_with("Unreleased]"));
    let (last, _) = versions.next().unwrap().split_once("] - ").unwrap();
    let numbers = |version: &str| -> Vec<u32> {
        version
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect()
    };
    let (this, last) = (numbers(env!("CARGO_PKG_VERSION")), numbers(last));
    // What comes has its version as soon as anything of it is there: one that is released is never another's.
    assert!(this == last || this > last && coming.contains("\n- "));
}
