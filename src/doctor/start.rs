//! Starts an MCP server as a client would, and asks it for its tools.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::base::text::one_line;

/// How long it has to answer.
const TO_ANSWER: Duration = Duration::from_secs(5);

/// How long it has to leave once its input is closed, before it is ended.
const TO_LEAVE: Duration = Duration::from_millis(800);

/// How much of what it writes to standard error is shown, in characters.
const LAST_WORDS: usize = 400;

/// The revision of MCP that is asked for: one that every version of this program knows.
const REVISION: &str = "2025-06-18";

/// How a client starts a server.
#[derive(Debug)]
pub struct Start {
    /// The program, by its whole path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All of its environment.
    pub variables: BTreeMap<String, String>,
    /// The folder that it is started in.
    pub folder: PathBuf,
}

/// A server that answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    /// What it calls itself, with its version.
    pub name: String,
    /// How many tools it listed first.
    pub tools: usize,
    /// How long that took.
    pub took: Duration,
}

/// Starts it, asks, and lets it leave.
///
/// # Errors
/// Why it can't be started, or what it did instead of answering, as a sentence's end.
pub fn try_out(start: &Start) -> Result<Answered, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("can't be tried: {error}"))?;
    runtime.block_on(async {
        let began = Instant::now();
        let mut child = spawn(start).map_err(|error| format!("can't be started: {error}"))?;
        let answered = match timeout(TO_ANSWER, converse(&mut child)).await {
            Ok(Some((name, tools))) => Ok(Answered {
                name,
                tools,
                took: began.elapsed(),
            }),
            Ok(None) => Err("ended, or wrote something that is no MCP".to_owned()),
            Err(_) => Err(format!("did not answer within {} s", TO_ANSWER.as_secs())),
        };
        let said = leave(child).await;
        answered.map_err(|problem| match said.trim() {
            "" => problem,
            said => format!("{problem}; it said: {}", last_words(said)),
        })
    })
}

fn spawn(start: &Start) -> std::io::Result<Child> {
    Command::new(&start.program)
        .args(&start.arguments)
        .env_clear()
        .envs(&start.variables)
        .current_dir(&start.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Its name and the number of its tools; none if it doesn't tell them.
async fn converse(child: &mut Child) -> Option<(String, usize)> {
    let mut lines = BufReader::new(child.stdout.take()?);
    let client = json!({"name": "mcp-bridge doctor", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    say(
        child,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
    )
    .await?;
    let greeted = answer(&mut lines, 1).await?;
    say(
        child,
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    )
    .await?;
    say(
        child,
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    )
    .await?;
    let listed = answer(&mut lines, 2).await?;
    let text = |key: &str| {
        greeted["serverInfo"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let name = format!("{} {}", text("name"), text("version"));
    Some((
        one_line(name.trim()).into_owned(),
        listed["tools"].as_array()?.len(),
    ))
}

async fn say(child: &mut Child, message: &Value) -> Option<()> {
    let input = child.stdin.as_mut()?;
    input
        .write_all(format!("{message}\n").as_bytes())
        .await
        .ok()?;
    input.flush().await.ok()
}

/// The result of the request with this id. Notifications and requests of the server's own are passed over.
async fn answer(lines: &mut BufReader<ChildStdout>, id: u64) -> Option<Value> {
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let mut message: Value = serde_json::from_str(&line).ok()?;
        if message["id"] == id && message.get("method").is_none() {
            return message.get_mut("result").map(Value::take);
        }
    }
}

/// Closes its input, and what it wrote to standard error.
async fn leave(mut child: Child) -> String {
    drop(child.stdin.take());
    let errors = child.stderr.take();
    let read = async {
        let mut bytes = Vec::new();
        if let Some(errors) = errors {
            // What was read counts, however it ends.
            let _ = errors.take(64 * 1024).read_to_end(&mut bytes).await;
        }
        bytes
    };
    let left = timeout(TO_LEAVE, async { tokio::join!(read, child.wait()) }).await;
    match left {
        Ok((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => {
            // Dropped, it is killed in any case.
            let _ = child.start_kill();
            String::new()
        }
    }
}

/// What a program said last, or that line of it that says what is wrong: after that some tell how to get help.
fn last_words(said: &str) -> String {
    let lines = || said.lines().rev().map(str::trim);
    let error = lines().find(|line| line.starts_with("error:"));
    let line = error.or_else(|| lines().find(|line| !line.is_empty()));
    let line = one_line(line.unwrap_or_default()).into_owned();
    line.chars().take(LAST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_program_said_the_line_that_says_what_is_wrong_is_shown() {
        for (said, shown) in [
            (
                "error: unexpected argument '--prot' found\n\n  tip: a similar argument exists\n\nFor more information, try '--help'.\n",
                "error: unexpected argument '--prot' found",
            ),
            ("starting\nno such folder\n\n", "no such folder"),
            ("", ""),
        ] {
            assert_eq!(last_words(said), shown);
        }
    }
}
