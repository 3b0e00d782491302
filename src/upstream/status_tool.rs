//! `upstream-status`: how the managed MCP servers are, in words.

use std::{sync::Arc, time::SystemTime};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::json;

use super::{
    Upstream,
    status::{Report, Row},
    trouble::printed,
};
use crate::{
    base::text::one_line,
    tools::{Context, Tool, annotations, text, wording::time_between},
};

/// The set that it belongs to, and that the tools of all servers do.
pub const SET: &str = "upstream";

/// The tool.
pub struct StatusTool {
    definition: Definition,
    upstream: Upstream,
    /// All sets of servers' tools: it comes with any of them.
    sets: Vec<String>,
}

impl StatusTool {
    /// The tool that tells how these servers are, whose tools belong to these sets.
    pub fn new(upstream: &Upstream, sets: Vec<String>) -> Self {
        Self {
            definition: definition(),
            upstream: upstream.clone(),
            sets,
        }
    }
}

impl Tool for StatusTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        SET
    }

    fn is_of(&self, set: &str) -> bool {
        self.sets.iter().any(|own| own == set)
    }

    fn origin(&self) -> String {
        "mcp-bridge".to_owned()
    }

    fn call<'a>(&'a self, _: Context<'a>, _: JsonObject) -> BoxFuture<'a, CallToolResult> {
        async move { text(in_words(&self.upstream.report(), SystemTime::now())) }.boxed()
    }
}

fn definition() -> Definition {
    Definition::new(
        "upstream-status",
        "Show the MCP servers behind tools named `server__tool`: state, process, number of tools, the last error with \
         what the server wrote, and tools that are withheld.",
        Arc::new(no_arguments()),
    )
    .with_title("State of the MCP servers")
    .with_annotations(annotations(true, false, true, false))
}

fn no_arguments() -> JsonObject {
    let schema = [
        ("type", json!("object")),
        ("properties", json!({})),
        ("additionalProperties", json!(false)),
    ];
    schema
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// A report for a person or a model: a line for each server, and what belongs to it below.
pub fn in_words(report: &Report, now: SystemTime) -> String {
    let mut lines = Vec::new();
    for row in &report.servers {
        lines.push(line(row, now));
        for word in &row.last_words {
            lines.push(format!("    stderr: {}", one_line(word)));
        }
        if !row.lacked.is_empty() {
            lines.push(format!("    {}.", one_line(&row.lacked)));
        }
        for (tool, reason) in &row.withheld {
            lines.push(format!(
                "    withheld: {}: {}",
                one_line(tool),
                one_line(reason)
            ));
        }
        for remark in &row.remarks {
            lines.push(format!("    it {}", one_line(remark)));
        }
        if let Some((count, last)) = &row.rubbish {
            lines.push(format!("    {}", printed(*count, last)));
        }
    }
    if report.servers.is_empty() {
        lines.push("No servers are configured.".to_owned());
    }
    for note in &report.notes {
        lines.push(format!("Note: {}", one_line(note)));
    }
    lines.join("\n")
}

/// `everything: connected for 3 min, pid 71, 13 tools`.
fn line(row: &Row, now: SystemTime) -> String {
    let mut line = one_line(&row.name).into_owned();
    if row.id != row.name {
        line.push_str(&format!(" (as {})", row.id));
    }
    line.push_str(&format!(": {}", row.state));
    if row.state != "disabled" {
        line.push_str(&format!(" for {}", time_between(row.since, now)));
    }
    if let Some(pid) = row.pid {
        line.push_str(&format!(", pid {pid}"));
    }
    match row.tools {
        Some(1) => line.push_str(", 1 tool"),
        Some(count) => line.push_str(&format!(", {count} tools")),
        None if row.state != "disabled" => line.push_str(", never listed"),
        None => {}
    }
    if let Some(error) = &row.error {
        line.push_str(&format!("; it {}", one_line(error)));
    }
    if let Some(retry) = row.retry_at {
        let seconds = retry.duration_since(now).unwrap_or_default().as_secs();
        line.push_str(&format!("; started again in {} s", seconds + 1));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_server_has_its_line_and_nothing_in_it_can_look_like_another() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let row = Row {
            name: "a".into(),
            id: "a".into(),
            state: "connected".into(),
            since: now - Duration::from_secs(180),
            pid: Some(71),
            tools: Some(13),
            file: "mcp.json".into(),
            error: None,
            last_words: Vec::new(),
            lacked: String::new(),
            retry_at: None,
            withheld: vec![("t\nb: connected".into(), "why".into())],
            remarks: vec!["has more tools than are taken".into()],
            rubbish: Some((2, "Hello\u{1b}".into())),
            restarts: 0,
        };
        let failed = Row {
            name: "b c".into(),
            id: "b-c-123456".into(),
            state: "failed".into(),
            pid: None,
            tools: None,
            error: Some("ended (exit code 3)".into()),
            last_words: vec!["oops".into()],
            retry_at: Some(now + Duration::from_millis(3_500)),
            withheld: Vec::new(),
            remarks: Vec::new(),
            rubbish: None,
            ..row.clone()
        };
        let report = Report {
            pid: 1,
            folder: "/".into(),
            servers: vec![row, failed],
            notes: vec!["x is shadowed by y".into()],
        };
        assert_eq!(
            in_words(&report, now),
            "a: connected for 3 min, pid 71, 13 tools\n    \
                 withheld: t\\nb: connected: why\n    \
                 it has more tools than are taken\n    \
                 printed 2 lines that are no messages, the last: Hello\\u{1b}\n\
             b c (as b-c-123456): failed for 3 min, never listed; it ended (exit code 3); started again in 4 s\n    \
                 stderr: oops\n\
             Note: x is shadowed by y"
        );
    }
}
