//! `copy-files`: files of one computer on others, whole.

use mcp_bridge::link::agent;
use serde_json::{Value, json};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    linked::of_version,
};

async fn copy(bridge: &mut Bridge, arguments: Value) -> ToolAnswer {
    bridge.call("copy-files", arguments).await
}

#[tokio::test]
async fn a_file_a_folder_and_a_glob_are_copied_whole_and_who_lacks_one_is_named() {
    let mut bridge = Bridge::initialized().await;
    let mut computers = Vec::new();
    for (id, version) in [(1, "1.113.1"), (2, "1.89"), (3, "1.113.1")] {
        computers.push(of_version(&mut bridge, id, version, agent::program()).await);
    }
    let files = "local function put(path, text) local file = fs.open(path, 'wb') file.write(text) file.close() end
        put('/p/a b.lua', 'print(1)') put('/p/sub/b.bin', ('\\0\\255\\r\\n'):rep(20000)) put('/p/empty', '') fs.makeDir('/none')";
    bridge.lua(1, files).await;

    let folder = json!({"from": 1, "path": "p/", "to": [2, 3], "toPath": "/q"});
    let folder = copy(&mut bridge, folder).await;
    assert_eq!(
        folder.text,
        "3 files, 80008 bytes, of computer 1.\nComputer 2: all whole, by their hashes.\nComputer 3: all whole, by their hashes."
    );
    for computer in &computers[1..] {
        for file in ["a b.lua", "sub/b.bin", "empty"] {
            let there = computer.read_file(&format!("q/{file}"));
            assert!(
                there.is_some() && there == computers[0].read_file(&format!("p/{file}")),
                "{file} on {}",
                computer.id()
            );
        }
    }
    let glob = json!({"from": 1, "path": "/p/**/*.bin", "to": [2]});
    let glob = copy(&mut bridge, glob).await;
    assert!(
        glob.text.starts_with("1 file, 80000 bytes"),
        "{}",
        glob.text
    );
    assert!(computers[1].read_file("p/sub/b.bin").is_some());
    let file = json!({"from": 2, "path": "/q/a b.lua", "to": [2, 9], "toPath": "c.lua"});
    let file = copy(&mut bridge, file).await;
    assert!(
        !file.is_error
            && file.text.contains(
                "Computer 2: all whole, by their hashes.\nComputer 9: 0 of 1.\nComputer 9, /c.lua: "
            ),
        "{}",
        file.text
    );
    assert_eq!(computers[1].read_file("c.lua").unwrap(), b"print(1)");

    for (call, told) in [
        (
            json!({"from": 1, "path": "/nope", "to": [2]}),
            "There is no /nope on computer 1: list-files",
        ),
        (
            json!({"from": 1, "path": "/none", "to": [2]}),
            "There is no file /none on computer 1.",
        ),
        (
            json!({"from": 1, "path": "/p", "to": [1]}),
            "Say by toPath where on the same computer it goes.",
        ),
        (
            json!({"from": 1, "path": "/p/empty", "to": [8, 9]}),
            "Computer 8: 0 of 1.",
        ),
        (
            json!({"from": 1, "path": "/p/empty", "to": [2], "toPath": "/rom/x"}),
            "Access denied",
        ),
        (
            json!({"from": 1, "path": "/p/<empty", "to": [2]}),
            "/p/<empty has < in it, which the game drops, so another file would be meant.",
        ),
        (
            json!({"from": 1, "path": "/p/empty", "to": [2], "toPath": "/q/*"}),
            "/q/* has * in it, which the game drops, so another file would be meant. Nothing was copied; globs are only",
        ),
        (
            json!({"from": 1, "path": "/p/empty", "to": [2], "toPath": "/q/...."}),
            "has a name of dots alone",
        ),
        (
            json!({"from": 1, "path": "/p", "to": [3], "toPath": "/q/a b.lua"}),
            "Computer 3, /q/a b.lua/a b.lua and 2 more: /q/a b.lua/a b.lua was not written: /q/a b.lua is a file, and nothing can be in it.",
        ),
        (
            json!({"from": 1, "path": "/.settings", "to": [2]}),
            "Nothing was copied: /.settings to /.settings is a computer's own",
        ),
        (
            json!({"from": 1, "path": "/p/empty", "to": [2], "toPath": "/sub/../mcp-computer.lua"}),
            "Nothing was copied: /p/empty to /mcp-computer.lua is a computer's own",
        ),
    ] {
        let failed = copy(&mut bridge, call.clone()).await;
        assert!(
            failed.is_error && failed.text.contains(told) && !failed.text.contains("traceback"),
            "{call}: {}",
            failed.text
        );
    }

    // What is written over is said; a computer's own stays where it is.
    let again = json!({"from": 1, "path": "/p/./sub/..", "to": [2, 3], "toPath": "/q"});
    let again = copy(&mut bridge, again).await;
    let over = "all whole, by their hashes. Written over what was there: /q/a b.lua, /q/empty, /q/sub/b.bin.";
    assert!(
        again.text.contains(&format!("\nComputer 3: {over}")),
        "{}",
        again.text
    );
    let key = computers[1].read_file(".settings");
    let all = copy(&mut bridge, json!({"from": 1, "path": "/", "to": [2]})).await;
    assert!(
        !all.is_error
            && all.text.contains("Left out, as a computer's own: ")
            && all.text.contains("/mcp-computer.lua"),
        "{}",
        all.text
    );
    assert_eq!(computers[1].read_file(".settings"), key);
    bridge.leave().await;
}
