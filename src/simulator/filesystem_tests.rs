//! A computer's files: paths, limits, and what can't be done.

use super::*;

fn write(disk: &mut FileSystem, path: &str, bytes: &[u8]) -> Outcome<()> {
    let content = disk.create(path, false, 1.0)?;
    disk.write(path, &content, 0, bytes, 1.0)
}

fn disk() -> FileSystem {
    FileSystem::new(10_000, &[("programs/list.lua", "-- list")])
}

#[test]
fn a_path_is_written_without_dots_and_slashes() {
    assert_eq!(normalise("/a//b/../c/.").expect("a path"), "a/c");
    assert!(normalise("../a").is_err());
}

/// README.md, "Files": `Access denied` for /rom.
#[test]
fn the_rom_can_be_read_and_not_written() {
    let mut disk = disk();
    assert_eq!(disk.list("rom").expect("a folder"), ["programs"]);
    assert_eq!(
        write(&mut disk, "rom/x", b"").expect_err("read-only"),
        "/rom/x: Access denied"
    );
    assert_eq!(
        disk.delete("rom").expect_err("read-only"),
        "/rom: Access denied"
    );
}

/// README.md, "Files": each file counts at least 500 bytes; `Out of space`.
#[test]
fn each_file_costs_at_least_500_bytes_and_a_full_disk_says_so() {
    let mut disk = disk();
    write(&mut disk, "a", b"1").expect("room");
    assert_eq!(disk.free(""), 9_500);
    assert_eq!(
        write(&mut disk, "b", &[0; 9_501]).expect_err("too much"),
        "Out of space"
    );
    write(&mut disk, "b", &[0; 9_500]).expect("room");
    assert_eq!(
        write(&mut disk, "c", b"").expect_err("full"),
        "/c: Out of space"
    );
}

#[test]
fn folders_are_made_copied_moved_and_deleted_whole() {
    let mut disk = disk();
    write(&mut disk, "d/e/f", b"text").expect("room");
    disk.copy("d", "g", 2.0).expect("a copy");
    disk.rename("g/e", "h", 2.0).expect("a move");
    assert_eq!(disk.list("").expect("the root"), ["d", "g", "h", "rom"]);
    assert_eq!(disk.list("h").expect("a folder"), ["f"]);
    assert_eq!(
        disk.copy("d", "h", 2.0).expect_err("there"),
        "/h: File exists"
    );
    assert!(disk.copy("d", "d/x", 2.0).is_err());
    disk.delete("d").expect("gone");
    assert!(!disk.exists("d/e/f"));
}
