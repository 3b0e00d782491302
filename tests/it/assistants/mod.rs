//! The assistants by which most people use MCP servers, without a person before them: Claude Code, Codex, Gemini CLI and
//! opencode, each from npm at a pinned version (`tests/clients/`), with the real binary. Their model is ours, and says
//! what the test wants; so it is seen what a model is shown.
//!
//! Over standard input and output with every change; `.ci/long` has them over HTTP too, and several times.

mod api;
mod assistant;
mod model;

use std::{
    io::{self, Write as _},
    pin::Pin,
    time::{Duration, Instant},
};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::timeout,
};

use self::{
    api::{Move, Shown},
    assistant::{Assistant, Run},
    model::{Model, Turn},
};
use crate::{
    clients::{computer, settings},
    common::{port::Port, rounds, served::Served, tools::Tools, until},
};
use mcp_bridge::simulator::Computer;

/// How long an assistant may take for one step. It only counts when something is broken.
const STEP_TIME: Duration = Duration::from_secs(120);

/// How an assistant reaches the bridge.
enum Server {
    /// It starts one.
    Started {
        program: &'static str,
        settings: Vec<(&'static str, String)>,
    },
    /// One serves over HTTP.
    AtUrl(String),
}

#[tokio::test]
async fn claude_code_lists_calls_and_cancels() {
    converse(Assistant::ClaudeCode).await;
}

#[tokio::test]
async fn codex_lists_calls_and_cancels() {
    converse(Assistant::Codex).await;
}

#[tokio::test]
async fn gemini_cli_lists_calls_and_cancels() {
    converse(Assistant::GeminiCli).await;
}

#[tokio::test]
async fn opencode_lists_calls_and_cancels() {
    converse(Assistant::Opencode).await;
}

async fn converse(assistant: Assistant) {
    for round in 0..rounds(1) {
        World::with_a_bridge_of_its_own()
            .conversation(assistant)
            .await;
        #[cfg(unix)]
        World::with_a_bridge_of_its_own()
            .interruption(assistant)
            .await;
        if round > 0 {
            let world = World::with_a_bridge_over_http().await;
            world.conversation(assistant).await;
        }
    }
}

/// A computer, and the bridge that it links to.
struct World {
    folder: TempDir,
    tools: Tools,
    server: Server,
    link: String,
    /// Ends with it.
    _bridge: Option<Served>,
    _port: Option<Port>,
}

impl World {
    fn with_a_bridge_of_its_own() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::new();
        let port = Port::reserve();
        let mut settings = settings(folder.path(), port.number()).to_vec();
        settings.push(("MCP_BRIDGE_TOOLS", tools.path().display().to_string()));
        Self {
            folder,
            tools,
            server: Server::Started {
                program: env!("CARGO_BIN_EXE_mcp-bridge"),
                settings,
            },
            link: format!("ws://{}", port.address()),
            _bridge: None,
            _port: Some(port),
        }
    }

    async fn with_a_bridge_over_http() -> Self {
        let tools = Tools::new();
        let bridge = Served::start_with(|command| {
            command.arg("--tools").arg(tools.path());
        })
        .await;
        let link = format!("ws://{}", bridge.stateless().link_port().await);
        Self {
            folder: tempfile::tempdir().unwrap(),
            tools,
            server: Server::AtUrl(format!("http://{}/mcp", bridge.address)),
            link,
            _bridge: Some(bridge),
            _port: None,
        }
    }

    /// Starts an assistant and a computer, and waits until they could meet; nothing where it can't be installed.
    async fn start(&self, assistant: Assistant) -> Option<(Talk, Computer)> {
        self.tools.add("count-things", "return 7");
        let model = Model::start().await;
        let run = Run {
            folder: self.folder.path(),
            model: model.address.to_string(),
            server: &self.server,
        };
        let command = match assistant.command(&run).await {
            Ok(command) => command,
            // The pins don't fit each other: that is ours to mend.
            Err(problem) if problem.contains("EUSAGE") => panic!("{assistant:?}: {problem}"),
            Err(problem) => {
                // Not by `eprintln!`, which is not seen of a test that passes.
                let told = format!("skipped: {assistant:?} can't be installed: {problem}\n");
                io::stderr().write_all(told.as_bytes()).unwrap();
                return None;
            }
        };
        let computer = computer(&self.link, 1.0);
        let talk = Talk::start(assistant, command, model).await;
        until("the computer is linked", async || {
            let screen = computer.screen().join("\n");
            let linked = screen.contains("linked as 12");
            if linked { Ok(()) } else { Err(screen) }
        })
        .await;
        Some((talk, computer))
    }

    async fn conversation(&self, assistant: Assistant) {
        if let Some((mut talk, computer)) = self.start(assistant).await {
            talk.work(self, &computer).await;
            talk.end().await;
        }
    }

    /// A user interrupts an assistant while code runs on a computer.
    #[cfg(unix)]
    async fn interruption(&self, assistant: Assistant) {
        if let Some((mut talk, computer)) = self.start(assistant).await {
            talk.begin("exec-lua", json!({"code": COUNTS, "timeoutMs": 60_000}));
            until("the code begins", async || match counted(&computer) {
                0 => Err("nothing is written"),
                _ => Ok(()),
            })
            .await;
            talk.interrupt().await;
            stops(&computer).await;
        }
    }
}

/// What is written to a file on the computer for as long as the code runs.
const COUNTS: &str =
    "while true do local f = fs.open('/count', 'ab') f.write('x') f.close() sleep(0.05) end";

impl Talk {
    async fn work(&mut self, world: &World, computer: &Computer) {
        // List.
        for tool in [
            "list-computers",
            "exec-lua",
            "run-script",
            "find-tools",
            "count-things",
        ] {
            assert!(self.offers(tool), "{:?}: {tool}", self.assistant);
        }

        // Call.
        self.shows("list-computers", json!({}), &["12", "base"], false)
            .await;
        let code = "print('hi') return {1, 2}";
        self.shows(
            "exec-lua",
            json!({"code": code}),
            &["hi", "{ 1, 2 }"],
            false,
        )
        .await;

        // Error.
        let code = "error('boom')";
        self.shows(
            "exec-lua",
            json!({"code": code}),
            &["boom", "traceback"],
            true,
        )
        .await;
        let nobody = json!({"computerId": 99, "code": "1"});
        self.shows("exec-lua", nobody, &["Computer 99 is not linked"], true)
            .await;

        // Scalar result.
        for (code, text) in [
            ("6 * 7", "42"),
            ("true", "true"),
            ("'x'", "x"),
            ("nil", "nil"),
        ] {
            self.shows("exec-lua", json!({"code": code}), &[text], false)
                .await;
        }
        for (code, text) in [
            ("return 42", "42"),
            ("return {1, 2}", "2"),
            ("return 'x'", "x"),
        ] {
            self.shows("run-script", json!({"code": code}), &[text], false)
                .await;
        }
        self.shows("count-things", json!({}), &["7"], false).await;

        // List change.
        world.tools.add("late-tool", "return 'late but there'");
        self.finds("late-tool").await;
        let by_name = json!({"name": "late-tool"});
        self.shows("call-tool", by_name, &["late but there"], false)
            .await;
        if self.assistant.sees_list_changes() {
            self.is_offered("late-tool").await;
            self.shows("late-tool", json!({}), &["late but there"], false)
                .await;
        }

        // Cancel: the assistant gives the call up, and the code stops.
        let call = json!({"code": COUNTS, "timeoutMs": 60_000});
        self.call("exec-lua", call).await;
        stops(computer).await;
        self.shows("exec-lua", json!({"code": "6 * 7"}), &["42"], false)
            .await;
    }

    /// Waits until `find-tools` or the list itself has a tool.
    async fn finds(&mut self, tool: &str) {
        self.searches(tool, |talk, shown| {
            talk.offers(tool) || shown.contains(tool)
        })
        .await;
    }

    /// Waits until the model is offered a tool.
    async fn is_offered(&mut self, tool: &str) {
        self.searches(tool, |talk, _| talk.offers(tool)).await;
    }

    /// Has the model call `find-tools` until something is so of it, or of what it is shown.
    async fn searches(&mut self, tool: &str, so: impl Fn(&Self, &str) -> bool) {
        let start = Instant::now();
        // Assistants stop a model that makes the same call again and again.
        for limit in (1..=50).cycle() {
            let arguments = json!({"query": tool, "limit": limit});
            let shown = self.call("find-tools", arguments).await.text.clone();
            if so(self, &shown) {
                return;
            }
            let assistant = self.assistant;
            assert!(
                start.elapsed() < STEP_TIME,
                "{assistant:?}: {tool}: {shown}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// How often [`COUNTS`] has counted.
fn counted(computer: &Computer) -> usize {
    computer.read_file("count").map_or(0, |bytes| bytes.len())
}

/// Waits until [`COUNTS`], which has begun, goes on no longer.
async fn stops(computer: &Computer) {
    assert!(counted(computer) > 0, "the code never began");
    until("the code stops", async || {
        let before = counted(computer);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let since = counted(computer) - before;
        if since == 0 {
            Ok(())
        } else {
            Err(format!("{since} more in a second"))
        }
    })
    .await;
}

/// An assistant that works, and what its model is asked now.
struct Talk {
    assistant: Assistant,
    process: Child,
    model: Model,
    turn: Turn,
}

impl Talk {
    /// Starts an assistant, and waits until it asks its model for the first time.
    async fn start(assistant: Assistant, mut command: Command, mut model: Model) -> Self {
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn().unwrap();
        let turn = timeout(STEP_TIME, async {
            tokio::select! {
                turn = model.first_turn() => Ok(turn),
                status = process.wait() => Err(status),
            }
        });
        match turn.await {
            Ok(Ok(turn)) => Self {
                assistant,
                process,
                model,
                turn,
            },
            Ok(Err(status)) => panic!(
                "{assistant:?} ended: {status:?}\n{}",
                rest(&mut process).await
            ),
            Err(_) => panic!("{assistant:?} did not ask its model in {STEP_TIME:?}"),
        }
    }

    /// Whether the model is offered this tool.
    fn offers(&self, tool: &str) -> bool {
        self.turn.asked.offered.iter().any(|one| one.is(tool))
    }

    /// Has the model call a tool.
    fn begin(&mut self, tool: &str, arguments: Value) {
        let offered = &self.turn.asked.offered;
        let Some(offered) = offered.iter().find(|one| one.is(tool)).cloned() else {
            panic!("{:?}: {tool} is not offered: {offered:?}", self.assistant);
        };
        self.turn.answer(Move::Call(offered, arguments));
    }

    /// Waits for what the model is shown of the tool that was called.
    async fn shown(&mut self) -> &Shown {
        let before = self.turn.asked.shown.len();
        match timeout(STEP_TIME, self.model.turn(before)).await {
            Ok(turn) => self.turn = turn,
            Err(_) => panic!(
                "{:?} shows no answer after {before} others in {STEP_TIME:?}",
                self.assistant
            ),
        }
        self.turn.asked.shown.last().expect("more than before")
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> &Shown {
        self.begin(tool, arguments);
        self.shown().await
    }

    /// Calls a tool, of which the model must be shown these words, and that it failed or did not.
    async fn shows(&mut self, tool: &str, arguments: Value, words: &[&str], failed: bool) {
        let assistant = self.assistant;
        let shown = self.call(tool, arguments).await;
        let whole = words.iter().all(|word| shown.text.contains(word));
        assert!(whole, "{assistant:?}: {tool}: {shown:?}");
        if let Some(is_error) = shown.is_error {
            assert_eq!(is_error, failed, "{assistant:?}: {tool}: {shown:?}");
        }
    }

    /// Ends it by Ctrl+C, which a terminal tells all processes of the group.
    #[cfg(unix)]
    async fn interrupt(mut self) {
        let process = self.process.id().expect("it runs");
        let group = Pid::from_raw(process as i32).expect("a process has a number");
        kill_process_group(group, Signal::INT).unwrap();
        let ended = timeout(STEP_TIME, self.process.wait()).await;
        assert!(ended.is_ok(), "{:?} is not interrupted", self.assistant);
    }

    /// Ends it as a user who is content.
    async fn end(mut self) {
        self.turn.answer(Move::End);
        let ended = timeout(STEP_TIME, self.process.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("{:?} goes on", self.assistant));
        assert!(
            ended.unwrap().success(),
            "{:?}: {}",
            self.assistant,
            rest(&mut self.process).await
        );
    }
}

/// What a process that has ended printed.
async fn rest(process: &mut Child) -> String {
    let mut said = String::new();
    for pipe in [
        process
            .stdout
            .take()
            .map(|pipe| Box::pin(pipe) as Pin<Box<dyn AsyncRead>>),
        process
            .stderr
            .take()
            .map(|pipe| Box::pin(pipe) as Pin<Box<dyn AsyncRead>>),
    ]
    .into_iter()
    .flatten()
    {
        let mut bytes = Vec::new();
        // A program that it left behind may hold the pipe.
        let _ = timeout(Duration::from_secs(1), {
            let mut pipe = pipe;
            async move {
                let _ = pipe.read_to_end(&mut bytes).await;
                bytes
            }
        })
        .await
        .map(|bytes| said += &String::from_utf8_lossy(&bytes));
    }
    said
}
