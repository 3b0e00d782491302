//! An update of the agent on a computer, from here: it is given this bridge's version, tries it, and keeps it if it links.
//!
//! All that it takes the agent knows since 1.1.0 (`lua/mcp-computer/update.lua`): whoever runs on the computer can ask it
//! by events. So a job of ours does.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    About, Ask, Boot, Computer, End, Fleet, Gate, Method, Presence, Seen, Waited, fleet::AgentText,
};
use crate::base::text::one_line;

/// What our agent calls itself.
pub const AGENT: &str = "mcp-computer";

/// How long the agent has to say how it is, and to take the new version: it may be busy with jobs that hardly yield.
const LOOK_TIME: Duration = Duration::from_secs(6);
const TAKE_TIME: Duration = Duration::from_secs(15);

/// How long a version has until it is linked and answers: five seconds for jobs to end, thirty for the new one to link,
/// and some for the old one to be back. Some clients give a call a minute.
const OUTCOME_TIME: Duration = Duration::from_secs(45);

/// How soon a computer is asked again that has not answered.
const AGAIN: Duration = Duration::from_millis(250);

/// Asks the agent how it is: where its file is, how it reaches us, and why the last new version was not taken.
const LOOK: &str = r#"
local name, about = "update " .. os.epoch("utc")
os.queueEvent("mcp_computer_ask", name, 1)
local timer = os.startTimer(4)
repeat
  local event, first, second = os.pullEvent()
  if event == "mcp_computer_here" and first == name then about = second end
until about or event == "timer" and first == timer
if not about then return false end
return true, about.path or "", about.link and about.link.address or "", about.not_taken or ""
"#;

/// Gives the agent the new version, which stands before this as `source`.
const GIVE: &str = r#"
local name = "update " .. os.epoch("utc")
os.queueEvent("mcp_computer_update", name, source)
local timer = os.startTimer(12)
while true do
  local event, first, problem = os.pullEvent()
  if event == "mcp_computer_updating" and first == name then return problem == nil, problem or "" end
  if event == "timer" and first == timer then return false, "it did not answer" end
end
"#;

/// Keeps the address by which the agent links, for a version that does not have it in its text.
const KEEP_ADDRESS: &str = r#"
if settings.get("mcp_computer.url") == nil then
  settings.set("mcp_computer.url", address)
  settings.save("/.settings")
end
"#;

/// An update that went well.
#[derive(Debug, PartialEq, Eq)]
pub struct Updated {
    /// The version that was there before.
    pub from: String,
}

/// Why a computer's agent is not of this version afterwards; a sentence's end, after the computer's name.
#[derive(Debug, Error)]
pub enum NotUpdated {
    /// Nothing is to be done.
    #[error("has this version already: {0}")]
    Current(String),
    /// It is no agent of ours.
    #[error(
        "has an agent that is no mcp-computer, or does not tell its version: it can't be updated from here"
    )]
    Foreign,
    /// It is newer than this bridge.
    #[error("has a newer agent than this mcp-bridge: {0}. Update mcp-bridge instead")]
    Newer(String),
    /// It knows of no updates.
    #[error(
        "has {0}, which is too old to update itself. On the computer, enter once: wget run http://HOST:PORT/install.lua, \
         with the address of this bridge"
    )]
    TooOld(String),
    /// There is no file to be written.
    #[error(
        "runs an agent that was not started from its file, so there is nothing to update: on the computer, enter \
         `mcp-computer install`"
    )]
    NoFile,
    /// The agent objects.
    #[error("does not take the new version: {0}")]
    Refused(String),
    /// It was tried.
    #[error("went back to {version}: {why}")]
    WentBack {
        /// The version that goes on.
        version: String,
        /// What the agent says of it.
        why: String,
    },
    /// It was tried, and nobody has been heard since.
    #[error(
        "took the new version, and is not back within {} seconds: its screen shows what became of it. The old version goes \
         on by itself if the new one does not link",
        OUTCOME_TIME.as_secs()
    )]
    Silent,
    /// It did not come to it.
    #[error("was not updated: {0}")]
    Unasked(String),
}

/// Whether a version of the agent is older than this bridge.
pub fn is_older(version: &str) -> bool {
    numbers(version) < numbers(env!("CARGO_PKG_VERSION"))
}

/// `1.10.2` as its numbers; what is none counts as 0.
fn numbers(version: &str) -> Vec<u64> {
    let number = |part: &str| part.parse().unwrap_or(0);
    version.split('.').map(number).collect()
}

/// A computer's agent and its version, if it is ours and tells.
pub fn version_of(computer: &Computer) -> Option<String> {
    let facts = computer.facts();
    let agent = facts.agent.as_ref();
    agent
        .filter(|agent| agent.name == AGENT)
        .map(|agent| agent.version.clone())
}

/// How an agent says it is.
struct State {
    path: String,
    address: String,
    not_taken: String,
}

impl Fleet {
    /// Gives a computer's agent this bridge's version, and waits for what comes of it: a minute at most. Nothing is begun
    /// once `gate` is shut.
    ///
    /// # Errors
    /// The computer does not have this version afterwards, and why.
    pub async fn update_agent(
        &self,
        computer: &Arc<Computer>,
        gate: Option<Gate<'_>>,
    ) -> Result<Updated, NotUpdated> {
        let from = version_of(computer).ok_or(NotUpdated::Foreign)?;
        if from == env!("CARGO_PKG_VERSION") {
            return Err(NotUpdated::Current(from));
        }
        if !is_older(&from) {
            return Err(NotUpdated::Newer(from));
        }
        let Some(agent) = self.agent else {
            return Err(NotUpdated::Unasked("there is no agent here".to_owned()));
        };
        let boot = computer.facts().boot.clone();
        let state = self.state_of(computer, gate).await?;
        let Some(state) = state else {
            return Err(NotUpdated::TooOld(from));
        };
        if state.path.is_empty() {
            return Err(NotUpdated::NoFile);
        }
        let code = giving(agent, &state.address);
        match self.values(computer, &code, TAKE_TIME, gate).await? {
            Some(values) if values.first() != Some(&Value::Bool(true)) => {
                return Err(NotUpdated::Refused(text(&values, 1)));
            }
            // The link may have ended before its answer came.
            Some(_) | None => {}
        }
        self.outcome(computer, boot.as_ref(), from).await
    }

    /// Waits until another start of the agent answers, and tells which version that is.
    async fn outcome(
        &self,
        computer: &Arc<Computer>,
        former: Option<&Boot>,
        from: String,
    ) -> Result<Updated, NotUpdated> {
        let deadline = Instant::now() + OUTCOME_TIME;
        let mut seen = Seen::default();
        while Instant::now() < deadline {
            let presence = computer.see(&mut seen);
            let facts = computer.facts();
            if !matches!(presence, Presence::Linked(_)) || facts.boot.as_ref() == former {
                let _ = timeout_at(deadline, computer.comes_or_goes(seen)).await;
                continue;
            }
            // It is written by the old one when it has linked, before it hears anything else. So one that answers is there
            // to stay.
            let state = self.state_of(computer, None).await;
            if computer.facts().boot != facts.boot || state.is_err() {
                sleep(AGAIN).await;
                continue;
            }
            let version = version_of(computer).unwrap_or_default();
            if version == env!("CARGO_PKG_VERSION") {
                return Ok(Updated { from });
            }
            let why = state.ok().flatten().map(|state| state.not_taken);
            let why = why.filter(|why| !why.is_empty());
            return Err(NotUpdated::WentBack {
                version: one_line(&version).into_owned(),
                why: why.unwrap_or_else(|| {
                    "the new version did not link, or could not be written; its screen says which".to_owned()
                }),
            });
        }
        Err(NotUpdated::Silent)
    }

    /// How the agent says it is; none: it knows no such question.
    async fn state_of(
        &self,
        computer: &Arc<Computer>,
        gate: Option<Gate<'_>>,
    ) -> Result<Option<State>, NotUpdated> {
        let values = self.values(computer, LOOK, LOOK_TIME, gate).await?;
        let values = values.ok_or_else(|| NotUpdated::Unasked("its link ended".to_owned()))?;
        let knows = values.first() == Some(&Value::Bool(true));
        Ok(knows.then(|| State {
            path: text(&values, 1),
            address: text(&values, 2),
            not_taken: text(&values, 3),
        }))
    }

    /// What code returns that runs on a computer; none: it was begun, and how it ended is not known.
    async fn values(
        &self,
        computer: &Arc<Computer>,
        code: &str,
        time: Duration,
        gate: Option<Gate<'_>>,
    ) -> Result<Option<Vec<Value>>, NotUpdated> {
        let unasked = |why: String| Err(NotUpdated::Unasked(why));
        let params = json!({ "code": code });
        let ask = Ask {
            method: Method::ExecLua,
            params: Some(&params),
            about: About::unlisted(),
            gate,
        };
        let job = match self.begin(computer, ask) {
            Ok(job) => job,
            Err(error) => return unasked(error.to_string()),
        };
        match self.run(computer, &job, ask, time).await {
            Waited::Ended => {}
            Waited::Held => {
                return unasked(
                    "a person has paused calls, or whether one has can't be read".to_owned(),
                );
            }
            Waited::Away(why) => return unasked(format!("the computer is away: {why}")),
            Waited::TooLarge { size, limit } => {
                return unasked(format!(
                    "it takes messages of {limit} bytes at most, and this has {size}"
                ));
            }
            Waited::Running | Waited::NotTaken => {
                computer.stop_later(&job);
                return unasked(format!(
                    "the computer did not answer within {} seconds",
                    time.as_secs()
                ));
            }
        }
        match job.look(|progress| progress.end.clone()).as_deref() {
            Some(End::Answered(answer)) => match &answer.error {
                None => Ok(Some(returned(answer.result.as_ref()))),
                Some(error) => unasked(one_line(&error.message).into_owned()),
            },
            Some(End::Lost(_)) | None => Ok(None),
        }
    }
}

/// The values of a result. Those that are neither text, number nor truth are null.
fn returned(result: Option<&Value>) -> Vec<Value> {
    let returns = result.and_then(|result| result.get("returns"));
    let returns = returns.and_then(Value::as_array);
    let value = |one: &Value| one.get("value").cloned().unwrap_or_default();
    returns.into_iter().flatten().map(value).collect()
}

fn text(values: &[Value], at: usize) -> String {
    let text = values.get(at).and_then(Value::as_str);
    text.map(one_line).unwrap_or_default().into_owned()
}

/// The code that gives an agent the new version, which is to link by the address that the present one has.
fn giving(agent: AgentText, address: &str) -> String {
    let host = address
        .strip_prefix("ws://")
        .and_then(|rest| rest.split('/').next());
    let source = agent(host);
    let mut level = "=".to_owned();
    while source.contains(&format!("]{level}]")) {
        level.push('=');
    }
    let keep = match host {
        Some(_) => String::new(),
        None => format!("local address = {}\n{KEEP_ADDRESS}", lua_string(address)),
    };
    // The first line break in a long string is no part of it.
    format!("{keep}local source = [{level}[\n{source}]{level}]\n{GIVE}")
}

/// A text that comes from a computer, as a string of Lua: printable ASCII as it is, all else by its number.
fn lua_string(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b' '..=b'~' if byte != b'"' && byte != b'\\' => char::from(byte).to_string(),
        other => format!("\\{other:03}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_older("1.0.9") && is_older("0.99.99") && is_older("1.0"));
        assert!(!is_older(env!("CARGO_PKG_VERSION")) && !is_older("99.0.0"));
        assert!(numbers("1.9.0") < numbers("1.10.0"));
    }

    #[test]
    fn what_gives_a_version_is_lua_whatever_is_in_it() {
        fn agent(host: Option<&str>) -> String {
            format!("-- ]=] ]==] for {}", host.unwrap_or("nobody"))
        }
        for (address, host) in [
            ("ws://192.168.1.20:3001/", "192.168.1.20:3001"),
            ("ws://mc.lan/path", "mc.lan"),
            ("wss://mc.example/\"..os.shutdown()..\"", "nobody"),
        ] {
            let code = giving(agent, address);
            assert!(
                code.contains(&format!("[===[\n-- ]=] ]==] for {host}]===]")),
                "{code}"
            );
            mlua::Lua::new().load(&code).into_function().unwrap();
        }
        assert_eq!(lua_string("a\"\\\n"), "\"a\\034\\092\\010\"");
    }
}
