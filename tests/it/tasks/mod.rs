//! What people ask for, done by few calls of the built-in tools: each folder of `tests/tasks/` has a sentence, a world, the
//! calls, and how the world is to be afterwards. `tests/tasks/README.md` says what such a folder holds, and what its calls
//! may know.

mod base;
mod checks;
mod script;
mod task;

use std::fs;

use crate::common::tools::of_repository;
use task::Task;

/// The most calls that a task may take, and how many most of them take.
const MOST_CALLS: usize = 4;
const FEW_CALLS: usize = 2;

macro_rules! tasks {
    ($($name:ident)*) => {
        /// The folders, as names of tests.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[tokio::test]
            async fn $name() {
                script::carry_out(&Task::read(&folder(stringify!($name)))).await;
            }
        )*
    };
}

tasks! {
    answer_a_redstone_pulse
    back_after_a_failure
    build_a_wall
    clock_on_a_monitor
    coal_into_one_chest
    copy_large_files
    craft_torches
    dig_a_room
    door_by_password
    find_a_lost_turtle
    fix_a_program
    harvest_and_sow
    keep_furnaces_fed
    mirror_a_folder
    rename_a_turtle
    sort_a_chest
    start_at_boot
    stop_a_runaway_program
    survey_of_ten
    tank_on_a_monitor
    tunnel_with_torches
    undo_a_deletion
    which_program_uses_it
    who_calls_on_rednet
}

/// The folder of a test.
fn folder(name: &str) -> String {
    name.replace('_', "-")
}

// For whoever wants to see it: `cargo test … --nocapture`.
#[expect(clippy::print_stdout)]
#[test]
fn no_task_takes_more_than_four_calls_and_most_take_one_or_two() {
    let calls: Vec<_> = NAMES
        .iter()
        .map(|name| (folder(name), Task::read(&folder(name)).call.len()))
        .collect();
    let table: Vec<_> = calls
        .iter()
        .map(|(name, count)| format!("{name:<28} {count}"))
        .collect();
    let table = table.join("\n");
    println!("{table}");
    assert!(
        calls.iter().all(|(_, count)| *count <= MOST_CALLS),
        "{table}"
    );
    let few = calls
        .iter()
        .filter(|(_, count)| *count <= FEW_CALLS)
        .count();
    assert!(few * 2 > calls.len(), "{few} of {}:\n{table}", calls.len());
}

#[test]
fn each_folder_of_tasks_is_run() {
    let entries = fs::read_dir(of_repository("tests/tasks")).unwrap();
    let mut folders: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut names: Vec<_> = NAMES.iter().map(|name| folder(name)).collect();
    names.sort();
    assert_eq!(folders, names);
}
