//! Standard error that nobody reads, and a log that can't be written: neither holds up what the bridge does.

use std::{
    fs,
    io::{self, Read, Write},
    net::Ipv4Addr,
    process::{Command, Stdio},
    thread,
};

use mcp_bridge::base::logging;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::{Pid, Signal, kill_process},
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::common::{bridge::Bridge, computer::Computer, http, is, served, soon, until};

/// A pipe that takes no byte more. Its other end is read by nobody until then.
fn full() -> (io::PipeReader, io::PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

#[tokio::test]
async fn nobody_waits_for_a_log_that_can_not_be_written_and_standard_error_that_nobody_reads() {
    let (mut reader, writer) = full();
    let mut bridge = Bridge::start_with(|command| {
        command.stderr(Stdio::from(writer));
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let log = logging::newest_file(&bridge.folder.path().join("state")).unwrap();
    let made = Command::new("mkfifo")
        .arg(log.with_extension("pipe"))
        .status();
    assert!(made.unwrap().success());
    fs::rename(log.with_extension("pipe"), &log).unwrap();

    // Somebody is to be told now that the log can't be written, and reads nothing.
    let pid = bridge.pid();
    until("standard error is written to", async || {
        drop(Computer::link(port, 12, None).await);
        let computers = bridge.call("list-computers", json!({})).await;
        assert!(!computers.is_error, "{}", computers.text);
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let names: Vec<_> = threads
            .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok())
            .collect();
        is(
            names.iter().any(|name| name.trim() == "stderr"),
            names.concat(),
        )
    })
    .await;
    for _ in 0..10 {
        drop(Computer::link(port, 12, None).await);
        let computers = bridge.call("list-computers", json!({})).await;
        assert!(!computers.is_error, "{}", computers.text);
    }

    // Once it can be written again it says what is missing, and whoever reads now is told.
    fs::remove_file(&log).unwrap();
    until("the log goes on", async || {
        drop(Computer::link(port, 12, None).await);
        let text = fs::read_to_string(&log).unwrap_or_default();
        let says = text.contains(" lines are missing here: the log is a named pipe");
        is(says, text)
    })
    .await;
    let told = thread::spawn(move || {
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        told.trim_start_matches('x').to_owned()
    });
    bridge.leave().await;
    let told = told.join().unwrap();
    assert!(
        told.starts_with("mcp-bridge: the log in ") && told.contains("is a named pipe, not a file"),
        "{told}"
    );
}

#[tokio::test]
async fn a_bridge_whose_words_nobody_reads_serves_and_leaves_and_its_log_has_the_last() {
    let (reader, writer) = full();
    let folder = tempfile::tempdir().unwrap();
    let mut command = served::command(&folder);
    command.arg("--print-port").stderr(Stdio::from(writer));
    let mut bridge = command.spawn().unwrap();
    let mut stdout = BufReader::new(bridge.stdout.take().unwrap()).lines();
    let port = soon("the bridge prints its port", stdout.next_line()).await;
    let port = port.unwrap().unwrap().parse().unwrap();
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let answer = http(address, "GET /mcp HTTP/1.1\r\nHost: localhost").await;
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");

    let pid = Pid::from_raw(bridge.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let ended = soon("the bridge ends", bridge.wait()).await.unwrap();
    assert!(ended.success(), "{ended}");
    let log = logging::newest_file(&folder.path().join("state")).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.contains("leaving why=\"SIGTERM\""), "{text}");
    drop(reader);
}
