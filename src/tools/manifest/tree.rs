//! YAML as a tree whose nodes know their lines. Values are those of YAML 1.2's core schema.
//!
//! `serde-saphyr` would stand for 180 of these lines and bring a second YAML parser, beside the one that `setup` needs to
//! change files; and it stops at a document's first fault, where each entry of a manifest is to have its own.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, SpannedEventReceiver};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::wrong::Wrong;

/// Deeper nodes are refused.
const MAX_DEPTH: usize = 64;

/// More nodes are refused: aliases could make millions of a few.
const MAX_NODES: usize = 200_000;

/// A value and where it stands. It is serialised for the product's own manifests, which are parsed when it is built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its line, from 1.
    #[serde(rename = "l")]
    pub line: usize,
    /// What it is.
    #[serde(rename = "k")]
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum NodeKind {
    /// Null, a truth value, a number or a text.
    #[serde(rename = "s")]
    Scalar(Value),
    /// A list.
    #[serde(rename = "i")]
    List(Vec<Node>),
    /// A map, in its order.
    #[serde(rename = "m")]
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value, without lines.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => items.iter().map(Self::to_json).collect(),
            NodeKind::Map(entries) => {
                let fields: Map<_, _> = entries
                    .iter()
                    .map(|(key, node)| (key.clone(), node.to_json()))
                    .collect();
                Value::Object(fields)
            }
        }
    }

    /// What it is, for an error message.
    pub fn what(&self) -> String {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) if text.chars().count() > 40 => {
                "a long text".to_owned()
            }
            NodeKind::Scalar(value) => value.to_string(),
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "a map".to_owned(),
        }
    }

    fn size(&self) -> usize {
        match &self.kind {
            NodeKind::Scalar(_) => 1,
            NodeKind::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            NodeKind::Map(entries) => {
                1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>()
            }
        }
    }
}

/// Reads a document; none if there is nothing in it.
///
/// # Errors
/// It is no YAML, or says something twice.
pub fn parse(text: &str) -> Result<Option<Node>, Wrong> {
    let text = text.trim_start_matches('\u{feff}');
    let mut builder = Builder::default();
    let parsed = Parser::new_from_str(text).load(&mut builder, true);
    if let Some(wrong) = builder.wrong {
        return Err(wrong);
    }
    parsed.map_err(|error| Wrong {
        line: error.marker().line(),
        reason: format!("is not valid YAML: {}", error.info()),
    })?;
    let is_nothing = |node: &Node| matches!(&node.kind, NodeKind::Scalar(Value::Null));
    Ok(builder.root.filter(|node| !is_nothing(node)))
}

/// Builds the tree of a parser's events.
#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    /// What aliases stand for, by the parser's numbers.
    anchors: Vec<(usize, Node)>,
    nodes: usize,
    wrong: Option<Wrong>,
}

/// A list or map that has not ended.
struct Open {
    node: Node,
    anchor: usize,
    /// The key whose value comes next, and its line.
    key: Option<(String, usize)>,
}

impl<'input> SpannedEventReceiver<'input> for Builder {
    fn on_event(&mut self, event: Event<'input>, span: Span) {
        if self.wrong.is_some() {
            return;
        }
        if let Err(wrong) = self.take(event, span.start.line()) {
            self.wrong = Some(wrong);
        }
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Wrong> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain
                    || tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let value = if is_text {
                    Value::String(text.into_owned())
                } else {
                    scalar(text)
                };
                let node = Node {
                    line,
                    kind: NodeKind::Scalar(value),
                };
                self.add(node, anchor)
            }
            Event::SequenceStart(anchor, _) => self.open(NodeKind::List(Vec::new()), anchor, line),
            Event::MappingStart(anchor, _) => self.open(NodeKind::Map(Vec::new()), anchor, line),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(mut open) => {
                    if let NodeKind::Map(entries) = &mut open.node.kind {
                        merge(entries)?;
                    }
                    self.add(open.node, open.anchor)
                }
                None => Ok(()),
            },
            Event::Alias(number) => {
                let found = self
                    .anchors
                    .iter()
                    .rev()
                    .find(|(anchor, _)| *anchor == number)
                    .map(|(_, node)| node.clone());
                match found {
                    Some(node) => {
                        self.count(node.size(), line)?;
                        self.add(node, 0)
                    }
                    None => Err(Wrong {
                        line,
                        reason: "an alias stands for nothing that ended before it".to_owned(),
                    }),
                }
            }
            Event::DocumentStart(_) if self.root.is_some() => Err(Wrong {
                line,
                reason: "a second document begins here; a manifest is one".to_owned(),
            }),
            Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => Ok(()),
        }
    }

    fn open(&mut self, kind: NodeKind, anchor: usize, line: usize) -> Result<(), Wrong> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Wrong {
                line,
                reason: format!("is nested deeper than {MAX_DEPTH} levels"),
            });
        }
        self.open.push(Open {
            node: Node { line, kind },
            anchor,
            key: None,
        });
        Ok(())
    }

    fn count(&mut self, nodes: usize, line: usize) -> Result<(), Wrong> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(Wrong {
                line,
                reason: format!("has more than {MAX_NODES} values"),
            });
        }
        Ok(())
    }

    /// Adds a node to what is open.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Wrong> {
        self.count(1, node.line)?;
        if anchor > 0 {
            self.anchors.push((anchor, node.clone()));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.kind {
            NodeKind::List(items) => items.push(node),
            NodeKind::Map(entries) => match open.key.take() {
                // A value that begins on a line of its own is found by its key.
                Some((key, line)) => entries.push((key, Node { line, ..node })),
                None => {
                    let line = node.line;
                    let key = key_of(node)?;
                    if entries.iter().any(|(known, _)| *known == key) {
                        return Err(Wrong {
                            line,
                            reason: format!("the key `{key}` stands here a second time"),
                        });
                    }
                    open.key = Some((key, line));
                }
            },
            NodeKind::Scalar(_) => {}
        }
        Ok(())
    }
}

/// Adds the entries of the maps that stand under `<<`, as YAML 1.1 had it: what a map says itself wins, and so does an
/// earlier one of them.
fn merge(entries: &mut Vec<(String, Node)>) -> Result<(), Wrong> {
    let Some(place) = entries.iter().position(|(key, _)| key == "<<") else {
        return Ok(());
    };
    let (_, merged) = entries.remove(place);
    let line = merged.line;
    let maps = match merged.kind {
        NodeKind::List(items) => items,
        kind => vec![Node { line, kind }],
    };
    for map in maps {
        let NodeKind::Map(more) = map.kind else {
            return Err(Wrong {
                line,
                reason:
                    "`<<` takes the entries of a map, such as `<<: *name`, or of a list of maps"
                        .to_owned(),
            });
        };
        for (key, node) in more {
            if !entries.iter().any(|(known, _)| *known == key) {
                entries.push((key, node));
            }
        }
    }
    Ok(())
}

fn key_of(node: Node) -> Result<String, Wrong> {
    match node.kind {
        NodeKind::Scalar(Value::String(key)) => Ok(key),
        NodeKind::Scalar(value) => Ok(value.to_string()),
        NodeKind::List(_) | NodeKind::Map(_) => Err(Wrong {
            line: node.line,
            reason: "a key must be a text".to_owned(),
        }),
    }
}

/// A plain scalar's value.
fn scalar(text: Cow<'_, str>) -> Value {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(&text).map_or_else(|| Value::String(text.into_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number);
    }
    let digits = text.trim_start_matches(['+', '-']);
    // Rust also reads words such as `inf` and `nan`, and JSON has no such numbers.
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
    {
        return None;
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(whole.into());
    }
    Number::from_f64(plain.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        parse(text).unwrap().unwrap().to_json()
    }

    fn wrong(text: &str) -> (usize, String) {
        let wrong = parse(text).unwrap_err();
        (wrong.line, wrong.reason)
    }

    #[test]
    fn values_are_those_of_the_core_schema() {
        assert_eq!(
            value(
                "a: 1\nb: -1.5\nc: 'x'\nd: \"2\"\ne: yes\nf: ~\ng: 0x1F\nh: 1e3\ni: .5\nj: 1.2.3\nk: |\n  a\n  b\nl: True\nm: [~]\n"
            ),
            json!({
                "a": 1, "b": -1.5, "c": "x", "d": "2", "e": "yes", "f": null, "g": 31, "h": 1000.0, "i": 0.5,
                "j": "1.2.3", "k": "a\nb\n", "l": true, "m": [null],
            })
        );
        assert_eq!(value("\u{feff}[a, {b: c}]"), json!(["a", {"b": "c"}]));
    }

    #[test]
    fn aliases_stand_for_what_was_anchored() {
        assert_eq!(
            value("a: &x {k: 1}\nb: *x"),
            json!({"a": {"k": 1}, "b": {"k": 1}})
        );
        let bomb = (1..30).fold("a0: &a0 [1, 1]\n".to_owned(), |text, n| {
            let last = n - 1;
            format!("{text}a{n}: &a{n} [*a{last}, *a{last}]\n")
        });
        assert!(wrong(&bomb).1.contains("more than 200000 values"));
    }

    #[test]
    fn a_map_takes_the_entries_of_those_it_is_merged_with_and_its_own_win() {
        assert_eq!(
            value(
                "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: *x\n  b: 3\nq: {<<: [*x, *y]}"
            ),
            json!({
                "x": {"a": 1, "b": 1}, "y": {"b": 2, "c": 2}, "z": {"b": 3, "a": 1}, "q": {"a": 1, "b": 1, "c": 2},
            })
        );
        let (line, reason) = wrong("a: 1\nb:\n  <<: 5\n");
        assert!(
            line == 3 && reason.contains("takes the entries of a map"),
            "{line}: {reason}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert_eq!(wrong("a: 1\nb: 2\na: 3").0, 3);
        assert_eq!(wrong("a: 1\n---\nb: 2").0, 2);
        let (line, reason) = wrong("a: 1\nb: [1, 2\nc: 3\n");
        assert!(
            line >= 2 && reason.contains("not valid YAML"),
            "{line}: {reason}"
        );
        assert!(wrong(&"- ".repeat(1000)).1.contains("nested deeper"));
    }

    #[test]
    fn nodes_know_their_lines() {
        let root = parse("# a comment\na:\n  - b\n  - c: 1\n")
            .unwrap()
            .unwrap();
        let NodeKind::Map(entries) = &root.kind else {
            panic!("{root:?}");
        };
        let NodeKind::List(items) = &entries[0].1.kind else {
            panic!("{root:?}");
        };
        assert_eq!((root.line, items[0].line, items[1].line), (2, 3, 4));
    }

    #[test]
    fn an_empty_document_is_nothing() {
        for text in ["", "\n", "# nothing\n", "---\n"] {
            assert_eq!(parse(text), Ok(None), "{text:?}");
        }
    }
}
