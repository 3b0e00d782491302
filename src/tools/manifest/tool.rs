//! A tool's entry.

use std::{sync::Arc, time::Duration};

use rmcp::model::{JsonObject, Tool as Definition};
use serde_json::{Value, json};

use super::{
    example::Example,
    fields::Fields,
    handler::{Handler, Kind, handler},
    meant,
    wrong::Wrong,
};
use crate::tools::{annotations, lint};

/// How long a tool may take when its entry does not say, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;

/// The longest a tool may take, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// What a tool's handler runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunsOn {
    /// The host, in a process beside the bridge.
    Host(Handler),
    /// A computer in the game.
    Computer(Handler),
    /// The bridge itself: this one of the handlers that are written in Rust, which only the product's own tools name.
    Bridge(String),
}

/// A tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// What clients are shown.
    pub definition: Definition,
    /// The set it belongs to; none: that of its source.
    pub set: Option<String>,
    /// Whether it is in the list when no sets were chosen; none: as its author's tools are.
    pub is_listed: Option<bool>,
    /// How long a call may take.
    pub time: Duration,
    /// Whether it holds the turtle that it runs on, so that no other that does runs beside it.
    pub is_exclusive: bool,
    /// What its handler runs on.
    pub runs_on: RunsOn,
    /// What it is given, and what comes of that.
    pub examples: Vec<Example>,
}

/// Reads it.
pub fn read(
    fields: &Fields<'_>,
    meta: &Fields<'_>,
    kind: Kind,
    is_built_in: bool,
) -> Result<ToolSpec, Wrong> {
    let Some(name) = meta.text("mcp.name")? else {
        return Err(meta.wrong("a tool needs `mcp.name`, which clients call it by"));
    };
    let runs_on = match (kind, handler(fields)?) {
        (Kind::Native, _) => RunsOn::Bridge(
            fields
                .text("method")?
                .ok_or_else(|| fields.wrong("a native tool needs `method`"))?,
        ),
        (_, None) => {
            return Err(fields.wrong(format!(
                "the tool {name} needs `source`, the file of its handler, such as file://{name}.lua"
            )));
        }
        (Kind::Computer, Some(handler)) => RunsOn::Computer(handler),
        (_, Some(handler)) => RunsOn::Host(handler),
    };
    let mut schema = schema(meta, "mcp.inputSchema")?.unwrap_or_default();
    lint::complete(&mut schema);
    if matches!(runs_on, RunsOn::Computer(_)) {
        add_computer(&mut schema, meta.line_of("mcp.inputSchema"))?;
    }
    let description = meta
        .text("mcp.description")?
        .unwrap_or_else(|| format!("The custom tool {name}."));
    let title = meta.text("mcp.title")?.unwrap_or_else(|| titled(&name));
    let mut definition = Definition::new(name, description.trim().to_owned(), Arc::new(schema))
        .with_title(title)
        .with_annotations(hints(meta)?);
    if let Some(output) = self::schema(meta, "mcp.outputSchema")? {
        definition = definition.with_raw_output_schema(Arc::new(output));
    }
    // A test holds the product's own against the lint, which takes longer than all else here.
    let problems = match is_built_in {
        true => Vec::new(),
        false => lint::check(&definition),
    };
    if !problems.is_empty() {
        let key = meta.first(&["mcp.inputSchema"]).unwrap_or("mcp.name");
        return Err(Wrong {
            line: meta.line_of(key),
            reason: format!("{}: {}", definition.name, problems.join("; ")),
        });
    }
    let timeout = meta.number("mcp.timeoutMs", 1, MAX_TIMEOUT_MS)?;
    let is_exclusive = meta.flag("mcp.exclusive")?.unwrap_or(false);
    if is_exclusive && !matches!(runs_on, RunsOn::Computer(_)) {
        return Err(meta.wrong(
            "`mcp.exclusive` is for handlers of `kind: computer.lua`, which hold the turtle",
        ));
    }
    Ok(ToolSpec {
        definition,
        set: meta.text("mcp.toolset")?,
        is_listed: meta.flag("mcp.listed")?,
        time: Duration::from_millis(timeout.unwrap_or(DEFAULT_TIMEOUT_MS)),
        is_exclusive,
        runs_on,
        examples: Vec::new(),
    })
}

/// A schema, which is an object.
fn schema(meta: &Fields<'_>, key: &str) -> Result<Option<JsonObject>, Wrong> {
    let Some(node) = meta.get(key) else {
        return Ok(None);
    };
    match node.to_json() {
        Value::Object(schema) => Ok(Some(schema)),
        _ => Err(Wrong {
            line: node.line,
            reason: format!(
                "`{key}` must be a JSON Schema, a map of keys to values, not {}",
                node.what()
            ),
        }),
    }
}

/// The four annotations. What is left out is taken for the worst, as clients do.
fn hints(meta: &Fields<'_>) -> Result<rmcp::model::ToolAnnotations, Wrong> {
    let Some(given) = meta.map("mcp.annotations")? else {
        return Ok(annotations(false, true, false, true));
    };
    meant::no_slip(&given, meant::OF_ANNOTATIONS)?;
    let read_only = given.flag("readOnlyHint")?.unwrap_or(false);
    Ok(annotations(
        read_only,
        // What changes nothing destroys nothing.
        given.flag("destructiveHint")?.unwrap_or(!read_only),
        given.flag("idempotentHint")?.unwrap_or(read_only),
        given.flag("openWorldHint")?.unwrap_or(true),
    ))
}

/// Adds `computerId` to the schema of a tool whose handler runs on a computer.
fn add_computer(schema: &mut JsonObject, line: usize) -> Result<(), Wrong> {
    let wrong = |reason: &str| Wrong {
        line,
        reason: reason.to_owned(),
    };
    let properties = schema
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .ok_or_else(|| wrong("`properties` must be a map"))?;
    if properties.contains_key("computerId") {
        return Err(wrong(
            "`computerId` is added to the schema of every kind: computer.lua, so leave it out",
        ));
    }
    properties.shift_insert(
        0,
        "computerId".to_owned(),
        json!({
            "type": "integer",
            "minimum": 0,
            "description": "Not needed if only one is linked.",
        }),
    );
    Ok(())
}

/// A name as a title: `get_weather` is `Get weather`.
fn titled(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => words,
    }
}
