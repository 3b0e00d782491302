//! Lua's strings are bytes, and stay so on every way between the host, the computers and the tools; a client, which
//! takes text only, is shown all of them.

use mcp_bridge::{
    base::byte_text,
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use proptest::{
    prelude::any,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    bridges::Place,
    common::{bridge::Bridge, computer, rounds, tools::Tools},
};

/// Strings that were changed on some way once, or may well be.
const SAMPLES: [&[u8]; 12] = [
    b"",
    b"\xff\0\x01\xc8",
    b"\xc3\xa9",
    b"\xc3",
    b"\xa9\xc3\xa9\xc3",
    b"caf\xe9",
    "é€\u{1F600}\0".as_bytes(),
    b"\xed\xa0\x80\xf4\x90\x80\x80",
    // The characters that stand for bytes inside the bridge.
    b"\xf4\x8f\xba\x80\xf4\x8f\xbb\xbf",
    b"\\255\r\n\t\"'\x7f",
    b"\\u00ff\\u00c3\\u00a9",
    b"]]\x1b[2J\xe2\x80\xae",
];

/// Each way on which a script hands a string over and gets it back. What does not come back as it went is returned.
const WAYS: &str = r#"
    local id, has_output = ...
    local wrong = {}
    local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
    local function same(way, s, back)
      if back ~= s then
        wrong[#wrong + 1] = way .. ": " .. hex(s) .. " came back as " .. (type(back) == "string" and hex(back) or type(back))
      end
    end
    local function literal(s)
      return "'" .. s:gsub("[%z\1-\31'\\]", function(c) return ("\\%03d"):format(c:byte()) end) .. "'"
    end
    for _, s in ipairs(samples) do
      same("json", s, json.decode(json.encode(s)))
      same("json key", s, (next(json.decode(json.encode({ [s] = 1 })))))
      same("argument", s, (computers.exec(id, "return ...", { arguments = { s } })))
      local got = computers.exec(id, "return { [...] = { ... } }", { arguments = { s } })
      same("key", s, (next(got)))
      same("inside", s, select(2, next(got))[1])
      got = computers.exec(id, "return (...).k, (next((...).t))", { arguments = { { k = s, t = { [s] = 1 } } } })
      same("argument inside", s, got)
      same("code", s, (computers.exec(id, "return " .. literal(s))))
      same("code of statements", s, (computers.exec(id, "local s = " .. literal(s) .. "\nreturn s")))
      same("length", tostring(#s), tostring(computers.exec(id, "return #...", { arguments = { s } })))
      same("several", s, computers.exec({ id }, "return ...", { arguments = { s } })[id].returns[1])
      if has_output then same("output", s, computers.exec({ id }, "write(...)", { arguments = { s } })[id].output) end
      same("tool on computer", s, computers.call(id, "mirror", { text = s }).text)
      same("tool on host", s, computers.call(id, "mirror-on-host", { text = s }).text)
    end
    return table.concat(wrong, "\n")
"#;

/// Tools that hand back what they get.
fn mirrors() -> Tools {
    let tools = Tools::new();
    let schema = "      mcp.inputSchema: { type: object, properties: { computerId: { type: integer }, text: { type: string } } }\n";
    tools.add_on_computer("mirror", "return { text = arguments.text }");
    tools.add_with("mirror-on-host", schema, "return { text = arguments.text }");
    tools
}

pub fn simulated(id: u64, port: impl std::fmt::Display, version: &str) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.version = version.parse().unwrap();
    options.clock_speed = 20.0;
    let program = format!("mcp-computer ws://{port}");
    Computer::start(options, &program, &Handle::current()).unwrap()
}

/// A string of Lua in ASCII.
fn lua_string(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
    format!("\"{escaped}\"")
}

/// Any strings: many bytes alone, and pieces of what is nearly UTF-8.
fn any_strings(count: u32) -> Vec<Vec<u8>> {
    let piece = proptest::prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        any::<char>().prop_map(|c| c.to_string().into_bytes()),
        any::<char>().prop_map(|c| c.to_string().into_bytes()[1..].to_vec()),
        proptest::char::range('\u{10FE80}', '\u{10FEFF}').prop_map(|c| c.to_string().into_bytes()),
    ];
    let string = proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
    let mut runner = TestRunner::default();
    (0..count)
        .map(|_| string.new_tree(&mut runner).unwrap().current())
        .collect()
}

/// Runs a script that must not fail, and returns its text.
async fn script(bridge: &mut Bridge, code: &str) -> String {
    let call = json!({"code": code, "timeoutMs": 120_000});
    let id = bridge.start_call("run-script", call).await;
    let answer = bridge.slow_answer(id).await;
    assert!(!answer.is_error, "{:.2000}: {}", code, answer.text);
    answer.text
}

/// Sends these strings on all ways to this computer.
async fn all_come_back(bridge: &mut Bridge, id: u64, has_output: bool, strings: &[Vec<u8>]) {
    let samples: Vec<_> = strings.iter().map(|bytes| lua_string(bytes)).collect();
    let code = format!(
        "local samples = {{ {} }} local function all(...) {WAYS} end return all({id}, {has_output})",
        samples.join(", ")
    );
    let wrong = script(bridge, &code).await;
    assert_eq!(wrong, "=> ", "computer {id}");
}

#[tokio::test]
async fn bytes_come_back_as_they_went_on_every_way_to_every_kind_of_agent() {
    let tools = mirrors();
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let mut strings: Vec<_> = SAMPLES.iter().map(|bytes| bytes.to_vec()).collect();
    strings.extend(any_strings(rounds(12)));
    let mut computers = Vec::new();
    for (id, version) in [(1, "1.79"), (2, "1.101"), (3, "1.113")] {
        computers.push(simulated(id, port, version));
        bridge.linked(id).await;
        all_come_back(&mut bridge, id, true, &strings).await;
    }
    let serving = computer::Computer::link(port, 7, Some("old"))
        .await
        .serve(computer::version_1_agent(7, "old"));
    bridge.linked(7).await;
    all_come_back(&mut bridge, 7, false, &strings).await;
    serving.abort();
    bridge.leave().await;
}

#[tokio::test]
async fn bytes_come_back_as_they_went_through_the_owner_of_the_port() {
    let place = Place::new();
    let owner = place.bridge().await;
    let tools = mirrors();
    let mut guest = place
        .bridge_with(&["--tools", tools.path().to_str().unwrap()])
        .await;
    let _computer = place.computer(3);
    guest.linked(3).await;
    let mut strings: Vec<_> = SAMPLES.iter().map(|bytes| bytes.to_vec()).collect();
    // In parts, both ways.
    strings.push((0..=255).cycle().take(60_000).collect());
    all_come_back(&mut guest, 3, true, &strings).await;
    guest.leave().await;
    owner.leave().await;
}

#[tokio::test]
async fn a_file_of_any_bytes_is_copied_from_one_computer_to_another_as_it_is() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _computers = [simulated(1, port, "1.113"), simulated(2, port, "1.89")];
    bridge.linked(1).await;
    bridge.linked(2).await;
    let code = r#"
        local made = computers.exec(1, [[
          local seed, parts = 7, {}
          for i = 1, 100000 do
            seed = (seed * 16807) % 2147483647
            parts[i] = string.char(seed % 256)
          end
          local s = table.concat(parts)
          local file = fs.open("a.bin", "wb") file.write(s) file.close()
          return s
        ]])
        local read = [[local file = fs.open("a.bin", "rb") local s = file.readAll() file.close() return s]]
        local first = computers.exec(1, read)
        computers.exec(2, [[local file = fs.open("a.bin", "wb") file.write(...) file.close()]], { arguments = { first } })
        local second = computers.exec(2, read)
        return #first, first == made, second == first, computers.exec(2, "return fs.getSize('a.bin')")
    "#;
    assert_eq!(
        script(&mut bridge, code).await,
        "=> 100000\n=> true\n=> true\n=> 100000"
    );
    bridge.leave().await;
}

const NOTE: &str = "is not UTF-8";

#[tokio::test]
async fn a_client_is_shown_text_as_it_is_and_bytes_as_lua_writes_them() {
    let tools = mirrors();
    tools.add(
        "bytes",
        "return { a = '\\255', ['\\200'] = 'é', c = '\\\\\\0' }",
    );
    tools.add("fails", "return nil, 'no \\255'");
    tools.add("tells", "log('\\254') progress('\\253') return 'told'");
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let _computer = simulated(1, port, "1.113");
    bridge.linked(1).await;

    for (code, shown, is_noted) in [
        ("return '\\255\\0\\1\\200'", "=> \\255\\000\\001\\200", true),
        ("return '\\195\\169'", "=> é", false),
        ("return '\\195\\169\\195'", "=> é\\195", true),
        (
            "return { ['\\200'] = '\\255' }",
            r#"=> {"\\200":"\\255"}"#,
            true,
        ),
        ("print('\\255', 'é') return 'é'", "\\255\té\n=> é", true),
        ("write('\\195') write('\\169')", "é", false),
        (
            "return computers.exec(1, 'return \"\\255\\0\"')",
            "=> \\255\\000",
            true,
        ),
        ("return '\\244\\143\\186\\128'", "=> \u{10FE80}", false),
    ] {
        let text = script(&mut bridge, code).await;
        assert!(text.starts_with(shown), "{code}: {text}");
        assert_eq!(text.contains(NOTE), is_noted, "{code}: {text}");
    }
    let thrown = json!({"code": "print('\\200') error('\\255\\0', 0)"});
    let thrown = bridge.call("run-script", thrown).await;
    assert!(
        thrown.is_error && thrown.text.starts_with("\\255\\000\n") && thrown.text.contains(NOTE),
        "{}",
        thrown.text
    );
    assert!(
        thrown.text.contains("before the error:\n\\200\n"),
        "{}",
        thrown.text
    );

    let bytes = bridge.call("bytes", json!({})).await.text;
    assert!(
        bytes.starts_with(r#"{"a":"\\255","c":"\\\u0000","\\200":"é"}"#) && bytes.contains(NOTE),
        "{bytes}"
    );
    let fails = bridge.call("fails", json!({})).await;
    assert!(
        fails.is_error && fails.text.starts_with("no \\255"),
        "{}",
        fails.text
    );
    let call = json!({"name": "tells", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = bridge.ask("tools/call", call).await;
    for (method, told) in [
        ("notifications/message", "\\254"),
        ("notifications/progress", "\\253"),
    ] {
        let fits = |message: &Value| message["method"] == method;
        let message = bridge.message(method, fits).await;
        let params = &message["params"];
        assert!(
            params["data"] == told || params["message"] == told,
            "{message}"
        );
    }
    assert_eq!(bridge.answer(id).await.text, "told");
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_client_writes_is_utf_8_in_every_tool_and_bytes_where_it_means_them() {
    let tools = mirrors();
    let hex = "return (arguments.text:gsub('.', function(c) return ('%02x'):format(c:byte()) end))";
    tools.add("hex", hex);
    tools.add_on_computer("hex-on-computer", hex);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let _computer = simulated(1, port, "1.113");
    bridge.linked(1).await;
    let bytes = byte_text::from_bytes(b"\xff\xc3".to_vec());
    for (text, expected) in [
        ("é\0", "c3a900"),
        ("€\u{1F600}\u{10FFFF}", "e282acf09f9880f48fbfbf"),
        ("\\255", "5c323535"),
        (&bytes, "ffc3"),
    ] {
        for tool in ["hex", "hex-on-computer"] {
            let shown = bridge.call(tool, json!({"text": text})).await.text;
            assert_eq!(shown, expected, "{tool} of {text:?}");
        }
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_resource_that_is_no_text_is_handed_on_whole() {
    let tools = Tools::new();
    tools.write(
        "picture/picture.lua",
        "return { call = function() return '\\137PNG\\r\\n\\26\\n\\0\\255' end }",
    );
    tools.write(
        "picture/_index.yaml",
        "version: \"1.0\"\nnamespace: test\nentries:\n  - name: picture\n    kind: resource\n    source: file://picture.lua\n    \
         method: call\n    meta:\n      mcp.uri: test://picture\n      mcp.mimeType: image/png\n",
    );
    let mut bridge = tools.bridge(&[]).await;
    let read = bridge
        .request("resources/read", json!({"uri": "test://picture"}))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["blob"], &contents["mimeType"]),
        (&json!("iVBORw0KGgoA/w=="), &json!("image/png")),
        "{read}"
    );
    bridge.leave().await;
}
