//! `mcp-bridge upstream add`, `remove`, `tools` and `call`, and what `--json` prints. The servers are
//! `tests/upstream/server.py`.

use std::fs;

use serde_json::{Value, json};

use crate::common::servers::{PYTHON, Place, listed, server, with};

const FILE: &str = "config/mcp.json";

/// What a command that must fail says.
fn refusal(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    without_waiting(output.stderr)
}

/// What a command wrote to standard error, but for what it says where a server takes its time, as on a busy machine.
fn without_waiting(stderr: Vec<u8>) -> String {
    let told = String::from_utf8(stderr).unwrap();
    let rest = told.strip_prefix("Waiting for the server to start…\n");
    rest.unwrap_or(&told).to_owned()
}

fn file(place: &Place) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path(FILE)).unwrap()).unwrap()
}

#[test]
fn the_first_server_that_is_added_makes_the_file() {
    let place = Place::new();
    let said = place.says(&[
        "upstream",
        "add",
        "files",
        "--env",
        "ROOT=${HOME}/a b",
        "--",
        "npx",
        "-y",
        "server",
        "--flag",
    ]);
    assert_eq!(
        file(&place),
        json!({"mcpServers": {"files": {
            "command": "npx", "args": ["-y", "server", "--flag"], "env": {"ROOT": "${HOME}/a b"},
        }}})
    );
    assert!(said.contains("\n+    \"files\": {\n"), "{said}");
    assert!(
        said.ends_with(
            "The server `files` is added.\nIts tools will be called files__…; `mcp-bridge upstream tools files` starts it \
             and shows them. Bridges that run take it up within seconds.\n"
        ),
        "{said}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(place.path(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let said = place.says(&[
        "upstream",
        "add",
        "web",
        "https://mcp.example.org/mcp",
        "-H",
        "Authorization: Bearer ghp_1234",
    ]);
    assert!(!said.contains("ghp_1234"), "{said}");
    assert_eq!(
        file(&place)["mcpServers"]["web"],
        json!({"url": "https://mcp.example.org/mcp", "headers": {"Authorization": "Bearer ghp_1234"}})
    );
}

#[test]
fn comments_order_indent_and_line_ends_stay_when_a_server_comes_and_goes() {
    for (before, after) in [
        (
            "{\r\n\t// Mine.\r\n\t\"inputs\": [],\r\n\t\"servers\": {\r\n\t\t\"z\": {\"command\": \"z\"}, // last\r\n\t},\r\n}\r\n",
            "{\r\n\t// Mine.\r\n\t\"inputs\": [],\r\n\t\"servers\": {\r\n\t\t\"z\": {\"command\": \"z\"}, // last\r\n\t\t\"new\": \
             {\r\n\t\t\t\"command\": \"x\",\r\n\t\t},\r\n\t},\r\n}\r\n",
        ),
        (
            "{\n    \"mcpServers\": {\n        \"b\": { \"url\": \"http://b\" },\n        /* of the farm */\n        \"a\": { \
             \"command\": \"a\" }\n    }\n}\n",
            "{\n    \"mcpServers\": {\n        \"b\": { \"url\": \"http://b\" },\n        /* of the farm */\n        \"a\": { \
             \"command\": \"a\" },\n        \"new\": {\n            \"command\": \"x\"\n        }\n    }\n}\n",
        ),
    ] {
        let place = Place::new();
        fs::write(place.path(FILE), before).unwrap();
        place.says(&["upstream", "add", "new", "--", "x"]);
        let now = fs::read_to_string(place.path(FILE)).unwrap();
        assert_eq!(now, after);
        let said = place.says(&["upstream", "remove", "new"]);
        assert!(said.contains("The server `new` is taken out of "), "{said}");
        let now = fs::read_to_string(place.path(FILE)).unwrap();
        assert_eq!(now, before);
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(place.path("config")).unwrap().count(), 1);
    }
}

#[test]
fn what_can_not_be_added_or_taken_out_is_said_with_the_reason() {
    let place = Place::with_servers(json!({"one": {"command": "x"}}));
    place.write(
        "project/.mcp-bridge/mcp.json",
        &json!({"mcpServers": {"theirs": {"command": "y"}}}),
    );
    let before = fs::read_to_string(place.path(FILE)).unwrap();
    for (arguments, words) in [
        (
            &["add", "one", "--", "y"][..],
            "mcp.json has a server `one` already, which is left as it is. `mcp-bridge upstream remove one` takes it out.\n",
        ),
        (
            &["add", "two", "npx"],
            "`npx` is no URL: one begins with http:// or https://. A program is given after `--`: mcp-bridge upstream add \
             two -- npx\n",
        ),
        (
            &["add", "two", "--env", "SECRET", "--", "y"],
            "--env must be NAME=VALUE.\n",
        ),
        (
            &["add", "two", "http://x/mcp", "-H", "secret"],
            "--header must be 'NAME: VALUE'.\n",
        ),
        (
            &["add", "two", "--", "mcp-bridge"],
            "This would be mcp-bridge itself, which is not to call itself, so `two` is not added.\n",
        ),
        (
            &["add", " ", "--", "y"],
            "A server's name is a text of at least one character.\n",
        ),
        (
            &["remove", "none"],
            "mcp.json has no server `none`. There are one.\n",
        ),
        (
            &["remove", "theirs"],
            "The server `theirs` is configured by the project, in ",
        ),
        (
            &["tools", "none"],
            "There is no server `none`. Configured here: one, theirs.\n",
        ),
        (
            &["call", "none__x"],
            "There is no server that has a tool none__x. Configured here: one, theirs.\n",
        ),
        (
            &["tools", "theirs"],
            "The server `theirs` comes with the project and is not trusted: look at ",
        ),
    ] {
        let said = refusal(&place, &[&["upstream"], arguments].concat());
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert!(
            !said.to_lowercase().contains("secret") || words.contains("ecret"),
            "{said}"
        );
    }
    assert_eq!(fs::read_to_string(place.path(FILE)).unwrap(), before);
    for (text, words) in [
        ("{\"mcpServers\": {", "mcp.json: is not valid JSON: "),
        (
            "{\"command\": \"x\"}",
            "mcp.json: holds one server and nothing around it, and so is left as it is. Put them below `mcpServers`, each \
             with its name, and try again.\n",
        ),
        (
            "{\"a\": {\"url\": \"http://x\"}}",
            "mcp.json: holds its servers without a key around them, ",
        ),
        (
            "{\"mcp\": {\"servers\": {\"a\": {\"command\": \"x\"}}}}",
            "mcp.json: holds its servers below `mcp` and `servers`, ",
        ),
        (
            "{\"mcpServers\": []}",
            "mcp.json: `mcpServers` must be an object with an entry for each server. Mend that",
        ),
    ] {
        fs::write(place.path(FILE), text).unwrap();
        let said = refusal(&place, &["upstream", "add", "two", "--", "y"]);
        assert!(said.contains(words), "{text}: {said}");
        assert_eq!(fs::read_to_string(place.path(FILE)).unwrap(), text);
    }
}

#[test]
fn a_server_that_is_not_what_counts_in_this_folder_is_added_with_a_word() {
    let place = Place::new();
    place.write(
        "project/.mcp-bridge/mcp.json",
        &json!({"mcpServers": {"files": {"command": "y"}}}),
    );
    place.says(&["trust", "--yes"]);
    let said = place.says(&["upstream", "add", "files", "--", "x"]);
    assert!(
        said.contains("Note: in this folder the server of that name in ")
            && said.contains(" counts instead.\n"),
        "{said}"
    );
}

#[tokio::test]
async fn a_bridge_that_runs_takes_up_what_is_added_and_lets_go_of_what_is_taken_out() {
    let place = Place::with_servers(json!({"first": server("good")}));
    let mut bridge = place.session().await;
    listed(&mut bridge, "first__echo").await;
    let second = server("good");
    let script = second["args"][0].as_str().unwrap();
    place.says(&["upstream", "add", "second", "--", PYTHON, script, "good"]);
    listed(&mut bridge, "second__echo").await;
    place.says(&["upstream", "remove", "second"]);
    crate::common::servers::list(&mut bridge, "it is gone", |tools| {
        !tools.iter().any(|tool| tool.starts_with("second__"))
    })
    .await;
    bridge.leave().await;
}

#[test]
fn a_servers_tools_are_shown_and_called_without_a_bridge() {
    let entry = with(server("good"), json!({"disabledTools": ["fail", "teach"]}));
    let place = Place::with_servers(json!({ "test": entry }));
    let said = place.says(&["upstream", "tools", "test"]);
    assert!(
        said.starts_with("The server `test` offers 14 tools:\n"),
        "{said}"
    );
    assert!(said.contains("\n  test__echo  Says it again.\n"), "{said}");
    assert!(
        said.ends_with(
            "\n  withheld: bad-schema: its input schema is of the type \"string\", not `object`\n  switched off by its entry: \
             teach, fail\n"
        ),
        "{said}"
    );
    let told: Value =
        serde_json::from_str(&place.says(&["upstream", "tools", "test", "--json"])).unwrap();
    assert_eq!(told["server"], "test");
    assert_eq!(told["tools"].as_array().unwrap().len(), 14);
    let echo = told["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "test__echo");
    assert_eq!(
        echo.unwrap()["inputSchema"]["properties"]["text"]["type"],
        "string"
    );
    assert_eq!(told["switchedOff"], json!(["teach", "fail"]));

    let echoed = [
        "upstream",
        "call",
        "test__echo",
        "--args",
        "{\"text\":\"é\"}",
    ];
    assert_eq!(place.says(&echoed), "é\n");
    assert_eq!(
        place.says(&["upstream", "call", "test__echo", "--arg", "text=5"]),
        "5\n"
    );
    let counted = place.run(&["upstream", "call", "test__steps", "--arg", "count=2"]);
    assert_eq!(String::from_utf8(counted.stdout).unwrap(), "done\n");
    assert_eq!(
        without_waiting(counted.stderr),
        "0 of 2: step 0\n1 of 2: step 1\n"
    );
    let refused = place.run(&["upstream", "call", "test__refuse"]);
    assert_eq!(
        (
            refused.status.code(),
            String::from_utf8(refused.stdout).unwrap().as_str()
        ),
        (Some(1), "it refuses\n")
    );
    let died = place.run(&["upstream", "call", "test__die"]);
    let said = String::from_utf8(died.stdout).unwrap();
    assert!(
        died.status.code() == Some(1)
            && said.starts_with(
                "The server `test` ended (exit code 3) before it answered this call. Whether it did what was asked is \
                 unknown.\nThe last lines it wrote to standard error:\nthese are my last words\n"
            ),
        "{said}"
    );
    for (arguments, words) in [
        (
            &["call", "test__none"][..],
            "The server `test` has no tool test__none. `mcp-bridge upstream tools test` shows those it has.\n",
        ),
        (
            &["call", "test__fail"],
            "The tool test__fail is switched off by the entry of the server `test`.\n",
        ),
        (
            &["call", "test__echo", "--args", "[]"],
            "--args must be a JSON object",
        ),
    ] {
        let said = refusal(&place, &[&["upstream"], arguments].concat());
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn tools_run_reaches_servers_as_a_client_does_and_starts_only_those_it_needs() {
    let place = Place::new();
    let servers = json!({"test": server("good"), "other": place.server("good", &["STARTS"])});
    place.write(FILE, &json!({ "mcpServers": servers }));
    let tools = place.path("tools/own");
    fs::create_dir_all(&tools).unwrap();
    let manifest = "entries:\n  - name: ask\n    kind: function.lua\n    source: file://ask.lua\n    method: call\n    \
                    meta:\n      mcp.tool: true\n      mcp.name: ask\n      mcp.description: Asks.\n";
    fs::write(tools.join("_index.yaml"), manifest).unwrap();
    let handler = "return { call = function() return \"it said \" .. tools.call(\"test__echo\", { text = \"é\" }) end }\n";
    fs::write(tools.join("ask.lua"), handler).unwrap();
    let folder = place.path("tools").display().to_string();
    let run = |arguments: &[&str]| {
        place.run(&[&["tools", "run"], arguments, &["--tools", &folder]].concat())
    };
    for (arguments, said) in [
        (&["test__echo", "--arg", "text=5"][..], "5\n"),
        (&["ask"], "it said é\n"),
    ] {
        let output = run(arguments);
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!((&*out, output.status.code()), (said, Some(0)), "{err}");
    }
    for (arguments, words) in [
        (
            &["test__none"][..],
            "there is no tool test__none; `mcp-bridge tools list` names all",
        ),
        (
            &["test__echo", "--upstream", "off"],
            "there is no tool test__echo; `mcp-bridge tools list` names all",
        ),
        (&["test__echo", "--read-only"], "test__echo is refused"),
    ] {
        let output = run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && told.contains(words),
            "{arguments:?}: {output:?}"
        );
    }
    assert_eq!(place.lines("starts"), [""; 0]);
}

#[test]
fn what_could_change_something_is_not_called_by_hand_where_nothing_may_be_changed() {
    let place = Place::new();
    let tool = |name: &str, reads: bool| {
        json!({
            "name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads},
        })
    };
    place.write("tools", &json!([tool("echo", false), tool("pid", true)]));
    let servers = json!({ "test": place.server("given", &["TOOLS", "HEARD"]) });
    place.write(FILE, &json!({ "mcpServers": servers }));
    let echo = ["upstream", "call", "test__echo", "--arg", "text=here"];
    let pid = ["upstream", "call", "test__pid"];
    place.says(&["pause", "--reason", "looking at the base"]);
    let said = refusal(&place, &echo);
    let begins = "test__echo was not called: a person has paused this ";
    assert!(
        said.starts_with(begins) && said.contains("looking at the base"),
        "{said}"
    );
    place.says(&pid);
    place.says(&["resume"]);
    fs::write(place.path("config/config.toml"), "read_only = true").unwrap();
    let said = refusal(&place, &echo);
    assert!(
        said.starts_with("test__echo is refused: this bridge was started read-only"),
        "{said}"
    );
    place.says(&pid);
    let heard = place.lines("heard").join("\n");
    assert!(
        heard.contains("\"pid\"") && !heard.contains("\"echo\""),
        "{heard}"
    );
    fs::write(place.path("config/config.toml"), "").unwrap();
    assert_eq!(place.says(&echo), "here\n");
}

#[test]
fn a_server_that_does_not_come_up_is_said_with_its_last_words_and_without_promises() {
    let place = Place::with_servers(json!({ "test": server("dies") }));
    let said = refusal(&place, &["upstream", "tools", "test"]);
    let begins = "The server `test` ended before it answered `initialize` (exit code 7).";
    let ends = "\nThe last lines it wrote to standard error:\nI can't go on\n";
    assert!(said.starts_with(begins) && said.ends_with(ends), "{said}");
    assert!(!said.contains("again"), "{said}");
}

#[tokio::test]
async fn the_list_is_there_for_programs_too() {
    let place = Place::with_servers(
        json!({ "test": server("good"), "off": with(server("good"), json!({"enabled": false})) }),
    );
    let read = |place: &Place| -> Value {
        serde_json::from_str(&place.says(&["upstream", "list", "--json"])).unwrap()
    };
    let without = read(&place);
    assert_eq!(without["bridges"], json!([]));
    let servers = &without["configured"]["servers"];
    assert_eq!(servers[0]["name"], "off");
    assert_eq!(servers[0]["state"], "disabled");
    assert_eq!(
        (&servers[1]["state"], &servers[1]["tools"]),
        (&json!("not running"), &Value::Null)
    );

    let mut bridge = place.session().await;
    listed(&mut bridge, "test__echo").await;
    let with = crate::common::until("the bridge has told of it", async || {
        let now = read(&place);
        let is_told = now["bridges"][0]["servers"][1]["state"] == "connected";
        if is_told { Ok(now) } else { Err(now) }
    })
    .await;
    let server = &with["bridges"][0]["servers"][1];
    assert_eq!(
        (&server["name"], &server["tools"]),
        (&json!("test"), &json!(16))
    );
    assert!(
        server["pid"].is_u64() && with["bridges"][0]["pid"].is_u64(),
        "{with}"
    );
    assert_eq!(with["configured"], Value::Null);
    bridge.leave().await;
}
