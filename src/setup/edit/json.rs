//! JSON, with comments and without: edited as a tree that keeps every space of the text.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::{Map, Value};

use crate::setup::{file::LineEnd, refusal::Refusal};

/// What clients that read comments take. Other freedoms of JSON5 some read and others don't.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What a text says; null if it is blank.
pub fn read(text: &str, strict: bool) -> Result<Value, Refusal> {
    if strict && !text.trim().is_empty() {
        let value = serde_json::from_str(text);
        return value.map_err(|error| {
            let mut refusal = Refusal::new(format!(
                "is not valid JSON ({}), so it is left as it is. Mend that, and try again",
                described(&error)
            ));
            refusal.line = Some(error.line());
            refusal
        });
    }
    let value: Result<Option<Value>, _> = jsonc_parser::parse_to_serde_value(text, &OPTIONS);
    let value = value.map_err(|error| {
        Refusal::new(format!(
            "is not valid JSON ({}), so it is left as it is. Mend that, and try again",
            error.kind()
        ))
        .at(text, error.range().start)
    })?;
    Ok(value.unwrap_or(Value::Null))
}

/// An error without its place, which stands elsewhere.
fn described(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

pub fn put(
    text: &str,
    container: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        let entries = Value::Object(Map::from_iter([(
            name.to_owned(),
            Value::Object(entry.clone()),
        )]));
        let all = Map::from_iter([(container.to_owned(), entries)]);
        let made = format!("{:#}\n", Value::Object(all));
        return Ok(LineEnd::of(text).put_into(&made));
    }
    let root = parse(text)?;
    let Some(top) = root.object_value() else {
        // Comments only: the tree makes the object below them.
        let top = root.object_value_or_create().ok_or_else(unreadable)?;
        let entries = top.append(container, CstInputValue::Object(Vec::new()));
        let entries = entries.object_value().ok_or_else(unreadable)?;
        entries.append(name, object(entry));
        return Ok(root.to_string());
    };
    let entries = match only(&top, container)? {
        Some(property) => property.object_value().ok_or_else(unreadable)?,
        None => {
            let property = top.append(container, CstInputValue::Object(Vec::new()));
            property.object_value().ok_or_else(unreadable)?
        }
    };
    match only(&entries, name)? {
        Some(property) => {
            let own = property.object_value().ok_or_else(unreadable)?;
            bring(&own, entry)?;
        }
        None => {
            entries.append(name, object(entry));
        }
    }
    Ok(root.to_string())
}

pub fn take(
    text: &str,
    container: &str,
    name: &str,
    made_container: bool,
) -> Result<String, Refusal> {
    let root = parse(text)?;
    let top = root.object_value().ok_or_else(unreadable)?;
    let property = only(&top, container)?.ok_or_else(unreadable)?;
    let entries = property.object_value().ok_or_else(unreadable)?;
    let own = only(&entries, name)?.ok_or_else(unreadable)?;
    own.remove();
    // What a user wrote in it beside our entry stays, also a comment.
    if made_container && entries.properties().is_empty() && !has_comments(&entries) {
        property.remove();
    }
    Ok(root.to_string())
}

/// Changes an object where it differs from what is wanted.
fn bring(object: &CstObject, wanted: &Map<String, Value>) -> Result<(), Refusal> {
    for property in object.properties() {
        let name = property.decoded_name().unwrap_or_default();
        if !wanted.contains_key(&name) {
            property.remove();
        }
    }
    for (key, value) in wanted {
        let Some(property) = only(object, key)? else {
            object.append(key, input(value));
            continue;
        };
        if property
            .value()
            .and_then(|value| value.to_serde_value())
            .as_ref()
            == Some(value)
        {
            continue;
        }
        match (property.object_value(), value) {
            (Some(inner), Value::Object(wanted)) => bring(&inner, wanted)?,
            _ => property.set_value(input(value)),
        }
    }
    Ok(())
}

/// The property of this name. Clients take the last of several, others the first.
fn only(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, Refusal> {
    let is_it = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(name);
    let mut found = object.properties().into_iter().filter(is_it);
    let first = found.next();
    if found.next().is_some() {
        return Err(Refusal::new(format!(
            "has `{name}` twice in one object, so it is left as it is. Take one of them out, and try again"
        )));
    }
    Ok(first)
}

fn has_comments(object: &CstObject) -> bool {
    object.children().iter().any(CstNode::is_comment)
}

fn parse(text: &str) -> Result<CstRootNode, Refusal> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| {
        Refusal::new(format!("is not valid JSON ({})", error.kind())).at(text, error.range().start)
    })
}

/// What was read as an object before is none now: that is not to be.
fn unreadable() -> Refusal {
    Refusal::new("is written in a way that can't be edited here, so it is left as it is")
}

fn object(map: &Map<String, Value>) -> CstInputValue {
    let properties = map.iter().map(|(key, value)| (key.clone(), input(value)));
    CstInputValue::Object(properties.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => object(map),
    }
}
