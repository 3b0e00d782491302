//! A new version of the agent: it takes the old one's place once it has linked, with little room on the disk too, and in
//! no other case.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::common::{bridge::Bridge, is, screen, until};

/// The agent as it would be in an older version.
fn older() -> String {
    let older = agent::program().replacen("\"1.1.0\"", "\"1.0.9\"", 1);
    assert_ne!(older, agent::program());
    older
}

/// A computer that starts the older agent, with so many bytes free on its disk beside that.
async fn linked(bridge: &mut Bridge, free: usize, version: &str) -> Computer {
    let port = bridge.link_port().await;
    let startup = format!("shell.run('/mcp-computer.lua ws://{port}')");
    let mut options = ComputerOptions::new(1);
    options.version = version.parse().unwrap();
    // Three files, of which the start-up file counts for 500 bytes.
    let filler = 1_000_000 - free - older().len() - 500;
    options = options
        .with_file("mcp-computer.lua", older())
        .with_file("startup.lua", startup)
        .with_file("filler", vec![b' '; filler]);
    options.clock_speed = 10.0;
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    is_linked(bridge, "1.0.9").await;
    let shown = bridge.lua(1, "fs.getFreeSpace('/')").await;
    let left: usize = shown.trim_start_matches("=> ").parse().unwrap();
    // The agent keeps its key in a file of its own.
    assert!((free - 1_000..=free).contains(&left), "{left}");
    computer
}

async fn is_linked(bridge: &mut Bridge, version: &str) {
    bridge
        .computer(1, |computer| {
            computer["linked"] == true && computer["agent"]["version"] == version
        })
        .await;
}

/// The agent's file; empty while there is none.
fn installed(computer: &Computer) -> String {
    String::from_utf8(computer.read_file("mcp-computer.lua").unwrap_or_default()).unwrap()
}

/// Gives the agent a new version as the installer does, from a file. Returns its objection.
async fn ask(bridge: &mut Bridge, source: &str) -> String {
    let code = format!(
        "os.queueEvent('mcp_computer_update', 'test', {source:?})
        local _, _, problem = os.pullEvent('mcp_computer_updating') return problem"
    );
    let answer = bridge
        .call("exec-lua", json!({"computerId": 1, "code": code}))
        .await;
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

#[tokio::test]
async fn the_installer_updates_the_agent_that_runs_with_any_room_in_every_version_of_the_game() {
    for (free, version) in [
        (150_000, "1.113"),
        (20_000, "1.113"),
        (150_000, "1.89"),
        (20_000, "1.101"),
    ] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let computer = linked(&mut bridge, free, version).await;
        let said = bridge
            .lua(
                1,
                &format!("shell.run('wget run http://{port}/install.lua')"),
            )
            .await;
        assert!(said.contains("updates itself: /mcp-computer.lua"), "{said}");
        is_linked(&mut bridge, "1.1.0").await;
        // It is written when the bridge has welcomed it, a moment after the bridge knows of it.
        let new = agent::program_for(Some(&port.to_string()));
        until("the new version is on the disk", async || {
            is(installed(&computer) == new, screen::words(&computer))
        })
        .await;
        assert_eq!(
            bridge.lua(1, "fs.exists('/mcp-computer.lua.new')").await,
            "=> false"
        );
        // It is the one that starts from now on.
        computer.reboot();
        is_linked(&mut bridge, "1.1.0").await;
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_version_that_does_not_link_is_gone_after_thirty_seconds_and_the_old_one_is_back() {
    let mut bridge = Bridge::initialized().await;
    let computer = linked(&mut bridge, 150_000, "1.113").await;
    for (source, why) in [
        (
            "while true do os.pullEvent() end",
            "it did not link within 30 seconds",
        ),
        ("error('broken', 0)", "broken"),
        ("return", "it ended at once"),
        ("sleep(0.1)", "it ended at once"),
    ] {
        assert_eq!(ask(&mut bridge, source).await, "=> nil", "{source}");
        screen::says(&computer, &format!("The new version is not taken: {why}")).await;
        is_linked(&mut bridge, "1.0.9").await;
        // For a moment it may be the link from before that is seen, which nobody answers on any more.
        until("it answers again", async || {
            let code = json!({"computerId": 1, "code": "term.clear() return 1+1"});
            let answer = bridge.call("exec-lua", code).await;
            is(answer.text == "=> 2", answer.text)
        })
        .await;
        assert_eq!(installed(&computer), older());
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_version_that_is_no_lua_or_has_no_room_is_refused_and_the_link_stays() {
    let mut bridge = Bridge::initialized().await;
    let computer = linked(&mut bridge, 20_000, "1.113").await;
    let since = bridge.linked(1).await["linkedSince"].clone();
    let no_lua = ask(&mut bridge, "local x = = 1").await;
    assert!(no_lua.contains("the new version can't be read"), "{no_lua}");
    let too_long = ask(
        &mut bridge,
        &format!("--{}", " ".repeat(older().len() + 20_000)),
    )
    .await;
    assert!(too_long.contains("more must be free"), "{too_long}");
    assert_eq!(bridge.linked(1).await["linkedSince"], since);
    assert_eq!(installed(&computer), older());
    bridge.leave().await;
}

#[tokio::test]
async fn when_the_disk_is_full_in_the_midst_of_writing_the_old_one_is_written_back() {
    let mut bridge = Bridge::initialized().await;
    let computer = linked(&mut bridge, 20_000, "1.113").await;
    let filling = "local f = fs.open('/more', 'wb') f.write(string.rep('x', fs.getFreeSpace('/') - 600)) f.close() ";
    // Longer than the old one: it would fit no more.
    let source = format!("{filling}{}\n--{}", agent::program(), " ".repeat(5_000));
    assert_eq!(ask(&mut bridge, &source).await, "=> nil");
    screen::says(
        &computer,
        "/mcp-computer.lua can't be written: Out of space",
    )
    .await;
    is_linked(&mut bridge, "1.0.9").await;
    assert_eq!(installed(&computer), older());
    bridge.leave().await;
}

#[tokio::test]
async fn a_computer_that_is_turned_off_in_the_midst_of_an_update_starts_the_old_one() {
    let mut bridge = Bridge::initialized().await;
    let computer = linked(&mut bridge, 150_000, "1.113").await;
    let source = "print('trying') while true do os.pullEvent() end";
    assert_eq!(ask(&mut bridge, source).await, "=> nil");
    screen::says(&computer, "trying").await;
    computer.reboot();
    is_linked(&mut bridge, "1.0.9").await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_file_that_is_not_whole_is_fetched_again_at_the_start() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let install = format!("wget run http://{port}/install.lua --startup");
    let computer = Computer::start(ComputerOptions::new(1), &install, &Handle::current()).unwrap();
    bridge.linked(1).await;
    let whole = installed(&computer);
    let startup = computer.read_file("startup/zz-mcp-computer.lua").unwrap();
    drop(computer);
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    // The second is cut off where a line ends, so that it is Lua.
    let lines = whole.rfind("local source = S[").unwrap();
    for file in [&whole[..whole.len() / 2], &whole[..lines], ""] {
        let options = ComputerOptions::new(1)
            .with_file("mcp-computer.lua", file)
            .with_file("startup/zz-mcp-computer.lua", startup.clone());
        let computer = Computer::start(options, "", &Handle::current()).unwrap();
        is_linked(&mut bridge, "1.1.0").await;
        assert_eq!(installed(&computer), whole);
        drop(computer);
        bridge
            .computer(1, |computer| computer["linked"] == false)
            .await;
    }
    bridge.leave().await;
}

/// Lets no version begin any more that is started from now on.
const NO_MORE: &str = "local globals = getmetatable(_G).__index
    local real = globals.load
    globals.load = function(text, name, ...)
      if name == '@mcp-computer/link.lua' then error('no links today', 0) end
      return real(text, name, ...)
    end";

#[tokio::test]
async fn update_agent_gives_a_computer_the_bridges_version() {
    for (free, version) in [(150_000, "1.113"), (20_000, "1.89"), (150_000, "1.101")] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let computer = linked(&mut bridge, free, version).await;
        let listed = bridge.call("list-computers", json!({})).await;
        for words in [
            "1 (Label: nil) has 1.0.9",
            r#"update-agent {"computerId":1}"#,
            "mcp-bridge agents update",
        ] {
            assert!(listed.text.contains(words), "{}", listed.text);
        }
        let call = json!({"name": "update-agent", "arguments": {"computerId": 1}});
        let updated = bridge.call("call-tool", call.clone()).await;
        assert!(
            updated.text.contains(
                "Computer 1 (Label: nil) was updated from 1.0.9 to 1.1.0, and is linked."
            ),
            "{}",
            updated.text
        );
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        assert_eq!(
            installed(&computer),
            agent::program_for(Some(&port.to_string()))
        );
        let again = bridge.call("call-tool", call).await;
        assert!(
            again.text.contains("has this version already") && !again.is_error,
            "{}",
            again.text
        );
        let listed = bridge.call("list-computers", json!({})).await;
        assert!(!listed.text.contains("Older than"), "{}", listed.text);
        bridge.leave().await;
    }
}

#[tokio::test]
async fn update_agent_says_why_a_computer_has_gone_back() {
    let mut bridge = Bridge::initialized().await;
    let computer = linked(&mut bridge, 150_000, "1.113").await;
    bridge.lua(1, NO_MORE).await;
    let id = bridge
        .start_call(
            "call-tool",
            json!({"name": "update-agent", "arguments": {"computerId": 1}}),
        )
        .await;
    let updated = bridge.slow_answer(id).await;
    assert!(updated.is_error, "{}", updated.text);
    assert!(
        updated.text.contains("went back to 1.0.9: no links today"),
        "{}",
        updated.text
    );
    assert_eq!(installed(&computer), older());
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_that_can_not_update_itself_is_told_of_with_what_to_enter() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let old = ComputerOptions::new(1).with_file(
        "mcp-computer.lua",
        include_str!("released/mcp-computer-1.0.0.lua"),
    );
    let _old = Computer::start(
        old,
        &format!("mcp-computer ws://{port}"),
        &Handle::current(),
    )
    .unwrap();
    // From the web there is no file.
    let source = older();
    let from_the_web = ComputerOptions::new(2).with_file(
        "start.lua",
        format!(
            "-- {} \nlocal f = load([====[{source}]====], '=wget', 't', _ENV) f('ws://{port}')",
            "what begins as the agent's file does is taken for it, so this is long".repeat(2)
        ),
    );
    let _web = Computer::start(from_the_web, "start", &Handle::current()).unwrap();
    bridge.linked(1).await;
    bridge.linked(2).await;
    for (id, words) in [
        (
            1,
            "which is too old to update itself. On the computer, enter once: wget run",
        ),
        (2, "was not started from its file"),
    ] {
        let call = json!({"name": "update-agent", "arguments": {"computerId": id}});
        let refused = bridge.call("call-tool", call).await;
        assert!(refused.text.contains(words), "{}", refused.text);
    }
    bridge.leave().await;
}
