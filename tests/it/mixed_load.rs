//! A bridge that serves for long while clients, computers and other bridges come and go: its memory stays as it is.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use axum::{body::Body, http::Method};
use futures_util::future::{LocalBoxFuture, join_all};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{runtime::Handle, time::sleep};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::Computer as RawComputer,
    memory::{MIB, resident, tell},
    port::Port,
    rounds,
    served::{Client, Served},
};

/// Computers that stay.
const COMPUTERS: u64 = 4;

/// The number of one that is started and turned off again and again, and the first of those that link and are gone.
const RESTARTED: u64 = 50;
const PASSING: u64 = 100;

/// How often the memory is looked at.
const LOOKS: u32 = 12;

/// How long a simulated computer may take for one event: on a busy machine more than in the game.
const EVENT_TIME: Duration = Duration::from_secs(60);

/// What goes on, all at once.
struct Load {
    served: Served,
    port: Port,
    state: TempDir,
    until: Instant,
    /// How many calls ran code to its end, and how many did not since the machine was too busy for the computer.
    ran: AtomicUsize,
    too_long: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_that_serves_while_all_come_and_go_does_not_grow() {
    let length = Duration::from_secs(rounds(12).into());
    let (port, state) = (Port::reserve(), tempfile::tempdir().unwrap());
    let served = Served::start_with(|command| {
        command
            .env("CC_LINK_PORT", port.number().to_string())
            .env("MCP_BRIDGE_STATE_DIR", state.path());
    })
    .await;
    let load = Load {
        served,
        port,
        state,
        until: Instant::now() + length,
        ran: AtomicUsize::new(0),
        too_long: AtomicUsize::new(0),
    };
    let computers: Vec<_> = (1..=COMPUTERS).map(|id| load.computer(id)).collect();
    for id in 1..=COMPUTERS {
        load.served.stateless().linked(id).await;
    }
    let kinds: [LocalBoxFuture<'_, usize>; 6] = [
        Box::pin(load.clients_that_come_and_go()),
        Box::pin(load.calls_with_output()),
        Box::pin(load.jobs()),
        Box::pin(load.scripts()),
        Box::pin(load.computers_that_come_and_go()),
        Box::pin(load.guests_that_come_and_go()),
    ];
    let pid = load.served.child.id().unwrap();
    let looks = async {
        let mut looks = Vec::new();
        for look in 1..=LOOKS {
            sleep(length / LOOKS).await;
            let has = resident(pid).unwrap_or_default();
            tell(format!("after {:?}: {has} KiB", length / LOOKS * look));
            looks.push(has);
        }
        looks
    };
    let (counts, looks) = tokio::join!(join_all(kinds), looks);
    tell(format!("rounds of each kind: {counts:?}"));
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let [ran, too_long] = [&load.ran, &load.too_long].map(|count| count.load(Relaxed));
    assert!(too_long <= 1 + ran / 20, "{too_long} too long, {ran} ran");
    // By a third of the time it has what it keeps.
    let (warm, later) = looks.split_at(looks.len() / 3);
    let (warm, last) = (warm.iter().max().unwrap(), later.iter().rev().take(3).min());
    let bound = warm + warm / 4 + 4 * MIB;
    assert!(
        last.is_some_and(|last| *last < bound),
        "it has grown, in KiB: {looks:?}"
    );
    drop(computers);
}

impl Load {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// A simulated computer with the real agent.
    fn computer(&self, id: u64) -> Computer {
        let mut options = ComputerOptions::new(id)
            .with_file("mcp-computer.lua", agent::program())
            .with_file(
                "startup.lua",
                format!("shell.run('mcp-computer ws://{}')", self.port.address()),
            );
        options.clock_speed = 10.0;
        options.limits.event_time = EVENT_TIME;
        Computer::start(options, "", &Handle::current()).unwrap()
    }

    async fn session(&self) -> Client {
        self.served.client("2025-11-25").await
    }

    /// Sees to it that code ran. What a computer had no time for on a busy machine is no failure of the bridge.
    fn note(&self, answer: &ToolAnswer) {
        let too_long = answer.text.contains("Too long without yielding");
        assert!(!answer.is_error || too_long, "{}", answer.text);
        let count = if too_long { &self.too_long } else { &self.ran };
        count.fetch_add(1, Relaxed);
    }

    /// Each opens a session and looks around; every other one ends it.
    async fn clients_that_come_and_go(&self) -> usize {
        let mut rounds = 0;
        while self.goes_on() {
            let mut client = self.session().await;
            client.request("tools/list", json!({})).await;
            client.call("list-computers", json!({})).await;
            client.call("find-tools", json!({"query": "lua"})).await;
            client.call("list-jobs", json!({})).await;
            if rounds % 2 == 0 {
                let end = client.http(Method::DELETE).body(Body::empty()).unwrap();
                client.exchange(end).await;
            }
            rounds += 1;
        }
        rounds
    }

    /// Calls that print from a line up to 200 KB.
    async fn calls_with_output(&self) -> usize {
        let mut client = self.session().await;
        let mut rounds = 0;
        while self.goes_on() {
            let lines = [1, 100, 4_000][rounds % 3];
            let code = format!("for i = 1, {lines} do print(('x'):rep(50)) end return {rounds}");
            let computer = 1 + rounds as u64 % COMPUTERS;
            let call = json!({"computerId": computer, "code": code});
            self.note(&client.call("exec-lua", call).await);
            rounds += 1;
        }
        rounds
    }

    /// Jobs that outlive their calls, are looked at and stopped.
    async fn jobs(&self) -> usize {
        let mut client = self.session().await;
        let mut rounds = 0;
        while self.goes_on() {
            let code = "for i = 1, 200 do print('line ' .. i) end sleep(600)";
            let computer = 1 + rounds as u64 % COMPUTERS;
            let call = json!({"computerId": computer, "code": code, "timeoutMs": 100});
            let left = client.call("exec-lua", call).await.text;
            if let Some((_, job)) = left.split_once("as job ") {
                let job = job.split('.').next().unwrap();
                client.call("get-job", json!({"jobId": job})).await;
                client.call("cancel-job", json!({"jobId": job})).await;
            }
            rounds += 1;
        }
        rounds
    }

    /// Scripts that ask all the computers that stay.
    async fn scripts(&self) -> usize {
        let mut client = self.served.stateless();
        let mut rounds = 0;
        while self.goes_on() {
            let code = format!(
                "local ids = {{}}
                for id = 1, {COMPUTERS} do ids[id] = id end
                local outcomes = computers.exec(ids, 'return os.getComputerID()')
                return outcomes[1].ok"
            );
            client.call("run-script", json!({"code": code})).await;
            rounds += 1;
        }
        rounds
    }

    /// One that is started and turned off, and others of ever new numbers that link, print and are gone.
    async fn computers_that_come_and_go(&self) -> usize {
        let mut rounds = 0;
        let mut client = self.session().await;
        while self.goes_on() {
            let restarted = self.computer(RESTARTED);
            for passing in 0..20 {
                let id = PASSING + rounds as u64 * 20 + passing;
                let mut computer = RawComputer::link_v2(self.port.address(), id).await;
                let job = format!("gone-{id}");
                let report = json!({"id": job, "state": "running", "code": "x", "ageMs": 5});
                let report = json!({"type": "event", "name": "job", "job": report});
                computer.send(&report).await;
                for seq in 1..=4 {
                    let text = "y".repeat(8_000);
                    let output = json!({"type": "output", "id": job, "seq": seq, "text": text});
                    computer.send(&output).await;
                }
                computer.send(&json!({"type": "ping", "n": 1})).await;
                computer.frame_of_type("pong").await;
            }
            client.linked(RESTARTED).await;
            let arguments = json!({"computerId": RESTARTED, "code": "print('here') sleep(600)", "timeoutMs": 50});
            client.call("exec-lua", arguments).await;
            drop(restarted);
            rounds += 1;
        }
        rounds
    }

    /// Other bridges of this user, of which every third is killed.
    async fn guests_that_come_and_go(&self) -> usize {
        let mut rounds = 0;
        while self.goes_on() {
            let mut guest = Bridge::start_with(|command| {
                command
                    .env("CC_LINK_PORT", self.port.number().to_string())
                    .env("MCP_BRIDGE_STATE_DIR", self.state.path());
            });
            guest.initialize("2025-11-25").await;
            for call in 0..5 {
                let code = format!("for i = 1, 100 do print(i, {call}) end");
                guest.linked(1).await;
                let call = json!({"computerId": 1, "code": code});
                self.note(&guest.call("exec-lua", call).await);
            }
            guest.call("list-jobs", json!({})).await;
            if rounds % 3 == 2 {
                guest.kill().await;
            } else {
                // In whatever time: the machine is as busy as it can be.
                guest.close_input();
                guest.ended().await;
            }
            rounds += 1;
        }
        rounds
    }
}
