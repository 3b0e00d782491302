//! Faults, carried out.

use std::{future::Future, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    clients::Exit,
    plan::{ComputerHarm, Harm},
    world::{Computer, World},
};

/// How long the owner has to say who it is.
const NAMED_WITHIN: Duration = Duration::from_secs(2);

/// Does this harm, and makes good what can be.
pub async fn carry_out(world: &World, harm: &Harm) {
    match harm {
        Harm::Computer(id, harm) => harm_computer(world.computer(*id), *harm).await,
        Harm::SuspendOwner(time) => {
            let _alone = world.owner_harmed.lock().await;
            if let Some(pid) = owner(world).await {
                suspended(pid, sleep(*time)).await;
            }
        }
        Harm::KillOwner => {
            let _alone = world.owner_harmed.lock().await;
            let Some(pid) = owner(world).await else {
                return;
            };
            for seat in &world.seats {
                if seat.client().await.pid == pid {
                    seat.change(Exit::Killed).await;
                }
            }
        }
        Harm::Leave(seat) => world.seats[*seat].change(Exit::Leaves).await,
        Harm::Kill(seat) => world.seats[*seat].change(Exit::Killed).await,
    }
}

async fn harm_computer(computer: &Computer, harm: ComputerHarm) {
    let _alone = computer.harmed.lock().await;
    let network = &computer.network;
    match harm {
        ComputerHarm::Cut => network.cut(),
        ComputerHarm::Unreachable(time) => network.fail(time).await,
        ComputerHarm::Lose(way, time) => network.lose(way, time).await,
        ComputerHarm::Stall(way, time) => network.stall(way, time).await,
        ComputerHarm::Suspend(time) => suspended(computer.pid, sleep(time)).await,
        ComputerHarm::Pause(time) => {
            computer.order("pause").await;
            sleep(time).await;
            computer.order("resume").await;
        }
        ComputerHarm::Reboot => computer.order("reboot").await,
        ComputerHarm::Unload(time) => {
            computer.order("unload").await;
            sleep(time).await;
            computer.order("load").await;
        }
        ComputerHarm::Terminate(time) => {
            computer.order("terminate").await;
            sleep(time).await;
            computer.order("reboot").await;
        }
    }
}

/// The process id of the bridge that holds the link port; none if nobody says so now.
async fn owner(world: &World) -> Option<u32> {
    let asked = async {
        let mut stream = TcpStream::connect(world.shared.port.address()).await.ok()?;
        let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let health = answer.split("\r\n\r\n").nth(1)?;
        let health: serde_json::Value = serde_json::from_str(health).ok()?;
        health["owner"]["pid"].as_u64()
    };
    let pid = timeout(NAMED_WITHIN, asked).await.ok()??;
    u32::try_from(pid).ok()
}

/// Lets a process stand still meanwhile.
#[cfg(unix)]
async fn suspended(pid: u32, meanwhile: impl Future<Output = ()>) {
    use rustix::process::Signal;
    signal(pid, Signal::STOP);
    meanwhile.await;
    signal(pid, Signal::CONT);
}

/// There is no such thing here.
#[cfg(not(unix))]
async fn suspended(_: u32, meanwhile: impl Future<Output = ()>) {
    meanwhile.await;
}

#[cfg(unix)]
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have been killed meanwhile.
    let _ = rustix::process::kill_process(pid, signal);
}
