//! What a sync writes on a computer whose disk is nearly full: what is there is lost at no moment.

use std::fs;

use serde_json::json;

use super::{Allowed, User, has, has_not};

impl User {
    /// Leaves so many bytes free on the computer's disk.
    async fn fills(&mut self, free: usize) {
        let code = format!(
            "local file = fs.open('/fill', 'wb')
             file.write(('z'):rep(fs.getFreeSpace('/') - {free}))
             file.close()"
        );
        self.bridge.lua(12, &code).await;
    }
}

/// A game whose `fs.move` copies, and leaves what had room of it, as before 1.103.
const MOVES_BY_COPYING: &str = "function fs.move(from, to)
    if fs.exists(to) then error('File exists', 0) end
    local file = fs.open(from, 'rb')
    local bytes = file.readAll()
    file.close()
    file = assert(fs.open(to, 'wb'))
    local ok, why = pcall(file.write, bytes)
    if not ok then file.write(bytes:sub(1, 1000)) end
    file.close()
    if not ok then error(why, 0) end
    fs.delete(from)
end";

#[tokio::test]
async fn what_makes_room_goes_first_and_what_a_player_changed_is_kept() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    user.write("a.lua", "good old program");
    user.write("b.lua", vec![b'b'; 200_000]);
    has(&user.syncs(json!({})).await, "2 sent");
    computer
        .write_file("programs/a.lua", b"of the player")
        .unwrap();
    user.fills(150_000).await;
    user.write("a.lua", vec![b'a'; 200_000]);
    user.write("b.lua", "small");
    let said = user.syncs(json!({})).await;
    has(&said, "2 sent");
    has(&said, "What was there is in the computer's /.trash");
    has_not(&said, "Gone for good");
    let there = |path: &str| computer.read_file(path);
    assert!(there("programs/a.lua").unwrap() == vec![b'a'; 200_000]);
    assert_eq!(there("programs/b.lua").unwrap(), b"small");
    assert_eq!(there(".trash/1/item").unwrap(), b"of the player");
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_a_player_changed_stays_where_it_can_be_kept_nowhere() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    user.write("a.lua", "first");
    has(&user.syncs(json!({})).await, "1 sent");
    let theirs = vec![b'p'; 200_000];
    computer.write_file("programs/a.lua", &theirs).unwrap();
    user.fills(150_000).await;
    user.write("a.lua", vec![b'a'; 200_000]);
    user.write("c.lua", "new");
    let said = user.fails(json!({})).await;
    has(&said, "1 sent");
    has(
        &said,
        "Failed: a.lua: there is no room for it beside what is there, which was changed on the computer since the last sync: it \
         has 200000 bytes, and ",
    );
    has(&said, "Pull what is there, or delete there what is not");
    assert!(computer.read_file("programs/a.lua").unwrap() == theirs);
    assert_eq!(computer.read_file("programs/c.lua").unwrap(), b"new");

    // It has room beside, but not in the trash.
    user.bridge.lua(12, "fs.delete('/fill')").await;
    user.fills(200_500).await;
    let said = user.fails(json!({})).await;
    has(
        &said,
        "Failed: a.lua: it was changed on the computer since the last sync, and what is there has no room in /.trash (",
    );
    assert!(computer.read_file("programs/a.lua").unwrap() == theirs);
    assert_eq!(computer.read_file("programs/a.lua.sync-new"), None);
    assert_eq!(computer.read_file(".trash/1/origin"), None);

    user.bridge.lua(12, "fs.delete('/fill')").await;
    has(&user.syncs(json!({})).await, "1 sent");
    assert!(computer.read_file(".trash/1/item").unwrap() == theirs);
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_a_sync_overwrites_is_not_put_out_of_the_trash_by_the_same_sync() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let files = ["a.lua", "b.lua", "c.lua"];
    files.iter().for_each(|name| user.write(name, "first"));
    has(&user.syncs(json!({})).await, "3 sent");
    for name in files {
        let theirs = vec![name.as_bytes()[0]; 100_000];
        computer
            .write_file(&format!("programs/{name}"), &theirs)
            .unwrap();
        user.write(name, "second");
    }
    let said = user.fails(json!({})).await;
    has(&said, "2 sent");
    has(
        &said,
        "Failed: c.lua: it was changed on the computer since the last sync, and /.trash is full of what this sync has \
         overwritten before, so it stays. Pull it, or sync again.",
    );
    has_not(&said, "Gone for good");
    let there = |path: &str| computer.read_file(path);
    assert!(there("programs/c.lua").unwrap() == vec![b'c'; 100_000]);
    assert!(there(".trash/1/item").unwrap() == vec![b'a'; 100_000]);
    has(&user.syncs(json!({})).await, "1 sent");
    assert!(there(".trash/3/item").unwrap() == vec![b'c'; 100_000]);
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_has_no_room_beside_stays_until_all_of_the_new_one_has_come() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let old = vec![b'o'; 300_000];
    user.write("a.lua", &old);
    has(&user.syncs(json!({})).await, "1 sent");
    user.fills(100_000).await;
    let new = vec![b'n'; 350_000];
    user.write("a.lua", &new);
    // The disk takes nothing where it should.
    let fails_once = "local open, is_done = fs.open
        function fs.open(path, mode)
          if is_done or mode == 'rb' or not path:find('programs/a.lua', 1, true) then return open(path, mode) end
          is_done = true
          return { write = function() error('Out of space', 0) end, close = function() open(path, mode).close() end }
        end";
    user.bridge.lua(12, fails_once).await;
    let said = user.fails(json!({})).await;
    has(
        &said,
        "Failed: a.lua: the computer's disk has no room for it, so what was there stays.",
    );
    assert!(computer.read_file("programs/a.lua").unwrap() == old);

    has(&user.syncs(json!({})).await, "1 sent");
    assert!(computer.read_file("programs/a.lua").unwrap() == new);
    assert_eq!(computer.read_file("programs/a.lua.sync-new"), None);
    let is_left = "return rawget(getmetatable(_G).__index, 'mcp_bridge_sync_parts') ~= nil";
    has(&user.bridge.lua(12, is_left).await, "false");
    user.bridge.leave().await;
}

#[tokio::test]
async fn nothing_is_lost_where_a_move_needs_room_too() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    user.bridge.lua(12, MOVES_BY_COPYING).await;
    user.write("a.lua", vec![b'o'; 100_000]);
    user.write("Name.lua", vec![b'o'; 100_000]);
    has(&user.syncs(json!({})).await, "2 sent");
    user.fills(250_000).await;
    let new = vec![b'n'; 200_000];
    user.write("a.lua", &new);
    has(&user.syncs(json!({})).await, "1 sent");
    assert!(computer.read_file("programs/a.lua").unwrap() == new);
    assert_eq!(computer.read_file("programs/a.lua.sync-new"), None);

    user.bridge.lua(12, "fs.delete('/fill')").await;
    user.fills(50_000).await;
    let folder = user.folder();
    fs::rename(folder.join("Name.lua"), folder.join("name.lua")).unwrap();
    has(
        &user.fails(json!({})).await,
        "Failed: Name.lua: Out of space",
    );
    assert_eq!(
        computer.read_file("programs/Name.lua").unwrap().len(),
        100_000
    );
    assert_eq!(computer.read_file("programs/name.lua.sync-new"), None);

    // A file that a tool writes is moved to its name, too.
    let text = "w".repeat(30_000);
    let call = json!({"computerId": 12, "path": "/w.txt", "content": text});
    let answer = user.bridge.call("write-file", call).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(computer.read_file("w.txt").unwrap().len(), 30_000);
    user.bridge.leave().await;
}
