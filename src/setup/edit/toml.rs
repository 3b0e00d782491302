//! TOML: lines are put in and taken out at the places that the parser tells.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table, TableLike};

use crate::setup::splice::{self, Splice, line_start, next_line};
use crate::setup::{file::LineEnd, refusal::Refusal};

/// What a text says.
pub fn read(text: &str) -> Result<Value, Refusal> {
    Ok(table_value(parse(text)?.as_table()))
}

fn parse(text: &str) -> Result<Document<&str>, Refusal> {
    Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Refusal::new(format!(
            "is not valid TOML ({}), so it is left as it is. Mend that, and try again",
            error.message().trim()
        ))
        .at(text, offset)
    })
}

pub fn put(
    text: &str,
    container: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Refusal> {
    let document = parse(text)?;
    let end = LineEnd::of(text);
    let entries = document.as_table().get(container);
    if entries.is_some_and(|entries| !entries.is_table()) {
        return Err(one_line_form(text, container));
    }
    let Some(own) = entries.and_then(|entries| entries.get(name)) else {
        return Ok(appended(text, container, name, entry, end));
    };
    let Some((table, header)) = own
        .as_table()
        .and_then(|table| Some((table, table.span()?)))
    else {
        return Err(one_line_form(text, name));
    };
    let mut splices = Vec::new();
    bring(text, table, header, entry, end, &mut splices)?;
    Ok(splice::apply(text, splices))
}

/// Notes what has to change in a table with a header of its own.
fn bring(
    text: &str,
    table: &Table,
    header: Range<usize>,
    wanted: &Map<String, Value>,
    end: LineEnd,
    splices: &mut Vec<Splice>,
) -> Result<(), Refusal> {
    let below_header = next_line(text, header.end);
    // A header may be the last line, without its end.
    let (before, after) = match text[..below_header].ends_with('\n') {
        true => ("", end.text()),
        false => (end.text(), ""),
    };
    for (key, value) in wanted {
        let Some(item) = table.get(key) else {
            let line = format!("{before}{} = {}{after}", key_text(key), written(value));
            splices.push(Splice::new(below_header..below_header, line));
            continue;
        };
        if item_value(item) == *value {
            continue;
        }
        match (item, value) {
            (Item::Table(inner), Value::Object(wanted)) if inner.span().is_some() => {
                let header = inner.span().unwrap_or_default();
                bring(text, inner, header, wanted, end, splices)?;
            }
            (Item::Value(old), _) => {
                let span = old.span().ok_or_else(|| one_line_form(text, key))?;
                splices.push(Splice::new(span, written(value)));
            }
            _ => return Err(one_line_form(text, key)),
        }
    }
    for (key, item) in table.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
        match (item, table.key(key).and_then(toml_edit::Key::span)) {
            (Item::Value(value), Some(key)) => {
                let last = value.span().map_or(key.end, |span| span.end);
                let range = line_start(text, key.start)..next_line(text, last);
                splices.push(Splice::new(range, ""));
            }
            _ => return Err(one_line_form(text, key)),
        }
    }
    Ok(())
}

/// `text` and a table of ours after it: in TOML that is outside of every other.
fn appended(
    text: &str,
    container: &str,
    name: &str,
    entry: &Map<String, Value>,
    end: LineEnd,
) -> String {
    let mut block = match text {
        "" => String::new(),
        text if text.ends_with('\n') => "\n".to_owned(),
        _ => "\n\n".to_owned(),
    };
    block += &format!("[{}.{}]\n", key_text(container), key_text(name));
    for (key, value) in entry {
        block += &format!("{} = {}\n", key_text(key), written(value));
    }
    format!("{text}{}", end.put_into(&block))
}

pub fn take(text: &str, container: &str, name: &str) -> Result<String, Refusal> {
    let document = parse(text)?;
    let own = document.as_table().get(container);
    let own = own.and_then(|entries| entries.get(name));
    let Some((table, header)) = own
        .and_then(Item::as_table)
        .and_then(|own| Some((own, own.span()?)))
    else {
        return Err(one_line_form(text, name));
    };
    let mut splices = Vec::new();
    let start = remove(text, table, header, &mut splices)?;
    // The line that kept it apart from what is above.
    let above = &text[..start];
    for blank in ["\r\n\r\n", "\n\n"] {
        if above.ends_with(blank) {
            let half = blank.len() / 2;
            splices.push(Splice::new(start - half..start, ""));
            break;
        }
    }
    Ok(splice::apply(text, splices))
}

/// Takes out a table, with those below it. Returns where it begins.
fn remove(
    text: &str,
    table: &Table,
    header: Range<usize>,
    splices: &mut Vec<Splice>,
) -> Result<usize, Refusal> {
    let mut last = header.end;
    for (key, item) in table.iter() {
        match item {
            Item::Value(value) => last = last.max(value.span().map_or(0, |span| span.end)),
            Item::Table(inner) => {
                let header = inner.span().ok_or_else(|| one_line_form(text, key))?;
                remove(text, inner, header, splices)?;
            }
            _ => return Err(one_line_form(text, key)),
        }
    }
    let start = line_start(text, header.start);
    splices.push(Splice::new(start..next_line(text, last), ""));
    Ok(start)
}

fn one_line_form(text: &str, key: &str) -> Refusal {
    let refusal = Refusal::new(format!(
        "`{key}` is not written as a table of its own (`[…]`), so the file is left as it is"
    ));
    match text.find(key) {
        Some(offset) => refusal.at(text, offset),
        None => refusal,
    }
}

/// A key as it is written.
fn key_text(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(is_bare) {
        return key.to_owned();
    }
    Value::from(key).to_string()
}

/// A value on one line. A text in TOML is escaped as one in JSON.
fn written(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{} = {}", key_text(key), written(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn table_value(table: &dyn TableLike) -> Value {
    let pairs = table
        .iter()
        .map(|(key, item)| (key.to_owned(), item_value(item)));
    Value::Object(pairs.collect())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn value_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(value) => Value::from(value.value().as_str()),
        toml_edit::Value::Integer(value) => Value::from(*value.value()),
        // JSON has neither infinity nor moments: what counts here is that they stay the same.
        toml_edit::Value::Float(value) => Value::from(format!("{:?}", value.value())),
        toml_edit::Value::Boolean(value) => Value::from(*value.value()),
        toml_edit::Value::Datetime(value) => Value::from(format!("{:?}", value.value())),
        toml_edit::Value::Array(values) => values.iter().map(value_value).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}
