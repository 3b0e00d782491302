//! Somebody at work on tools: `mcp-bridge tools dev`.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::common::{soon, tools::Tools};

/// A tool of one argument, with an example.
const GREET: &str = "\
entries:
  - name: greet
    kind: function.lua
    source: file://greet.lua
    meta:
      mcp.tool: true
      mcp.name: greet
      mcp.description: Greet someone
      mcp.inputSchema:
        properties:
          name: {type: string, description: Whom., default: World}
          times: {type: integer}
        required: [times]
      mcp.examples:
        - {name: once, arguments: {name: Ada, times: 1}, expect: 'Hello, Ada!'}
  - name: where
    kind: computer.lua
    source: file://where.lua
    meta:
      mcp.tool: true
      mcp.name: where
      mcp.examples:
        - {name: at home, computers: [{kind: turtle, label: home}], expect: home}
";

const HELLO: &str = "\
return { call = function(arguments)
  print('greeting')
  return string.rep('Hello, ' .. arguments.name .. '!', arguments.times)
end }";

fn at_work() -> Tools {
    let tools = Tools::new();
    tools.write("_index.yaml", GREET);
    tools.write("greet.lua", HELLO);
    tools.write(
        "where.lua",
        "return { call = function() return os.getComputerLabel() or 'nowhere' end }",
    );
    tools
}

#[tokio::test]
async fn a_change_is_checked_and_tested_where_nobody_can_be_asked() {
    let tools = at_work();
    let shared = tools.path().join("times.lua");
    let own = tempfile::tempdir().unwrap();
    let mut dev = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .env("MCP_BRIDGE_CONFIG_DIR", own.path().join("config"))
        .env("MCP_BRIDGE_STATE_DIR", own.path().join("state"))
        .args(["tools", "dev"])
        .arg(tools.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(dev.stdout.take().unwrap()).lines();
    let mut until = async |part: &str| -> String {
        let mut all = String::new();
        let read = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                all += &line;
                all += "\n";
                if line.contains(part) {
                    return;
                }
            }
            panic!("it ended, and never said {part}:\n{all}");
        };
        soon(part, read).await;
        all
    };
    let first = until("2 passed, in").await;
    assert!(first.contains("nothing is wrong"), "{first}");
    assert!(!first.contains("Call which?"), "{first}");
    tools.write("greet.lua", &HELLO.replace("Hello", "Bye"));
    let second = until("1 passed, 1 failed, in").await;
    assert!(second.contains("✗ greet: once ("), "{second}");
    assert!(second.contains("      Bye, Ada!\n"), "{second}");
    tools.write("greet.lua", "return { call = ");
    let third = until("1 problem").await;
    assert!(third.contains("greet.lua:1: "), "{third}");
    tools.write("greet.lua", HELLO);
    until("2 passed, in").await;

    // A file that others require, which is away and comes back. The last good version of those goes on.
    std::fs::write(&shared, "return 1").unwrap();
    tools.write(
        "greet.lua",
        &HELLO.replace("return { call", "require('times')\nreturn { call"),
    );
    until("2 passed, in").await;
    std::fs::remove_file(&shared).unwrap();
    let away = until("2 passed, in").await;
    assert!(
        away.contains("greet.lua:") && away.contains("there is no module 'times'"),
        "{away}"
    );
    std::fs::write(&shared, "return 2").unwrap();
    let back = until("2 passed, in").await;
    assert!(back.contains("nothing is wrong"), "{back}");
    dev.kill().await.unwrap();
}

#[tokio::test]
#[cfg(unix)]
async fn a_person_fills_in_a_form_and_sees_the_answer() {
    use crate::common::terminal::Terminal;

    let tools = at_work();
    let own = tempfile::tempdir().unwrap();
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .env("MCP_BRIDGE_CONFIG_DIR", own.path().join("config"))
        .env("MCP_BRIDGE_STATE_DIR", own.path().join("state"))
        .env("NO_COLOR", "1")
        .args(["tools", "dev"])
        .arg(tools.path());
    let mut terminal = Terminal::running(command, (60, 160));
    terminal.shows("✓ 2 passed, in").await;
    terminal.shows("  1  tool      greet  Greet someone").await;
    terminal.shows("Call which?").await;
    terminal.write("nope\r").await;
    terminal.shows("There is no nope; ? lists all.").await;
    terminal.write("1\r").await;
    terminal.shows("name (a text; Whom) [World]: ").await;
    terminal.write("\r").await;
    terminal.shows("times (a whole number): ").await;
    terminal.write("twice\r").await;
    terminal
        .shows("✗ times must be a whole number, not twice")
        .await;
    // A change on the way: the question comes again, and what was answered stays.
    tools.write("greet.lua", &HELLO.replace("Hello", "Bye"));
    terminal.shows("1 passed, 1 failed").await;
    terminal.write("2\r").await;
    terminal.shows("greeting").await;
    terminal.shows("Bye, World!Bye, World!").await;
    terminal.shows("✓ answered in ").await;
    terminal
        .shows("  arguments: {\"name\":\"World\",\"times\":2}")
        .await;
    terminal.shows("  expect: \"Bye, World!Bye, World!\"").await;

    terminal.write("where\r").await;
    terminal.shows("computerId (a number or a label; ").await;
    terminal.write("\r").await;
    terminal
        .shows("computers (kinds, such as turtle computer) [turtle home]: ")
        .await;
    terminal.write("pocket\r").await;
    terminal.shows("nowhere").await;
    terminal.shows("  computers: [\"pocket\"]").await;
    terminal.write("q\r").await;
    let status = soon("it ends", terminal.child.wait()).await.unwrap();
    assert!(status.success());
}
