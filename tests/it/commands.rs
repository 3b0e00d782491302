//! What a person sees who uses the binary by hand.

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::common::{bridge::Bridge, tools::Tools};
use serde_json::json;

/// The binary with folders of its own.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", folder.join("config"))
        .env("MCP_BRIDGE_STATE_DIR", folder.join("state"))
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .stdin(std::process::Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().unwrap()
}

#[test]
fn the_help_tells_a_newcomer_what_it_is_and_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["--help"]);
    assert!(help.status.success());
    let help = text(&help.stdout);
    for part in [
        "ComputerCraft",
        "MCP client",
        "demo",
        "simulate",
        "logs",
        "CC_LINK_PORT",
        "--link-token",
        "wget run",
        "config.toml",
    ] {
        assert!(help.contains(part), "no `{part}` in:\n{help}");
    }
    assert_eq!(
        text(&run(folder.path(), &["--version"]).stdout),
        concat!("mcp-bridge ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn a_wrong_setting_is_refused_by_the_name_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("config")).unwrap();
    std::fs::write(
        folder.path().join("config/config.toml"),
        "link_host = \"127.0.0.1\"\nprobe_timeout_ms = \"soon\"\n",
    )
    .unwrap();
    let in_file = run(folder.path(), &[]);
    assert_eq!(in_file.status.code(), Some(2));
    assert!(in_file.stdout.is_empty());
    let problem = text(&in_file.stderr);
    assert!(
        problem.contains("`probe_timeout_ms` (line 2 of ")
            && problem.contains("config.toml) is `soon`"),
        "{problem}"
    );

    let folder = tempfile::tempdir().unwrap();
    let in_environment = command(folder.path())
        .env("CC_LINK_PORT", "abc")
        .output()
        .unwrap();
    assert_eq!(in_environment.status.code(), Some(2));
    assert!(
        text(&in_environment.stderr).contains("the environment variable CC_LINK_PORT is `abc`")
    );
    let on_command_line = run(folder.path(), &["--link-port", "70000"]);
    assert!(text(&on_command_line.stderr).contains("the flag --link-port is `70000`"));
    let filter = command(folder.path())
        .env("MCP_BRIDGE_LOG", "mcp_bridge=loud")
        .output()
        .unwrap();
    assert_eq!(filter.status.code(), Some(2));
    assert!(text(&filter.stderr).contains("MCP_BRIDGE_LOG"));
}

#[tokio::test]
async fn settings_of_the_file_are_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("config.toml"),
        "link_host = \"localhost\"\nlink_port = 0\n",
    )
    .unwrap();
    let mut bridge = Bridge::start_with(|command| {
        command
            .env("MCP_BRIDGE_CONFIG_DIR", folder.path())
            .env_remove("CC_LINK_HOST")
            .env_remove("CC_LINK_PORT");
    });
    bridge.initialize("2025-11-25").await;
    assert!(bridge.link_port().await.ip().is_loopback());
    bridge.leave().await;
}

#[tokio::test]
async fn the_log_is_found_and_holds_no_code_by_default() {
    let mut bridge = Bridge::initialized().await;
    bridge
        .call("exec-lua", json!({"code": "return 'a secret of the user'"}))
        .await;
    let log = run(bridge.folder.path(), &["logs", "-n", "100"]);
    assert!(log.status.success());
    let log = text(&log.stdout);
    assert!(log.lines().next().unwrap().ends_with(".log"), "{log}");
    assert!(
        log.contains("started") && log.contains("computers can link"),
        "{log}"
    );
    assert!(!log.contains("a secret of the user"), "{log}");
    bridge.leave().await;
}

#[test]
fn without_a_log_it_is_said_where_it_will_be() {
    let folder = tempfile::tempdir().unwrap();
    let log = run(folder.path(), &["logs"]);
    assert!(log.status.success() && text(&log.stdout).contains("There is no log yet"));
}

#[tokio::test]
async fn a_state_folder_that_can_not_be_written_does_not_keep_it_from_serving() {
    let mut bridge = Bridge::start_with(|command| {
        // A file where the folder should be.
        command.env("MCP_BRIDGE_STATE_DIR", env!("CARGO_BIN_EXE_mcp-bridge"));
    });
    bridge.initialize("2025-11-25").await;
    bridge.close_input();
    assert!(bridge.ended().await.success());
    assert!(bridge.stderr().await.contains("no log can be written"));
}

#[test]
fn the_demo_shows_the_main_job_and_every_answer_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let demo = run(folder.path(), &["demo"]);
    let shown = text(&demo.stdout);
    assert!(demo.status.success(), "{shown}\n{}", text(&demo.stderr));
    for part in [
        "pong from 12 (Label: base-turtle)",
        "pong from 14 (Label: farm)",
        "Hello from farm",
        "in front: minecraft:coal_ore",
        "exec-lua:3: hit bedrock",
        "traceback",
        "Every answer was right.",
    ] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
}

#[tokio::test]
async fn simulated_computers_link_to_a_bridge_by_command() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut simulate = tokio::process::Command::from(command(bridge.folder.path()))
        .args([
            "simulate",
            "--count",
            "3",
            "--kind",
            "turtle",
            "--first-id",
            "40",
            "--url",
            &format!("ws://{port}"),
        ])
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    for id in 40..43 {
        assert_eq!(bridge.linked(id).await["kind"], "turtle");
    }
    assert_eq!(bridge.lua(41, "turtle ~= nil").await, "=> true");
    simulate.kill().await.unwrap();
    for id in 40..43 {
        bridge
            .computer(id, |computer| computer["linked"] == false)
            .await;
    }
    bridge.leave().await;
}

#[test]
fn a_world_file_that_is_wrong_is_refused_with_the_line_of_its_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[[block]]\nblock = \"chest\"\nat = [0, 900, 0]\n").unwrap();
    let refused = run(
        folder.path(),
        &["simulate", "--world", file.to_str().unwrap()],
    );
    assert!(!refused.status.success());
    let told = text(&refused.stderr);
    assert!(
        told.contains("mine.toml, line 1: The world reaches from height -64 to 319."),
        "{told}"
    );
}

#[test]
fn a_wrong_kind_of_simulated_computer_is_refused_with_the_ones_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(folder.path(), &["simulate", "--kind", "tortoise"]);
    assert!(!refused.status.success());
    assert!(
        text(&refused.stderr).contains("turtle"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn stop_alone_says_what_can_be_stopped_and_status_that_there_is_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let alone = run(folder.path(), &["stop"]);
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
    for part in ["mcp-bridge stop JOB", "--computer COMPUTER", "--all"] {
        assert!(text(&alone.stderr).contains(part), "{alone:?}");
    }
    let status = text(&run(folder.path(), &["status"]).stdout);
    assert!(
        status.contains("Log: there is none at ") && status.contains("doctor state"),
        "{status}"
    );
}

// Tools of one's own.

#[test]
fn a_new_tool_is_written_checked_listed_and_run() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in [("shout", vec![]), ("whisper", vec!["--computer"])] {
        let mut line = vec!["tools", "new", name];
        line.extend(arguments);
        let written = run(folder.path(), &line);
        assert!(written.status.success(), "{}", text(&written.stderr));
        assert!(
            text(&written.stdout)
                .contains(&format!("mcp-bridge tools run {name} --arg text=hello"))
        );
    }
    let checked = run(folder.path(), &["tools", "check"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    assert!(
        text(&checked.stdout)
            .contains("2 tools and 0 prompts and 0 resources can be used; nothing is wrong.")
    );
    let tested = run(folder.path(), &["tools", "test"]);
    let passed = text(&tested.stdout);
    assert!(
        tested.status.success() && passed.contains("2 passed, in "),
        "{passed}"
    );
    let manifest = folder.path().join("config/tools/shout/_index.yaml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(!manifest.contains("computers"), "{manifest}");
    let listed = text(&run(folder.path(), &["tools", "list"]).stdout);
    for line in [
        "tool      shout  [custom]  ",
        "tool      exec-lua  [core]  mcp-bridge's own",
    ] {
        assert!(listed.contains(line), "{listed}");
    }
    let ran = run(
        folder.path(),
        &["tools", "run", "shout", "--args", r#"{"text": "hello"}"#],
    );
    assert_eq!(
        (text(&ran.stdout).as_str(), ran.status.success()),
        ("You said: hello\n", true)
    );
    // In ways that a shell of Windows can hand on.
    let file = folder.path().join("arguments.json");
    std::fs::write(&file, "\u{feff}{\"text\": \"hello\"}\r\n").unwrap();
    let file = file.to_string_lossy();
    for (arguments, said) in [
        (&["--arg", "text=a=b \"c\""][..], "You said: a=b \"c\"\n"),
        (&["--args-file", &file], "You said: hello\n"),
        (&["--args-file", &file, "--arg", "text=5"], "You said: 5\n"),
    ] {
        let ran = run(
            folder.path(),
            &[&["tools", "run", "shout"][..], arguments].concat(),
        );
        assert_eq!(text(&ran.stdout), said, "{arguments:?}: {ran:?}");
    }

    for (arguments, said) in [
        (vec!["shout", "--arg", "text"], "--arg must be NAME=VALUE"),
        (vec!["shout", "--args-file", "nowhere.json"], "nowhere.json"),
        (vec!["shout", "--args", "{}"], "`text` is missing."),
        (
            vec!["shout", "--arg", "txt=x"],
            "There is no argument `txt`; did you mean `text`?",
        ),
        (
            vec!["whisper", "--args", r#"{"text": "x"}"#],
            "No computers connected.",
        ),
        (
            vec!["shout", "--args", "[]"],
            "--args must be a JSON object",
        ),
        (vec!["nope"], "there is no tool nope"),
        (vec!["exec-lua", "--read-only"], "exec-lua is refused"),
    ] {
        let failed = run(
            folder.path(),
            &[vec!["tools", "run"], arguments.clone()].concat(),
        );
        let shown = text(&failed.stdout) + &text(&failed.stderr);
        assert!(
            !failed.status.success() && shown.contains(said),
            "{arguments:?}: {shown}"
        );
    }
    let again = run(folder.path(), &["tools", "new", "shout"]);
    assert!(!again.status.success() && text(&again.stderr).contains("is there already"));
    for name in ["exec-lua", "SHOUT"] {
        let other = folder.path().join("other");
        let written = run(
            folder.path(),
            &["tools", "new", name, "--folder", other.to_str().unwrap()],
        );
        let is_taken = text(&written.stderr).contains(&format!(
            "there is a tool {name} already, in mcp-bridge's own lua/tools/core/_index.yaml:"
        ));
        assert_eq!(is_taken, name == "exec-lua", "{}", text(&written.stderr));
        assert_eq!(other.join(name).exists(), !is_taken);
    }
    // Only what is set is watched.
    let in_place = text(&run(folder.path(), &["tools", "new", "third"]).stdout);
    assert!(
        in_place.contains("A bridge that runs has it within a second."),
        "{in_place}"
    );
    let other = folder.path().join("other");
    let line = [
        "tools",
        "new",
        "fourth",
        "--folder",
        other.to_str().unwrap(),
    ];
    let elsewhere = text(&run(folder.path(), &line).stdout);
    assert!(
        elsewhere.contains("A bridge that is started with --tools"),
        "{elsewhere}"
    );
    let set = command(folder.path())
        .args(["tools", "new", "fifth", "--folder", other.to_str().unwrap()])
        .env("MCP_BRIDGE_TOOLS", &other)
        .output()
        .unwrap();
    assert!(
        text(&set.stdout).contains("A bridge that runs has it"),
        "{set:?}"
    );
    let wrong = run(folder.path(), &["tools", "new", "a/b"]);
    assert!(
        !wrong.status.success()
            && text(&wrong.stderr).contains("a tool's name begins with a letter")
    );
}

/// What a handler that can't work does: its Lua, the line that is told, and what is said of it.
const UNUSABLE: [(&str, &str, Option<usize>, &str); 5] = [
    (
        "throws",
        "local x = nil\nreturn x.y",
        Some(2),
        "throws when it is loaded: attempt to index",
    ),
    (
        "thrown",
        "error('no', 0)",
        None,
        "throws when it is loaded: no",
    ),
    (
        "number",
        "return 5",
        None,
        "it must return a table with the function `call`, not a number",
    ),
    (
        "other",
        "return { cal = print, help = print, n = 1 }",
        None,
        "the table it returns has no function `call`; it has the functions `cal`, `help`",
    ),
    (
        "endless",
        "while true do end",
        None,
        "did not end within 5 seconds when it was loaded",
    ),
];

#[test]
fn a_handler_that_can_not_work_is_told_before_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::new();
    for (name, lua, ..) in UNUSABLE {
        tools.add(name, "");
        tools.write(&format!("{name}/handler.lua"), lua);
    }
    // What can't be known so: what a computer answers, and what there is in the game.
    tools.add("asks", "");
    tools.write(
        "asks/handler.lua",
        "local all = computers.list()\nreturn { call = function() return #all end }",
    );
    tools.add_on_computer("in_game", "");
    tools.write("in_game/handler.lua", "return turtle.dig()");
    let path = tools.path().to_str().unwrap();
    let checked = text(&run(folder.path(), &["tools", "check", path]).stdout);
    let listed = text(&run(folder.path(), &["tools", "list", "--tools", path]).stderr);
    for (name, _, line, said) in UNUSABLE {
        let here = tools.path().join(name);
        let handler = here.join("handler.lua");
        let place = match line {
            Some(line) => format!("{}:{line}: {said}", handler.display()),
            None => format!(
                "{}:6: its handler {}: {said}",
                here.join("_index.yaml").display(),
                handler.display()
            ),
        };
        for shown in [&checked, &listed] {
            assert!(shown.contains(&place), "no {place} in:\n{shown}");
        }
    }
    assert!(
        checked.contains("2 tools and 0 prompts and 0 resources can be used; 5 problems."),
        "{checked}"
    );
}

#[test]
fn a_slip_in_a_manifest_is_told_with_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("mine");
    std::fs::create_dir_all(tools.join("other")).unwrap();
    std::fs::write(tools.join("h.lua"), "return { call = function() end }").unwrap();
    std::fs::write(tools.join("other/_index.yml"), "entries: []").unwrap();
    let manifest = r#"shared: &shared
  kind: function.lua
  source: file://h.lua
entries:
  - {name: merged, <<: *shared, meta: {mcp.tool: true, mcp.name: merged}}
  - {name: a, kind: functon.lua, source: file://h.lua, meta: {mcp.tool: true, mcp.name: a}}
  - {name: b, <<: *shared, meta: {mcp.tool: true, mcp.name: b, mcp.inputschema: {type: object}}}
  - {name: c, <<: *shared, meta: {mcp.tool: true, mcp.name: c, mcp.annotations: {readonly: true}}}
  - {name: d, <<: *shared, meta: {mcp.name: d}}
  - {name: e, kind: process.lua, meta: {mcp.tool: true, mcp.name: e}}
  - {name: f, sorce: file://h.lua, kind: function.lua, meta: {mcp.tool: true, mcp.name: f}}
  - {name: g, source: file://h.lua, kind: resource, meta: {mcp.uri: "a://g", mcp.text: g}}
  - {name: h, kind: resource, meta: {mcp.uri: "a://h", mcp.blob: "AAAA", mcp.mimeType: image/png}}
  - {name: i, kind: prompt, meta: {mcp.messages: [{content: {type: image, data: "?", mimeType: image/png}}]}}
  - {name: j, kind: prompt, source: file://h.lua, meta: {mcp.text: j}}
  - {name: l, kind: resource, meta: {mcp.uri: "a://{l", mcp.text: l}}
  - {name: k, kind: prompt, meta: {mcp.text: k, mcp.arguments: [{name: k, require: true}]}}
  - {name: others, kind: function.lua, modules: [json], meta: {type: tool, input_schema: "{}"}}
  - {name: off, <<: *shared, meta: {mcp.tool: false, mcp.name: off}}
"#;
    std::fs::write(tools.join("_index.yaml"), manifest).unwrap();
    let tools = tools.to_str().unwrap();
    let checked = text(&run(folder.path(), &["tools", "check", tools]).stdout);
    for (line, said) in [
        (
            6,
            "there is no kind `functon.lua`; did you mean `function.lua`?",
        ),
        (
            7,
            "`mcp.inputschema` means nothing here; did you mean `mcp.inputSchema`?",
        ),
        (
            8,
            "`readonly` means nothing here; did you mean `readOnlyHint`?",
        ),
        (
            9,
            "`meta` is about a tool, but does not say `mcp.tool: true`",
        ),
        (
            10,
            "there is no kind `process.lua` of tools here: it is `function.lua`",
        ),
        (11, "`sorce` means nothing here; did you mean `source`?"),
        (
            12,
            "the resource g has both `source` and contents in `meta`",
        ),
        (13, "`mcp.blob` is not image/png, as its mimeType says"),
        (14, "its `data` must be base64"),
        (15, "the prompt j has both `source` and messages of its own"),
        (16, "`mcp.uri` a://{l has a `{` without its other half"),
        (17, "`require` means nothing here; did you mean `required`?"),
    ] {
        let place = format!("_index.yaml:{line}: {said}");
        assert!(checked.contains(&place), "no {place} in:\n{checked}");
    }
    assert!(checked.contains("_index.yml: is not read: a manifest is named _index.yaml"));
    assert!(
        checked.contains("1 tool and 0 prompts and 0 resources can be used; 13 problems."),
        "{checked}"
    );
}

#[test]
fn what_is_wrong_with_tools_is_told_with_file_line_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("mine");
    let write = |file: &str, text: &str| {
        let path = tools.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let entry = |name: &str, rest: &str| {
        format!(
            "  - name: {name}\n    kind: function.lua\n    source: file://h.lua\n    meta: {{ mcp.tool: true, mcp.name: {name}{rest} }}\n"
        )
    };
    write("h.lua", "return { call = print }");
    write("one/h.lua", "return {\n  call = function() return 1 +\n}");
    write("one/_index.yaml", &format!("entries:\n{}", entry("a", "")));
    write("two/_index.yaml", "entries:\n  - name: x\n   kind: y\n");
    write(
        "_index.yaml",
        &[
            "entries:\n".to_owned(),
            entry("good", ""),
            entry("good", ""),
            entry("list-jobs", ""),
            entry("no_schema", ", mcp.inputSchema: { anyOf: [] }"),
            entry("bad.name", ""),
            entry("typed", ", mcp.annotations: { readOnlyHint: maybe }"),
            "  - name: nameless\n    kind: function.lua\n    source: file://h.lua\n    meta: { mcp.tool: true }\n".to_owned(),
            "  - name: away\n    kind: function.lua\n    source: file://../h.lua\n    meta: { mcp.tool: true, mcp.name: away }\n".to_owned(),
            "  - name: missing\n    kind: function.lua\n    source: file://nope.lua\n    meta: { mcp.tool: true, mcp.name: missing }\n".to_owned(),
            "  - name: other\n    kind: registry.entry\n    meta: { type: spec }\n".to_owned(),
        ]
        .concat(),
    );
    let checked = run(folder.path(), &["tools", "check", tools.to_str().unwrap()]);
    assert!(!checked.status.success());
    let shown = text(&checked.stdout);
    for (file, line, said) in [
        (
            "_index.yaml",
            6,
            "the tool good is defined twice: here and in ",
        ),
        (
            "_index.yaml",
            10,
            "the tool list-jobs is defined twice: here and in mcp-bridge's own lua/tools/core/_index.yaml:",
        ),
        (
            "_index.yaml",
            17,
            "inputSchema must not have `anyOf` at its root",
        ),
        ("_index.yaml", 21, "the name must begin with a letter"),
        (
            "_index.yaml",
            25,
            "`readOnlyHint` must be true or false, not \"maybe\"",
        ),
        ("_index.yaml", 29, "a tool needs `mcp.name`"),
        (
            "_index.yaml",
            32,
            "must be a file in the manifest's folder or below it",
        ),
        ("_index.yaml", 36, "its handler "),
        ("one/h.lua", 3, "unexpected symbol near '}'"),
        ("two/_index.yaml", 3, "is not valid YAML"),
    ] {
        let place = format!("{}:{line}: ", tools.join(file).display());
        let found = shown
            .lines()
            .any(|line| line.starts_with(&place) && line.contains(said));
        assert!(found, "no {place}{said} in:\n{shown}");
    }
    assert!(
        shown.contains("1 tool and 0 prompts and 0 resources can be used; 10 problems."),
        "{shown}"
    );
    let list = ["tools", "list", "--tools", tools.to_str().unwrap()];
    let listed = text(&run(folder.path(), &list).stderr);
    for line in shown.lines().filter(|line| line.contains(".yaml:")) {
        assert!(listed.contains(line), "no {line} in:\n{listed}");
    }
    let nowhere = run(folder.path(), &["tools", "check", "/no/such/folder"]);
    assert!(
        !nowhere.status.success()
            && text(&nowhere.stdout).contains("this folder of tools can't be read")
    );
}
