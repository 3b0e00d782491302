//! Files and folders of computers as resources.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use mcp_bridge::{link::agent, simulator::ComputerOptions};
use serde_json::{Value, json};

use super::{VERSION_1, computer, error, fields, read, text};
use crate::common::{bridge::Bridge, linked::linked};

/// Writes a file.
const PUT: &str = "local function put(path, text) local file = fs.open(path, 'wb') file.write(text) file.close() end ";

async fn put(bridge: &mut Bridge, code: &str) {
    bridge.lua(1, &format!("{PUT}{code}")).await;
}

fn named<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let entries = listed["entries"].as_array().unwrap().iter();
    let mut named = entries.filter(|entry| entry["name"] == name);
    named
        .next()
        .unwrap_or_else(|| panic!("no {name}: {listed}"))
}

#[tokio::test]
async fn files_are_read_as_text_or_bytes_whatever_they_are_called() {
    for version in ["1.113.1", "1.89"] {
        let mut bridge = Bridge::initialized().await;
        let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
        options.version = version.parse().unwrap();
        let _computer = linked(&mut bridge, options, "").await;
        put(
            &mut bridge,
            r#"put("/lib/hello.lua", "print('hi')\n") put("/lib/100% of it.txt", "all") put("/lib/empty", "")
               put("/lib/bytes.png", "\137PNG\0\1\2\255") put("/lib/latin.txt", "caf\233") put("/lib/utf.txt", "caf\195\169")
               fs.makeDir("/lib/deep er")"#,
        )
        .await;
        let listed = fields(&mut bridge, "cc://computer/1/fs/lib").await;
        assert_eq!(
            (&listed["path"], &listed["total"]),
            (&json!("/lib"), &json!(7))
        );
        assert!(
            listed.get("next").is_none() && listed["freeBytes"].is_u64(),
            "{listed}"
        );
        assert_eq!(
            *named(&listed, "deep er"),
            json!({"name": "deep er", "folder": true, "uri": "cc://computer/1/fs/lib/deep%20er"})
        );
        assert_eq!(named(&listed, "hello.lua")["size"], 12);
        let uri = named(&listed, "100% of it.txt")["uri"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(uri, "cc://computer/1/fs/lib/100%25%20of%20it.txt");
        for (uri, said) in [
            (uri.as_str(), "all"),
            ("cc://computer/1/fs/lib/100% of it.txt", "all"),
            ("cc://computer/1/fs/lib/hello.lua", "print('hi')\n"),
            ("cc://computer/1/fs/rom/../lib/./hello.lua", "print('hi')\n"),
            ("cc://computer/1/fs/lib/empty", ""),
            ("cc://computer/1/fs/lib/latin.txt", "café"),
            ("cc://computer/1/fs/lib/utf.txt", "café"),
        ] {
            assert_eq!(text(&mut bridge, uri).await, said, "{version} {uri}");
        }
        let latin = read(&mut bridge, "cc://computer/1/fs/lib/latin.txt").await;
        assert_eq!(
            latin[0]["_meta"],
            json!({"mcp-bridge/size": 4, "mcp-bridge/encoding": "latin-1"})
        );
        let bytes = read(&mut bridge, "cc://computer/1/fs/lib/bytes.png").await;
        assert_eq!(bytes[0]["mimeType"], "image/png");
        let decoded = BASE64.decode(bytes[0]["blob"].as_str().unwrap()).unwrap();
        assert_eq!(decoded, b"\x89PNG\0\x01\x02\xff", "{version}");
        let empty = fields(&mut bridge, "cc://computer/1/fs/lib/deep%20er/").await;
        assert_eq!(empty["entries"], json!([]));

        for (uri, code, said) in [
            (
                "fs/lib/no.lua",
                -32002,
                "There is no /lib/no.lua on computer 1.",
            ),
            (
                "fs/../etc/passwd",
                -32002,
                "The path leads out of the computer's disk.",
            ),
            (
                "fs/lib/hello.lua?from=99",
                -32603,
                "/lib/hello.lua has 12 bytes, so there is none",
            ),
        ] {
            let uri = format!("cc://computer/1/{uri}");
            let (was, words) = error(&mut bridge, &uri).await;
            assert!(was == code && words.contains(said), "{uri}: {was} {words}");
        }
        bridge.leave().await;
    }
}

#[tokio::test]
async fn names_that_are_not_ascii_are_found() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    put(
        &mut bridge,
        r#"put("/n/café ✓.txt", "here") fs.makeDir("/n/dür")"#,
    )
    .await;
    let listed = fields(&mut bridge, "cc://computer/1/fs/n").await;
    assert_eq!(
        named(&listed, "café ✓.txt")["uri"],
        "cc://computer/1/fs/n/caf%C3%A9%20%E2%9C%93.txt"
    );
    for name in [
        "caf%C3%A9%20%E2%9C%93.txt",
        "café ✓.txt",
        "caf%C3%A9 ✓%2Etxt",
    ] {
        let uri = format!("cc://computer/1/fs/n/{name}");
        assert_eq!(text(&mut bridge, &uri).await, "here", "{uri}");
    }
    assert_eq!(named(&listed, "dür")["folder"], true);
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_large_comes_in_parts_that_name_the_next() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    put(&mut bridge, r#"put("/text", "x" .. ("é"):rep(200000))"#).await;
    let (mut uri, mut whole, mut parts) = ("cc://computer/1/fs/text".to_owned(), String::new(), 0);
    loop {
        let contents = read(&mut bridge, &uri).await;
        assert_eq!(contents.len(), 2, "each part says which it is");
        whole += contents[0]["text"].as_str().unwrap();
        parts += 1;
        let meta = &contents[0]["_meta"];
        assert_eq!(meta["mcp-bridge/size"], 400_001);
        let Some(next) = meta["mcp-bridge/next"].as_str() else {
            break;
        };
        let note = contents[1]["text"].as_str().unwrap();
        assert!(
            note.ends_with(&format!("of 400001. {next} has what follows.")),
            "{note}"
        );
        uri = next.to_owned();
    }
    assert!(
        parts == 2 && whole == format!("x{}", "é".repeat(200_000)),
        "{parts}"
    );

    // The disk has room for one at a time.
    put(
        &mut bridge,
        r#"fs.delete("/text") put("/bytes", ("\0\255abc"):rep(80000))"#,
    )
    .await;
    let contents = read(&mut bridge, "cc://computer/1/fs/bytes").await;
    let mut bytes = BASE64
        .decode(contents[0]["blob"].as_str().unwrap())
        .unwrap();
    let next = contents[0]["_meta"]["mcp-bridge/next"].as_str().unwrap();
    let rest = read(&mut bridge, next).await;
    bytes.extend(BASE64.decode(rest[0]["blob"].as_str().unwrap()).unwrap());
    assert_eq!(bytes, b"\0\xffabc".repeat(80_000));

    let many = r#"fs.delete("/bytes") for i = 1, 600 do put(("/many/f%03d"):format(i), "") end"#;
    put(&mut bridge, many).await;
    let listed = fields(&mut bridge, "cc://computer/1/fs/many").await;
    assert_eq!(
        (
            listed["entries"].as_array().unwrap().len(),
            &listed["total"]
        ),
        (500, &json!(600))
    );
    let rest = fields(&mut bridge, listed["next"].as_str().unwrap()).await;
    assert_eq!(rest["entries"].as_array().unwrap().len(), 100);
    assert_eq!(rest["entries"][99]["name"], "f600");
    assert!(rest.get("next").is_none(), "{rest}");
    bridge.leave().await;
}

#[tokio::test]
async fn agents_that_keep_no_handlers_show_files_too_and_one_that_is_gone_shows_none() {
    let mut bridge = Bridge::initialized().await;
    let options = ComputerOptions::new(1)
        .with_file("mcp-computer.lua", VERSION_1)
        .with_file("note.txt", "old");
    let old = linked(&mut bridge, options, "").await;
    assert_eq!(
        text(&mut bridge, "cc://computer/1/fs/note.txt").await,
        "old"
    );
    let listed = fields(&mut bridge, "cc://computer/1/fs").await;
    assert_eq!(named(&listed, "note.txt")["size"], 3);
    drop(old);
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    let (code, words) = error(&mut bridge, "cc://computer/1/fs/note.txt").await;
    assert!(
        code == -32603 && words.to_lowercase().contains("computer 1 (label: old)"),
        "{code} {words}"
    );
    bridge.leave().await;
}
