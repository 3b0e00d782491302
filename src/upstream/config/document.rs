//! A configuration file, taken apart: which servers stand in it, and in which lines. Pure.

use jsonc_parser::{
    ast::{ObjectProp, Value as Node},
    common::Ranged,
    errors::ParseError,
    parse_to_ast,
};
use serde_json::Value;
use thiserror::Error;

use super::entry::Origin;

/// The keys below which clients keep their servers, each with whose it is. The first that is there counts.
const KEYS: [(&str, &str); 6] = [
    ("mcpServers", "most clients'"),
    ("servers", "VS Code's"),
    ("mcp", "opencode's"),
    ("context_servers", "Zed's"),
    ("mcp_servers", "Codex's"),
    ("amp.mcpServers", "Amp's"),
];

/// Keys by which an object is known for one server.
const WAYS: [&str; 5] = ["command", "url", "serverUrl", "httpUrl", "uri"];

/// Keys of a whole file that say nothing of servers.
const ABOUT_THE_FILE: [&str; 3] = ["$schema", "inputs", "version"];

/// One server as it stands there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) name: String,
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its keys, each with its line and what it is.
    pub(super) value: Value,
    /// The lines of its keys.
    pub(super) key_lines: Vec<(String, usize)>,
}

/// What stands in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Document {
    pub(super) servers: Vec<Written>,
    /// What means nothing here, each with its line.
    pub(super) remarks: Vec<(usize, String)>,
    /// Gemini CLI's choice of the servers: the only ones, if it names some, and those that are off.
    pub(super) only: Option<Vec<String>>,
    pub(super) off: Vec<String>,
    /// opencode's names of tools that are switched off in the whole file, which begin with the server's.
    pub(super) switched_off: Vec<String>,
}

impl Home {
    /// Where the servers of a file with this text stand, or one that is added would.
    ///
    /// # Errors
    /// See [`FileError`].
    pub(super) fn in_text(text: &str) -> Result<Self, FileError> {
        Document::of(Origin::User, text)?;
        let all: Value = jsonc_parser::parse_to_serde_value(
            text.trim_start_matches('\u{feff}'),
            &Default::default(),
        )?;
        let is_server = |value: &Value| WAYS.iter().any(|way| value.get(way).is_some());
        if is_server(&all) {
            return Ok(Self::Elsewhere("holds one server and nothing around it"));
        }
        match KEYS.iter().find(|(key, _)| all.get(key).is_some()) {
            Some(("mcp", _)) if all["mcp"].get("servers").is_some_and(|it| !is_server(it)) => Ok(
                Self::Elsewhere("holds its servers below `mcp` and `servers`"),
            ),
            Some((key, _)) => Ok(Self::Below(key)),
            None if all
                .as_object()
                .is_some_and(|all| all.values().any(is_server)) =>
            {
                Ok(Self::Elsewhere(
                    "holds its servers without a key around them",
                ))
            }
            None => Ok(Self::Below(KEYS[0].0)),
        }
    }
}

impl Written {
    /// The line of one of its keys.
    pub(super) fn line_of(&self, key: &str) -> usize {
        let of_key = self.key_lines.iter().find(|(name, _)| name == key);
        of_key.map_or(self.line, |(_, line)| *line)
    }
}

/// Where the servers of a file stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Below this key at its top.
    Below(&'static str),
    /// Elsewhere; in words that follow the file's name.
    Elsewhere(&'static str),
}

/// Why nothing in a file can be used.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error("is not valid JSON: {0}")]
    Json(#[from] ParseError),
    #[error("must be an object with the key `{0}`")]
    NotAnObject(&'static str),
    #[error("`{0}` must be an object with an entry for each server")]
    NotEntries(String),
}

impl Document {
    /// Takes a file's text apart; none for a file of opencode's that has no key for servers.
    ///
    /// # Errors
    /// See [`FileError`].
    pub(super) fn of(origin: Origin, text: &str) -> Result<Option<Self>, FileError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Editors and clients take comments and trailing commas.
        let parsed = parse_to_ast(text, &Default::default(), &Default::default())?;
        let lines = Lines::in_text(text);
        let is_opencode = origin == Origin::Opencode;
        let mut document = Self::default();
        let properties = match parsed.value {
            // A file that was made but not yet written.
            None => return Ok((!is_opencode).then_some(document)),
            Some(Node::Object(file)) => file.properties,
            Some(_) => {
                return Err(FileError::NotAnObject(if is_opencode {
                    "mcp"
                } else {
                    "mcpServers"
                }));
            }
        };
        if is_opencode {
            return document.opencode(properties, &lines);
        }
        if properties
            .iter()
            .any(|property| WAYS.contains(&name_of(property)))
        {
            document.bare(properties, &lines);
            return Ok(Some(document));
        }
        let place = |key: &str| {
            properties
                .iter()
                .position(|property| name_of(property) == key)
        };
        match KEYS.iter().find_map(|(key, _)| place(key)) {
            Some(at) => {
                document.below(&properties[at], &lines)?;
                document.passed_over(&properties, at, &lines);
            }
            // A map of servers, without a key around it.
            None => document.map(&properties, &lines),
        }
        Ok(Some(document))
    }

    /// What opencode's switches for the whole file say of this server's tools, by its own names: there each begins with
    /// the server's name.
    pub(super) fn switched_off_of(&self, server: &str) -> Vec<String> {
        let prefix: String = server
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .chain(['_'])
            .collect();
        self.switched_off
            .iter()
            .filter_map(|pattern| match pattern.strip_prefix(&prefix) {
                Some(rest) => Some(rest.to_owned()),
                // `files*` stands for all of `files_…`.
                None => {
                    let start = pattern.strip_suffix('*')?;
                    prefix.starts_with(start).then(|| "*".to_owned())
                }
            })
            .collect()
    }

    fn opencode(
        mut self,
        properties: Vec<ObjectProp<'_>>,
        lines: &Lines,
    ) -> Result<Option<Self>, FileError> {
        for property in &properties {
            if let ("tools", Node::Object(tools)) = (name_of(property), &property.value) {
                let off = tools
                    .properties
                    .iter()
                    .filter(|tool| tool.value.as_boolean_lit().is_some_and(|on| !on.value));
                self.switched_off
                    .extend(off.map(|tool| name_of(tool).to_owned()));
            }
        }
        let Some(mcp) = properties
            .iter()
            .find(|property| name_of(property) == "mcp")
        else {
            return Ok(None);
        };
        self.below(mcp, lines)?;
        Ok(Some(self))
    }

    /// One server and nothing around it.
    fn bare(&mut self, properties: Vec<ObjectProp<'_>>, lines: &Lines) {
        let named = properties
            .iter()
            .find(|property| name_of(property) == "name")
            .and_then(|property| property.value.as_string_lit())
            .map_or_else(|| "server".to_owned(), |name| name.value.to_string());
        self.servers.push(Written {
            line: properties
                .first()
                .map_or(1, |property| lines.of(property.start())),
            key_lines: key_lines(&properties, lines),
            value: object(properties),
            name: named,
        });
    }

    /// What stands below a key for servers; VS Code's settings have another one below `mcp`.
    fn below(&mut self, property: &ObjectProp<'_>, lines: &Lines) -> Result<(), FileError> {
        let key = name_of(property);
        let Node::Object(found) = &property.value else {
            return Err(FileError::NotEntries(key.to_owned()));
        };
        let deeper = found.properties.iter().find(|inner| {
            key == "mcp"
                && name_of(inner) == "servers"
                && matches!(&inner.value, Node::Object(servers) if !is_server(servers))
        });
        match deeper {
            Some(servers) => {
                let Node::Object(inner) = &servers.value else {
                    return Err(FileError::NotEntries("servers".to_owned()));
                };
                self.entries(&inner.properties, lines);
            }
            None => self.entries(&found.properties, lines),
        }
        Ok(())
    }

    fn map(&mut self, properties: &[ObjectProp<'_>], lines: &Lines) {
        for property in properties {
            match &property.value {
                Node::Object(server) if is_server(server) => {
                    self.entries(std::slice::from_ref(property), lines);
                }
                _ => self.nothing(property, lines),
            }
        }
    }

    fn entries(&mut self, properties: &[ObjectProp<'_>], lines: &Lines) {
        for property in properties {
            let name = name_of(property).to_owned();
            let line = lines.of(property.start());
            if let Some(at) = self.servers.iter().position(|other| other.name == name) {
                let before = self.servers.remove(at);
                self.remarks.push((
                    before.line,
                    format!(
                        "the server `{name}` stands in line {line} again, and only that counts"
                    ),
                ));
            }
            self.servers.push(Written {
                name,
                line,
                key_lines: match &property.value {
                    Node::Object(entry) => key_lines(&entry.properties, lines),
                    _ => Vec::new(),
                },
                value: property.value.clone().into(),
            });
        }
    }

    /// What stands beside the key that counts.
    fn passed_over(&mut self, properties: &[ObjectProp<'_>], at: usize, lines: &Lines) {
        let counts = name_of(&properties[at]);
        for (_, property) in properties
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != at)
        {
            let key = name_of(property);
            match KEYS.iter().find(|(other, _)| *other == key) {
                Some(("mcp", _)) if self.choice(&property.value) => {}
                Some((_, whose)) => self.remarks.push((
                    lines.of(property.start()),
                    format!("`{key}`, {whose} key, is passed over, since `{counts}` is there too"),
                )),
                None => self.nothing(property, lines),
            }
        }
    }

    /// Takes Gemini CLI's choice of servers over, which stands below `mcp`; false if this is something else.
    fn choice(&mut self, value: &Node<'_>) -> bool {
        let value: Value = value.clone().into();
        let names = |key: &str| value.get(key).and_then(super::fields::texts);
        let (only, off) = (names("allowed"), names("excluded"));
        let is_one = only.is_some() || off.is_some();
        self.only = only;
        self.off = off.unwrap_or_default();
        is_one
    }

    /// Whether a server is switched off for the whole file.
    pub(super) fn switches_off(&self, server: &str) -> bool {
        let is = |name: &String| name == server;
        self.off.iter().any(is) || self.only.as_ref().is_some_and(|only| !only.iter().any(is))
    }

    fn nothing(&mut self, property: &ObjectProp<'_>, lines: &Lines) {
        let key = name_of(property);
        if !ABOUT_THE_FILE.contains(&key) {
            self.remarks.push((
                lines.of(property.start()),
                format!("`{key}` means nothing here: servers stand below `mcpServers`"),
            ));
        }
    }
}

fn is_server(object: &jsonc_parser::ast::Object<'_>) -> bool {
    object
        .properties
        .iter()
        .any(|property| WAYS.contains(&name_of(property)))
}

fn name_of<'a>(property: &'a ObjectProp<'_>) -> &'a str {
    property.name.as_str()
}

fn object(properties: Vec<ObjectProp<'_>>) -> Value {
    let entries = properties
        .into_iter()
        .map(|property| (name_of(&property).to_owned(), property.value.into()));
    Value::Object(entries.collect())
}

fn key_lines(properties: &[ObjectProp<'_>], lines: &Lines) -> Vec<(String, usize)> {
    properties
        .iter()
        .map(|property| (name_of(property).to_owned(), lines.of(property.start())))
        .collect()
}

/// Where the lines of a text end, so that a place's line is found without reading the text again for each.
struct Lines(Vec<usize>);

impl Lines {
    fn in_text(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of a place, from 1.
    fn of(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}
