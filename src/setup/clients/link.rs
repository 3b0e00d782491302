//! Links that add the server to a client when they are opened.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{
    client::{Client, Scope},
    shape::Reach,
};

impl Client {
    /// The link that adds the server, of a client that has such links. No token is in it: links are kept and shown.
    pub fn deep_link(&self, name: &str, reach: &Reach) -> Option<String> {
        let form = self.link.as_ref()?;
        let mut open = reach.clone();
        match &mut open {
            Reach::Program { env, .. } => {
                env.retain(|variable, _| !super::shape::is_secret(variable))
            }
            Reach::Address { token, .. } => *token = None,
        }
        let entry = self.entry(name, &open, Scope::User).ok()?;
        let mut named = Map::from_iter([("name".to_owned(), Value::from(name))]);
        named.extend(entry.clone());
        let Reach::Program { command, env } = &open else {
            // Its form is made for a program.
            let has_command = form.contains("{command}");
            return (!has_command).then(|| filled(form, name, "", "", &entry, &named));
        };
        let pairs = env
            .iter()
            .map(|(name, value)| format!("&env={}", escaped(&format!("{name}={value}"))));
        Some(filled(
            form,
            name,
            command,
            &pairs.collect::<String>(),
            &entry,
            &named,
        ))
    }
}

fn filled(
    form: &str,
    name: &str,
    command: &str,
    env: &str,
    entry: &Map<String, Value>,
    named: &Map<String, Value>,
) -> String {
    let json = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
    form.replace("{name}", &escaped(name))
        .replace("{command}", &escaped(command))
        .replace("{env}", env)
        .replace("{base64}", &escaped(&STANDARD.encode(json(entry))))
        .replace("{json}", &escaped(&json(named)))
}

/// A text as a part of a query (RFC 3986, section 2.1).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
