//! `list-computers`: what the registry knows, without asking any computer.

use std::time::SystemTime;

use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::typed::{Native, NoArguments};
use crate::{
    base::text::{one_line, timestamp},
    computers::{Computer, LinkPort, Presence, Unreachable},
    tools::{
        Context, text,
        wording::{ago, name_of, time_between},
    },
};

pub struct ListComputers;

impl Native for ListComputers {
    const NAME: &'static str = "list-computers";
    type Arguments = NoArguments;
    type Error = Unreachable;

    async fn run(
        &self,
        context: Context<'_>,
        _: NoArguments,
    ) -> Result<CallToolResult, Unreachable> {
        let fleet = context.fleet;
        let computers = fleet.computers().await?;
        let port = fleet.port().await;
        let address = match &port.owner {
            Some(owner) => owner.address.to_string(),
            None => "not yet open".to_owned(),
        };
        let now = SystemTime::now();
        let mut words = if computers.is_empty() {
            "No computer has linked yet.\n".to_owned()
        } else {
            computers
                .iter()
                .map(|computer| in_words(computer, now))
                .collect::<Vec<_>>()
                .join("\n")
                + "\n"
        };
        words.push_str(&format!("Link port: {address}{}", held_by(&port, now)));
        let outdated = port.outdated().map(|outdated| outdated.to_string());
        if let Some(outdated) = &outdated {
            words.push_str(&format!("\n\n{outdated}"));
        }
        let paused = context.others.paused();
        let paused = paused.map(|paused| paused.when_and_why(now));
        if let Some(paused) = &paused {
            words.push_str(&format!(
                "\n\nA person has paused all calls that could change something, {paused}."
            ));
        }
        let mut result = text(words);
        let computers: Vec<_> = computers
            .iter()
            .map(|computer| in_fields(computer))
            .collect();
        let mut fields = json!({ "linkPort": address, "computers": computers });
        if let Some(owner) = &port.owner {
            fields["owner"] = json!({
                "pid": owner.pid,
                "since": timestamp(owner.since),
                "thisBridge": port.own,
                "version": owner.version,
            });
            fields["bridges"] = json!(port.bridges);
        }
        if let Some(outdated) = outdated {
            fields["notice"] = json!(outdated);
        }
        if let Some(paused) = paused {
            fields["paused"] = json!(paused);
        }
        result.structured_content = Some(fields);
        Ok(result)
    }
}

/// Who holds the link port: `, held by this mcp-bridge (process 4242) for 3 min, shared by 2 bridges`.
fn held_by(port: &LinkPort, now: SystemTime) -> String {
    let Some(owner) = &port.owner else {
        return String::new();
    };
    let who = if port.own { "this" } else { "another" };
    let since = time_between(owner.since, now);
    let shared = match port.bridges {
        0 | 1 => String::new(),
        bridges => format!(", shared by {bridges} bridges"),
    };
    format!(
        ", held by {who} mcp-bridge (process {}) for {since}{shared}",
        owner.pid
    )
}

/// One line: `12 (Label: base-turtle): linked 3 min ago from 192.168.1.5:51234, advanced turtle, …`.
fn in_words(computer: &Computer, now: SystemTime) -> String {
    let facts = &computer.facts();
    let mut parts = Vec::new();
    match &computer.presence() {
        Presence::Linked(_) => {
            parts.push(format!(
                "linked {} from {}",
                ago(facts.linked_since, now),
                facts.address
            ));
            parts.push(format!("last seen {}", ago(facts.last_seen(), now)));
        }
        Presence::Left { since, why } => parts.push(format!(
            "offline, left {}: {}",
            ago(*since, now),
            one_line(why)
        )),
    }
    if let Some(machine) = &facts.machine {
        let grade = if machine.advanced { "advanced " } else { "" };
        parts.push(format!("{grade}{}", one_line(&machine.kind)));
        if !machine.host.is_empty() {
            parts.push(one_line(&machine.host).into_owned());
        }
    }
    match &facts.agent {
        Some(agent) => parts.push(format!(
            "{} {}",
            one_line(&agent.name),
            one_line(&agent.version)
        )),
        None => parts.push("agent of protocol version 1".to_owned()),
    }
    if let Some(change) = computer.change_of_hands() {
        parts.push(format!(
            "changed hands {}: shows another key than the one that was linked from {} before, so it may be another \
             computer",
            ago(change.since, now),
            change.former
        ));
    }
    format!("{}: {}", name_of(facts), parts.join(", "))
}

/// The same for a program. What is not known is left out.
fn in_fields(computer: &Computer) -> Value {
    let facts = &computer.facts();
    let mut fields = json!({
        "computerId": facts.key,
        "linked": computer.link().is_some(),
        "address": facts.address.to_string(),
        "linkedSince": timestamp(facts.linked_since),
        "lastSeen": timestamp(facts.last_seen()),
    });
    if let Some(label) = &facts.label {
        // A client may show a model this form alone, and its user sees no more of it than of the text.
        fields["label"] = json!(one_line(label));
    }
    if let Some(machine) = &facts.machine {
        fields["kind"] = json!(machine.kind);
        fields["advanced"] = json!(machine.advanced);
        fields["host"] = json!(machine.host);
    }
    if let Some(agent) = &facts.agent {
        fields["agent"] = json!(agent);
    }
    if let Some(change) = computer.change_of_hands() {
        fields["changedHands"] = json!(timestamp(change.since));
    }
    if let Presence::Left { since, why } = &computer.presence() {
        fields["leftSince"] = json!(timestamp(*since));
        fields["leftBecause"] = json!(why);
    }
    fields
}
