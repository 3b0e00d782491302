//! What handlers on the host try, and that all of it is contained: nothing outside of Lua is reached, and no other
//! call is harmed.

use std::time::{Duration, Instant};

use crate::common::{bridge::Bridge, tools::Tools};
use serde_json::json;

/// Runs a script, and returns its text, which must not be an error.
async fn script(bridge: &mut Bridge, code: &str) -> String {
    let answer = bridge.call("run-script", json!({"code": code})).await;
    assert!(!answer.is_error, "{code}: {}", answer.text);
    answer.text
}

/// Runs a script that must fail, and returns the text.
async fn script_error(bridge: &mut Bridge, code: &str) -> String {
    let answer = bridge.call("run-script", json!({"code": code})).await;
    assert!(answer.is_error, "{code}: {}", answer.text);
    answer.text
}

#[tokio::test]
async fn nothing_that_reaches_outside_of_lua_is_there() {
    let mut bridge = Bridge::initialized().await;
    for name in [
        "io",
        "debug",
        "package",
        "dofile",
        "loadfile",
        "collectgarbage",
        "os.execute",
        "os.exit",
        "os.getenv",
        "os.remove",
        "os.rename",
        "os.tmpname",
        "os.setlocale",
        "string.dump",
        "fs",
        "http",
        "shell",
    ] {
        assert_eq!(
            script(&mut bridge, &format!("return type({name})")).await,
            "=> nil",
            "{name}"
        );
    }
    // All ways to the globals lead to the same few.
    let globals = "local names = {} for name in pairs((load('return _G'))()) do names[#names + 1] = name end \
                   table.sort(names) return table.concat(names, ' ')";
    assert_eq!(
        script(&mut bridge, globals).await,
        "=> _G _VERSION assert bit32 computers coroutine error getmetatable ipairs json load loadstring log math next os \
         pairs pcall print progress rawequal rawget rawlen rawset regex require select setmetatable sleep string table \
         tonumber tools tostring type unpack write xpcall"
    );
    assert_eq!(
        script(&mut bridge, "return getmetatable(_G), _ENV == _G").await,
        "=> nil\n=> true"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn compiled_lua_is_not_loaded() {
    let mut bridge = Bridge::initialized().await;
    let load = "return load('\\27Lua\\82\\0\\1\\4\\8\\4\\8\\0', 'x', 'b')";
    assert!(
        script(&mut bridge, load)
            .await
            .contains("attempt to load a binary chunk")
    );
    let pieces = "local pieces, at = { '\\27Lua' }, 0 return load(function() at = at + 1 return pieces[at] end)";
    assert!(
        script(&mut bridge, pieces)
            .await
            .contains("attempt to load a binary chunk")
    );
    assert_eq!(
        script(&mut bridge, "return load('return 1 + ...')(2)").await,
        "=> 3"
    );
    let environment = "return load('return x', 'x', 't', { x = 7 })(), load('return x')()";
    assert_eq!(script(&mut bridge, environment).await, "=> 7\n=> nil");
    bridge.leave().await;
}

#[tokio::test]
async fn what_one_call_changes_no_other_sees() {
    let mut bridge = Bridge::initialized().await;
    let change = "getmetatable('').__index = function() return 'changed' end string.rep = nil table.insert = nil \
                  _G.leaked = true xpcall = nil pcall = nil error = nil tostring = nil return ('x').y";
    for _ in 0..4 {
        assert_eq!(script(&mut bridge, change).await, "=> changed");
    }
    for _ in 0..4 {
        let look = "return ('x').y, ('ab'):rep(2), type(table.insert), leaked, type(tostring)";
        assert_eq!(
            script(&mut bridge, look).await,
            "=> nil\n=> abab\n=> function\n=> nil\n=> function"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn recursion_without_end_is_an_error() {
    let mut bridge = Bridge::initialized().await;
    for code in [
        "local function f() return 1 + f() end return f()",
        "local function f() return pcall(f) end return f(), error('end')",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k .. 'x'] end return t.x",
        "local s = ('('):rep(1000) .. (')'):rep(1000) return s:find(s)",
        "local t = {} for i = 1, 1000 do t = { t } end return t",
        "local function f() return coroutine.wrap(f)() end return f()",
        "return load('return ' .. ('('):rep(10000) .. '1' .. (')'):rep(10000))()",
    ] {
        script_error(&mut bridge, code).await;
    }
    bridge.leave().await;
}

#[tokio::test]
async fn memory_without_end_is_an_error() {
    let mut bridge = Bridge::initialized().await;
    for code in [
        "return #('x'):rep(2 ^ 31 - 1)",
        "local t = {} while true do t[#t + 1] = { t } end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end",
        "return table.concat({}, 'x', 1, 1e8)",
        "return string.format('%99d', 1):rep(1e7)",
    ] {
        let text = script_error(&mut bridge, code).await;
        assert!(
            text.contains("not enough memory")
                || text.contains("invalid value")
                || text.contains("too large"),
            "{code}: {text}"
        );
    }
    assert_eq!(script(&mut bridge, "return 1").await, "=> 1");
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_never_ends_is_stopped_at_its_deadline_and_others_go_on() {
    let tools = Tools::new();
    tools.add_with("spin", "      mcp.timeoutMs: 400\n", "while true do end");
    tools.add_with(
        "find",
        "      mcp.timeoutMs: 400\n",
        "return (('a'):rep(60)):find(('a?'):rep(60) .. ('a'):rep(60) .. 'b')",
    );
    tools.add_with(
        "catch",
        "      mcp.timeoutMs: 400\n",
        "while true do pcall(function() while true do end end) end",
    );
    tools.add("quick", "return 'quick'");
    let mut bridge = tools.bridge(&[]).await;
    let start = Instant::now();
    let mut calls = Vec::new();
    for name in ["spin", "find", "catch"] {
        calls.push((name, bridge.start_call(name, json!({})).await));
    }
    for _ in 0..20 {
        assert_eq!(bridge.call("quick", json!({})).await.text, "quick");
        assert!(!bridge.call("list-jobs", json!({})).await.is_error);
    }
    for (name, call) in calls {
        let answer = bridge.answer(call).await;
        assert!(answer.is_error, "{name}: {}", answer.text);
        assert_eq!(
            answer.text,
            "timeout: handler.lua did not end within 400 ms and was stopped. Whoever wrote it can give it more time by \
             `mcp.timeoutMs` in its entry.",
            "{name}"
        );
    }
    assert!(start.elapsed() >= Duration::from_millis(400));
    bridge.leave().await;
}

#[tokio::test]
async fn tools_that_call_tools_never_wait_for_each_others_workers() {
    let tools = Tools::new();
    let time = "      mcp.timeoutMs: 300000\n";
    let about_one = "      mcp.inputSchema: { properties: { computerId: { type: integer } } }\n";
    for (name, called) in [("first", "second"), ("second", "third")] {
        tools.add_with(
            name,
            &format!("{time}{about_one}"),
            &format!("return computers.call(7, '{called}', {{}}, {{ timeoutMs = 200000 }}) .. '!'"),
        );
    }
    tools.add_with("third", &format!("{time}{about_one}"), "return 'done'");
    let mut bridge = tools.bridge(&[]).await;
    let mut calls = Vec::new();
    // More than there are workers for any of the three.
    for _ in 0..40 {
        let call = bridge.start_call("first", json!({"computerId": 7}));
        calls.push(call.await);
    }
    for call in calls {
        let answer = bridge.slow_answer(call).await;
        assert_eq!((answer.text.as_str(), answer.is_error), ("done!!", false));
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_finalizer_that_never_ends_costs_nobody_an_answer() {
    let mut bridge = Bridge::initialized().await;
    for finalizer in [
        "while true do end",
        "computers.list()",
        "error('no')",
        "keep = nil",
    ] {
        let code = format!(
            "keep = setmetatable({{}}, {{ __gc = function() {finalizer} end }}) return 'done'"
        );
        assert_eq!(script(&mut bridge, &code).await, "=> done", "{finalizer}");
    }
    assert_eq!(script(&mut bridge, "return 1").await, "=> 1");
    bridge.leave().await;
}

#[tokio::test]
async fn whatever_is_thrown_is_an_error_with_its_traceback() {
    let mut bridge = Bridge::initialized().await;
    for (code, said) in [
        ("error('boom')", "script:1: boom"),
        ("error({ code = 7 })", "{\"code\":7}"),
        ("error(nil)", "nil"),
        ("error(42)", "42"),
        ("error(true)", "true"),
        ("error(print)", "function"),
        ("error(coroutine.create(print))", "thread"),
        (
            "error(setmetatable({}, { __tostring = function() return 'shown' end }))",
            "shown",
        ),
        (
            "error(setmetatable({}, { __tostring = function() error('again') end }))",
            "table",
        ),
        ("error(setmetatable({}, { __tostring = error }))", "table"),
        ("local t = {} t.t = t error(t)", "table"),
        ("error(('x'):rep(1e6))", "more bytes"),
        ("error('\\255\\0')", "\\255\\000"),
        (
            "local x = nil\nreturn x.y",
            "script:2: attempt to index local 'x'",
        ),
        ("return 1 +", "script:1: unexpected symbol near <eof>"),
        ("computers.exec(true, 'y')", "bad argument #1"),
        ("computers.exec(1.5, 'y')", "named by its number"),
        (
            "require('socket')",
            "there are computers, json, log, progress, regex and tools",
        ),
        ("json.decode('{')", "no valid JSON"),
    ] {
        let text = script_error(&mut bridge, code).await;
        assert!(text.contains(said), "{code}: {text}");
        assert!(text.len() < 20_000, "{code}: {} bytes", text.len());
    }
    let code =
        "local function dig(depth)\n  error('bedrock at ' .. depth)\nend\nprint('before')\ndig(3)";
    assert_eq!(
        script_error(&mut bridge, code).await,
        "script:2: bedrock at 3\n\nstack traceback:\n\t[C]: in function 'error'\n\tscript:2: in function 'dig'\n\tscript:5: in \
         main chunk\n\nOutput before the error:\nbefore\n"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_ours_throws_is_a_string_with_the_line_and_the_function() {
    let mut bridge = Bridge::initialized().await;
    for (call, said) in [
        (
            "json.decode('{')",
            "json.decode: no valid JSON: EOF while parsing",
        ),
        (
            "json.decode({})",
            "bad argument #1 to 'json.decode' (a string or a number is wanted, not a table)",
        ),
        (
            "local t = {} t.t = t json.encode(t)",
            "json.encode: the value holds tables inside more than 64 others, or a cycle",
        ),
        (
            "json.array(5)",
            "bad argument #1 to 'json.array' (a table or a nil is wanted, not a number)",
        ),
        ("json.null.x = 1", "json.null can't be changed"),
        (
            "progress('x', {})",
            "bad argument #2 to 'progress' (a number or a nil is wanted, not a table)",
        ),
        (
            "computers.exec(true, 'y')",
            "bad argument #1 to 'computers.exec'",
        ),
        (
            "computers.exec(1, 'y', 'z')",
            "bad argument #3 to 'computers.exec'",
        ),
        (
            "computers.call(1, 'y', {}, 5)",
            "bad argument #4 to 'computers.call'",
        ),
        (
            "computers.exec(1, 'y', { timeoutMs = 'soon' })",
            "computers.exec: options: `timeoutMs` must be a number, not \"soon\".",
        ),
        (
            "computers.exec(1, 'y', { exclusive = {} })",
            "computers.exec: options: `exclusive` must be true or false, not {}.",
        ),
        (
            "computers.call(1, 'y', {}, { timeout = 5 })",
            "computers.call: options: There is no option `timeout`; did you mean `timeoutMs`?",
        ),
    ] {
        let code = format!(
            "local ok, problem = pcall(function()\n  {call} return 1\nend)\nreturn tostring(ok) .. type(problem) .. ' ' .. \
             tostring(problem)"
        );
        let said = format!("falsestring script:2: {said}");
        let text = script(&mut bridge, &code).await;
        assert!(text.contains(&said), "{call}: {text}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn random_numbers_are_others_in_each_call() {
    let mut bridge = Bridge::initialized().await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let code = "return ('%d %d'):format(math.random(1e9), math.random(1e9))";
        seen.insert(script(&mut bridge, code).await);
    }
    assert!(seen.len() > 1, "{seen:?}");
    bridge.leave().await;
}

#[tokio::test]
async fn regular_expressions_find_what_patterns_can_not_and_never_take_for_ever() {
    let mut bridge = Bridge::initialized().await;
    for (code, result) in [
        (
            "return regex.match('iron_ore x 12', '(iron|gold)_ore x (\\\\d+)')",
            "=> iron\n=> 12",
        ),
        ("return regex.match('abc', 'b|z')", "=> b"),
        ("return tostring(regex.match('abc', 'z'))", "=> nil"),
        (
            "return tostring(select(2, regex.match('ab', '(a)(x)?')))",
            "=> false",
        ),
        (
            "local all = {} for key, value in regex.gmatch('a=1, b=22', '(\\\\w)=(\\\\d+)') do all[#all + 1] = key .. value \
             end return table.concat(all, ' ')",
            "=> a1 b22",
        ),
        (
            "local n = 0 for _ in regex.gmatch('abc', 'x*') do n = n + 1 end return n",
            "=> 4",
        ),
        (
            "return regex.gsub('2026-11-29', '(\\\\d+)-(\\\\d+)-(\\\\d+)', '$3.$2.$1')",
            "=> 29.11.2026",
        ),
        ("return regex.match('x\\255y', '(?-u:\\\\xff)(y)')", "=> y"),
    ] {
        assert_eq!(script(&mut bridge, code).await, result, "{code}");
    }
    for (code, said) in [
        (
            "regex.match('a', '(')",
            "regex.match: no regular expression: unclosed group",
        ),
        ("regex.match('a', '((a{100}){100}){100}')", "size limit"),
        ("regex.match('a', ('a'):rep(20000))", "16384 bytes at most"),
        (
            "regex.match('a', 5)",
            "bad argument #2 to 'regex.match': it must be a string, not a number",
        ),
        (
            "regex.gsub(('a'):rep(100000), 'a', ('b'):rep(100000))",
            "would have more than",
        ),
        ("regex.match('a', '(?=a)')", "look-around"),
    ] {
        let told = script_error(&mut bridge, code).await;
        assert!(told.contains(said), "{code}: {told}");
    }
    let slow = "return tostring(regex.match(('a'):rep(100000), '^(a+)+$x'))";
    assert_eq!(script(&mut bridge, slow).await, "=> nil");
    bridge.leave().await;
}

#[tokio::test]
async fn output_without_end_is_cut_or_refused() {
    let mut bridge = Bridge::initialized().await;
    let printed = script(
        &mut bridge,
        "for i = 1, 1e5 do print(('x'):rep(99)) end return 'end'",
    )
    .await;
    assert!(
        printed.len() < 70_000
            && printed.contains("more bytes printed are not shown")
            && printed.ends_with("end"),
        "{} bytes",
        printed.len()
    );
    let returned = script_error(&mut bridge, "return ('x'):rep(2e7)").await;
    assert!(returned.contains("8388608 bytes as JSON"), "{returned}");
    let escaped = script_error(&mut bridge, "return ('\\1'):rep(3e6)").await;
    assert!(escaped.contains("8388608 bytes as JSON"), "{escaped}");
    let logged = "for i = 1, 1e4 do log(('x'):rep(1e4)) end return 'end'";
    assert_eq!(script(&mut bridge, logged).await, "=> end");
    let progress = "for i = 1, 1e4 do progress('step', i, 1e4) end return 'end'";
    assert_eq!(script(&mut bridge, progress).await, "=> end");
    bridge.leave().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_worker_ends_with_its_bridge_even_if_that_is_killed() {
    let tools = Tools::new();
    tools.add_with(
        "spin",
        "      mcp.timeoutMs: 600000\n",
        "progress('spinning') while true do end",
    );
    let mut bridge = tools.bridge(&[]).await;
    let call = json!({"name": "spin", "arguments": {}, "_meta": {"progressToken": "p"}});
    bridge.ask("tools/call", call).await;
    bridge
        .message("the handler's progress", |message| {
            message["method"] == "notifications/progress"
        })
        .await;
    let workers = children(bridge.pid());
    assert!(!workers.is_empty());
    bridge.kill().await;
    crate::common::until("the workers end", async || {
        let alive = workers.iter().filter(|pid| is_alive(**pid)).count();
        crate::common::is(alive == 0, alive)
    })
    .await;
}

/// The processes that a process started.
#[cfg(target_os = "linux")]
fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap())
        .flat_map(|children| {
            children
                .split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
}
