//! Servers of other clients, as entries of our own: with all that they mean there, and nothing of it twice.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    entry::{Entry, Origin, Reach, Style},
    reading::{self, CALL_TIMEOUT, IDLE_TIMEOUT, START_TIMEOUT, Whose},
    variables,
};

/// A client's entry, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// What it means.
    pub entry: Entry,
    /// What of it means nothing here, but for what is only for people or for that client.
    pub remarks: Vec<String>,
}

/// Reads the entry `value` called `name` of the client with this id, in its `file`.
///
/// # Errors
/// It can't be used here; why not, in words that follow the server's name.
pub fn read(client: &str, name: &str, value: &Value, file: &Path) -> Result<Foreign, String> {
    let whose = match client {
        "opencode" | "kilo-code" => Some(Whose::Opencode),
        "gemini-cli" | "qwen-code" => Some(Whose::Gemini),
        "cline" => Some(Whose::Cline),
        "goose" => Some(Whose::Goose),
        _ => None,
    };
    let read = reading::read_as(whose, name, value, Origin::User, file);
    let (entry, remarks) = read.map_err(|problem| problem.to_string())?;
    let remarks = remarks.into_iter();
    Ok(Foreign {
        entry,
        remarks: remarks
            .filter(|(key, _)| !reading::is_without_effect(key))
            .map(|(_, remark)| remark)
            .collect(),
    })
}

/// What is not available here among the variables of an entry, such as `${input:key}`.
pub fn not_available(entry: &Entry) -> Option<String> {
    variables::not_available(entry)
}

/// The entry as it is written in our own file.
pub fn written(entry: &Entry) -> Map<String, Value> {
    let text = |text: &str| match entry.variables {
        Style::Braces => json!(text),
        Style::Shell => json!(in_braces(text)),
    };
    let map = |map: &BTreeMap<String, String>| -> Value {
        map.iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect()
    };
    let mut own = Map::new();
    let mut put = |key: &str, value: Value| {
        own.insert(key.to_owned(), value);
    };
    match &entry.reach {
        Reach::Program(program) => {
            // As a list: a path with blanks could be taken for a program with its arguments.
            if program.command.contains(char::is_whitespace) {
                let words = std::iter::once(&program.command).chain(&program.args);
                put("command", words.map(|word| text(word)).collect());
            } else {
                put("command", text(&program.command));
                if !program.args.is_empty() {
                    put("args", program.args.iter().map(|word| text(word)).collect());
                }
            }
            if !program.env.is_empty() {
                put("env", map(&program.env));
            }
            if let Some(file) = &program.env_file {
                put("envFile", text(&file.to_string_lossy()));
            }
            if program.inherit_env {
                put("inheritEnv", json!(true));
            }
            if let Some(folder) = &program.cwd {
                put("cwd", text(&folder.to_string_lossy()));
            }
        }
        Reach::Address(address) => {
            if address.is_older {
                put("type", json!("sse"));
            }
            put("url", text(&address.url));
            if !address.headers.is_empty() {
                put("headers", map(&address.headers));
            }
        }
    }
    if let Some(only) = &entry.tools.only {
        put("tools", json!(only));
    }
    if !entry.tools.off.is_empty() {
        put("disabledTools", json!(entry.tools.off));
    }
    if entry.parallel {
        put("parallel", json!(true));
    }
    for (key, time, usual) in [
        ("startTimeoutMs", entry.start_timeout, START_TIMEOUT),
        ("callTimeoutMs", entry.call_timeout, CALL_TIMEOUT),
        ("idleTimeoutMs", entry.idle_timeout, IDLE_TIMEOUT),
    ] {
        if time != usual {
            put(key, json!(time.max(Duration::from_millis(1)).as_millis()));
        }
    }
    if !entry.enabled {
        put("enabled", json!(false));
    }
    own
}

/// A text with variables as in a shell, with braces around each.
fn in_braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '%']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match variables::in_shell(rest) {
            Some((name, length)) => {
                out.push_str(&format!("${{{name}}}"));
                rest = &rest[length..];
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(client: &str, value: Value) -> (Value, Vec<String>) {
        let read = read(client, "x", &value, Path::new("f")).unwrap();
        (Value::Object(written(&read.entry)), read.remarks)
    }

    #[test]
    fn an_entry_means_here_what_it_means_to_its_client() {
        for (client, theirs, ours) in [
            (
                "gemini-cli",
                json!({"command": "$HOME/run", "args": ["$A.b", "5$"], "timeout": 5000, "trust": true}),
                json!({"command": "${HOME}/run", "args": ["${A}.b", "5$"], "callTimeoutMs": 5000}),
            ),
            (
                "opencode",
                json!({"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "{env:B}"}, "timeout": 9000,
                    "enabled": false}),
                json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "{env:B}"}, "startTimeoutMs": 9000,
                    "enabled": false}),
            ),
            (
                "cline",
                json!({"type": "streamableHttp", "url": "http://x/mcp", "timeout": 600, "disabled": true}),
                json!({"url": "http://x/mcp", "callTimeoutMs": 600_000, "enabled": false}),
            ),
            (
                "codex",
                json!({"command": "docs", "env_vars": ["KEY"], "enabled_tools": ["a"], "disabled_tools": ["b"],
                    "tool_timeout_sec": 90.5}),
                json!({"command": "docs", "env": {"KEY": "${KEY:-}"}, "tools": ["a"], "disabledTools": ["b"],
                    "callTimeoutMs": 90_500}),
            ),
            (
                "goose",
                json!({"name": "x", "type": "stdio", "cmd": "uvx", "args": ["x"], "envs": {"A": "1"}, "timeout": 300}),
                json!({"command": "uvx", "args": ["x"], "env": {"A": "1"}}),
            ),
            (
                "vscode",
                json!({"type": "sse", "url": "https://x/sse", "headers": {"A": "${env:B}"}}),
                json!({"type": "sse", "url": "https://x/sse", "headers": {"A": "${env:B}"}}),
            ),
            (
                "claude-desktop",
                json!({"command": ["/opt/a b/run", "c"]}),
                json!({"command": ["/opt/a b/run", "c"]}),
            ),
        ] {
            assert_eq!(
                own(client, theirs.clone()),
                (ours, vec![]),
                "{client}: {theirs}"
            );
        }
    }

    #[test]
    fn what_is_not_taken_over_is_named() {
        let (_, remarks) = own(
            "vscode",
            json!({"command": "x", "dev": {"watch": "*"}, "gallery": true}),
        );
        assert_eq!(remarks, ["`dev` is not known here, and has no effect"]);
        let entry = |value| read("vscode", "x", &value, Path::new("f")).unwrap().entry;
        assert_eq!(
            not_available(&entry(
                json!({"command": "x", "env": {"K": "${input:key}", "L": "${A}"}})
            )),
            Some("${input:key}".to_owned())
        );
        assert_eq!(
            not_available(&entry(json!({"command": "x", "env": {"L": "${A}"}}))),
            None
        );
        let refused = read("zed", "x", &json!({"source": "extension"}), Path::new("f"));
        assert_eq!(refused.unwrap_err(), "has neither `command` nor `url`");
    }
}
