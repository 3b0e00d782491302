use proptest::prelude::*;
use serde_json::json;

use super::*;

const JSON: Place<'static> = at(Format::Json, "mcpServers");
const JSONC: Place<'static> = at(Format::Jsonc, "servers");
const TOML: Place<'static> = at(Format::Toml, "mcp_servers");
const YAML: Place<'static> = at(Format::Yaml, "extensions");

const fn at(format: Format, container: &'static str) -> Place<'static> {
    Place {
        format,
        container,
        name: "computercraft",
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}

fn entry() -> Map<String, Value> {
    map(json!({"command": "/opt/mcp bridge\\x", "args": [], "env": {"CC_LINK_PORT": "3002"}}))
}

/// A text with the entry, and then without it.
fn there_and_back(place: &Place<'_>, text: &str) -> (String, Option<String>) {
    let made = Made {
        file: text.is_empty(),
        container: !place.has_container(text).unwrap(),
    };
    let with = place.put(text, &entry()).unwrap();
    assert_eq!(place.entry(&with).unwrap(), Some(entry()), "{with}");
    assert_eq!(
        place.put(&with, &entry()).unwrap(),
        with,
        "a second time changes nothing"
    );
    let without = place.take(&with, made).unwrap();
    (with, without)
}

#[test]
fn json_keeps_its_comments_commas_line_ends_and_indent() {
    let text = "// mine\r\n{\r\n\t\"servers\": {\r\n\t\t\"other\": {\"command\": \"x\"}, // why\r\n\t},\r\n}\r\n";
    let (with, without) = there_and_back(&JSONC, text);
    assert!(
        with.contains("\r\n\t\t\"computercraft\": {\r\n\t\t\t\"command\": "),
        "{with}"
    );
    assert!(!with.replace("\r\n", "").contains('\n'));
    assert_eq!(without.as_deref(), Some(text));
}

#[test]
fn json_without_a_container_is_as_it_was_afterwards() {
    for text in [
        "{\n  \"theme\": \"dark\"\n}\n",
        "{\n    \"a\": [1,2],\n    \"b\": {}\n}",
    ] {
        let (with, without) = there_and_back(&JSON, text);
        assert!(with.contains("\"mcpServers\": {"), "{with}");
        assert_eq!(without.as_deref(), Some(text));
    }
}

#[test]
fn of_a_file_that_was_made_nothing_stays() {
    for place in [JSON, JSONC, TOML, YAML] {
        let (with, without) = there_and_back(&place, "");
        assert!(
            with.ends_with('\n') && without.is_none(),
            "{with:?} {without:?}"
        );
    }
    let (with, without) = there_and_back(&JSONC, "// only a note\n");
    assert!(with.starts_with("// only a note\n"), "{with}");
    assert!(without.unwrap().starts_with("// only a note\n"));
}

#[test]
fn what_the_user_added_to_the_entry_stays() {
    let text = "{\"mcpServers\": {\n  \"computercraft\": {\n    // my note\n    \"command\": \"/old\",\n    \"env\": {\"A\": \"b\"},\n    \"timeout\": 5\n  }\n}}";
    let place = JSONC;
    let place = Place {
        container: "mcpServers",
        ..place
    };
    let mut wanted = place.entry(text).unwrap().unwrap();
    wanted["command"] = json!("/new");
    wanted["env"]["CC_LINK_PORT"] = json!("1");
    let with = place.put(text, &wanted).unwrap();
    assert!(
        with.contains("// my note\n    \"command\": \"/new\","),
        "{with}"
    );
    assert!(
        with.contains("\"timeout\": 5") && with.contains("\"A\": \"b\""),
        "{with}"
    );
}

#[test]
fn toml_goes_to_its_end_and_leaves_all_above_as_it_is() {
    let text = "# mine\r\nmodel = \"x\" # c\r\n\r\n[mcp_servers.other]\r\ncommand = \"y\"\r\n";
    let (with, without) = there_and_back(&TOML, text);
    assert_eq!(
        with.strip_prefix(text).unwrap(),
        "\r\n[mcp_servers.computercraft]\r\ncommand = \"/opt/mcp bridge\\\\x\"\r\nargs = []\r\nenv = { CC_LINK_PORT = \"3002\" }\r\n"
    );
    assert_eq!(without.as_deref(), Some(text));
}

#[test]
fn a_table_in_toml_is_brought_up_to_date_line_by_line() {
    let text = "[mcp_servers.computercraft]\ncommand = '/old' # why\ntimeout = 5\n\n[mcp_servers.computercraft.env]\nA = \"b\"\n\n# of the next\n[other]\nx = 1\n";
    let mut wanted = TOML.entry(text).unwrap().unwrap();
    wanted["command"] = json!("/new");
    wanted["env"]["CC_LINK_PORT"] = json!("1");
    let with = TOML.put(text, &wanted).unwrap();
    let expected = text
        .replace("'/old'", "\"/new\"")
        .replace(".env]\n", ".env]\nCC_LINK_PORT = \"1\"\n");
    assert_eq!(with, expected);
    let without = TOML.take(&with, Made::default()).unwrap().unwrap();
    assert_eq!(without.trim_start(), "# of the next\n[other]\nx = 1\n");
}

#[test]
fn yaml_gets_lines_below_its_key() {
    let text = "# goose\nGOOSE_MODE: auto\nextensions: # all\n    developer:\n        enabled: true\n        note: |\n            two\n            lines\nlast: 1\n";
    let (with, without) = there_and_back(&YAML, text);
    let expected = "extensions: # all\n    computercraft:\n      command: \"/opt/mcp bridge\\\\x\"\n      args: []\n      env: {\"CC_LINK_PORT\":\"3002\"}\n    developer:\n";
    assert!(with.contains(expected), "{with}");
    assert_eq!(without.as_deref(), Some(text));
    for text in [
        "a: 1\r\n",
        "a: 1",
        "extensions:\n",
        "extensions: {}\n",
        "---\nextensions:\n  b:\n    c: 1",
    ] {
        let (with, without) = there_and_back(&YAML, text);
        assert!(text.ends_with("\r\n") == with.ends_with("\r\n"), "{with:?}");
        let without = without.unwrap();
        assert_eq!(YAML.read(&without).unwrap(), {
            let mut before = YAML.read(text).unwrap();
            if before.get("extensions") == Some(&Value::Null) {
                before["extensions"] = json!({});
            }
            before
        });
    }
}

#[test]
fn an_entry_in_yaml_is_brought_up_to_date() {
    let text = "extensions:\n  computercraft:\n    cmd: /old # why\n    envs:\n      A: b\n    enabled: false\n    gone: |\n      x\n      y\n  other: {a: 1}\n";
    let wanted = map(json!({"cmd": "/new", "envs": {"A": "b", "C": "1"}, "enabled": false}));
    assert_eq!(
        YAML.put(text, &wanted).unwrap(),
        "extensions:\n  computercraft:\n    cmd: \"/new\" # why\n    envs:\n      C: \"1\"\n      A: b\n    enabled: false\n  other: {a: 1}\n"
    );
}

#[test]
fn what_can_not_be_read_or_has_another_type_is_refused_with_its_line() {
    for (place, text, line, part) in [
        (JSON, "{\n  // no comments here\n}", 2, "is not valid JSON"),
        (
            JSON,
            "{\n  \"mcpServers\": []\n}",
            2,
            "`mcpServers` is a list",
        ),
        (JSON, "[]", 1, "holds a list at its top"),
        (
            JSON,
            "{\"mcpServers\": {\"computercraft\": 1}}",
            1,
            "`computercraft` is a number",
        ),
        (JSONC, "{\n\"servers\": {\n", 3, "is not valid JSON"),
        (JSONC, "{'servers': {}}", 1, "is not valid JSON"),
        (TOML, "a = 1\n[mcp_servers\n", 2, "is not valid TOML"),
        (TOML, "\nmcp_servers = 3\n", 2, "`mcp_servers` is a number"),
        (
            TOML,
            "\n\nmcp_servers = { other = { command = \"x\" } }\n",
            3,
            "is not written as a table",
        ),
        (
            TOML,
            "[[mcp_servers]]\na = 1\n",
            1,
            "`mcp_servers` is a list",
        ),
        (YAML, "a: [\nb: 1\n", 2, "is not valid YAML"),
        (YAML, "- a\n", 1, "holds a list at its top"),
        (YAML, "extensions: text\n", 1, "`extensions` is a text"),
        (YAML, "extensions: {a: {b: 1}}\n", 1, "braces"),
        (YAML, "a: 1\n---\nb: 1\n", 2, "a second document"),
        (YAML, "a: 1\na: 2\n", 2, "a second time"),
    ] {
        let refusal = place.put(text, &entry()).unwrap_err();
        assert!(refusal.reason.contains(part), "{text:?}: {refusal}");
        assert_eq!(refusal.line, Some(line), "{text:?}: {refusal}");
    }
    let twice = "{\"mcpServers\": {\"a\": 1}, \"mcpServers\": {}}";
    assert!(
        JSON.put(twice, &entry())
            .unwrap_err()
            .reason
            .contains("twice")
    );
    let deep = "[".repeat(100_000);
    for place in [JSON, JSONC, TOML, YAML] {
        assert!(place.put(&deep, &entry()).is_err());
    }
}

/// A value as others have it in their files.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é\u{1f600}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z_ .-]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// How a file is laid out.
#[derive(Debug, Clone)]
struct Layout {
    indent: &'static str,
    end: &'static str,
    comments: bool,
    trailing: bool,
    minified: bool,
}

fn any_layout() -> impl Strategy<Value = Layout> {
    let indents = proptest::sample::select(vec!["  ", "    ", "\t", ""]);
    let ends = proptest::sample::select(vec!["\n", "\r\n"]);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (indents, ends, switches).prop_map(|(indent, end, (comments, trailing, minified))| Layout {
        indent,
        end,
        comments,
        trailing,
        minified,
    })
}

/// A value as JSON, laid out so.
fn written(value: &Value, layout: &Layout, depth: usize, out: &mut String) {
    let (open, close, items): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(map) => (
            '{',
            '}',
            map.iter().map(|(key, value)| (Some(key), value)).collect(),
        ),
        Value::Array(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
        other => return out.push_str(&other.to_string()),
    };
    let line = |out: &mut String, depth: usize| {
        if !layout.minified {
            out.push_str(layout.end);
            out.push_str(&layout.indent.repeat(depth));
        }
    };
    out.push(open);
    let count = items.len();
    for (index, (key, value)) in items.into_iter().enumerate() {
        line(out, depth + 1);
        if layout.comments && index % 2 == 0 {
            out.push_str("/* of \"others\", {here} */ ");
        }
        if let Some(key) = key {
            out.push_str(&format!("{}: ", Value::from(key.as_str())));
        }
        written(value, layout, depth + 1, out);
        if index + 1 < count || layout.trailing {
            out.push(',');
        }
        if layout.comments && !layout.minified && index % 3 == 0 {
            out.push_str(" // note, with } and \"");
        }
    }
    if count > 0 {
        line(out, depth);
    }
    out.push(close);
}

/// The comments of a text of [`written`].
fn comments(text: &str) -> usize {
    text.matches("/* of \"others\", {here} */").count()
        + text.matches("// note, with } and \"").count()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn in_any_json_all_that_is_not_ours_is_unchanged(
        others in proptest::collection::btree_map("[a-z]{1,6}", any_value(), 0..5),
        servers in proptest::option::of(proptest::collection::btree_map("[a-z]{1,6}", any_value(), 0..4)),
        layout in any_layout(),
    ) {
        let mut all: Map<String, Value> = others.into_iter().collect();
        if let Some(servers) = servers {
            all.insert("servers".to_owned(), Value::Object(servers.into_iter().collect()));
        } else {
            all.shift_remove("servers");
        }
        let mut text = String::new();
        written(&Value::Object(all.clone()), &layout, 0, &mut text);
        text.push_str(layout.end);

        let (with, without) = there_and_back(&JSONC, &text);
        let without = without.unwrap();
        prop_assert_eq!(JSONC.read(&without).unwrap(), all);
        prop_assert_eq!(comments(&with), comments(&text), "{}", &with);
        prop_assert_eq!(comments(&without), comments(&text), "{}", &without);
        if layout.end == "\r\n" {
            prop_assert!(!with.replace("\r\n", "").contains('\n'), "{:?}", with);
        }
    }

    #[test]
    fn in_any_toml_all_that_is_not_ours_is_unchanged(
        values in proptest::collection::vec("[ -~]{0,8}", 0..4),
        servers in proptest::collection::btree_set("[a-z]{1,6}", 0..4),
        after in any::<bool>(),
        end in proptest::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut text = String::from("# of others: [mcp_servers.x]\n");
        for (index, value) in values.iter().enumerate() {
            text += &format!("k{index} = {} # \"why\"\n", Value::from(value.as_str()));
        }
        for server in &servers {
            text += &format!("\n\t[mcp_servers.{server}] # c\n\tcommand = '''\nx'''\n\t[mcp_servers.{server}.env]\n\tA = \"b\"\n");
        }
        if after {
            text += "\n[[list]]\na = 1979-05-27\n[[list]]\na = inf\n# the end";
        }
        let text = text.replace('\n', end);
        let (with, without) = there_and_back(&TOML, &text);
        prop_assert!(with.starts_with(&text), "{}", with);
        let without = without.unwrap();
        prop_assert_eq!(without.trim_end(), text.trim_end());
    }

    #[test]
    fn in_any_yaml_all_that_is_not_ours_is_unchanged(
        values in proptest::collection::vec(any_value(), 0..4),
        servers in proptest::option::of(proptest::collection::btree_set("[a-z]{1,6}", 1..4)),
        indent in 1..5_usize,
        end in proptest::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut text = String::from("# of others: {extensions: x}\n");
        for (index, value) in values.iter().enumerate() {
            text += &format!("k{index}: {value} # \"why\"\n");
        }
        if let Some(servers) = &servers {
            text += "extensions:  # c\n";
            for server in servers {
                let space = " ".repeat(indent);
                text += &format!("{space}# about\n{space}{server}:\n{space}  cmd: a b\n{space}  note: |\n{space}    x\n");
            }
        }
        text += "last: 1 # the end\n";
        let text = text.replace('\n', end);
        let (_, without) = there_and_back(&YAML, &text);
        prop_assert_eq!(without.unwrap(), text);
    }

    #[test]
    fn no_text_makes_an_editor_fail_otherwise_than_by_a_refusal(text in "[\\[\\]{}:,#\"'a-c \n\t=|>*&!-]{0,40}") {
        for place in [JSON, JSONC, TOML, YAML] {
            if let Ok(with) = place.put(&text, &entry()) {
                let _ = place.take(&with, Made::default());
            }
        }
    }
}
