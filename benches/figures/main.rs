//! What users feel, in figures: start-up, the way from stdin to a computer and back, calls a second, memory per link,
//! and what it costs to ask all of thousands of computers.
//!
//! `cargo bench` prints one table. Machines differ and are busy, so each figure stands beside its floor (the least that
//! any program would need for the same) or a peer that is driven in the same way, measured in the same run.
//!
//! `cargo bench -- fleet` measures one part alone, and `cargo bench -- --bridge PATH` another build.

// What only fleets use, which are measured on Linux.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod calls;
mod echo;
#[cfg(target_os = "linux")]
mod fleet;
mod process;
mod table;

use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    // This program is also the floors and the peers, as children of itself.
    match arguments.peek().map(String::as_str) {
        Some("--as-cat") => return echo::as_cat(),
        Some(echo::RELAY) => return echo::as_relay(),
        Some("--as-rmcp-echo") => return Runtime::new()?.block_on(echo::as_rmcp_echo()),
        #[cfg(target_os = "linux")]
        Some(fleet::crowd::ROLE) => return fleet::crowd::run(),
        #[cfg(target_os = "linux")]
        Some(fleet::floor::ROLE) => return fleet::floor::run(),
        _ => {}
    }
    let mut chosen = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // `cargo test --benches` only asks whether this compiles and starts.
            "--test" => return Ok(()),
            "--bridge" => process::measure(arguments.next().ok_or("--bridge takes a path")?),
            "--bench" => {}
            _ => chosen.push(argument),
        }
    }
    let is_chosen = |part: &str| chosen.is_empty() || chosen.iter().any(|one| one == part);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    table::print("measured", "figure", "floor or peer", "ratio");
    if is_chosen("start") {
        calls::start_up()?;
    }
    if is_chosen("calls") {
        calls::round_trip(&runtime)?;
        calls::handler_on_the_host()?;
        calls::calls_a_second(&runtime)?;
        calls::agent_time(&runtime)?;
    }
    if is_chosen("guest") {
        calls::round_trip_of_a_guest(&runtime)?;
    }
    #[cfg(target_os = "linux")]
    if is_chosen("fleet") {
        fleet::fleets()?;
    }
    #[cfg(target_os = "linux")]
    if is_chosen("bridges") {
        fleet::many_guests()?;
    }
    Ok(())
}
