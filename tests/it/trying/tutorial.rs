//! The paper on tools teaches from nothing to a quarry: somebody follows it to the letter, in an empty folder.

use std::{fs, net::TcpListener, path::Path, process::Stdio};

use regex::Regex;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use super::ran;
use crate::common::soon;

/// A block of the paper: its language, what stands before it, and its lines.
struct Block<'a> {
    language: &'a str,
    before: String,
    text: String,
}

/// The blocks of what it teaches.
fn blocks(paper: &str) -> Vec<Block<'_>> {
    let (_, part) = paper.split_once("\n## From nothing to a quarry\n").unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    let (mut found, mut before) = (Vec::new(), String::new());
    let mut lines = part.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body = lines.by_ref().take_while(|line| *line != "```");
            found.push(Block {
                language,
                text: body.map(|line| format!("{line}\n")).collect(),
                before: std::mem::take(&mut before),
            });
        } else {
            before.push_str(line);
            before.push('\n');
        }
    }
    found
}

/// Where a reader writes a block: the last file of their own that is named before it.
fn file<'a>(block: &'a Block<'_>) -> &'a str {
    let names = block.before.split('`').skip(1).step_by(2);
    let own = names.filter(|name| name.starts_with("my-tools/") && name.contains('.'));
    own.last()
        .unwrap_or_else(|| panic!("where does this go? {}", block.text))
}

/// A command line of the paper, in a reader's folder, whose link port is this.
fn command(line: &str, folder: &Path, port: u16) -> Command {
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some("mcp-bridge"), "{line}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", folder.join("config"))
        .env("MCP_BRIDGE_STATE_DIR", folder.join("state"))
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", port.to_string())
        .env("MCP_PORT", "0")
        .current_dir(folder)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What is the same each time: all but how long it took.
fn without_times(text: &str) -> String {
    let times = Regex::new(r"\(\d+ ms\)|in \d+\.\d s").unwrap();
    times.replace_all(text.trim_end(), "(time)").into_owned()
}

#[tokio::test]
async fn the_paper_teaches_what_works_when_it_is_followed_to_the_letter() {
    let paper = include_str!("../../../examples/tools/README.md").replace("\r\n", "\n");
    let reader = tempfile::tempdir().unwrap();
    let folder = reader.path();
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = port.local_addr().unwrap().port();
    drop(port);
    let (mut beside, mut open) = (Vec::<Child>::new(), Vec::new());
    let mut printed = String::new();
    for block in blocks(&paper) {
        match block.language {
            // These go on in other terminals.
            "sh" if block.text == "mcp-bridge serve\n" => {
                let mut serve = command(block.text.trim_end(), folder, number);
                beside.push(serve.stderr(Stdio::null()).spawn().unwrap());
            }
            "sh" if block.text.starts_with("mcp-bridge simulate ") => {
                let mut simulate = command(block.text.trim_end(), folder, number);
                simulate.args(["--url", &format!("ws://127.0.0.1:{number}")]);
                let mut simulate = simulate.stderr(Stdio::null()).spawn().unwrap();
                let mut lines = BufReader::new(simulate.stdout.take().unwrap()).lines();
                let linked = async {
                    while let Some(line) = lines.next_line().await.unwrap() {
                        if line.contains("linked as 1 ") {
                            return true;
                        }
                    }
                    false
                };
                assert!(soon("the turtle links", linked).await);
                beside.push(simulate);
                // It ends if nobody could read what else it says.
                open.push(lines);
            }
            "sh" => {
                printed.clear();
                for line in block.text.lines() {
                    let (out, err, well) = ran(command(line, folder, number)).await;
                    assert!(well, "{line}\n{out}\n{err}");
                    printed += &(err + &out);
                }
            }
            "text" => assert_eq!(without_times(&printed), without_times(&block.text)),
            _ => {
                let file = folder.join(file(&block));
                // Each tool has the folder that `tools new` made; a reader makes the others.
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, &block.text).unwrap();
            }
        }
    }
    assert_eq!(beside.len(), 2);
    let again = "mcp-bridge tools new quarry --folder my-tools";
    let (_, told, well) = ran(command(again, folder, number)).await;
    assert!(!well && told.contains("is there already"), "{told}");
}
