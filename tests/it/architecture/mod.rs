//! The house holds: no file needs itself by way of others, and each floor uses only those that the table in
//! `src/README.md` allows.
//!
//! What counts: file A needs file B when a `use` line or a path in A names something that is defined in B. Names are
//! followed to where they are defined, so a folder's facade (`pub use queue::Queue` in its `mod.rs`) is no stop on
//! the way: who names `super::Queue` needs `queue.rs`. But what `mod.rs` defines itself is there like anywhere else: a
//! child that uses it, while `mod.rs` uses the child, is a circle. Then it belongs in a file of its own, below both.
//! `mod child;` alone needs nothing, nor does naming a module and nothing in it. Not seen is what has no name in the
//! code: a method of a type that another file has handed over. What is compiled for tests only doesn't count.

mod graph;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use graph::Graph;
use imports::{Import, Tests, floor};

fn source() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The floors of the table in `src/README.md`, each with those that it may use.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let path = source().join("README.md");
    let text = std::fs::read_to_string(&path).expect("src/README.md can be read");
    let names = |cell: &str| -> Vec<String> {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted
            .map(|name| name.trim_end_matches('/').to_owned())
            .collect()
    };
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| Floor | May use |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let table: BTreeMap<_, _> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            let floor = names(cells[1])
                .pop()
                .expect("a row begins with a floor's name");
            (floor, names(cells[2]).into_iter().collect())
        })
        .collect();
    assert!(
        !table.is_empty(),
        "src/README.md has no table `| Floor | May use |…`"
    );
    table
}

#[test]
fn no_file_needs_itself_by_way_of_others() {
    let imports = imports::read(&source(), Tests::Skipped);
    let graph = Graph::new(&imports);
    let mut problems = String::new();
    for circle in graph.circles() {
        // A circle has a file.
        let file = circle.iter().next().unwrap();
        problems += &format!("\nsrc/{file} needs itself:\n");
        for import in graph.way_round(file) {
            problems += &format!("    {}\n", told(import));
        }
        problems += &format!(
            "  Move what both ends need into a file below both. All files in such circles with it: {circle:?}\n"
        );
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn each_floor_uses_only_those_that_the_table_allows() {
    let table = table();
    let imports = imports::read(&source(), Tests::Skipped);
    // The first line of each file that uses such a floor.
    let mut broken: BTreeMap<(&str, &str), &Import> = BTreeMap::new();
    for import in &imports {
        let own = floor(&import.file);
        let allowed = table.get(own);
        for used in import.floors.iter().filter(|used| *used != own) {
            if !allowed.is_some_and(|allowed| allowed.contains(used)) {
                broken.entry((&import.file, used)).or_insert(import);
            }
        }
    }
    let mut problems = String::new();
    for ((file, used), import) in broken {
        problems += &format!(
            "\n{}: src/README.md doesn't let `{}` use `{used}`. Move what is needed to a floor below both, hand it \
             over as a plain value, or let `commands` put the two together.\n",
            told(import),
            floor(file)
        );
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn the_table_has_a_row_for_each_floor_and_no_other() {
    let floors: BTreeSet<String> = std::fs::read_dir(source())
        .expect("src can be read")
        .map(|entry| {
            entry
                .expect("src can be read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "lib.rs" && name != "README.md")
        .collect();
    let table = table();
    assert_eq!(table.keys().cloned().collect::<BTreeSet<_>>(), floors);
    for (floor, allowed) in &table {
        assert!(
            allowed.is_subset(&floors),
            "`{floor}` may use {allowed:?}: not all are floors"
        );
    }
}

#[test]
fn the_simulator_and_its_tests_need_nothing_of_the_rest() {
    let problems: Vec<String> = imports::read(&source(), Tests::Read)
        .iter()
        .filter(|import| floor(&import.file) == "simulator")
        .filter(|import| import.floors.iter().any(|used| used != "simulator"))
        .map(told)
        .collect();
    assert!(
        problems.is_empty(),
        "The simulator stands alone. A test that needs more of the crate belongs in tests/.\n{}",
        problems.join("\n")
    );
}

/// A file's line and what it needs there.
fn told(import: &Import) -> String {
    let Import {
        file,
        line,
        path,
        target,
        ..
    } = import;
    format!("src/{file}:{line} names `{path}`, which is in src/{target}")
}

/// What the files of a small crate need of each other, as `file -> target`.
fn needs(files: &[(&str, &str)], tests: Tests) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder for a small crate");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file stands in a folder"))
            .expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let imports = imports::read(folder.path(), tests);
    let pairs = imports
        .iter()
        .map(|import| format!("{} -> {}", import.file, import.target));
    pairs.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn names_are_followed_through_facades_to_where_they_are_defined() {
    let files = [
        ("lib.rs", "pub mod queue; pub mod shop;"),
        ("main.rs", "fn main() { mcp_bridge::shop::open(); }"),
        ("queue/mod.rs", "mod items; mod long; pub use self::long::Long as Queue; pub use items::*;"),
        ("queue/items.rs", "pub enum Item { One }"),
        ("queue/long.rs", "use super::Item; pub struct Long(Item);"),
        (
            "shop.rs",
            "use crate::queue::{self, Queue}; pub fn open() { assert!(matches!(queue::Item::One, _)); }
             #[cfg(test)] mod tests { use crate::queue::Queue; use super::*; }",
        ),
    ];
    let expected = [
        "main.rs -> shop.rs",
        "queue/long.rs -> queue/items.rs",
        "queue/mod.rs -> queue/long.rs",
        "shop.rs -> queue/items.rs",
        "shop.rs -> queue/long.rs",
    ];
    assert_eq!(needs(&files, Tests::Skipped), expected);
}

#[test]
fn a_type_that_a_macro_makes_is_defined_where_the_macro_is_called() {
    let files = [
        ("lib.rs", "mod shop; mod till;"),
        ("main.rs", "fn main() {}"),
        ("shop.rs", "use crate::till::Till; fn open(till: Till) {}"),
        (
            "till.rs",
            "macro_rules! table { () => {} } table! { pub struct Till { drawers: u8 = MANY, 1; } }",
        ),
    ];
    assert_eq!(needs(&files, Tests::Skipped), ["shop.rs -> till.rs"]);
}

#[test]
fn a_child_that_uses_what_its_user_and_parent_defines_is_a_circle() {
    let files = [
        ("lib.rs", "mod shop;"),
        ("main.rs", "fn main() {}"),
        (
            "shop.rs",
            "mod till; pub struct Price; fn open() { till::open() }",
        ),
        ("shop/till.rs", "pub fn open() -> super::Price { todo!() }"),
    ];
    assert_eq!(
        needs(&files, Tests::Skipped),
        ["shop.rs -> shop/till.rs", "shop/till.rs -> shop.rs"]
    );
}

#[test]
fn what_is_compiled_for_tests_only_counts_where_it_is_asked_for() {
    let files = [
        ("lib.rs", "mod shop; mod till;"),
        ("main.rs", "fn main() {}"),
        (
            "shop.rs",
            "#[cfg(test)] #[path = \"shop_tests.rs\"] mod tests;",
        ),
        ("shop_tests.rs", "fn t() { crate::till::open() }"),
        ("till.rs", "pub fn open() {}"),
    ];
    assert_eq!(needs(&files, Tests::Skipped), [""; 0]);
    assert_eq!(needs(&files, Tests::Read), ["shop_tests.rs -> till.rs"]);
}
