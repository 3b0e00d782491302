//! Events that a job queues: which of them come back to it, and which reach other jobs and the player's programs.

use crate::common::{bridge::Bridge, is, until};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Version},
};
use serde_json::json;
use tokio::runtime::Handle;

/// A program of the player's beside the agent: it notes each event, and whether anything global was replaced then.
const PLAYER: &str = "
    local queue = os.queueEvent
    parallel.waitForAny(function() shell.run('mcp-computer ADDRESS') end, function()
      while true do
        local name, detail = os.pullEventRaw()
        local file = fs.open('/seen', 'ab')
        file.write(name .. ' ' .. tostring(detail) .. (os.queueEvent == queue and '' or ' REPLACED') .. '\\n')
        file.close()
      end
    end)";

/// Types a line and reads it, as a program that the job runs.
const TYPIST: &str = "
    local line = ...
    for letter in line:gmatch('.') do os.queueEvent('char', letter) end
    os.queueEvent('key', keys.enter)
    local file = fs.open('/typed', 'w')
    file.write(read())
    file.close()";

async fn pair(version: &str) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let address = format!("ws://{}", bridge.link_port().await);
    let mut options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", agent::program())
        .with_file("typist.lua", TYPIST)
        .with_file("startup.lua", PLAYER.replace("ADDRESS", &address));
    options.version = version.parse::<Version>().unwrap();
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

#[tokio::test]
async fn input_that_a_job_queues_reaches_it_and_what_it_runs_and_nobody_else() {
    for version in ["1.89", "1.101", "1.113"] {
        let (mut bridge, computer) = pair(version).await;
        // This one waits for a letter, which is never to come.
        let other =
            json!({"computerId": 1, "code": "return os.pullEvent('char')", "timeoutMs": 100});
        let other = bridge.call("exec-lua", other).await.text;
        assert!(other.contains("as job "), "{other}");
        let type_line = "os.queueEvent('char', 'B') os.queueEvent('key', keys.enter)";
        // `read` shows what is typed.
        for (code, shown) in [
            (format!("{type_line} return read()"), "B\n=> \"B\""),
            (
                format!("coroutine.wrap(function() {type_line} end)() return read()"),
                "B\n=> \"B\"",
            ),
            (
                format!(
                    "local line parallel.waitForAll(function() sleep(0.1) {type_line} end, function() line = read() end) \
                     return line"
                ),
                "B\n=> \"B\"",
            ),
            (
                "shell.run('typist', 'hello') local f = fs.open('/typed', 'r') return f.readAll()".to_owned(),
                "hello\n=> \"hello\"",
            ),
            (
                "os.queueEvent('mouse_click', 1, nil, 3) return os.pullEvent('mouse_click')".to_owned(),
                "=> \"mouse_click\"\n=> 1\n=> nil\n=> 3",
            ),
            (
                "os.queueEvent('terminate') return pcall(os.pullEvent, 'never')".to_owned(),
                "=> false\n=> \"Terminated\"",
            ),
            // In the order in which they were queued, whatever they are.
            (
                "os.queueEvent('first') os.queueEvent('key', 1) os.queueEvent('last') local names = {} \
                 repeat names[#names + 1] = os.pullEvent() until names[#names] == 'last' return table.concat(names, ' ')"
                    .to_owned(),
                "=> \"first key last\"",
            ),
        ] {
            assert_eq!(bridge.lua(1, &code).await, shown, "{code} on {version}");
        }
        bridge.lua(1, "os.queueEvent('mark', 'from a job')").await;
        until("the player's program sees what is no input", async || {
            let seen = computer.read_file("seen").unwrap_or_default();
            let seen = String::from_utf8(seen).unwrap();
            is(seen.contains("mark from a job"), seen)
        })
        .await;
        let seen = String::from_utf8(computer.read_file("seen").unwrap()).unwrap();
        for line in seen.lines() {
            let name = line.split(' ').next().unwrap();
            let is_input = ["char", "key", "mouse_click", "terminate"].contains(&name);
            assert!(!is_input && !line.contains("REPLACED"), "{version}: {line}");
        }
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        assert!(
            jobs.contains("running for") && jobs.contains("os.pullEvent('char')"),
            "{version}: {jobs}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn what_is_no_input_reaches_other_jobs_and_the_players_input_no_job() {
    let (mut bridge, computer) = pair("1.113").await;
    let code = "print('ready') return os.pullEvent()";
    let call = json!({"computerId": 1, "code": code, "timeoutMs": 20_000});
    let waiting = bridge.start_call("exec-lua", call).await;
    bridge.lua(1, "1").await;
    computer.press_character('x');
    // The letter was in the queue before this.
    bridge
        .lua(
            1,
            "os.queueEvent('char', 'y') os.pullEvent('char') os.queueEvent('mark', 7)",
        )
        .await;
    assert_eq!(
        bridge.answer(waiting).await.text,
        "ready\n=> \"mark\"\n=> 7"
    );
    let seen = String::from_utf8(computer.read_file("seen").unwrap()).unwrap();
    assert!(
        seen.contains("char x") && !seen.contains("char y"),
        "{seen}"
    );
    bridge.leave().await;
}
