//! What a sync must not destroy: what it does not know, what it says it leaves, and what was never meant.

use std::fs;

use serde_json::json;

use super::{Allowed, User, has, has_not, names_in};

/// Where a sync says that it kept what it overwrote, as it stands after these words.
fn place_of<'a>(said: &'a str, before: &str) -> &'a str {
    let (_, rest) = said.split_once(before).unwrap_or_else(|| panic!("{said}"));
    rest.split(" on ").next().unwrap()
}

#[tokio::test]
async fn a_name_that_may_be_of_several_folders_is_refused_and_the_folder_is_named() {
    let mut user = User::new(Allowed::Two).await;
    let computer = user.computer(12, "").await;
    let shared = user.home.path().join("shared").canonicalize().unwrap();
    let programs = user.folder().canonicalize().unwrap();
    computer
        .write_file("programs/a.lua", b"of the game")
        .unwrap();
    user.write("sub/a.lua", "1");
    for folder in [".", "", "./"] {
        let said = user.fails(json!({"folder": folder, "delete": true})).await;
        has(
            &said,
            "may be any of several folders, so nothing was done: give one by its whole path: ",
        );
        has(&said, &format!("{}", shared.display()));
        has(&said, &format!("{}", programs.display()));
    }
    assert!(computer.read_file("programs/a.lua").is_some());
    // Where only one may be meant, it is taken, and named.
    let said = user.syncs(json!({"folder": "sub", "path": "/sub"})).await;
    let from = programs.join("sub");
    has(
        &said,
        &format!("From {} of this machine to /sub.\n", from.display()),
    );
    let said = user.syncs(json!({"folder": ".", "way": "pull"})).await;
    has(
        &said,
        &format!("From /programs to {} of this machine.\n", shared.display()),
    );
    fs::create_dir(shared.join("sub")).unwrap();
    has(
        &user.fails(json!({"folder": "sub", "path": "/sub"})).await,
        "\"sub\" may be any of several folders",
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn nothing_is_mirrored_from_an_empty_folder() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    for name in ["a.lua", "lib/b.lua"] {
        user.write(name, name);
    }
    has(&user.syncs(json!({})).await, "2 sent");
    let away = user.home.path().join("away");
    for name in ["a.lua", "lib"] {
        fs::create_dir_all(&away).unwrap();
        fs::rename(user.folder().join(name), away.join(name)).unwrap();
    }
    for way in ["push", "both"] {
        let said = user.fails(json!({"delete": true, "way": way})).await;
        has(
            &said,
            " of this machine has no file that is synced, and a mirror of it would delete all 2 of /programs of computer 12",
        );
        has(&said, "Nothing was changed.");
    }
    assert!(computer.read_file("programs/lib/b.lua").is_some());

    // The other way about, too.
    for name in ["a.lua", "lib"] {
        fs::rename(away.join(name), user.folder().join(name)).unwrap();
    }
    user.bridge
        .lua(
            12,
            "fs.delete('/programs/a.lua') fs.delete('/programs/lib')",
        )
        .await;
    let said = user.fails(json!({"delete": true, "way": "pull"})).await;
    has(
        &said,
        "/programs of computer 12 (Label: nil) has no file that is synced, and a mirror of it would delete all 2 of ",
    );
    assert_eq!(names_in(&user.folder()), ["a.lua", "lib"]);
    user.bridge.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_mirror_leaves_what_is_below_a_name_that_is_not_synced() {
    use std::os::unix::fs::symlink;

    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let outside = user.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, user.folder().join("link")).unwrap();
    user.write("main.lua", "1");
    for path in ["link/deep/f.lua", "other/f.lua"] {
        computer
            .write_file(&format!("programs/{path}"), b"of the game")
            .unwrap();
    }
    let said = user.syncs(json!({"delete": true})).await;
    has(&said, "Deleted on the computer: other/f.lua.");
    has(
        &said,
        "Not synced: link: it is a symbolic link, so one file below it is left as it is.",
    );
    assert!(computer.read_file("programs/link/deep/f.lua").is_some());
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_no_sync_knows_is_kept_where_it_is_overwritten() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    user.write("lib/a.lua", "mine");
    user.write("same.lua", "same");
    for (path, text) in [
        ("lib/a.lua", "theirs"),
        ("same.lua", "same"),
        ("new.lua", "new"),
    ] {
        for folder in ["programs", "other"] {
            computer
                .write_file(&format!("{folder}/{path}"), text.as_bytes())
                .unwrap();
        }
    }
    let words = "Overwritten, though no sync had brought what was there, which is kept in ";
    let said = user.syncs(json!({"way": "pull"})).await;
    has(&said, "2 fetched");
    has(&said, " on this machine: lib/a.lua.");
    let kept = std::path::Path::new(place_of(&said, words)).join("lib/a.lua");
    assert_eq!(fs::read(&kept).unwrap(), b"mine");
    assert_eq!(
        user.read("lib/a.lua").as_deref(),
        Some(b"theirs".as_slice())
    );

    // What is kept is not synced, and what a sync has brought is not kept again.
    user.write("lib/a.lua", "mine again");
    let said = user.syncs(json!({})).await;
    has(&said, "1 sent");
    has_not(&said, words);

    let said = user.syncs(json!({"path": "/other"})).await;
    has(&said, "1 sent");
    has(&said, " on the computer: lib/a.lua.");
    let kept = format!("{}/lib/a.lua", place_of(&said, words));
    let kept = computer.read_file(kept.trim_start_matches('/'));
    assert_eq!(kept.as_deref(), Some(b"theirs".as_slice()));
    let there = computer.read_file("other/lib/a.lua");
    assert_eq!(there.as_deref(), Some(b"mine again".as_slice()));
    has(
        &user.syncs(json!({"path": "/other", "delete": true})).await,
        "3 alike already.",
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn what_has_no_room_beside_what_is_to_be_kept_is_not_written() {
    let mut user = User::new(Allowed::Push).await;
    let computer = user.computer(12, "").await;
    let old = vec![b'o'; 600_000];
    computer.write_file("programs/data.txt", &old).unwrap();
    user.write("data.txt", vec![b'n'; 600_000]);
    let said = user.fails(json!({})).await;
    has(&said, "The files take 600000 bytes of computer 12");
    has(&said, "Nothing was changed.");
    assert!(computer.read_file("programs/data.txt").unwrap() == old);
    user.bridge.leave().await;
}

#[tokio::test]
async fn a_file_that_is_a_folder_on_the_other_side_is_said_and_left() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    user.write("t", "mine");
    user.write("u/in.lua", "mine");
    user.write("fine.lua", "1");
    for path in ["t/in.lua", "u"] {
        computer
            .write_file(&format!("programs/{path}"), b"theirs")
            .unwrap();
    }
    for arguments in [
        json!({"way": "push", "delete": true}),
        json!({"way": "pull"}),
        json!({"way": "both"}),
    ] {
        let said = user.fails(arguments).await;
        has(
            &said,
            "Failed: t: it is a file on this machine and a folder on the computer, so neither was touched: rename or delete \
             one of them.",
        );
        has(
            &said,
            "Failed: u: it is a file on the computer and a folder on this machine, ",
        );
        has_not(&said, "in.lua");
        assert_eq!(user.read("t").as_deref(), Some(b"mine".as_slice()));
        let there = computer.read_file("programs/t/in.lua");
        assert_eq!(there.as_deref(), Some(b"theirs".as_slice()));
    }
    assert!(computer.read_file("programs/fine.lua").is_some());

    // A file that is not synced may be in the way, too.
    user.write(".gitignore", "v\n!v/\n");
    user.write("v", "mine");
    computer.write_file("programs/v/in.lua", b"theirs").unwrap();
    let said = user.fails(json!({"way": "pull"})).await;
    has(
        &said,
        "Failed: v/in.lua: v is no folder but a file on this machine: rename or delete it.",
    );
    user.bridge.leave().await;
}

#[tokio::test]
async fn all_names_are_told_where_the_words_leave_some_out() {
    let mut user = User::new(Allowed::Pull).await;
    let computer = user.computer(12, "").await;
    for number in 0..40 {
        for kind in ["lua", "sh"] {
            let path = format!("programs/f{number:02}.{kind}");
            computer.write_file(&path, b"1").unwrap();
        }
    }
    let answer = user.answers(user.call(json!({"way": "pull"}))).await;
    has(&answer.text, " and 28 more.");
    has(&answer.text, "Not synced: 28 more.");
    has(&answer.text, "The structured content has all names.");
    let told = answer.structured.unwrap()["computers"][0].take();
    assert_eq!(told["fetched"].as_array().unwrap().len(), 40);
    let reasons = told["notSynced"].as_object().unwrap();
    let (_, files) = reasons.iter().next().unwrap();
    assert_eq!(files.as_array().unwrap().len(), 40);
    assert_eq!(files[39], "f39.sh");

    let (is_well, said, _) = user.enters(&["programs", "12:/programs", "--pull"]).await;
    assert!(is_well, "{said}");
    assert_eq!(said.matches("\nNot synced: f").count(), 40, "{said}");
    has_not(&said, " more");
    user.bridge.leave().await;
}
