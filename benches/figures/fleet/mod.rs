//! Many computers at once: what they hold, what asking all of them costs, and what many guests add to that.

pub mod crowd;
pub mod floor;
mod frames;
mod peer;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::json;

use self::{crowd::Crowd, floor::Floor, peer::Installed};
use crate::{
    Result,
    process::{PROBE_TIME, Process, bridge, call, cpu, resident},
    table::{Samples, compare, print, sample, size, time},
};

/// How many pings make one figure, shared by the rounds.
const PINGS: usize = 100_000;

/// How many guests share the computers.
const GUESTS: usize = 64;

/// So many computers are linked for them.
const COMPUTERS: u64 = 10_000;

/// What one round costs, in seconds.
#[derive(Default)]
struct Rounds {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

impl Rounds {
    /// Runs one round that all `count` computers of the process `pid` answer.
    fn run(&mut self, pid: u32, count: u64, round: impl FnOnce() -> Result<()>) -> Result<()> {
        let (start, before) = (Instant::now(), cpu(pid)?);
        round()?;
        self.wall.push(start.elapsed().as_secs_f64());
        self.cpu.push((cpu(pid)? - before) / count as f64);
        Ok(())
    }

    /// The medians of CPU time a computer, and of the round.
    fn medians(self) -> (f64, f64) {
        let median = |samples| Samples(samples).sorted().median();
        (median(self.cpu), median(self.wall))
    }
}

/// All figures of fleets of several sizes, beside the floor and, where there is one, the peer.
pub fn fleets() -> Result<()> {
    let peer = peer::install();
    for count in [100, 2_000, 10_000] {
        fleet(count, &peer)?;
    }
    Ok(())
}

fn fleet(count: u64, peer: &Installed) -> Result<()> {
    let (mut ours, _crowd, held) = linked(Process::start(bridge())?, count)?;
    let mut floor = Floor::start(count)?;
    let (mut of_ours, mut of_floor) = (Rounds::default(), Rounds::default());
    // In turn, so that what else the machine does falls on both.
    for round in 0..=rounds(count) {
        let (pid, floor_pid) = (ours.pid(), floor.pid());
        of_ours.run(pid, count, || probe(&mut ours))?;
        of_floor.run(floor_pid, count, || floor.round())?;
        if round == 0 {
            // The first warms up.
            (of_ours, of_floor) = Default::default();
        }
    }
    drop(floor);
    let (cpu, wall) = of_ours.medians();
    let (floor_cpu, floor_wall) = of_floor.medians();
    let what = "bare send and receive over epoll";
    let name = format!("probe of all {count}");
    compare(&format!("{name}, CPU a computer"), cpu, floor_cpu, what);
    compare(&format!("{name}, wall"), wall, floor_wall, what);
    if count > 1_000 {
        let name = format!("memory a linked computer, {count} linked");
        print(&name, &kibibytes(held), "", "");
    }
    drop(ours);
    match peer {
        Ok(folder) => {
            let (mut theirs, _crowd, held) = linked(peer::start(folder)?, count)?;
            let mut of_theirs = Rounds::default();
            for round in 0..=rounds(count) {
                let pid = theirs.pid();
                of_theirs.run(pid, count, || probe(&mut theirs))?;
                if round == 0 {
                    of_theirs = Rounds::default();
                }
            }
            let (their_cpu, their_wall) = of_theirs.medians();
            let what = "the Node bridge";
            compare(&format!("{name}, CPU a computer"), cpu, their_cpu, what);
            compare(&format!("{name}, wall"), wall, their_wall, what);
            if count > 1_000 {
                let name = format!("the same of the Node bridge, {count} linked");
                print(&name, &kibibytes(held), "", "");
            }
        }
        Err(why) => print(&name, "", why, ""),
    }
    Ok(())
}

fn rounds(count: u64) -> usize {
    (PINGS / count as usize).clamp(20, 200)
}

/// A bridge to which so many computers have linked, and how many bytes each of them takes there.
fn linked(mut bridge: Process, count: u64) -> Result<(Process, Crowd, f64)> {
    let port = bridge.open()?;
    // The first links warm up what all links share.
    const FIRST: u64 = 50;
    let mut crowd = Crowd::start(port)?;
    crowd.link(1..=FIRST)?;
    wait_for(port, FIRST)?;
    let before = resident(bridge.pid())?;
    crowd.link(FIRST + 1..=count)?;
    wait_for(port, count)?;
    let after = resident(bridge.pid())?;
    let held = (after - before) / (count - FIRST) as f64;
    Ok((bridge, crowd, held))
}

/// Waits until so many computers are linked.
fn wait_for(port: SocketAddr, count: u64) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if frames::health(port)?["computers"] == count {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("the computers did not link".into())
}

fn probe(bridge: &mut Process) -> Result<()> {
    let probe = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "probe-computers"}});
    let start = Instant::now();
    bridge.send(&probe.to_string())?;
    let reply = bridge.line()?;
    // A long answer shows its head and its tail. But if one had not answered, the others would have waited for it.
    if start.elapsed() >= PROBE_TIME || !reply.contains("pong from") || reply.contains("timeout") {
        let shown: String = reply.chars().take(300).collect();
        return Err(format!("not all computers answered: {shown}").into());
    }
    Ok(())
}

/// Thousands of computers, and many bridges that share them.
pub fn many_guests() -> Result<()> {
    let (mut owner, _crowd, _) = linked(Process::start(bridge())?, COMPUTERS)?;
    let port = owner.open()?;
    let with = format!("{COMPUTERS} computers, {GUESTS} guests");
    let start = Instant::now();
    let mut guests = Vec::new();
    for _ in 0..GUESTS {
        let mut command = bridge();
        command.env("CC_LINK_PORT", port.port().to_string());
        guests.push(Process::start(command)?);
    }
    for guest in &mut guests {
        guest.open()?;
        guest.wait_for_computers(COMPUTERS as usize)?;
    }
    let all_know = start.elapsed().as_secs_f64();
    print(
        &format!("{with}: until all know all"),
        &time(all_know),
        "",
        "",
    );
    let held = sample_of(&guests, |guest| resident(guest.pid()))?;
    let other = format!("{} the owner", size(resident(owner.pid())?));
    let name = format!("{with}: resident memory of a guest");
    print(&name, &size(held.median()), &other, "");

    let window = Duration::from_secs(10);
    let busy = |pid| -> Result<f64> {
        let before = cpu(pid)?;
        std::thread::sleep(window);
        Ok((cpu(pid)? - before) / window.as_secs_f64())
    };
    let idle = busy(owner.pid())?;
    let name = format!("{with}: CPU of the owner, idle");
    print(&name, &format!("{} a second", time(idle)), "", "");

    let guest = &mut guests[GUESTS / 2];
    let (mut through_guest, mut through_owner) = (Rounds::default(), Rounds::default());
    for _ in 0..10 {
        let pid = owner.pid();
        through_guest.run(pid, COMPUTERS, || probe(guest))?;
        through_owner.run(pid, COMPUTERS, || probe(&mut owner))?;
    }
    let (guest_cpu, guest_wall) = through_guest.medians();
    let (owner_cpu, owner_wall) = through_owner.medians();
    let what = "through the owner";
    let name = format!("{with}: probe through a guest");
    compare(&format!("{name}, owner's CPU"), guest_cpu, owner_cpu, what);
    compare(&format!("{name}, wall"), guest_wall, owner_wall, what);

    let line = call(7, 1).to_string();
    let of_guest = sample(500, || guest.timed(&line))?.median();
    let of_owner = sample(500, || owner.timed(&line))?.median();
    let name = format!("{with}: exec-lua through a guest");
    compare(&name, of_guest, of_owner, what);
    Ok(())
}

fn sample_of<T>(all: &[T], measure: impl Fn(&T) -> Result<f64>) -> Result<Samples> {
    let samples: Result<_> = all.iter().map(measure).collect();
    Ok(Samples(samples?).sorted())
}

fn kibibytes(bytes: f64) -> String {
    format!("{:.2} KiB", bytes / 1024.0)
}
