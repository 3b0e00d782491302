//! What an entry says, and how each client writes it.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

use super::client::{Client, Scope};
use crate::setup::{
    machine::{Machine, System},
    refusal::Refusal,
};

/// The file name of our program, without `.exe`.
const PROGRAM: &str = "mcp-bridge";

/// How a client is to reach the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It starts this program.
    Program {
        /// Its absolute path.
        command: String,
        /// The variables it is started with.
        env: BTreeMap<String, String>,
    },
    /// It connects to a bridge that runs.
    Address {
        /// Such as `http://127.0.0.1:3000/mcp`.
        url: String,
        /// The token that it shows, if one is wanted.
        token: Option<String>,
    },
}

/// What an entry in a client's file says, whatever its keys are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The program that the client starts.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The variables that the client sets for it.
    pub env: BTreeMap<String, String>,
    /// Where the client connects to, if it starts nothing.
    pub url: Option<String>,
    /// Keys that setup doesn't write.
    pub others: Vec<String>,
    /// Whether the client leaves the server alone.
    pub is_off: bool,
}

/// The variable in which serving over HTTP and its clients have the token.
const MCP_TOKEN: &str = "MCP_TOKEN";

/// Whether a variable's value must not stand in a file that may be shared.
pub fn is_secret(variable: &str) -> bool {
    variable.contains("TOKEN")
}

impl Reach {
    /// Values that no diff may show.
    pub fn secrets(&self) -> Vec<String> {
        match self {
            Self::Program { env, .. } => {
                let secret = env.iter().filter(|(name, _)| is_secret(name));
                secret.map(|(_, value)| value.clone()).collect()
            }
            Self::Address { token, .. } => token.iter().cloned().collect(),
        }
    }

    /// The same with this in the place of each secret.
    #[must_use]
    pub fn with_secrets_as(&self, text: &str) -> Self {
        let mut reach = self.clone();
        match &mut reach {
            Self::Program { env, .. } => {
                for (name, value) in env {
                    if is_secret(name) {
                        text.clone_into(value);
                    }
                }
            }
            Self::Address { token, .. } => *token = token.as_ref().map(|_| text.to_owned()),
        }
        reach
    }
}

impl Client {
    /// The entry that a client of this kind needs.
    ///
    /// # Errors
    /// It can't reach a bridge in this way, or a token would have to stand in a project's file.
    pub fn entry(
        &self,
        name: &str,
        reach: &Reach,
        scope: Scope,
    ) -> Result<Map<String, Value>, Refusal> {
        let mut listed = Vec::new();
        let mut bearer = false;
        let (template, command, env, url, headers) = match reach {
            Reach::Program { command, env } => {
                let mut own = Map::new();
                for (variable, value) in env {
                    if scope == Scope::User || !is_secret(variable) {
                        own.insert(variable.clone(), Value::from(value.as_str()));
                    } else if self.variables.is_some() {
                        listed.push(Value::from(variable.as_str()));
                    } else {
                        own.insert(variable.clone(), Value::from(self.variable_form(variable)?));
                    }
                }
                (&self.stdio, command.as_str(), own, "", Map::new())
            }
            Reach::Address { url, token } => {
                if let Some(why) = &self.no_http {
                    return Err(Refusal::new(format!(
                        "{} gets no entry for HTTP. {why}",
                        self.name
                    )));
                }
                let mut headers = Map::new();
                match token {
                    Some(_) if scope == Scope::Project && self.bearer.is_some() => bearer = true,
                    Some(token) => {
                        let shown = match scope {
                            Scope::User => token.clone(),
                            Scope::Project => self.variable_form(MCP_TOKEN)?,
                        };
                        headers.insert(
                            "Authorization".to_owned(),
                            Value::from(format!("Bearer {shown}")),
                        );
                    }
                    None => {}
                }
                (&self.http, "", Map::new(), url.as_str(), headers)
            }
        };
        let mut entry = Map::new();
        for (key, value) in template {
            let value = match value.as_str() {
                Some("$name") => Value::from(name),
                Some("$command") => Value::from(command),
                Some("$command_line") => Value::from(vec![command]),
                Some("$url") => Value::from(url),
                Some("$env") if env.is_empty() => continue,
                Some("$env") => Value::Object(env.clone()),
                Some("$headers") if headers.is_empty() => continue,
                Some("$headers") => Value::Object(headers.clone()),
                _ => value.clone(),
            };
            entry.insert(key.clone(), value);
        }
        if !headers.is_empty() && !template.values().any(|value| value == "$headers") {
            return Err(Refusal::new(format!(
                "how {} is told a token for HTTP is not known",
                self.name
            )));
        }
        if let (Some(key), false) = (&self.variables, listed.is_empty()) {
            entry.insert(key.clone(), Value::Array(listed));
        }
        if let (Some(key), true) = (&self.bearer, bearer) {
            entry.insert(key.clone(), Value::from(MCP_TOKEN));
        }
        Ok(entry)
    }

    /// A variable as the client reads it in a value.
    fn variable_form(&self, variable: &str) -> Result<String, Refusal> {
        let form = self.variable.as_ref().ok_or_else(|| {
            Refusal::new(format!(
                "{variable} would stand in a project's file, which others may read, and {} is not known to read \
                 variables there. Leave it out, and set {variable} where the client is started; or add the entry with \
                 `--scope user`",
                self.name
            ))
        })?;
        Ok(form.replace("NAME", variable))
    }

    /// What is to become of an entry that is there: what setup writes is brought up to date, the rest stays.
    pub fn merged(
        &self,
        old: &Map<String, Value>,
        wanted: &Map<String, Value>,
    ) -> Map<String, Value> {
        let is_program = wanted
            .keys()
            .any(|key| self.filled(&self.stdio, key, "$command"));
        let (template, other) = match is_program {
            true => (&self.stdio, &self.http),
            false => (&self.http, &self.stdio),
        };
        let mut merged = old.clone();
        let is_other = |key: &String| other.contains_key(key) && !template.contains_key(key);
        // A server is started or connected to, not both.
        let of_other = match is_program {
            true => &self.bearer,
            false => &self.variables,
        };
        merged.retain(|key, _| {
            !is_other(key)
                && Some(key) != of_other.as_ref()
                && (is_program || !matches!(key.as_str(), "args" | "cwd"))
        });
        for (key, value) in wanted {
            let lists_variables = Some(key) == self.variables.as_ref();
            let is_ours = template
                .get(key)
                .and_then(Value::as_str)
                .is_some_and(|text| text.starts_with('$'));
            match (merged.get_mut(key), value) {
                (Some(Value::Object(old)), Value::Object(new)) => old.extend(new.clone()),
                // A command line keeps its arguments.
                (Some(Value::Array(old)), Value::Array(new)) if is_ours && !old.is_empty() => {
                    old.splice(..new.len().min(old.len()), new.iter().cloned());
                }
                (Some(Value::Array(old)), Value::Array(new)) if lists_variables => {
                    let lacking: Vec<_> = new.iter().filter(|name| !old.contains(name)).collect();
                    old.extend(lacking.into_iter().cloned().collect::<Vec<_>>());
                }
                // A user may have switched it off, or given it more time.
                (Some(_), _) if !is_ours && key != "type" && key != "source" => {}
                _ => {
                    merged.insert(key.clone(), value.clone());
                }
            }
        }
        merged
    }

    /// Whether a key of a template is filled with this.
    fn filled(&self, template: &Map<String, Value>, key: &str, with: &str) -> bool {
        template
            .get(key)
            .and_then(Value::as_str)
            .is_some_and(|text| text.starts_with(with))
    }

    /// Reads an entry of its file.
    pub fn told(&self, entry: &Map<String, Value>) -> Told {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .map(|items| items.iter().filter_map(text).collect())
                .unwrap_or_default()
        };
        let mut told = Told::default();
        for (key, value) in entry {
            let template = self.stdio.get(key).or_else(|| self.http.get(key));
            match template.and_then(Value::as_str) {
                Some("$command") => told.command = text(value),
                Some("$command_line") => {
                    let mut words = texts(value).into_iter();
                    told.command = words.next();
                    told.args = words.collect();
                }
                Some("$env") => {
                    let pairs = value.as_object().into_iter().flatten();
                    told.env = pairs
                        .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
                        .collect();
                }
                Some("$url") => told.url = text(value),
                _ if key == "args" => told.args = texts(value),
                _ if template.is_some() => {}
                _ if [&self.variables, &self.bearer]
                    .into_iter()
                    .flatten()
                    .any(|own| own == key) => {}
                _ => told.others.push(key.clone()),
            }
            told.is_off |= (key == "enabled" && *value == Value::Bool(false))
                || (key == "disabled" && *value == Value::Bool(true));
        }
        told
    }
}

impl Told {
    /// Whether this is an entry of an mcp-bridge, by the name of the program or by the address.
    pub fn is_ours(&self, url: &str) -> bool {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                let name = command
                    .rsplit(['/', '\\'])
                    .next()
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                name.strip_suffix(".exe").unwrap_or(&name) == PROGRAM
            }
            (None, Some(told)) => told == url || is_local(told),
            (None, None) => false,
        }
    }

    /// Whether its program is this one.
    pub fn starts(&self, machine: &Machine) -> bool {
        let Some(command) = &self.command else {
            return false;
        };
        let program = machine.program.to_string_lossy();
        if machine.system == System::Windows {
            let plain = |path: &str| path.replace('\\', "/").to_lowercase();
            return plain(command) == plain(&program);
        }
        let real = |path: &Path| path.canonicalize().ok();
        *command == program
            || real(Path::new(command)).is_some_and(|path| Some(path) == real(&machine.program))
    }
}

/// Whether a URL looks like that of a bridge on this machine.
fn is_local(url: &str) -> bool {
    let hosts = ["127.0.0.1", "localhost", "[::1]"];
    let rest = url
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix("/mcp"));
    rest.is_some_and(|rest| hosts.iter().any(|host| rest.starts_with(host)))
}
