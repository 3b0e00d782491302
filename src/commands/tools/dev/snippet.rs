//! A call that was tried, as an example to be put into its manifest.

use serde_json::{Value, json};

use crate::{
    commands::tools::testing::judge::Came,
    tools::manifest::{Fuel, Given, Simulated},
};

/// A longer text is no example to be read, in bytes.
const LONGEST: usize = 400;

/// Lines for a manifest, which expect what came; none if that is too long. JSON is YAML too.
pub fn of(given: &Given, computers: &[Simulated], came: &Came) -> Option<String> {
    if came.text.len() > LONGEST || came.text.trim().is_empty() {
        return None;
    }
    let mut lines = vec!["- name: what it shows".to_owned()];
    if !computers.is_empty() {
        let computers: Value = computers.iter().map(computer).collect();
        lines.push(format!("  computers: {computers}"));
    }
    match given {
        Given::Arguments(arguments) if arguments.is_empty() => {}
        Given::Arguments(arguments) => lines.push(format!("  arguments: {}", json!(arguments))),
        Given::Uri(uri) => lines.push(format!("  uri: {}", json!(uri))),
    }
    let text = came.text.trim_end();
    let expected = match came.is_error {
        // What follows is a traceback, or where it was.
        true => json!({ "isError": true, "contains": text.lines().next().unwrap_or_default() }),
        false => json!(text),
    };
    lines.push(format!("  expect: {expected}"));
    Some(lines.join("\n"))
}

/// A computer as a manifest has it: its kind alone where that says all.
fn computer(computer: &Simulated) -> Value {
    let mut fields = json!({ "kind": computer.kind });
    if let Some(label) = &computer.label {
        fields["label"] = json!(label);
    }
    if !computer.is_advanced {
        fields["advanced"] = json!(false);
    }
    if let Some(version) = &computer.version {
        fields["version"] = json!(version);
    }
    match computer.fuel {
        None => {}
        Some(Fuel::Level(level)) => fields["fuel"] = json!(level),
        Some(Fuel::Unlimited) => fields["fuel"] = json!("unlimited"),
    }
    for (path, content) in &computer.files {
        fields["files"][path] = json!(content);
    }
    match fields.as_object().is_some_and(|fields| fields.len() > 1) {
        true => {
            fields["id"] = json!(computer.id);
            fields
        }
        false => json!(computer.kind),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::JsonObject;

    use super::*;

    fn came(text: &str, is_error: bool) -> Came {
        Came {
            is_error,
            text: text.to_owned(),
            value: None,
        }
    }

    #[test]
    fn what_was_tried_is_an_example_that_expects_what_came() {
        let turtle = Simulated::of_kind("turtle", 1).unwrap();
        let miner = Simulated {
            label: Some("miner".to_owned()),
            fuel: Some(Fuel::Level(5)),
            files: vec![("a".to_owned(), "b".to_owned())],
            ..turtle.clone()
        };
        let arguments = JsonObject::from_iter([("text".to_owned(), json!("a: b"))]);
        let given = Given::Arguments(arguments);
        assert_eq!(
            of(&given, &[turtle, miner], &came("one\n\"two\"\n", false)).unwrap(),
            r#"- name: what it shows
  computers: ["turtle",{"kind":"turtle","label":"miner","fuel":5,"files":{"a":"b"},"id":1}]
  arguments: {"text":"a: b"}
  expect: "one\n\"two\"""#
        );
        let given = Given::Uri("a:b".to_owned());
        let failed = of(&given, &[], &came("no\n\nstack traceback:", true)).unwrap();
        assert!(
            failed.ends_with("\n  uri: \"a:b\"\n  expect: {\"isError\":true,\"contains\":\"no\"}")
        );
        assert_eq!(of(&given, &[], &came(&"x".repeat(1000), false)), None);
    }
}
