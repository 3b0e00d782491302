//! What whoever writes tools sees who tries them by hand: `mcp-bridge tools run`, `prompt` and `read`.

mod at_work;
mod examples;
mod tutorial;

use std::{path::Path, process::Stdio};

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    runtime::Handle,
};

use crate::common::{bridge::Bridge, soon, tools::Tools};

/// `mcp-bridge tools` with these arguments, with folders of its own.
fn command(folder: &Path, tools: &Tools, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", folder.join("config"))
        .env("MCP_BRIDGE_STATE_DIR", folder.join("state"))
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .arg("tools")
        .args(arguments)
        .arg("--tools")
        .arg(tools.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What it wrote on standard output and standard error, and whether it went well.
async fn ran(mut command: Command) -> (String, String, bool) {
    let output = soon("the command ends", command.output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        text(output.stderr),
        output.status.success(),
    )
}

async fn tools(tools: &Tools, arguments: &[&str]) -> (String, String, bool) {
    let folder = tempfile::tempdir().unwrap();
    ran(command(folder.path(), tools, arguments)).await
}

/// The first line of a stream, and that its program still runs then; then all the rest.
async fn first_while_it_runs(
    child: &mut Child,
    stream: impl tokio::io::AsyncRead + Unpin,
) -> (String, String) {
    let mut lines = BufReader::new(stream);
    let (mut first, mut rest) = (String::new(), String::new());
    let read = lines.read_line(&mut first);
    soon("a line comes", read).await.unwrap();
    assert!(child.try_wait().unwrap().is_none(), "{first} came late");
    let read = lines.read_to_string(&mut rest);
    soon("the command ends", read).await.unwrap();
    (first, rest)
}

#[tokio::test]
async fn what_a_handler_prints_is_seen_while_it_runs_and_once() {
    let slow = Tools::new();
    slow.add(
        "slow",
        "print('one\\27[2J') local start = os.epoch() while os.epoch() < start + 1500 do end write('tw') print('o') \
         progress('nearly', 9, 10) log('done') return 'the answer'",
    );
    slow.add("throws", "print('before') error('no more')");
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), &slow, &["run", "slow"])
        .spawn()
        .unwrap();
    let (stderr, mut stdout) = (child.stderr.take().unwrap(), child.stdout.take().unwrap());
    let (first, rest) = first_while_it_runs(&mut child, stderr).await;
    assert_eq!(first, "one\\u{1b}[2J\n");
    assert_eq!(rest, "two\nnearly (9 of 10)\nInfo handler.lua: done\n");
    let mut answer = String::new();
    stdout.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "the answer\n");

    let (stdout, stderr, well) = tools(&slow, &["run", "throws"]).await;
    assert!(!well && stderr == "before\n", "{stderr}");
    assert!(
        stdout.contains("no more") && !stdout.contains("before"),
        "{stdout}"
    );

    let script = "code=print('early') write('open') return 5";
    let (stdout, stderr, _) = tools(&slow, &["run", "run-script", "--arg", script]).await;
    assert_eq!(
        (stdout.as_str(), stderr.as_str()),
        ("early\nopen\n=> 5\n", "")
    );
    let script = "code=print('early') error('no')";
    let (stdout, _, well) = tools(&slow, &["run", "run-script", "--arg", script]).await;
    assert!(
        !well && stdout.starts_with("early\nscript:1: no"),
        "{stdout}"
    );
    assert_eq!(stdout.matches("early").count(), 1, "{stdout}");
    let script = "code=print('all there is')";
    let (stdout, ..) = tools(&slow, &["run", "run-script", "--arg", script]).await;
    assert_eq!(stdout, "all there is\n");
}

#[tokio::test]
async fn what_computers_print_is_seen_while_they_run_and_once() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _computers: Vec<_> = [7, 8]
        .map(|id| {
            let options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
            let program = format!("mcp-computer ws://{port}");
            Computer::start(options, &program, &Handle::current()).unwrap()
        })
        .into();
    bridge.linked(7).await;
    bridge.linked(8).await;
    let here = Tools::new();
    here.add_on_computer("digs", "print('digging') write('deep') return 'dug'");
    here.add_on_computer("breaks", "print('digging') error('broke')");
    here.add(
        "both",
        "computers.exec({7, 8}, 'print(os.getComputerID())') return 'asked'",
    );
    let folder = bridge.folder.path().to_path_buf();
    // It reaches them through the bridge that has the link port.
    let with = |arguments: &[&str]| {
        let mut command = command(&folder, &here, arguments);
        command.env("CC_LINK_PORT", port.port().to_string());
        command
    };
    let exec = |code: &str| with(&["run", "exec-lua", "--arg", "computerId=7", "--arg", code]);

    let mut child = exec("code=print('one') sleep(2) write('two') return 3")
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let (first, rest) = first_while_it_runs(&mut child, stdout).await;
    assert_eq!(
        (first.as_str(), rest.as_str()),
        ("one\n", "two\n=> 3\n"),
        "the answer begins with what was printed"
    );
    let (stdout, _, well) = ran(exec("code=print('one') error('two')")).await;
    assert!(!well && stdout.starts_with("one\n"), "{stdout}");
    assert_eq!(stdout.matches("one").count(), 1, "{stdout}");
    assert!(!stdout.contains("Output before"), "{stdout}");
    let (stdout, ..) = ran(exec("code=local x = 1")).await;
    assert!(stdout.contains("printed nothing"), "{stdout}");
    let (stdout, ..) = ran(exec("code=print('all there is')")).await;
    assert_eq!(stdout, "all there is\n");

    let on = ["--arg", "computerId=7"];
    let (stdout, stderr, _) = ran(with(&[&["run", "digs"][..], &on].concat())).await;
    assert_eq!(
        (stdout.as_str(), stderr.as_str()),
        ("dug\n", "[7] digging\n[7] deep\n")
    );
    let (stdout, stderr, _) = ran(with(&[&["run", "breaks"][..], &on].concat())).await;
    assert!(stderr == "[7] digging\n", "{stderr}");
    assert!(
        stdout.contains("broke") && !stdout.contains("digging"),
        "{stdout}"
    );
    let (stdout, stderr, _) = ran(with(&["run", "both"])).await;
    let mut lines: Vec<_> = stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        (stdout.as_str(), lines),
        ("asked\n", vec!["[7] 7", "[8] 8"])
    );
    bridge.leave().await;
}

/// A prompt, one with a handler, a resource, a template of resources, and bytes.
const OTHERS: &str = "\
entries:
  - name: plan
    kind: prompt
    meta:
      mcp.name: plan
      mcp.arguments: [{name: what, required: true}, {name: tone}]
      mcp.messages:
        - {role: user, content: \"Plan {{what}}. {{tone}}\"}
        - {role: assistant, content: Gladly.}
  - name: counts
    kind: prompt
    source: file://counts.lua
    meta: {mcp.name: counts}
  - name: notes
    kind: resource
    meta: {mcp.uri: 'notes://{farm}', mcp.text: 'all of {{farm}}'}
  - name: dot
    kind: resource
    meta: {mcp.uri: 'dot://one', mcp.mimeType: image/png, mcp.blob: iVBORw0KGgo=}
";

#[tokio::test]
async fn prompts_and_resources_are_tried_as_tools_are() {
    let others = Tools::new();
    others.write("_index.yaml", OTHERS);
    others.write(
        "counts.lua",
        "return { call = function(a) print('counting') return 'One, ' .. (a.next or 'two') end }",
    );
    let said = "user:\nPlan a barn. \n\nassistant:\nGladly.\n";
    let barn = ["--arg", "what=a barn"];
    let (stdout, stderr, well) = tools(&others, &[&["prompt", "plan"][..], &barn].concat()).await;
    assert_eq!((stdout.as_str(), stderr.as_str(), well), (said, "", true));
    let (stdout, stderr, well) = tools(&others, &[&["run", "plan"][..], &barn].concat()).await;
    assert!(well && stdout == said, "{stdout}");
    assert!(stderr.contains("`mcp-bridge tools prompt`"), "{stderr}");
    let misspelt = ["prompt", "plan", "--arg", "what=a barn", "--arg", "tonne=5"];
    let (_, stderr, _) = tools(&others, &misspelt).await;
    assert!(
        stderr.contains("no argument that it is called tonne"),
        "{stderr}"
    );
    let (stdout, stderr, well) = tools(&others, &["prompt", "plan"]).await;
    assert!(!well && stdout.is_empty());
    assert!(stderr.contains("needs the argument `what`"), "{stderr}");
    let (stdout, stderr, _) = tools(&others, &["prompt", "counts", "--arg", "next=3"]).await;
    assert_eq!(
        (stdout.as_str(), stderr.as_str()),
        ("user:\nOne, 3\n", "counting\n")
    );

    let (stdout, _, well) = tools(&others, &["read", "notes://oak"]).await;
    assert!(well && stdout == "all of oak", "{stdout}");
    let (stdout, stderr, well) = tools(&others, &["run", "notes://oak"]).await;
    assert!(well && stdout == "all of oak", "{stdout}");
    assert!(stderr.contains("`mcp-bridge tools read`"), "{stderr}");
    let folder = tempfile::tempdir().unwrap();
    let bytes = command(folder.path(), &others, &["read", "dot://one"])
        .output()
        .await
        .unwrap();
    assert_eq!(bytes.stdout, b"\x89PNG\r\n\x1a\n");

    for (arguments, problem) in [
        (
            ["read", "nothing://there"],
            "there is no resource nothing://there",
        ),
        (["prompt", "nope"], "there is no prompt nope"),
        (["run", "nope"], "there is no tool nope"),
    ] {
        let (stdout, stderr, well) = tools(&others, &arguments).await;
        assert!(
            !well && stdout.is_empty() && stderr.contains(problem),
            "{stderr}"
        );
    }
}

#[tokio::test]
#[cfg(unix)]
async fn a_terminal_is_shown_no_bytes() {
    use crate::common::terminal::Terminal;

    let others = Tools::new();
    others.write("_index.yaml", OTHERS);
    let folder = tempfile::tempdir().unwrap();
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .env("MCP_BRIDGE_CONFIG_DIR", folder.path())
        .env("MCP_BRIDGE_STATE_DIR", folder.path())
        .env("CC_LINK_PORT", "0")
        .args(["tools", "read", "dot://one", "--tools"])
        .arg(others.path());
    let mut terminal = Terminal::running(command, (24, 200));
    terminal
        .shows("dot://one is no text: it is 8 bytes of image/png. Write them to a file: mcp-bridge tools read dot://one > FILE")
        .await;
    let status = soon("it ends", terminal.child.wait()).await.unwrap();
    assert!(!status.success());
}
