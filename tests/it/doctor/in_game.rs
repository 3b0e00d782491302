//! `mcp-computer doctor`, which looks from the other end: on simulated computers, in set-ups that are broken there.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, HttpRules, Limits, ProgramState},
};
use tokio::runtime::Handle;

use crate::common::{PATIENCE, bridge::Bridge, linked, port::Port, screen::shows};

fn options() -> ComputerOptions {
    ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program())
}

/// A computer on which this was entered, once that has ended.
async fn enters(options: ComputerOptions, program: &str) -> Computer {
    let computer = Computer::start(options, program, &Handle::current()).unwrap();
    let is_over = |computer: &Computer| matches!(computer.program(), ProgramState::Ended { .. });
    let over = computer.until(PATIENCE, is_over).await;
    assert!(over, "it goes on:\n{}", computer.screen().join("\n"));
    computer
}

/// What is on the screen, in order, and that it says whether something is in the way.
async fn sees(computer: &Computer, lines: &[&str], is_in_the_way: bool) {
    for line in lines {
        shows(computer, line).await;
    }
    let ok = !is_in_the_way;
    assert_eq!(
        computer.program(),
        ProgramState::Ended { ok },
        "{}",
        computer.screen().join("\n")
    );
    let end = if ok {
        "is in the way."
    } else {
        "from its bridge."
    };
    shows(computer, end).await;
}

async fn with_a_bridge(change: impl FnOnce(&mut tokio::process::Command)) -> (Bridge, String) {
    let mut bridge = Bridge::start_with(change);
    bridge.initialize("2025-11-25").await;
    let program = format!("mcp-computer doctor ws://{}", bridge.link_port().await);
    (bridge, program)
}

#[tokio::test]
async fn beside_an_agent_that_is_linked_all_is_well() {
    let (mut bridge, _computer) = linked::pair().await;
    let said = bridge.lua(1, "shell.run('mcp-computer', 'doctor')").await;
    for line in [
        "ok HTTP is on\n",
        "ok The game lets computers connect to 127.0.0.1\n",
        &format!(
            "ok mcp-bridge {} answers at 127.0.0.1:",
            env!("CARGO_PKG_VERSION")
        ),
        &format!(
            "ok The mcp-computer v{} that runs here is linked for ",
            env!("CARGO_PKG_VERSION")
        ),
        "ok There is free space on the disk\n",
        "All is well.\n",
    ] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    assert!(said.ends_with("=> true"), "{said}");
    bridge.leave().await;
}

#[tokio::test]
async fn without_an_agent_it_links_for_a_moment() {
    let (bridge, program) = with_a_bridge(|_| {}).await;
    let computer = enters(options(), &program).await;
    let lines = [
        "ok The bridge takes this computer, without a token",
        "Start it with: mcp-computer",
    ];
    sees(&computer, &lines, false).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_token_that_is_missing_on_this_side_or_is_another() {
    let token = "a-token-of-more-than-16-characters";
    let (bridge, program) = with_a_bridge(|command| {
        command.env("CC_LINK_TOKEN", token);
    })
    .await;
    let lines = [
        "x The bridge does not take this computer:",
        "the link token is missing or wrong",
    ];
    sees(&enters(options(), &program).await, &lines, true).await;
    let another = format!("{program} --token another");
    sees(&enters(options(), &another).await, &lines, true).await;
    let right = format!("{program} --token {token}");
    let computer = enters(options(), &right).await;
    sees(
        &computer,
        &["ok The bridge takes this computer, with the token that is set"],
        false,
    )
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn what_the_game_forbids_is_named_with_the_file_to_edit() {
    let allowed = HttpRules::default();
    for (http, lines) in [
        (
            HttpRules {
                enabled: false,
                ..allowed
            },
            &[
                "x The HTTP API is off",
                "computercraft-server.toml",
                "Set enabled = true",
            ][..],
        ),
        (
            HttpRules {
                private_addresses: false,
                ..allowed
            },
            &[
                "ok HTTP is on",
                "x Domain not permitted",
                "[[http.rules]]",
                "Put ABOVE",
            ],
        ),
    ] {
        let computer = enters(
            ComputerOptions { http, ..options() },
            "mcp-computer doctor ws://127.0.0.1:3001",
        )
        .await;
        sees(&computer, lines, true).await;
    }
    let (bridge, program) = with_a_bridge(|_| {}).await;
    let http = HttpRules {
        websockets: false,
        ..allowed
    };
    let computer = enters(ComputerOptions { http, ..options() }, &program).await;
    sees(
        &computer,
        &["x Websockets are off", "Set websocket_enabled = true"],
        true,
    )
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn where_nothing_answers_or_something_else_does() {
    let port = Port::reserve();
    let program = format!("mcp-computer doctor ws://{}", port.address());
    let lines = [
        "x Nothing answers at 127.0.0.1",
        "Is mcp-bridge running there",
    ];
    sees(&enters(options(), &program).await, &lines, true).await;

    let stranger = tokio::net::TcpListener::bind(port.address()).await.unwrap();
    let answering = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let page = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
        let (mut connection, _) = stranger.accept().await.unwrap();
        connection.write_all(page).await.unwrap();
        connection
    });
    let lines = ["is not mcp-bridge", "3001 by default"];
    sees(&enters(options(), &program).await, &lines, true).await;
    drop(answering.await.unwrap());
}

#[tokio::test]
async fn without_an_address_it_says_how_to_give_one() {
    let computer = enters(options(), "mcp-computer doctor").await;
    let lines = [
        "x The bridge's address is missing.",
        "mcp-computer doctor ws://HOST:3001",
    ];
    sees(&computer, &lines, true).await;
}

#[tokio::test]
async fn little_space_and_a_startup_that_gets_in_the_way() {
    let (bridge, program) = with_a_bridge(|_| {}).await;
    let room = agent::program().len() as u64 + 10_000;
    let limits = Limits {
        disk_bytes: room,
        ..Limits::default()
    };
    let crowded = ComputerOptions {
        limits,
        ..options()
    }
    .with_file("startup.lua", "print('mine') -- while true do")
    .with_file("startup/mcp-computer.lua", "-- starts mcp-computer");
    let computer = enters(crowded, &program).await;
    let lines = [
        "bytes of the disk are free",
        "! /startup.lua runs before /startup/mcp-computer.lua",
        "If it does not end",
    ];
    sees(&computer, &lines, false).await;

    let own = options().with_file("startup/mcp-computer.lua", "-- starts mcp-computer");
    let computer = enters(own, &program).await;
    sees(
        &computer,
        &["ok It starts with this computer: /startup/mcp-computer.lua"],
        false,
    )
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_that_is_not_linked_says_why_and_for_how_long() {
    let port = Port::reserve();
    // It runs in the background, and the doctor in front; both end with the shell.
    let both = format!("lua_both ws://{}", port.address());
    let program = "local address = ...\n\
        parallel.waitForAny(function() shell.run('mcp-computer', address) end, function()\n\
          sleep(1.5)\n\
          local told\n\
          os.queueEvent('mcp_computer_ask', 'test', 1)\n\
          repeat local event, name, about = os.pullEvent('mcp_computer_here') told = about until name == 'test'\n\
          print('TOLD ' .. tostring(told.link.linked_seconds) .. ' ' .. tostring(told.link.trouble))\n\
        end)";
    let computer = enters(options().with_file("lua_both.lua", program), &both).await;
    shows(&computer, "TOLD nil Could not connect").await;
}
