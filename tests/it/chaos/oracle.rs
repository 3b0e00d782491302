//! The oracle in the game: each run of code notes on its computer's disk that it began, as the first thing it does, and
//! that it ended, as the last. At each start a computer tells the test what it has noted; no bridge has a hand in it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    extract::{Path, State},
    routing::post,
};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::common::{is, until};

/// Milliseconds since 1970, by the clock that the simulated game has too.
pub type Moment = u64;

pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// Which run is meant: that of the code with this key on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    pub computer: u64,
    pub key: String,
}

/// What the oracle counted of one run.
#[derive(Debug, Default, PartialEq)]
pub struct Count {
    pub began: Vec<Moment>,
    pub ended: Vec<Moment>,
}

/// How code of a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It returns its key.
    Returns,
    /// It throws its key.
    Throws,
}

/// How long it takes between two looks whether it is to be stopped, in seconds.
const TURN: &str = "0.1";

/// `note`: writes that a run began or ended. It does not yield, so nothing comes between it and what stands beside it.
const NOTE: &str = "local function note(what) local file = fs.open('/oracle', 'ab') \
    file.write(what .. ' ' .. key .. ' ' .. string.format('%.0f', os.epoch('utc')) .. '\\n') file.close() end";

/// Lua that is counted under `key`, and takes so many turns of a tenth of a second.
pub fn counted(key: &str, turns: u64, ending: Ending) -> String {
    let end = match ending {
        Ending::Returns => "note('ended') return key",
        Ending::Throws => "error('thrown by ' .. key)",
    };
    // The key comes first, where lists of jobs show it.
    format!(
        "local key = '{key}' {NOTE} note('began') print('said ' .. key) for _ = 1, {turns} do sleep({TURN}) end {end}"
    )
}

/// The source of a tool in the game whose runs are counted. Its arguments: `key`, `turns`.
pub fn counted_tool() -> String {
    format!(
        "return {{ call = function(arguments) local key = arguments.key {NOTE} note('began') \
         for _ = 1, arguments.turns do sleep({TURN}) end note('ended') return key end }}"
    )
}

/// What counted code that returns prints, and the value it returns, as `exec-lua` shows it.
pub fn well_ended(key: &str) -> String {
    format!("said {key}\n=> \"{key}\"")
}

/// Collects what the computers noted.
pub struct Oracle {
    address: SocketAddr,
    noted: Noted,
    task: JoinHandle<()>,
}

/// What each computer noted, as it told when it last started, and when it started.
type Noted = Arc<Mutex<HashMap<u64, (String, Vec<Moment>)>>>;

/// What the oracle knows in the end.
pub struct Knowledge {
    pub counts: HashMap<Run, Count>,
    /// When each computer started: what ran on it before was over by then.
    pub starts: HashMap<u64, Vec<Moment>>,
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Oracle {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let noted = Noted::default();
        let told = async |State(noted): State<Noted>, Path(computer): Path<u64>, body: String| {
            let mut noted = noted.lock().unwrap();
            let (all, starts) = noted.entry(computer).or_default();
            *all = body;
            starts.push(now());
        };
        let routes = Router::new()
            .route("/{computer}", post(told))
            .with_state(noted.clone());
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            address,
            noted,
            task,
        }
    }

    /// Lua for a computer's start, which tells the oracle what the computer has noted.
    pub fn startup(&self) -> String {
        format!(
            "local file = fs.open('/oracle', 'rb') local noted = file and file.readAll() or '' \
             if file then file.close() end http.post('http://{}/' .. os.getComputerID(), noted)",
            self.address
        )
    }

    /// How often this computer has told what it noted.
    pub fn times_told(&self, computer: u64) -> usize {
        let noted = self.noted.lock().unwrap();
        noted.get(&computer).map_or(0, |(_, starts)| starts.len())
    }

    /// Waits until this computer has told more often than `before`.
    pub async fn told_again(&self, computer: u64, before: usize) {
        until(
            &format!("computer {computer} tells the oracle"),
            async || {
                let times = self.times_told(computer);
                is(times > before, times)
            },
        )
        .await;
    }

    /// All that it knows.
    pub fn knowledge(&self) -> Knowledge {
        let mut counts: HashMap<Run, Count> = HashMap::new();
        let mut starts = HashMap::new();
        for (computer, (noted, started)) in &*self.noted.lock().unwrap() {
            starts.insert(*computer, started.clone());
            for line in noted.lines() {
                let words: Vec<_> = line.split(' ').collect();
                let [what, key, at] = words[..] else {
                    panic!("computer {computer} noted {line:?}");
                };
                let run = Run {
                    computer: *computer,
                    key: key.to_owned(),
                };
                let count = counts.entry(run).or_default();
                let at = at.parse().unwrap();
                match what {
                    "began" => count.began.push(at),
                    "ended" => count.ended.push(at),
                    _ => panic!("computer {computer} noted {line:?}"),
                }
            }
        }
        Knowledge { counts, starts }
    }
}
