//! `mcp-bridge upstream tools` and `call`: one server, started and asked by hand.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, bail};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use super::{
    super::{arguments::Arguments, console, startup},
    here,
};
use crate::{
    base::text::{in_shell, one_line},
    settings::{Flags, Folders, ToolsConfig},
    tools::{Pause, Step, policy::Policy},
    upstream::{by_hand::ByHand, entry::Entry, names},
};

/// After how long a person is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many steps of a call may wait to be shown.
const STEPS: usize = 64;

/// The longest line of a description that is shown, in characters.
const LONGEST: usize = 100;

/// Shows the tools of a server.
pub fn tools(name: &str, json: bool, folders: &Folders) -> ExitCode {
    in_runtime(async {
        let wanted = format!("server `{name}`");
        let server = start(&wanted, folders, |entry| entry.name == name).await?;
        let shown = match json {
            true => in_fields(&server).to_string(),
            false => in_words(&server),
        };
        server.leave().await;
        console::say(&shown);
        Ok(true)
    })
}

/// Calls a tool of a server.
pub fn call(tool: &str, arguments: &Arguments, folders: &Folders) -> ExitCode {
    in_runtime(async {
        let tools = ToolsConfig::load(&Flags::default(), startup::variable, folders)?;
        let policy = Policy::of(&tools, Pause::of(&folders.shared));
        let wanted = format!("server that has a tool {tool}");
        let server = start(&wanted, folders, |entry| {
            names::may_be_of(&names::server_id(&entry.name), tool)
        })
        .await?;
        let called = called(&server, tool, arguments, &policy).await;
        server.leave().await;
        let result = called?;
        console::say_result(&result);
        Ok(result.is_error != Some(true))
    })
}

/// Starts the server, and says so where that takes its time.
async fn start(
    wanted: &str,
    folders: &Folders,
    is_it: impl Fn(&Entry) -> bool,
) -> anyhow::Result<ByHand> {
    let settings = here::settings(folders);
    let start = ByHand::start(&settings, wanted, is_it);
    tokio::pin!(start);
    let started = tokio::select! {
        started = &mut start => started,
        () = sleep(PATIENCE) => {
            console::note("Waiting for the server to start…");
            start.await
        }
    };
    Ok(started?)
}

async fn called(
    server: &ByHand,
    tool: &str,
    arguments: &Arguments,
    policy: &Policy,
) -> anyhow::Result<CallToolResult> {
    let listing = server.listing();
    let Some(listed) = listing.tools.get(tool) else {
        if server.switches_off(tool) {
            bail!(
                "The tool {tool} is switched off by the entry of the server `{}`.",
                server.name()
            );
        }
        bail!(
            "The server `{name}` has no tool {tool}. `mcp-bridge upstream tools {typed}` shows those it has.",
            name = server.name(),
            typed = in_shell(server.name())
        );
    };
    let schema = listed.shown.as_ref().map(|tool| tool.input_schema.clone());
    let arguments = arguments.read(&schema.unwrap_or_default())?;
    if let Ok(shown) = &listed.shown
        && let Some(refusal) = policy.refuses(shown).await
    {
        bail!("{}.", refusal.of(tool));
    }
    let (sender, mut steps) = mpsc::channel::<Step>(STEPS);
    let call = server.call(tool, arguments, &sender);
    tokio::pin!(call);
    let result = loop {
        tokio::select! {
            biased;
            Some(step) = steps.recv() => console::note(&told(&step)),
            result = &mut call => break result,
        }
    };
    // What came before the answer is told before it.
    while let Ok(step) = steps.try_recv() {
        console::note(&told(&step));
    }
    Ok(result)
}

fn told(step: &Step) -> String {
    let counted = match (step.done, step.total) {
        (Some(done), Some(total)) => format!("{done} of {total}"),
        (Some(done), None) => done.to_string(),
        (None, _) => String::new(),
    };
    let parts = [counted, one_line(&step.message).into_owned()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

fn in_words(server: &ByHand) -> String {
    let listing = server.listing();
    let shown: Vec<&Tool> = listing
        .tools
        .values()
        .filter_map(|listed| listed.shown.as_ref().ok())
        .collect();
    let mut lines = vec![match shown.len() {
        1 => format!("The server `{}` offers 1 tool:", server.name()),
        count => format!("The server `{}` offers {count} tools:", server.name()),
    }];
    for tool in shown {
        let description = tool.description.as_deref().unwrap_or_default();
        let line = description.trim().lines().next().unwrap_or_default();
        let head: String = line.chars().take(LONGEST).collect();
        let more = if head.len() < line.len() { "…" } else { "" };
        let text = format!("  {}  {}{more}", tool.name, one_line(&head));
        lines.push(text.trim_end().to_owned());
    }
    for (name, reason) in listing.withheld(server.id()) {
        lines.push(format!(
            "  withheld: {}: {}",
            one_line(&name),
            one_line(&reason)
        ));
    }
    let off = server.switched_off();
    if !off.is_empty() {
        lines.push(format!(
            "  switched off by its entry: {}",
            one_line(&off.join(", "))
        ));
    }
    for remark in server.remarks() {
        lines.push(format!("  it {}", one_line(&remark)));
    }
    lines.join("\n")
}

fn in_fields(server: &ByHand) -> Value {
    let listing = server.listing();
    let tools: Vec<_> = listing
        .tools
        .values()
        .filter_map(|listed| listed.shown.as_ref().ok())
        .collect();
    let withheld: Vec<_> = listing
        .withheld(server.id())
        .into_iter()
        .map(|(name, reason)| json!({ "name": name, "reason": reason }))
        .collect();
    json!({
        "server": server.name(),
        "tools": tools,
        "withheld": withheld,
        "switchedOff": server.switched_off(),
        "remarks": server.remarks(),
    })
}

pub(super) fn in_runtime(work: impl Future<Output = anyhow::Result<bool>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("the runtime can't be started");
    match runtime.and_then(|runtime| runtime.block_on(work)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::note(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
