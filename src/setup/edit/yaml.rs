//! YAML: lines are put in below a key and taken out again, at the places that the parser tells.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use crate::setup::splice::{self, Splice, line_start, next_line};
use crate::setup::{file::LineEnd, refusal::Refusal};

/// Deeper texts are refused.
const MAX_DEPTH: usize = 64;

/// A value and where it stands, in bytes.
#[derive(Debug)]
struct Node {
    range: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug)]
struct Key {
    name: String,
    range: Range<usize>,
}

impl Node {
    fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(Self::value).collect(),
            Kind::Map(pairs) => Value::Object(
                pairs
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.value()))
                    .collect(),
            ),
        }
    }

    fn get(&self, name: &str) -> Option<&(Key, Node)> {
        match &self.kind {
            Kind::Map(pairs) => pairs.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
    }

    /// Whether it is a map with a key in each line, and not one in braces.
    fn is_block_map(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Map(_)) && !text[self.range.start..].starts_with('{')
    }

    /// Where the last thing in it ends.
    fn end(&self) -> usize {
        match &self.kind {
            Kind::Map(pairs) if pairs.is_empty() => self.range.end,
            Kind::Map(pairs) => {
                let ends = pairs
                    .iter()
                    .map(|(key, node)| node.end().max(key.range.end));
                ends.max().unwrap_or(self.range.end)
            }
            Kind::List(items) => items
                .iter()
                .map(Self::end)
                .max()
                .unwrap_or(self.range.start)
                .max(self.range.start),
            Kind::Scalar(_) => self.range.end,
        }
    }
}

/// What a text says.
pub fn read(text: &str) -> Result<Value, Refusal> {
    Ok(parse(text)?.map_or(Value::Null, |node| node.value()))
}

/// The tree of the only document of a text; none if there is nothing in it.
fn parse(text: &str) -> Result<Option<Node>, Refusal> {
    let offsets: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let offset = |at: usize| offsets.get(at).copied().unwrap_or(text.len());
    let range = |span: Span| offset(span.start.index())..offset(span.end.index());
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            Refusal::new(format!(
                "is not valid YAML ({}), so it is left as it is. Mend that, and try again",
                error.info()
            ))
            .at(text, offset(error.marker().index()))
        })?;
        let range = range(span);
        builder
            .take(event, range.clone())
            .map_err(|reason| Refusal::new(reason).at(text, range.start))?;
    }
    Ok(builder.root)
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<(Node, Option<Key>)>,
    documents: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), String> {
        let node = match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("begins a second document, so the file is left as it is".to_owned());
                }
                return Ok(());
            }
            Event::Scalar(text, style, _, tag) => {
                let value = if style == ScalarStyle::Plain && tag.is_none() {
                    plain(&text)
                } else {
                    Value::from(text.into_owned())
                };
                Node {
                    range,
                    kind: Kind::Scalar(value),
                }
            }
            Event::Alias(id) => Node {
                range,
                kind: Kind::Scalar(Value::from(format!("*{id}"))),
            },
            Event::SequenceStart(..) => {
                return self.begin(Node {
                    range,
                    kind: Kind::List(Vec::new()),
                });
            }
            Event::MappingStart(..) => {
                return self.begin(Node {
                    range,
                    kind: Kind::Map(Vec::new()),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((mut node, _)) = self.open.pop() else {
                    return Ok(());
                };
                node.range.end = range.end.max(node.range.start);
                node
            }
            _ => return Ok(()),
        };
        self.put(node)
    }

    fn begin(&mut self, node: Node) -> Result<(), String> {
        if self.open.len() == MAX_DEPTH {
            return Err("is nested too deeply to be edited".to_owned());
        }
        self.open.push((node, None));
        Ok(())
    }

    fn put(&mut self, node: Node) -> Result<(), String> {
        let Some((parent, pending)) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut parent.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(pairs) => match pending.take() {
                Some(key) => pairs.push((key, node)),
                None => {
                    let name = match &node.kind {
                        Kind::Scalar(Value::String(name)) => name.clone(),
                        Kind::Scalar(value) => value.to_string(),
                        _ => {
                            return Err("has a key that is no text, so the file is left as it is"
                                .to_owned());
                        }
                    };
                    if pairs.iter().any(|(key, _)| key.name == name) {
                        return Err(format!(
                            "says `{name}` a second time, so the file is left as it is"
                        ));
                    }
                    *pending = Some(Key {
                        name,
                        range: node.range,
                    });
                }
            },
            Kind::Scalar(_) => {}
        }
        Ok(())
    }
}

/// A scalar without quotes, by YAML 1.2's core schema. What else there is of numbers stays a text.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => text
            .parse::<i64>()
            .map_or_else(|_| Value::from(text), Value::from),
    }
}

pub fn put(
    text: &str,
    container: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Refusal> {
    let end = LineEnd::of(text);
    let root = parse(text)?;
    let mut splices = Vec::new();
    let Some(root) = root.filter(|root| root.value() != Value::Null) else {
        let block = format!("{}:\n{}", key(container), block(name, entry, 2));
        return Ok(format!("{}{}", lines_of(text, end), end.put_into(&block)));
    };
    if !root.is_block_map(text) {
        return Err(in_braces(text, root.range.start));
    }
    let Some((container_key, entries)) = root.get(container) else {
        let block = format!("{}:\n{}", key(container), block(name, entry, 2));
        return Ok(format!("{}{}", lines_of(text, end), end.put_into(&block)));
    };
    match entries.get(name) {
        Some((own_key, own)) => bring(text, own_key, own, entry, end, &mut splices)?,
        None => {
            let indent = children(text, container_key, entries, &mut splices)?;
            below(
                text,
                container_key,
                &block(name, entry, indent),
                end,
                &mut splices,
            );
        }
    }
    Ok(splice::apply(text, splices))
}

pub fn take(
    text: &str,
    container: &str,
    name: &str,
    made_container: bool,
) -> Result<String, Refusal> {
    let root = parse(text)?.ok_or_else(|| in_braces(text, 0))?;
    let (container_key, entries) = root.get(container).ok_or_else(|| in_braces(text, 0))?;
    let (own_key, own) = entries.get(name).ok_or_else(|| in_braces(text, 0))?;
    if !entries.is_block_map(text) {
        return Err(in_braces(text, entries.range.start));
    }
    let mut splices = Vec::new();
    splices.push(Splice::new(lines_from(text, own_key, own), ""));
    if matches!(&entries.kind, Kind::Map(pairs) if pairs.len() == 1) {
        let after_key = container_key.range.end;
        let line = line_start(text, after_key)..next_line(text, after_key);
        if made_container {
            splices.push(Splice::new(line, ""));
        } else if let Some(colon) = text[after_key..].find(':') {
            // Without a value it would be null, and no map any more.
            let at = after_key + colon + 1;
            splices.push(Splice::new(at..at, " {}"));
        }
    }
    Ok(splice::apply(text, splices))
}

/// Notes what has to change in a map.
fn bring(
    text: &str,
    own_key: &Key,
    own: &Node,
    wanted: &Map<String, Value>,
    end: LineEnd,
    splices: &mut Vec<Splice>,
) -> Result<(), Refusal> {
    let Kind::Map(pairs) = &own.kind else {
        return Err(in_braces(text, own.range.start));
    };
    let indent = children(text, own_key, own, splices)?;
    for (name, value) in wanted {
        let Some((inner_key, inner)) = own.get(name) else {
            let line = format!("{}{}: {value}\n", " ".repeat(indent), key(name));
            below(text, own_key, &line, end, splices);
            continue;
        };
        if inner.value() == *value {
            continue;
        }
        match value {
            Value::Object(wanted) if inner.is_block_map(text) => {
                bring(text, inner_key, inner, wanted, end, splices)?;
            }
            _ if matches!(inner.kind, Kind::Scalar(_))
                || text[inner.range.clone()].starts_with(['{', '[']) =>
            {
                let space = if inner.range.is_empty() { " " } else { "" };
                splices.push(Splice::new(inner.range.clone(), format!("{space}{value}")));
            }
            _ => return Err(in_braces(text, inner.range.start)),
        }
    }
    for (inner_key, inner) in pairs
        .iter()
        .filter(|(key, _)| !wanted.contains_key(&key.name))
    {
        splices.push(Splice::new(lines_from(text, inner_key, inner), ""));
    }
    Ok(())
}

/// How far the keys in a map are indented. An empty one in braces makes way for lines.
fn children(
    text: &str,
    own_key: &Key,
    own: &Node,
    splices: &mut Vec<Splice>,
) -> Result<usize, Refusal> {
    let column = own_key.range.start - line_start(text, own_key.range.start);
    match &own.kind {
        Kind::Map(pairs) if pairs.is_empty() && own.range.end > own.range.start => {
            splices.push(Splice::new(own.range.clone(), ""));
            Ok(column + 2)
        }
        Kind::Map(pairs) if own.is_block_map(text) => {
            let first = pairs.first().map(|(key, _)| key.range.start);
            Ok(first.map_or(column + 2, |first| first - line_start(text, first)))
        }
        Kind::Scalar(Value::Null) if own.range.is_empty() => Ok(column + 2),
        _ => Err(in_braces(text, own.range.start)),
    }
}

/// Puts lines below that of a key.
fn below(text: &str, key: &Key, lines: &str, end: LineEnd, splices: &mut Vec<Splice>) {
    let at = next_line(text, key.range.end);
    let lines = if text[..at].ends_with('\n') {
        lines.to_owned()
    } else {
        // The key is in the last line, which has no end.
        format!("\n{}", lines.trim_end_matches('\n'))
    };
    splices.push(Splice::new(at..at, end.put_into(&lines)));
}

/// The lines of a key and its value.
fn lines_from(text: &str, key: &Key, node: &Node) -> Range<usize> {
    let start = line_start(text, key.range.start);
    let last = node.end().max(key.range.end);
    // A text of several lines ends in the next line, before what stands there.
    let lines = text[..last].trim_end_matches([' ', '\t']).len();
    if lines > key.range.end && text[..lines].ends_with('\n') {
        return start..lines;
    }
    start..next_line(text, last)
}

/// `text`, whose last line has an end.
fn lines_of(text: &str, end: LineEnd) -> String {
    if text.is_empty() || text.ends_with('\n') {
        return text.to_owned();
    }
    format!("{text}{}", end.text())
}

/// An entry, a line for each of its keys: what they hold is written as in JSON, which is YAML too.
fn block(name: &str, entry: &Map<String, Value>, indent: usize) -> String {
    let mut lines = format!("{}{}:\n", " ".repeat(indent), key(name));
    for (name, value) in entry {
        lines += &format!("{}{}: {value}\n", " ".repeat(indent + 2), key(name));
    }
    lines
}

/// A key as it is written.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let begins_plain = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_plain && name.chars().all(is_plain) && plain(name).is_string() {
        return name.to_owned();
    }
    Value::from(name).to_string()
}

fn in_braces(text: &str, offset: usize) -> Refusal {
    Refusal::new("is written in a form (braces, or on one line) that can't be edited here, so the file is left as it is")
        .at(text, offset)
}
