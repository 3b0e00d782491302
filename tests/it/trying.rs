//! What whoever writes tools sees who tries them by hand: `mcp-bridge tools run`, `prompt` and `read`.

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

use crate::common::{
    bridge::Bridge,
    soon,
    tools::{Tools, of_repository},
};

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

// Examples.

/// `mcp-bridge tools test` of this folder, with further arguments.
async fn tested(folder: &Path, arguments: &[&str]) -> (String, String, bool) {
    let own = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", own.path().join("config"))
        .env("MCP_BRIDGE_STATE_DIR", own.path().join("state"))
        // No computer of a test comes to it, nor needs its token.
        .env("CC_LINK_PORT", "1")
        .env("CC_LINK_TOKEN", "a-token-that-no-computer-of-a-test-has")
        .args(["tools", "test"])
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    ran(command).await
}

#[tokio::test]
async fn the_examples_of_our_own_papers_pass() {
    let (stdout, stderr, well) = tested(&of_repository("examples/tools"), &[]).await;
    assert!(well && stderr.is_empty(), "{stdout}\n{stderr}");
    for line in [
        "✓ greet: someone by name (",
        "✓ fuel: one of several, by its label (",
        "✓ fleet: a line for each computer (",
        "12 passed, in ",
    ] {
        assert!(stdout.contains(line), "no {line} in:\n{stdout}");
    }
}

/// Tools that do what no example of theirs expects, and some that do.
const EXAMPLES: &str = "\
entries:
  - name: says
    kind: function.lua
    source: file://says.lua
    meta:
      mcp.tool: true
      mcp.name: says
      mcp.timeoutMs: 300
      mcp.inputSchema: {properties: {what: {type: string}}, additionalProperties: false}
      mcp.examples:
        - name: the same
          arguments: {what: hi}
          expect: bye
        - name: all of it
          arguments: {what: '{\"a\": [{\"b\": 1}], \"c\": 2}'}
          expect:
            contains: [nope, '\"a\"']
            matches: ^x
            value: {a: [{b: 1}]}
            valueIncludes: {a: [{b: 2}]}
        - name: nothing wrong
          arguments: {what: throw}
        - {name: endless, arguments: {what: endless}, expect: {isError: true, contains: did not end within 300 ms}}
        - {name: no error, arguments: {what: hi}, expect: {isError: true}}
  - name: writes
    kind: computer.lua
    source: file://writes.lua
    meta:
      mcp.tool: true
      mcp.name: writes
      mcp.examples:
        - {name: first, computers: [{files: {a: one}}], expect: 'true false'}
        - {name: second, computers: [{files: {b: one}}], expect: 'false true'}
        - {name: third, computers: [{version: '1.89', kind: turtle}], expect: 'false false'}
  - name: plan
    kind: prompt
    meta:
      mcp.name: plan
      mcp.arguments: [{name: what, required: true}]
      mcp.text: 'Plan {{what}}.'
      mcp.examples:
        - {arguments: {what: 5}, expect: Plan 5.}
        - {arguments: {}, expect: {isError: true, contains: '`what`'}}
  - name: notes
    kind: resource
    meta:
      mcp.uri: 'notes://{farm}'
      mcp.text: 'of {{farm}}'
      mcp.examples: [{name: oak, uri: 'notes://oak', expect: of oak}]
";

const SAYS: &str = "\
return { call = function(arguments)
  print('asked for', arguments.what)
  if arguments.what == 'throw' then error('thrown', 0) end
  while arguments.what == 'endless' do end
  return arguments.what
end }";

const WRITES: &str = "\
return { call = function()
  local said = tostring(fs.exists('a')) .. ' ' .. tostring(fs.exists('b'))
  for _, name in ipairs { 'a', 'b' } do
    local file = fs.open(name, 'w')
    file.close()
  end
  sleep(3)
  return said
end }";

#[tokio::test]
async fn what_came_stands_beside_what_was_expected_and_each_example_has_its_own_world() {
    let tools = Tools::new();
    tools.write("_index.yaml", EXAMPLES);
    tools.write("says.lua", SAYS);
    tools.write("writes.lua", WRITES);
    let junit = tools.path().join("junit.xml");
    let flags = ["--junit", junit.to_str().unwrap()];
    let (stdout, stderr, well) = tested(tools.path(), &flags).await;
    assert!(!well && stderr.is_empty(), "{stderr}");
    let file = tools.path().join("_index.yaml").display().to_string();
    // Without how long it took.
    let plain: String = stdout
        .lines()
        .map(|line| match line.split_once(" (") {
            Some((name, time)) if time.ends_with("ms)") => format!("{name}\n"),
            _ => format!("{}\n", line.replace(&file, "FILE")),
        })
        .collect();
    let expected = "\
✗ says: the same
    FILE:11
    expected the text:
      bye
    but there came the text:
      hi
    It printed:
      asked for\thi
✗ says: all of it
    FILE:14
    expected a text that contains:
      nope
    expected a text that matches:
      ^x
    expected the value:
      {
        \"a\": [
          {
            \"b\": 1
          }
        ]
      }
      (it.c is there too)
    expected a value that includes:
      {
        \"a\": [
          {
            \"b\": 2
          }
        ]
      }
      (it.a[1].b is 1, not 2)
    but there came the text:
      {\"a\": [{\"b\": 1}], \"c\": 2}
    It printed:
      asked for\t{\"a\": [{\"b\": 1}], \"c\": 2}
✗ says: nothing wrong
    FILE:21
    expected no error
    but there came the error:
      thrown
";
    assert!(plain.starts_with(expected), "{plain}");
    let passed: Vec<_> = plain.lines().filter(|line| line.starts_with('✓')).collect();
    assert_eq!(
        passed,
        [
            "✓ says: endless",
            "✓ writes: first",
            "✓ writes: second",
            "✓ writes: third",
            "✓ plan: example 1",
            "✓ plan: example 2",
            "✓ notes://{farm}: oak",
        ]
    );
    assert!(plain.contains("7 passed, 4 failed, in "), "{plain}");

    let xml = std::fs::read_to_string(junit).unwrap();
    for part in [
        "<testsuites name=\"mcp-bridge tools test\" tests=\"11\" failures=\"4\" errors=\"0\"",
        "<testcase classname=\"says\" name=\"the same\" file=",
        "line=\"11\"",
        "<failure type=\"expectation\" message=\"expected no error\">",
        "{&quot;a&quot;: [{&quot;b&quot;: 1}], &quot;c&quot;: 2}",
        "<testcase classname=\"notes://{farm}\" name=\"oak\"",
    ] {
        assert!(xml.contains(part), "no {part} in:\n{xml}");
    }
    is_xml(&xml);

    let (stdout, _, well) = tested(tools.path(), &["--only", "writes"]).await;
    assert!(well && stdout.contains("3 passed, in"), "{stdout}");
    let (stdout, stderr, well) = tested(tools.path(), &["--only", "write"]).await;
    assert!(!well && stdout.is_empty(), "{stdout}");
    assert!(
        stderr.contains("There are no examples of write in "),
        "{stderr}"
    );
}

/// Whether Python's own reader takes it.
fn is_xml(text: &str) {
    let mut python = std::process::Command::new("python3")
        .args([
            "-c",
            "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin.buffer)",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .expect("Python 3 reads XML");
    std::io::Write::write_all(&mut python.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "{text}");
}

/// Examples with mistakes: lines of the entry's `mcp.examples`, and what is told of each.
const MISTAKEN: [(&str, &str); 12] = [
    (
        "{argument: {}}",
        "`argument` means nothing here; did you mean `arguments`?",
    ),
    (
        "{told: x}",
        "an example has no `told`; it has name, arguments, uri, computers, expect",
    ),
    ("{expect: {contain: x}}", "did you mean `contains`?"),
    (
        "{expect: {matches: '('}}",
        "`matches` is no regular expression: unclosed group",
    ),
    (
        "{arguments: {text: [5]}}",
        "the example \"example 5\": `text` must be a string, not [5]",
    ),
    ("{arguments: {txt: a}}", "did you mean `text`?"),
    (
        "{arguments: 5}",
        "`arguments` must be a map of names to values, not 5",
    ),
    ("{uri: 'a:b'}", "`uri` is for examples of resources"),
    (
        "{computers: [tortoise]}",
        "there is no kind of computer `tortoise`; there are computer, turtle, pocket, command",
    ),
    (
        "{computers: [{id: 1}, {id: 1}]}",
        "there is a computer 1 already",
    ),
    (
        "{computers: [{fuel: 5}]}",
        "a computer has no `fuel`; turtles have",
    ),
    ("5", "an example must be a map of keys to values, not 5"),
];

#[tokio::test]
async fn a_mistake_in_an_example_is_told_with_its_line_and_costs_nothing_else() {
    let here = Tools::new();
    let mut meta = "      mcp.inputSchema: {properties: {text: {type: string}}, additionalProperties: false}\n      \
                    mcp.examples:\n"
        .to_owned();
    for (example, _) in MISTAKEN {
        meta += &format!("        - {example}\n");
    }
    meta += "        - {name: well, arguments: {text: x}, expect: x}\n";
    here.add_with("says", &meta, "return arguments.text");
    let file = here.path().join("says/_index.yaml");
    let own = tempfile::tempdir().unwrap();
    let mut check = command(own.path(), &here, &["check"]);
    check.arg(here.path());
    let (checked, _, well) = ran(check).await;
    assert!(!well && checked.contains("1 tool and "), "{checked}");
    for (number, (example, told)) in MISTAKEN.iter().enumerate() {
        let place = format!("{}:{}: ", file.display(), 13 + number);
        let found = checked
            .lines()
            .any(|line| line.starts_with(&place) && line.contains(told));
        assert!(found, "{example}: no `{place}…{told}` in:\n{checked}");
    }
    let (stdout, stderr, well) = tested(here.path(), &[]).await;
    assert!(!well && stdout.starts_with("✓ says: well"), "{stdout}");
    assert!(stderr.contains("12 problems above"), "{stderr}");
    let (stdout, ..) = tools(&here, &["run", "says", "--arg", "text=a"]).await;
    assert_eq!(stdout, "a\n");
}

#[tokio::test]
async fn no_examples_are_no_success() {
    let tools = Tools::new();
    tools.add("says", "return 'a'");
    let (stdout, stderr, well) = tested(tools.path(), &[]).await;
    assert!(!well && stdout.is_empty(), "{stdout}");
    assert!(stderr.contains("There are no examples in "), "{stderr}");
    let (_, stderr, well) = tested(&tools.path().join("nowhere"), &[]).await;
    assert!(
        !well && stderr.contains("this folder of tools can't be read"),
        "{stderr}"
    );
}
