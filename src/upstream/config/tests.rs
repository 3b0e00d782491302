//! Files as they lie on people's machines (`tests/upstream/configurations`), each with what it is read as. With
//! `MCP_BRIDGE_UPDATE_CONFIGURATIONS=1` that is written anew.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    entry::{Entry, Origin, Reach},
    foreign, reading,
    sources::{self, ConfigPlace, Content},
    variables::Surroundings,
};
use crate::upstream::manager::report;

const UPDATE: &str = "MCP_BRIDGE_UPDATE_CONFIGURATIONS";

/// The variables that are set there.
fn variable(name: &str) -> Option<String> {
    let value = match name {
        "API_KEY" => "key",
        "OTHER" => "other",
        "HOME" | "USERPROFILE" => "/home/ann",
        _ => return None,
    };
    Some(value.to_owned())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/configurations")
}

/// What is made of a file of that name.
fn read_as(name: &str, text: String) -> String {
    let origin = match name.split('-').next() {
        Some("opencode" | "opencode.json") => Origin::Opencode,
        Some("project") => Origin::Bridge,
        _ => Origin::User,
    };
    let place = ConfigPlace {
        origin,
        path: name.into(),
        content: Content::Text(text),
        trouble: None,
    };
    let found = sources::resolve(&[place], None);
    let mut told = String::new();
    for server in &found.servers {
        describe(&mut told, server);
    }
    for note in report::notes(&found, true) {
        writeln!(told, "{note}").unwrap();
    }
    if told.is_empty() {
        told.push_str("nothing\n");
    }
    told
}

fn describe(told: &mut String, server: &Entry) {
    let surroundings = Surroundings {
        style: server.variables,
        variable: &variable,
        folder: Path::new("/srv/farm"),
    };
    let state = if server.enabled { "" } else { ", switched off" };
    writeln!(told, "{}{state}", server.name).unwrap();
    let filled = match &server.reach {
        Reach::Program(program) => {
            if let Some(file) = &program.env_file {
                writeln!(told, "  variables of {}", file.display()).unwrap();
            }
            let without_file = super::entry::Program {
                env_file: None,
                ..program.clone()
            };
            if program.inherit_env {
                writeln!(told, "  all of our environment").unwrap();
            }
            surroundings.in_program(&without_file).map(|program| {
                let words = std::iter::once(program.command).chain(program.args);
                let words: Vec<_> = words.map(|word| format!("{word:?}")).collect();
                let mut lines = vec![format!("runs {}", words.join(" "))];
                lines.extend(
                    program
                        .env
                        .iter()
                        .map(|(name, value)| format!("with {name}={value:?}")),
                );
                lines.extend(program.cwd.map(|folder| format!("in {}", folder.display())));
                lines
            })
        }
        Reach::Address(address) => surroundings.in_address(address).map(|address| {
            let headers = address.headers.iter();
            let headers = headers.map(|(name, value)| format!("with {name}: {value}"));
            let older = if address.is_older {
                ", by the older transport"
            } else {
                ""
            };
            std::iter::once(format!("connects to {}{older}", address.url))
                .chain(headers)
                .collect()
        }),
    };
    for line in filled.unwrap_or_else(|error| vec![format!("can't start: {error}")]) {
        writeln!(told, "  {line}").unwrap();
    }
    if let Some(only) = &server.tools.only {
        writeln!(told, "  only the tools {only:?}").unwrap();
    }
    if !server.tools.off.is_empty() {
        writeln!(told, "  not the tools {:?}", server.tools.off).unwrap();
    }
    if server.parallel {
        writeln!(told, "  several calls at once").unwrap();
    }
    let times = [
        server.start_timeout,
        server.call_timeout,
        server.idle_timeout,
    ];
    if times != [60, 300, 900].map(std::time::Duration::from_secs) {
        writeln!(
            told,
            "  start {:?}, call {:?}, idle {:?}",
            times[0], times[1], times[2]
        )
        .unwrap();
    }
}

#[test]
fn files_from_the_wild_are_read_as_their_clients_read_them() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind != "txt"))
        .collect();
    files.sort();
    assert!(files.len() >= 40, "{}", files.len());
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let has_separator = text.contains("${pathSeparator}");
        let mut told = read_as(name, text);
        if cfg!(windows) && has_separator {
            // What it is there, as it is shown.
            told = told.replace(r"\\", "/");
        }
        let expected = file.with_extension("txt");
        if env::var_os(UPDATE).is_some() {
            fs::write(&expected, &told).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(
            told,
            expected.replace("\r\n", "\n"),
            "{name} is read otherwise; {UPDATE}=1 writes it anew"
        );
    }
}

/// Keys as they occur, known ones and others, each with a value that may fit.
fn keys() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![
        4 => proptest::sample::select(vec![
            "args", "cmd", "command", "cwd", "disabled", "enabled", "env", "envFile", "environment", "env_vars", "headers",
            "httpUrl", "http_headers", "includeTools", "excludeTools", "disabledTools", "tools", "timeout", "callTimeoutMs",
            "parallel", "serverUrl", "type", "transport", "url", "requestInit", "alwaysAllow", "trust", "description", "icon",
            "isActive", "bearer_token_env_var", "working_directory", "startup_timeout_sec", "//",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z]{1,12}",
    ];
    let value = prop_oneof![
        "[a-z]{1,6}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (1..100_000_u32).prop_map(Value::from),
        proptest::collection::vec("[a-z]{1,5}", 0..3).prop_map(Value::from),
        Just(json!({"A": "1"})),
        Just(json!({"headers": {"A": "1"}})),
        proptest::sample::select(vec!["stdio", "http", "http://x"]).prop_map(Value::from),
    ];
    let other = proptest::collection::btree_map(key, value, 0..6);
    (other, any::<bool>()).prop_map(|(keys, is_program)| {
        let mut entry: Map<String, Value> = keys.into_iter().collect();
        // So that most can be read.
        if is_program {
            entry.insert("command".to_owned(), json!("x"));
        } else {
            entry.insert("url".to_owned(), json!("http://x/mcp"));
        }
        entry
    })
}

proptest! {
    #[test]
    fn no_key_of_an_entry_is_dropped_without_a_word(entry in keys()) {
        let read = |entry: &Map<String, Value>| {
            reading::read("x", &Value::Object(entry.clone()), Origin::User, Path::new("f"))
        };
        // Where it can't be read that is said, and nothing of it counts.
        if let Ok((whole, remarks)) = read(&entry) {
            for key in entry.keys() {
                let mut without = entry.clone();
                without.remove(key);
                let has_effect = !matches!(read(&without), Ok((other, _)) if other == whole);
                let is_told = remarks.iter().any(|(_, text)| text.contains(&format!("`{key}`")));
                // A value that says what holds anyway needs no word.
                let is_default = match &entry[key] {
                    Value::Bool(_) | Value::Array(_) => true,
                    Value::String(text) => ["stdio", "http"].contains(&text.as_str()),
                    _ => false,
                };
                let is_known = super::reading::KNOWN.contains(&key.as_str()) || key == "transport";
                prop_assert!(has_effect || is_told || (is_known && is_default), "{key} of {entry:?}: {remarks:?}");
            }
        }
    }

    #[test]
    fn an_entry_that_is_taken_over_means_the_same_in_our_own_file(entry in keys()) {
        for client in ["claude-desktop", "opencode", "gemini-cli", "cline", "goose"] {
            if let Ok(theirs) = foreign::read(client, "x", &Value::Object(entry.clone()), Path::new("f")) {
                let ours = Value::Object(foreign::written(&theirs.entry));
                let (ours, remarks) = reading::read("x", &ours, Origin::User, Path::new("f")).unwrap();
                prop_assert_eq!(&remarks, &[]);
                let expected = Entry { variables: ours.variables, ..theirs.entry };
                prop_assert_eq!(ours, expected);
            }
        }
    }
}
