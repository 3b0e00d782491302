//! Agents that are older than this bridge: that of 1.0.0, by the file that it was served as, and one of version 1. They
//! do what they can, and nothing is said of them that holds only of newer ones.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::bridges::Place;
use crate::common::{
    bridge::Bridge,
    computer::Computer as RawComputer,
    is,
    proxy::{Fate, Proxy, Way},
    until,
};
use mcp_bridge::simulator::{Computer, ComputerOptions};
use serde_json::json;
use tokio::runtime::Handle;

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// A computer with that agent, which links to this address again after each start.
fn released(id: u64, address: SocketAddr, version: &str) -> Computer {
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", RELEASED)
        .with_file(
            "startup.lua",
            format!("shell.run('mcp-computer ws://{address}')"),
        );
    options.label = Some("old".to_owned());
    options.version = version.parse().unwrap();
    options.clock_speed = 10.0;
    Computer::start(options, "", &Handle::current()).unwrap()
}

async fn linked_pair() -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let computer = released(1, bridge.link_port().await, "1.113.1");
    let known = bridge.linked(1).await;
    assert_eq!(known["agent"]["version"], "1.0.0");
    (bridge, computer)
}

/// Code that leaves a byte in a file of its computer at every tick, and never ends.
const BEATING: &str =
    "while true do local f = fs.open('/beats', 'ab') f.write('x') f.close() sleep(0.05) end";

fn beats(computer: &Computer) -> usize {
    computer.read_file("beats").map_or(0, |beats| beats.len())
}

async fn beats_on(computer: &Computer) {
    let before = beats(computer);
    until("the code goes on", async || {
        is(beats(computer) > before + 1, "it does not")
    })
    .await;
}

/// Waits until it has not beaten for half a second, which is a hundred ticks.
async fn has_stopped(computer: &Computer) {
    until("the code has stopped", async || {
        let before = beats(computer);
        tokio::time::sleep(Duration::from_millis(500)).await;
        is(beats(computer) == before, "it goes on")
    })
    .await;
}

const PRINTED_NOTHING: &str = "The code ran to its end; it returned nothing, and itself printed nothing. What it ran may \
    have printed (by shell.run, dofile, load, require, io.write, textutils): that computer's agent is not known to pass it \
    on.";

#[tokio::test]
async fn the_agent_of_1_0_0_runs_code_as_it_always_did_in_every_version_of_the_game() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut computers = Vec::new();
    for (id, version) in [(1, "1.89"), (2, "1.101"), (3, "1.113.1")] {
        computers.push(released(id, port, version));
        bridge.linked(id).await;
        for (code, shown) in [
            ("print('hi') return 1 + 1", "hi\n=> 2"),
            (
                "write('\\195\\169') return '\\195\\169', '\\200\\255'",
                "é\n=> \"é\"\n=> \"Èÿ\"",
            ),
            ("{ a = 1 }", "=> { a = 1 }"),
            ("x = 1", PRINTED_NOTHING),
            // What it prints is on the player's screen, and does not come here.
            ("shell.run('id') local x = 1", PRINTED_NOTHING),
        ] {
            assert_eq!(bridge.lua(id, code).await, shown, "{version}: {code}");
        }
        let error = bridge
            .lua_error(
                id,
                "print('before')\nlocal function dig() error('bedrock') end\ndig()",
            )
            .await;
        for part in [
            "runtime error on computer ",
            "exec-lua:2: bedrock",
            "traceback",
            "Output before the error:\nbefore",
        ] {
            assert!(error.contains(part), "{version}: no `{part}` in: {error}");
        }
        let script = format!(
            "local all = {{}} for byte = 0, 255 do all[#all + 1] = string.char(byte) end all = table.concat(all)\n\
             local back = computers.exec({id}, 'write((...)) return ...', {{ arguments = {{ all }} }})\n\
             local many = computers.exec({{ {id} }}, 'write((...)) return ...', {{ arguments = {{ all }} }})[{id}]\n\
             return back == all, many.returns[1] == all, many.output == all"
        );
        let answer = bridge.call("run-script", json!({"code": script})).await;
        assert_eq!(answer.text, "=> true\n=> true\n=> true", "{version}");
    }
    let pongs = bridge.call("probe-computers", json!({})).await.text;
    assert_eq!(pongs.matches("(Label: old)").count(), 3, "{pongs}");
    bridge.leave().await;
}

#[tokio::test]
async fn where_code_of_the_agent_of_1_0_0_shows_itself_is_told() {
    let (mut bridge, computer) = linked_pair().await;
    let code = "term.clear() term.setCursorPos(1, 1) term.write('drawn') print('printed') sleep(1)";
    let answer = bridge
        .call("exec-lua", json!({"code": code, "where": "screen"}))
        .await;
    assert!(
        answer.text.starts_with("printed\n")
            && answer.text.contains(
                "What `term` draws is on the computer's screen, but not what is printed: the agent on that computer is \
                 older than this bridge."
            ),
        "{}",
        answer.text
    );
    let screen = computer.screen().join("\n");
    assert!(
        screen.contains("drawn") && !screen.contains("printed"),
        "{screen}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn jobs_of_the_agent_of_1_0_0_go_on_end_and_are_stopped() {
    let (mut bridge, computer) = linked_pair().await;
    let code = "print('one') repeat sleep(0.05) until fs.exists('/go') print('two') return 'end'";
    let answer = bridge
        .call("exec-lua", json!({"code": code, "timeoutMs": 300}))
        .await;
    assert!(
        answer.text.starts_with("The code still runs on computer 1")
            && answer.text.ends_with("Output so far:\none\n"),
        "{}",
        answer.text
    );
    let jobs = bridge.call("list-jobs", json!({})).await.text;
    assert!(jobs.contains("running for "), "{jobs}");
    let job = jobs.split(' ').next().unwrap().to_owned();
    bridge.lua(1, "fs.open('/go', 'w').close()").await;
    until("the job has ended", async || {
        let call = json!({"jobId": job, "waitMs": 5_000});
        let shown = bridge.call("get-job", call).await.text;
        is(
            shown.contains("ended well") && shown.ends_with("one\ntwo\n=> \"end\""),
            shown,
        )
    })
    .await;

    let call = json!({"code": BEATING, "timeoutMs": 300, "onTimeout": "cancel"});
    let answer = bridge.call("exec-lua", call).await;
    assert!(
        !answer.is_error && answer.text.contains("was stopped, as `onTimeout` asks."),
        "{}",
        answer.text
    );
    has_stopped(&computer).await;

    let call = json!({"code": BEATING, "timeoutMs": 300});
    let answer = bridge.call("exec-lua", call).await.text;
    let job = answer.split("as job ").nth(1).unwrap();
    let job = job.split('.').next().unwrap();
    beats_on(&computer).await;
    let stopped = bridge.call("cancel-job", json!({"jobId": job})).await;
    assert!(stopped.text.ends_with("was stopped."), "{}", stopped.text);
    has_stopped(&computer).await;

    // A client that gives its call up.
    let call = bridge
        .start_call("exec-lua", json!({"code": BEATING}))
        .await;
    beats_on(&computer).await;
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}))
        .await;
    has_stopped(&computer).await;

    // A client that leaves.
    bridge
        .start_call("exec-lua", json!({"code": BEATING}))
        .await;
    beats_on(&computer).await;
    bridge.leave().await;
    has_stopped(&computer).await;
}

#[tokio::test]
async fn a_job_of_the_agent_of_1_0_0_lives_through_links_and_bridges() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let computer = released(1, place.address(), "1.113.1");
    own.linked(1).await;
    guest.linked(1).await;
    // Over the owner's link, then over that of the guest that takes its place.
    let waiting =
        "print('one') repeat sleep(0.05) until fs.exists('/go') print('two') return 'end'";
    let call = guest.start_call("exec-lua", json!({"code": waiting})).await;
    own.start_call("exec-lua", json!({"code": BEATING})).await;
    beats_on(&computer).await;
    own.kill().await;
    guest
        .computer(1, |computer| computer["linked"] == true)
        .await;
    let lua = "fs.open('/go', 'w').close() return 'made'";
    assert_eq!(guest.lua(1, lua).await, "=> \"made\"");
    assert_eq!(guest.answer(call).await.text, "one\ntwo\n=> \"end\"");
    // Such an agent stops nothing by itself. The next bridge knows the job, and can stop it.
    beats_on(&computer).await;
    let jobs = guest.call("list-jobs", json!({})).await.text;
    let line = jobs.lines().find(|line| line.contains("while true"));
    let line = line.unwrap_or_else(|| panic!("{jobs}"));
    assert!(
        line.contains("running for ") && line.contains("asked by another bridge"),
        "{line}"
    );
    let job = line.split(' ').next().unwrap();
    let stopped = guest.call("cancel-job", json!({"jobId": job})).await;
    assert!(stopped.text.contains(" was stopped."), "{}", stopped.text);
    has_stopped(&computer).await;
    // It goes down with a job: whether that ran to its end is not known.
    let call = guest
        .start_call("exec-lua", json!({"code": BEATING, "timeoutMs": 60_000}))
        .await;
    beats_on(&computer).await;
    computer.reboot();
    let lost = guest.answer(call).await;
    assert!(
        lost.is_error
            && lost
                .text
                .contains("Whether the code ran to its end is not known"),
        "{}",
        lost.text
    );
    guest.leave().await;
}

#[tokio::test]
async fn a_request_to_the_agent_of_1_0_0_that_is_lost_or_late_is_never_said_not_to_begin_any_more()
{
    for late in [false, true] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let answered = Arc::new(AtomicBool::new(false));
        let is_over = answered.clone();
        let proxy = Proxy::start(port, move |way, frame| match (way, late) {
            (Way::ToComputer, true) if frame["method"] == "exec-lua" && !is_over.load(SeqCst) => {
                Fate::Late(Duration::from_secs(3))
            }
            // Neither the code nor the word to stop it comes.
            (Way::ToComputer, false)
                if !is_over.load(SeqCst)
                    && (frame["method"] == "exec-lua" || frame["type"] == "cancel") =>
            {
                Fate::Lost
            }
            _ => Fate::Passes,
        })
        .await;
        let _computer = released(1, proxy.address, "1.113.1");
        bridge.linked(1).await;
        let call = json!({"code": "return 'ran'", "timeoutMs": 500});
        let answer = bridge.call("exec-lua", call).await;
        answered.store(true, SeqCst);
        assert!(
            answer.is_error
                && answer.text.contains("It is not known whether the code ran")
                && answer.text.contains("It may run there, or yet begin.")
                && !answer.text.contains("does not begin any more"),
            "{}",
            answer.text
        );
        assert_eq!(bridge.lua(1, "return 'later'").await, "=> \"later\"");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn an_agent_of_version_1_is_sent_what_it_knows_and_no_promise_is_made_for_it() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = RawComputer::link(bridge.link_port().await, 1, Some("old")).await;
    for place in ["job", "screen"] {
        let call = json!({"code": "x()", "timeoutMs": 300, "where": place});
        let call = bridge.start_call("exec-lua", call).await;
        let request = computer.request().await;
        let expected = json!({
            "type": "request", "id": request["id"], "method": "exec-lua", "params": {"code": "x()"}
        });
        assert_eq!(request, expected);
        let answer = bridge.answer(call).await;
        assert!(
            answer.is_error
                && answer.text.contains("It is not known whether the code ran")
                && answer.text.contains("It may run there, or yet begin."),
            "{}",
            answer.text
        );
        // Its answer still counts.
        let ran = json!({"returns": [], "output": ""});
        computer.respond(&request, ran).await;
        let job = request["id"].as_str().unwrap();
        until("the job has ended", async || {
            let shown = bridge.call("get-job", json!({"jobId": job})).await.text;
            is(shown.contains("ended well"), shown)
        })
        .await;
    }
    let call = bridge.start_call("exec-lua", json!({"code": "x()"})).await;
    let request = computer.request().await;
    let job = request["id"].as_str().unwrap();
    let stopped = bridge.call("cancel-job", json!({"jobId": job})).await;
    assert!(
        stopped.text.contains("is too old to stop jobs"),
        "{}",
        stopped.text
    );
    let ran = json!({"returns": [], "output": ""});
    computer.respond(&request, ran).await;
    assert_eq!(bridge.answer(call).await.text, PRINTED_NOTHING);
    bridge.leave().await;
}
