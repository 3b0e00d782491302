//! Installing the agent in the game as a player does, and taking it away again: in games of several versions, on computers
//! of all kinds, beside what the player has on the computer already.

use std::net::SocketAddr;

use futures_util::future::join_all;
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Kind, Limits},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::common::{bridge::Bridge, http, is, screen, until};

/// The file that starts the agent.
const STARTUP: &str = "startup/zz-mcp-computer.lua";

/// The question whether it is to start with the computer.
const ASKED: &str = "Start it whenever this computer starts? [Y/n]";

const VERSIONS: [&str; 3] = ["1.89", "1.101", "1.113"];

/// Notes in `/ran` that it ran.
fn noting(name: &str) -> String {
    format!("local file = fs.open('/ran', 'a') file.write('{name} ') file.close()")
}

fn options(id: u64, version: &str, advanced: bool) -> ComputerOptions {
    let mut options = ComputerOptions::new(id);
    options.version = version.parse().unwrap();
    options.advanced = advanced;
    options.clock_speed = 10.0;
    options
}

/// One that shows its prompt.
async fn start(options: ComputerOptions) -> Computer {
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    screen::says(&computer, ">").await;
    computer
}

fn installer(port: SocketAddr) -> String {
    format!("wget run http://{port}/install.lua")
}

fn text(computer: &Computer, path: &str) -> String {
    String::from_utf8(computer.read_file(path).unwrap_or_default()).unwrap()
}

/// Waits until a start of the agent is linked in which nobody has left the mark.
async fn is_linked_anew(bridge: &mut Bridge, id: u64) {
    until("the next start is linked", async || {
        let code = json!({"computerId": id, "code": "http.mark"});
        let answer = bridge.call("exec-lua", code).await;
        is(answer.text == "=> nil", answer.text)
    })
    .await;
}

/// A computer of every version and kind, basic and advanced, with startups of its player's own; and its name.
fn every_kind() -> Vec<(ComputerOptions, String)> {
    let mut all = Vec::new();
    for version in VERSIONS {
        for advanced in [true, false] {
            for kind in [Kind::Computer, Kind::Turtle, Kind::Pocket] {
                let id = all.len() as u64 + 1;
                let mut options = options(id, version, advanced)
                    .with_file("startup.lua", noting("first"))
                    .with_file("startup/own.lua", noting("second"));
                options.kind = kind;
                all.push((options, format!("{version} {kind:?} {advanced}")));
            }
        }
    }
    all
}

/// Ends the agent as a player does, whose shell stays.
async fn stop(computer: &Computer, program: &str) {
    computer.type_line(&format!("{program} stop"));
    screen::shows(computer, "mcp-computer has ended. This shell stays.").await;
}

/// Answers a question, once it is there.
async fn answers(computer: &Computer, question: &str, answer: char) {
    screen::shows(computer, question).await;
    computer.press_character(answer);
    computer.press_enter();
}

/// Has read what is said before the agent's shell covers it.
async fn reads_on(computer: &Computer) {
    screen::shows(computer, "Enter starts mcp-computer.").await;
    computer.press_enter();
}

#[tokio::test]
async fn what_a_player_installs_links_and_links_again_after_a_reboot_in_every_game() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let all = every_kind();
    let computers = join_all(all.iter().map(|(options, _)| start(options.clone()))).await;
    for computer in &computers {
        computer.type_line(&installer(port));
    }
    join_all(
        computers
            .iter()
            .map(|computer| answers(computer, ASKED, 'y')),
    )
    .await;
    for (computer, (options, name)) in computers.iter().zip(&all) {
        bridge.linked(options.id).await;
        assert_eq!(bridge.lua(options.id, "1+1").await, "=> 2", "{name}");
        assert_eq!(text(computer, "ran"), "first second ", "{name}");
        let kept = bridge
            .lua(options.id, "settings.get('mcp_computer.url')")
            .await;
        assert_eq!(kept, format!("=> \"ws://{port}/\""), "{name}");
        // Nothing of this start is there after the next.
        bridge.lua(options.id, "http.mark = true").await;
    }
    for computer in &computers {
        computer.reboot();
    }
    for (computer, (options, name)) in computers.iter().zip(&all) {
        is_linked_anew(&mut bridge, options.id).await;
        assert_eq!(
            text(computer, "ran"),
            "first second first second ",
            "{name}"
        );
    }
    // The chunk of each is unloaded, and loaded again.
    for (computer, (options, _)) in computers.iter().zip(&all) {
        bridge.lua(options.id, "http.mark = true").await;
        computer.unload();
    }
    for (options, _) in &all {
        bridge
            .computer(options.id, |computer| computer["linked"] == false)
            .await;
    }
    for computer in &computers {
        computer.load();
    }
    for (computer, (options, name)) in computers.iter().zip(&all) {
        is_linked_anew(&mut bridge, options.id).await;
        assert_eq!(text(computer, "ran"), "first second ".repeat(3), "{name}");
    }
    bridge.leave().await;
}

/// Gives the agent of a computer a new version as the installer does, from a file.
async fn give(bridge: &mut Bridge, id: u64, source: &str) {
    let code = format!(
        "os.queueEvent('mcp_computer_update', 'test', {source:?})
        local _, _, problem = os.pullEvent('mcp_computer_updating') return problem"
    );
    assert_eq!(bridge.lua(id, &code).await, "=> nil");
}

async fn is_of(bridge: &mut Bridge, id: u64, version: &str) {
    bridge
        .computer(id, |computer| {
            computer["linked"] == true && computer["agent"]["version"] == version
        })
        .await;
}

#[tokio::test]
async fn an_update_a_failed_one_and_uninstalling_leave_no_trace_on_any_kind_of_computer() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let new = agent::program_for(Some(&port.to_string()));
    let older = new.replacen("\"1.1.0\"", "\"1.0.9\"", 1);
    let all = every_kind();
    let computers = join_all(all.iter().map(|(options, _)| start(options.clone()))).await;
    let before = join_all(computers.iter().map(files)).await;
    for computer in &computers {
        computer
            .write_file("mcp-computer.lua", older.as_bytes())
            .unwrap();
        computer.type_line("mcp-computer install --startup");
        // A pocket computer's note is confirmed by it; elsewhere it is a line of the shell that nothing is on.
        computer.press_enter();
    }
    for (options, _) in &all {
        is_of(&mut bridge, options.id, "1.0.9").await;
        // It links no more, as one that was cut off; then it is over.
        give(&mut bridge, options.id, "sleep(1)").await;
    }
    for (computer, (options, name)) in computers.iter().zip(&all) {
        let id = options.id;
        until("the old one is back, and says why", async || {
            let code = "os.queueEvent('mcp_computer_ask', 't') local _, to, told repeat _, to, told = os.pullEvent('mcp_computer_here')
                until to == 't' return told.version, told.not_taken";
            let call = json!({"computerId": id, "code": code});
            let answer = bridge.call("exec-lua", call).await;
            is(answer.text.contains("\"1.0.9\"") && answer.text.contains("ended at once"), answer.text)
        })
        .await;
        assert_eq!(text(computer, "mcp-computer.lua"), older, "{name}");
        computer.type_line("mcp-computer update");
    }
    for (computer, (options, name)) in computers.iter().zip(&all) {
        is_of(&mut bridge, options.id, "1.1.0").await;
        until("the new version is on the disk", async || {
            is(text(computer, "mcp-computer.lua") == new, name.clone())
        })
        .await;
        computer.type_line("clear");
        computer.type_line("mcp-computer uninstall --yes");
    }
    for ((computer, (options, name)), before) in computers.iter().zip(&all).zip(before) {
        screen::shows(computer, "mcp-computer is gone").await;
        bridge
            .computer(options.id, |computer| computer["linked"] == false)
            .await;
        assert_eq!(files(computer).await, before, "{name}");
        // What the player has starts as it did.
        computer.reboot();
        let ran_again = computer
            .until(crate::common::PATIENCE, |computer| {
                text(computer, "ran") == "first second ".repeat(2)
            })
            .await;
        assert!(ran_again, "{name}: {}", text(computer, "ran"));
    }
    bridge.leave().await;
}

#[tokio::test]
async fn startups_that_do_not_end_run_one_after_the_other_in_the_agents_shell() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let first = "print('the first') while true do if os.pullEvent() == 'key' then break end end";
    let second = "while true do print('the second') sleep(5) end";
    for (id, version, advanced) in [(1, "1.113", true), (2, "1.89", false)] {
        let own = options(id, version, advanced)
            .with_file("startup/20.lua", second)
            .with_file("startup.lua", first);
        let computer = Computer::start(own, "", &Handle::current()).unwrap();
        screen::says(&computer, "the first").await;
        computer.terminate();
        screen::says(&computer, "the second").await;
        computer.terminate();
        screen::says(&computer, ">").await;
        computer.type_line("clear");
        computer.type_line(&format!("{} --startup", installer(port)));
        answers(&computer, "/startup.lua runs before it", 'y').await;
        answers(&computer, "/startup/20.lua runs before it", 'y').await;
        reads_on(&computer).await;
        bridge.linked(id).await;
        bridge.lua(id, "http.mark = true").await;
        computer.reboot();
        is_linked_anew(&mut bridge, id).await;
        screen::says(&computer, "the first").await;
        assert!(!screen::words(&computer).contains("the second"));
        computer.press_key("space");
        screen::says(&computer, "the second").await;
        computer.terminate();
        computer.type_line("mcp-computer uninstall --yes");
        screen::shows(&computer, "mcp-computer is gone").await;
        assert_eq!(text(&computer, "startup.lua"), first, "{version}");
        assert_eq!(text(&computer, "startup/20.lua"), second, "{version}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn the_message_of_the_day_stands_above_the_first_prompt_as_without_the_agent() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let settings = "{ [\"motd.path\"] = \"/motd.txt\" }";
    for (id, version, advanced) in [(1, "1.113", true), (2, "1.101", false), (3, "1.89", true)] {
        let own = options(id, version, advanced)
            .with_file(".settings", settings)
            .with_file("motd.txt", "a fine day");
        let computer = start(own).await;
        let alone = computer.screen();
        assert_eq!(alone[1], "a fine day");
        computer.type_line(&format!("{} --startup", installer(port)));
        bridge.linked(id).await;
        bridge.lua(id, "http.mark = true").await;
        // By hand it is no first shell.
        assert!(!screen::words(&computer).contains("a fine day"));
        computer.reboot();
        is_linked_anew(&mut bridge, id).await;
        until("the prompt is there", async || {
            is(computer.screen() == alone, computer.screen().join("\n"))
        })
        .await;
        bridge
            .lua(
                id,
                "settings.set('motd.enable', false) settings.save() http.mark = true",
            )
            .await;
        computer.reboot();
        is_linked_anew(&mut bridge, id).await;
        screen::says(&computer, ">").await;
        assert!(!screen::words(&computer).contains("a fine day"));
    }
    bridge.leave().await;
}

/// What is on a computer's disk, as a program there sees it.
async fn files(computer: &Computer) -> String {
    computer
        .write_file(
            "look.lua",
            b"local seen = {}
            local function look(folder)
              for _, name in ipairs(fs.list(folder)) do
                local path = fs.combine(folder, name)
                if path ~= 'rom' and path ~= 'seen' and path ~= 'look.lua' then
                  seen[#seen + 1] = path
                  if fs.isDir(path) then look(path) else
                    local file = fs.open(path, 'r')
                    seen[#seen + 1] = file.readAll()
                    file.close()
                  end
                end
              end
            end
            look('')
            local file = fs.open('/seen', 'w')
            file.write(table.concat(seen, '\\n') .. '\\nEND')
            file.close()",
        )
        .unwrap();
    computer.write_file("seen", b"").unwrap();
    computer.type_line("/look");
    let written = computer
        .until(crate::common::PATIENCE, |computer| {
            text(computer, "seen").ends_with("END")
        })
        .await;
    assert!(written, "{}", screen::words(computer));
    text(computer, "seen")
}

#[tokio::test]
async fn uninstall_leaves_no_trace_in_any_game() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (n, version) in VERSIONS.iter().enumerate() {
        let id = n as u64 + 1;
        // A file where the folder has to be is given another name, and its own again.
        let own = options(id, version, false).with_file("startup", "print('mine')");
        let computer = start(own).await;
        let before = files(&computer).await;
        computer.type_line(&format!("{} --startup", installer(port)));
        answers(&computer, "Rename it to /startup.lua", 'y').await;
        bridge.linked(id).await;
        assert_ne!(text(&computer, STARTUP), "");
        assert_eq!(text(&computer, "startup.lua"), "print('mine')");
        computer.type_line("clear");
        computer.type_line("mcp-computer uninstall");
        answers(&computer, "[y/N]", 'y').await;
        screen::shows(&computer, "mcp-computer is gone").await;
        assert_eq!(files(&computer).await, before, "{version}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_the_player_does_not_want_is_not_done() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = start(options(1, "1.113", false)).await;
    computer.type_line(&installer(port));
    answers(&computer, ASKED, 'n').await;
    bridge.linked(1).await;
    assert_eq!(text(&computer, STARTUP), "");
    stop(&computer, "mcp-computer").await;
    // Asked again, nobody is there to answer.
    computer.type_line("clear");
    computer.type_line("mcp-computer install");
    screen::shows(&computer, "(no answer)").await;
    bridge.linked(1).await;
    assert_eq!(text(&computer, STARTUP), "");
    stop(&computer, "mcp-computer").await;
    computer.type_line("clear");
    computer.type_line("mcp-computer uninstall");
    screen::says(&computer, "[y/N]").await;
    computer.press_enter();
    screen::says(&computer, "Nothing was changed.").await;
    assert_ne!(text(&computer, "mcp-computer.lua"), "");
    bridge.leave().await;
}

#[tokio::test]
async fn a_startup_that_does_not_end_runs_in_the_agents_shell_if_the_player_wants_that() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let endless = "while true do print('round') sleep(5) end";
    for (id, version, advanced) in [(1, "1.113", true), (2, "1.89", false), (3, "1.101", true)] {
        let own = options(id, version, advanced).with_file("startup.lua", endless);
        let computer = Computer::start(own, "", &Handle::current()).unwrap();
        screen::says(&computer, "round").await;
        computer.terminate();
        screen::says(&computer, ">").await;
        computer.type_line(&installer(port));
        screen::shows(&computer, ASKED).await;
        computer.type_line("yes");
        screen::shows(&computer, "/startup.lua runs before it").await;
        // A whole word answers one question: what is left of it never answers the next.
        screen::shows(&computer, "mcp-computer runs beside? [Y/n]").await;
        computer.type_line("perhaps");
        screen::shows(&computer, "Please type y or n, and Enter:").await;
        computer.type_line("yes");
        screen::shows(&computer, "/startup.lua has another name for that").await;
        reads_on(&computer).await;
        bridge.linked(id).await;
        bridge.lua(id, "http.mark = true").await;
        computer.reboot();
        is_linked_anew(&mut bridge, id).await;
        screen::says(&computer, "round").await;
        assert_eq!(text(&computer, "own-startup.lua"), endless);
        // It is the player's again afterwards.
        computer.terminate();
        computer.type_line("mcp-computer uninstall --yes");
        screen::shows(&computer, "mcp-computer is gone").await;
        assert_eq!(text(&computer, "startup.lua"), endless, "{version}");
        assert_eq!(computer.read_file("own-startup.lua"), None);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn no_room_a_disk_that_can_not_be_written_and_one_with_a_startup_are_told_of() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut full = options(1, "1.89", false);
    full.limits = Limits {
        disk_bytes: 20_000,
        ..Limits::default()
    };
    let computer = start(full).await;
    computer.type_line(&installer(port));
    screen::shows(&computer, "more must be free").await;
    screen::shows(
        &computer,
        &format!("wget run http://{port}/mcp-computer.lua"),
    )
    .await;

    let locked = options(2, "1.113", false)
        .with_file("startup.lua", "fs.isReadOnly = function() return true end");
    let computer = start(locked).await;
    computer.type_line(&installer(port));
    screen::shows(&computer, "This computer's disk can't be written.").await;

    let mut with_disk = options(3, "1.101", false).with_file("disk/startup.lua", "print('hello')");
    with_disk.floppy = true;
    let computer = start(with_disk).await;
    computer.type_line(&format!("{} --startup", installer(port)));
    screen::shows(
        &computer,
        "/disk/startup.lua runs instead, as long as that disk is in.",
    )
    .await;

    // From elsewhere, such as a disk, it comes to its place.
    let elsewhere = options(4, "1.113", false).with_file(
        "elsewhere/mcp-computer.lua",
        agent::program_for(Some(&port.to_string())),
    );
    let computer = start(elsewhere).await;
    computer.type_line("/elsewhere/mcp-computer install --no-startup");
    bridge.linked(4).await;
    assert_eq!(
        text(&computer, "mcp-computer.lua"),
        text(&computer, "elsewhere/mcp-computer.lua")
    );
    let mut pocket = options(5, "1.113", false);
    pocket.kind = Kind::Pocket;
    let computer = start(pocket).await;
    computer.type_line(&format!("{} --startup", installer(port)));
    screen::shows(&computer, "only while somebody carries it").await;
    bridge.leave().await;
}

#[tokio::test]
async fn status_says_how_things_are_and_update_fetches_the_bridges_version() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let older = agent::program_for(Some(&port.to_string())).replacen("\"1.1.0\"", "\"1.0.9\"", 1);
    let old = options(1, "1.113", true).with_file("mcp-computer.lua", older.clone());
    let computer = start(old).await;
    computer.type_line("mcp-computer status");
    for line in [
        "mcp-computer v1.0.9: /mcp-computer.lua",
        "It does not run. Start it with: mcp-computer",
        "It does not start with this computer.",
        "Policy: full",
    ] {
        screen::shows(&computer, line).await;
    }
    // One that does not run is written.
    computer.type_line("clear");
    computer.type_line("mcp-computer update");
    screen::shows(&computer, "Installed /mcp-computer.lua").await;
    let new = agent::program_for(Some(&port.to_string()));
    assert_eq!(text(&computer, "mcp-computer.lua"), new);
    // One that runs takes it over.
    computer
        .write_file("mcp-computer.lua", older.as_bytes())
        .unwrap();
    computer.type_line("mcp-computer install --startup");
    bridge
        .computer(1, |computer| {
            computer["linked"] == true && computer["agent"]["version"] == "1.0.9"
        })
        .await;
    computer.type_line("clear");
    computer.type_line("mcp-computer status");
    screen::shows(
        &computer,
        "It runs beside this computer's shell, and is linked for",
    )
    .await;
    screen::shows(
        &computer,
        &format!("It starts with this computer: /{STARTUP}"),
    )
    .await;
    // A setting counts from the next start on, and until then that is said.
    computer.type_line("set mcp_computer.policy read-only");
    computer.type_line("clear");
    computer.type_line("mcp-computer status");
    let said =
        "Policy: full, as it was started. The settings say read-only, from its next start on.";
    screen::shows(&computer, said).await;
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    computer.type_line("set mcp_computer.policy full");
    computer.type_line("clear");
    computer.type_line("mcp-computer update");
    screen::shows(&computer, "updates itself: /mcp-computer.lua").await;
    bridge
        .computer(1, |computer| {
            computer["linked"] == true && computer["agent"]["version"] == "1.1.0"
        })
        .await;
    until("the new version is on the disk", async || {
        is(text(&computer, "mcp-computer.lua") == new, "the old one")
    })
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_computer_that_is_installed_from_another_bridge_is_that_ones() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let moved = options(1, "1.113", false)
        .with_file("mcp-computer.lua", agent::program_for(Some("127.0.0.1:9")))
        .with_file(
            ".settings",
            "{ [ \"mcp_computer.url\" ] = \"ws://127.0.0.1:9/\" }",
        );
    let computer = start(moved).await;
    computer.type_line(&format!("{} --startup", installer(port)));
    bridge.linked(1).await;
    bridge.lua(1, "http.mark = true").await;
    computer.reboot();
    is_linked_anew(&mut bridge, 1).await;
    bridge.leave().await;
}

/// What a package manager such as TrapOS's does with a registry: it reads the index, the descriptor, and writes the files.
const PACKAGE_MANAGER: &str = r#"
    local registry, wanted = ...
    local function get(path)
      local response = assert(http.get(registry .. path, nil, true))
      local text = response.readAll()
      response.close()
      return text
    end
    local function json(path) return assert(textutils.unserializeJSON(get(path))) end
    local known = false
    for _, name in ipairs(json("/packages/index.json").packages) do known = known or name == wanted end
    assert(known, "no package " .. wanted)
    local package = json("/packages/" .. wanted .. "/ccpm.json")
    for _, file in ipairs(package.files) do
      fs.makeDir(fs.getDir("/" .. file))
      local handle = fs.open("/" .. file, "wb")
      handle.write(get("/" .. file))
      handle.close()
    end
    fs.makeDir("/trapos")
    local lock = fs.open("/trapos/ccpm.lock.json", "w")
    lock.write(textutils.serializeJSON({ packages = { [wanted] = {
      version = package.version, registry = registry, files = package.files } } }))
    lock.close()
    print("installed " .. package.name .. " " .. package.version)
"#;

#[tokio::test]
async fn the_link_port_is_a_registry_of_traposs_package_manager_and_both_ways_know_each_other() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    assert!(
        http(
            port,
            "GET /packages/nothing/ccpm.json HTTP/1.1\r\nHost: localhost"
        )
        .await
        .starts_with("HTTP/1.1 404")
    );
    for (n, version) in VERSIONS.iter().enumerate() {
        let id = n as u64 + 1;
        let computer =
            start(options(id, version, false).with_file("ccpm.lua", PACKAGE_MANAGER)).await;
        computer.type_line(&format!("ccpm http://{port} mcp-computer"));
        screen::shows(&computer, "installed mcp-computer 1.1.0").await;
        let served = agent::program_for(Some(&port.to_string()));
        assert_eq!(text(&computer, "programs/mcp-computer.lua"), served);
        // The installer puts no second one beside it.
        computer.type_line("clear");
        computer.type_line(&format!("{} --startup", installer(port)));
        // What it says is soon covered by the shell that it starts.
        bridge.linked(id).await;
        assert_eq!(computer.read_file("mcp-computer.lua"), None, "{version}");
        assert!(text(&computer, STARTUP).contains("\"/programs/mcp-computer.lua\""));
        stop(&computer, "/programs/mcp-computer").await;
        // One that was there before is seen, and goes.
        computer
            .write_file("mcp-computer.lua", served.as_bytes())
            .unwrap();
        computer.type_line("clear");
        computer.type_line("/programs/mcp-computer status");
        screen::shows(&computer, "It is here twice: /mcp-computer.lua too.").await;
        computer.type_line("clear");
        computer.type_line("/programs/mcp-computer install");
        screen::shows(&computer, "Deleted the other one: /mcp-computer.lua").await;
        bridge.linked(id).await;
        assert_eq!(computer.read_file("mcp-computer.lua"), None, "{version}");
        stop(&computer, "/programs/mcp-computer").await;
        // What the package manager installed is for it to remove.
        computer.type_line("clear");
        computer.type_line("/programs/mcp-computer uninstall --yes");
        screen::shows(&computer, "ccpm uninstall mcp-computer").await;
        assert_eq!(computer.read_file(STARTUP), None);
        assert_ne!(text(&computer, "programs/mcp-computer.lua"), "");
    }
    bridge.leave().await;
}
