//! A computer's whole life on the link: its links one after another, while the bridge asks it things.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use mcp_bridge::{
    base::http::listener,
    commands::computers,
    computers::{
        Ask, Computer, Waited,
        job::{About, Job},
        reach::Reach,
        registry::Registry,
    },
    link::{http, port},
    settings::LinkConfig,
    wire::{
        frame::{self, AgentFrame},
        hello::{self, Hello},
        names::{ComputerId, Method},
        text::TextMode,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split},
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::websocket::{UPGRADE, frames_after_head, message};

/// The computer that is asked.
const ASKED: ComputerId = ComputerId(7);

/// The request that is longer than a message. It is made only where the input names it.
const LONG: &str = "r2";

/// How long each request has.
const TIME: Duration = Duration::from_secs(20);

/// How long the computer has to say that it stopped a job.
const STOP_TIME: Duration = Duration::from_millis(800);

/// How much time an empty line lets pass: more than the bridge waits until it asks again.
const PAUSE: Duration = Duration::from_millis(2_500);

/// The most links that one input opens.
const LINKS: usize = 6;

/// The most jobs that a computer may have without an end, and that stay readable after theirs.
const JOBS: usize = 256 + 128;

/// Each line is a message from the agent; a hello opens a link of its own, and an empty line lets time pass. Whatever
/// they say, every request to computer 7 ends in time, is sent as the protocol allows, and leaves jobs that can be read.
pub fn check(data: &[u8]) {
    // Time passes when nothing else is left to do, so no input takes long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(live(data));
}

async fn live(data: &[u8]) {
    let config = LinkConfig {
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: 0,
        token: None,
        names: Vec::new(),
    };
    let registry = Arc::new(Registry::default());
    let (_reach, follow) = watch::channel(Reach::Unknown);
    let routes = computers::routes(&config, registry.clone(), follow, None);
    let mut links: Vec<Link> = Vec::new();
    let mut calls = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            sleep(PAUSE).await;
            continue;
        }
        if std::str::from_utf8(line).is_ok_and(hello::claims_hello) && links.len() < LINKS {
            links.push(Link::open(routes.clone(), line).await);
        }
        if let Some(link) = links.last_mut() {
            link.send(line).await;
        }
        if calls.is_empty()
            && let Some(computer) = registry.get(ASKED.into())
        {
            let asked = requests().into_iter();
            // The long one takes long to send.
            let asked = asked.filter(|(id, ..)| *id != LONG || names(data, LONG));
            calls.extend(asked.map(|request| tokio::spawn(call(computer.clone(), request))));
        }
    }
    let mut sent = Vec::new();
    for link in links {
        sent.push(link.close().await);
    }
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(registry.linked(), 0, "a computer is still linked");
    check_requests(&sent);
    for computer in registry.all() {
        let jobs = computer.jobs();
        assert!(jobs.len() <= JOBS, "{} jobs", jobs.len());
        jobs.iter().for_each(|job| read_to_the_end(job));
    }
}

/// One link of an agent.
struct Link {
    /// What it said first; none if the bridge can't read that.
    hello: Option<Box<Hello>>,
    to_bridge: WriteHalf<DuplexStream>,
    from_bridge: JoinHandle<Vec<u8>>,
}

impl Link {
    async fn open(routes: http::Routes, hello: &[u8]) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        tokio::spawn(listener::converse(
            theirs,
            peer,
            routes,
            port::BOUNDS,
            CancellationToken::new(),
        ));
        let (from_bridge, mut to_bridge) = split(ours);
        to_bridge.write_all(UPGRADE).await.unwrap();
        let text = std::str::from_utf8(hello).unwrap_or_default();
        Self {
            hello: match frame::read(text, TextMode::Plain) {
                Ok(AgentFrame::Hello(hello)) => Some(hello),
                _ => None,
            },
            to_bridge,
            from_bridge: tokio::spawn(read_all(from_bridge)),
        }
    }

    /// Sends a message, and lets the bridge do all that it does at once.
    async fn send(&mut self, text: &[u8]) {
        // A bridge that closed has said what it had to say.
        let _ = self.to_bridge.write_all(&message(text)).await;
        sleep(Duration::from_millis(1)).await;
    }

    /// Ends the link; all frames that the bridge sent on it.
    async fn close(mut self) -> (Option<Box<Hello>>, Vec<Value>) {
        let _ = self.to_bridge.shutdown().await;
        let answer = self.from_bridge.await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 101 "));
        (self.hello, frames_after_head(&answer))
    }
}

async fn read_all(mut stream: ReadHalf<DuplexStream>) -> Vec<u8> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// What the bridge asks: a short piece of code, one that goes out in parts, and one that is in no list.
fn requests() -> [(&'static str, usize, About<'static>); 3] {
    [
        ("r1", 20, About::listed("short", false)),
        (LONG, 140_000, About::listed("long", true)),
        ("r3", 0, About::unlisted()),
    ]
}

fn names(data: &[u8], id: &str) -> bool {
    data.windows(id.len()).any(|part| part == id.as_bytes())
}

/// Asks one thing, and stops what still runs when its time is up.
async fn call(computer: Arc<Computer>, (id, length, about): (&str, usize, About<'_>)) {
    let params = json!({ "code": "x".repeat(length) });
    let Ok(job) = computer.begin(id.into(), about) else {
        return;
    };
    let deadline = Instant::now() + TIME;
    let ask = Ask {
        method: Method::ExecLua,
        params: Some(&params),
        about,
        gate: None,
    };
    let waited = computer.run(&job, ask, deadline).await;
    let late = Instant::now().saturating_duration_since(deadline);
    assert!(
        late <= Duration::from_millis(1),
        "{id} ended {late:?} too late"
    );
    let ended = job.has_ended();
    match waited {
        Waited::Ended => assert!(ended, "{id} is said to have ended"),
        Waited::TooLarge { size, limit } => assert!(size > limit, "{size} bytes are not too many"),
        Waited::Held => panic!("{id} was held up, and has no gate"),
        Waited::Running | Waited::NotTaken | Waited::Away(_) => {
            let start = Instant::now();
            computer.cancel(&job, STOP_TIME).await;
            assert!(start.elapsed() <= STOP_TIME + Duration::from_millis(2));
        }
    }
}

/// Nothing is asked twice of an agent of version 1, and nothing of a later start of an agent program than the first.
fn check_requests(links: &[(Option<Box<Hello>>, Vec<Value>)]) {
    let mut asked_of_old = BTreeSet::new();
    let mut boots = BTreeMap::new();
    for (hello, frames) in links {
        for request in frames.iter().filter(|frame| frame["type"] == "request") {
            let hello = hello.as_ref().expect("only who said hello is asked");
            let id = request["id"].as_str().unwrap().to_owned();
            assert!(["r1", "r2", "r3"].contains(&&*id), "{request}");
            let boot = hello.dialect().boot().map(|boot| boot.as_str().to_owned());
            assert_eq!(boot.as_deref(), request["boot"].as_str(), "{request}");
            assert!(
                boot.is_some() || asked_of_old.insert(id.clone()),
                "asked twice: {request}"
            );
            assert_eq!(boots.entry(id).or_insert(boot.clone()), &boot, "{request}");
        }
    }
}

/// A job's output can be read page by page, from its beginning to its end.
fn read_to_the_end(job: &Job) {
    // At least a character.
    const PAGE: usize = 4;
    let mut cursor = 0;
    loop {
        let page = job.look(|progress| progress.read(cursor, PAGE));
        assert!(
            page.next > cursor || !page.more,
            "no end after {cursor} bytes"
        );
        cursor = page.next;
        if !page.more {
            break;
        }
    }
    assert_eq!(cursor, job.look(|progress| progress.printed()));
}
