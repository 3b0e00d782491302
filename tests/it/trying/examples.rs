//! Examples of tools: `mcp-bridge tools test`, and what `tools check` says of them.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use super::{command, ran, tools};
use crate::common::tools::{Tools, of_repository};

/// `mcp-bridge tools test` of this folder, with further arguments.
async fn tested(folder: &Path, arguments: &[&str]) -> (String, String, bool) {
    let own = tempfile::tempdir().unwrap();
    tested_as(own.path(), folder, arguments).await
}

/// The same of a user whose folders are in this one.
async fn tested_as(own: &Path, folder: &Path, arguments: &[&str]) -> (String, String, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", own.join("config"))
        .env("MCP_BRIDGE_STATE_DIR", own.join("state"))
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
        "✓ quarry: so many blocks that it goes home in between (",
        "✓ march: thirty turtles (",
        "✓ fleet://map: three computers, one of which GPS does not reach (",
        "✓ forecast: a place that it knows (",
        "49 passed, in ",
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
        "an example has no `told`; it has name, arguments, uri, computers, store, secrets, requests, expect",
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

/// A tool that keeps, asks and has secrets, and one that calls it.
const WEATHER: &str = "\
namespace: weather
meta:
  mcp.http: [api.example.com]
  mcp.secrets: [KEY, OTHER]
entries:
  - name: sky
    kind: function.lua
    source: file://sky.lua
    meta:
      mcp.tool: true
      mcp.name: sky
      mcp.examples:
        - &clear
          name: the first time
          secrets: {KEY: hush}
          requests:
            - {url: 'https://api.example.com/?key=hush', headers: {X-Kind: json}, body: {sky: clear}}
          expect: 'json clear 1'
        - {<<: *clear, name: nothing is kept from before}
        - {<<: *clear, name: what was kept, store: {times: 7}, expect: 'json clear 8'}
        - <<: *clear
          name: a host that fails
          requests: [{url: 'https://api.example.com/?key=hush', status: 503}]
          expect: {isError: true, contains: '503'}
        - {name: no secret, expect: {isError: true, contains: 'the example provides no secret KEY'}}
        - <<: *clear
          name: no answer
          requests: [{method: POST, url: 'https://api.example.com/?key=hush'}]
          expect: {isError: true, contains: 'the example answers no GET https://api.example.com/?key='}
  - name: asks
    kind: function.lua
    source: file://asks.lua
    meta:
      mcp.tool: true
      mcp.name: asks
      mcp.examples:
        - {<<: *clear, name: by another, expect: 'told: json clear 1'}
";

const SKY: &str = "\
return { call = function()
  local answer = http.get('https://api.example.com/?key=' .. secrets.KEY)
  if answer.status ~= 200 then error('the host says ' .. answer.status, 0) end
  local times = (store.get('times') or 0) + 1
  store.set('times', times)
  return answer.headers['x-kind'] .. ' ' .. json.decode(answer.body).sky .. ' ' .. times
end }";

#[tokio::test]
async fn an_example_provides_what_is_kept_secrets_and_answers_and_nobodys_own_is_used() {
    let tools = Tools::new();
    tools.write("_index.yaml", WEATHER);
    tools.write("sky.lua", SKY);
    tools.write(
        "asks.lua",
        "return { call = function() return 'told: ' .. tools.call('sky', {}) end }",
    );
    let own = tempfile::tempdir().unwrap();
    let (stdout, stderr, well) = tested_as(own.path(), tools.path(), &[]).await;
    assert!(well && stderr.is_empty(), "{stdout}\n{stderr}");
    assert!(stdout.contains("7 passed, in"), "{stdout}");
    assert!(!own.path().join("state/stores").exists());

    let wrong = WEATHER.replace("status: 503", "state: 503");
    tools.write("_index.yaml", &wrong);
    let (_, stderr, well) = tested_as(own.path(), tools.path(), &[]).await;
    assert!(
        !well
            && stderr
                .contains("a request has no `state`; it has method, url, status, headers, body"),
        "{stderr}"
    );
}
