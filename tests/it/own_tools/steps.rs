//! What tools are asked and what comes of it, step after step, as files beside this one say it.

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::{
    bridge::Bridge,
    kept::{Kept, filled, filled_value, keep},
};

/// One call, and what its answer is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// The tool; without it, `lua` runs, or what is in `file`.
    call: Option<String>,
    #[serde(default)]
    arguments: Value,
    lua: Option<String>,
    file: Option<String>,
    /// The version of the protocol that it takes, if it is not the first.
    #[serde(default)]
    version: u8,
    /// Whether it is to be an error.
    #[serde(default)]
    fails: bool,
    /// The whole text.
    is: Option<String>,
    /// What the text contains.
    #[serde(default)]
    shows: Vec<String>,
    /// What it does not contain.
    #[serde(default)]
    hides: Vec<String>,
    /// Values in the text, which is JSON: where they are, and what they are as JSON.
    #[serde(default)]
    at: Vec<(String, String)>,
    /// Patterns whose group is kept under a name.
    #[serde(default)]
    keeps: Kept,
}

#[derive(Debug, Deserialize)]
struct Steps {
    step: Vec<Step>,
}

/// Takes the steps of a file with a computer that is linked, but for those that need more than its agent can.
pub async fn take(bridge: &mut Bridge, computer: u64, file: &str, is_version_1: bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/own_tools");
    let text = fs::read_to_string(path.join(file)).unwrap();
    let steps: Steps = toml::from_str(&text).unwrap();
    let mut kept = Kept::new();
    for (number, step) in steps.step.iter().enumerate() {
        if step.version > 1 && is_version_1 {
            continue;
        }
        let (tool, mut arguments) = match (&step.call, &step.lua, &step.file) {
            (Some(tool), None, None) => (tool.as_str(), filled_value(&step.arguments, &kept)),
            (None, Some(code), None) => ("exec-lua", json!({"code": filled(code, &kept)})),
            (None, None, Some(name)) => {
                let code = fs::read_to_string(path.join(name)).unwrap();
                ("exec-lua", json!({"code": code}))
            }
            _ => panic!(
                "{file}: step {} needs one of call, lua and file",
                number + 1
            ),
        };
        if arguments.is_null() {
            arguments = json!({});
        }
        arguments["computerId"] = computer.into();
        let answer = bridge.call(tool, arguments.clone()).await;
        let told = format!(
            "{file}, step {}, {tool} {arguments} on computer {computer} answered: {}",
            number + 1,
            answer.text
        );
        assert_eq!(answer.is_error, step.fails, "{told}");
        if let Some(whole) = &step.is {
            assert_eq!(answer.text, filled(whole, &kept), "{told}");
        }
        for part in &step.shows {
            let part = filled(part, &kept);
            assert!(answer.text.contains(&part), "no `{part}`: {told}");
        }
        for part in &step.hides {
            assert!(!answer.text.contains(part), "`{part}`: {told}");
        }
        for (place, value) in &step.at {
            let json: Value =
                serde_json::from_str(&answer.text).unwrap_or_else(|_| panic!("{told}"));
            let expected: Value = serde_json::from_str(value).unwrap();
            let mut there = json.pointer(place).cloned().unwrap_or_default();
            // An old agent does not know an empty list or a null from an empty object.
            if there == json!({}) && (expected == json!([]) || expected.is_null()) {
                there = expected.clone();
            }
            assert_eq!(there, expected, "{place}: {told}");
        }
        keep(&mut kept, &step.keeps, &answer.text, &told);
    }
}
