//! What a call's arguments are, in short and without secrets: for a person who looks at what is called.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::marked::Schemas;
use crate::base::{hidden, text::one_line, token::Token};

/// How much of a text is shown, in characters: the first line of code, say.
const SHOWN: usize = 120;

/// How much of a text is looked through for secrets, in characters; nothing behind it is shown.
const LOOKED_AT: usize = 1024;

/// How deep is shown what is in each other, and how many things side by side.
const DEEPEST: usize = 4;
const SIDE_BY_SIDE: usize = 12;

/// What stands in the place of a secret.
const HIDDEN: &str = "[hidden]";

/// What names of secrets have in them, without what stands between their words.
const SECRET_WORDS: [&str; 10] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cookie",
];

/// What names of secrets are as a whole.
const SECRET_NAMES: [&str; 4] = ["auth", "authorization", "pass", "pwd"];

/// Variables of every shell whose names read like those of secrets: the folder that a person works in, and the one before.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// How long a value of the environment is that is looked for in texts, in bytes: a shorter one is in anything.
const SHORT: usize = 6;

/// Texts that are secret wherever they stand.
#[derive(Default)]
pub struct Secrets {
    tokens: Vec<Token>,
    values: Vec<String>,
}

impl Secrets {
    /// These tokens, and the values of those `variables` of the environment whose names tell that they are secret.
    pub fn new(
        tokens: impl IntoIterator<Item = Token>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let variables = variables.into_iter();
        let secret = variables.filter(|(name, value)| {
            is_secret_name(name) && !FOLDERS.contains(&name.as_str()) && value.len() >= SHORT
        });
        Self {
            tokens: tokens.into_iter().collect(),
            values: secret.map(|(_, value)| value).collect(),
        }
    }

    /// The arguments of a call in short. Those that `schema` marks as secret (`writeOnly`, or the format `password`), or
    /// whose names say so, are left out.
    pub fn short(&self, schema: Option<&JsonObject>, arguments: &JsonObject) -> Value {
        self.fields(&Schemas::of(schema), arguments, 0)
    }

    fn fields(&self, schemas: &Schemas<'_>, fields: &JsonObject, depth: usize) -> Value {
        let mut shown = Map::new();
        for (name, value) in fields.iter().take(SIDE_BY_SIDE) {
            let schemas = schemas.property(name);
            let value = if is_secret_name(name) || schemas.are_marked() {
                json!(HIDDEN)
            } else {
                self.value(&schemas, value, depth + 1)
            };
            shown.insert(self::name(name), value);
        }
        if fields.len() > SIDE_BY_SIDE {
            shown.insert("…".to_owned(), json!(fields.len() - SIDE_BY_SIDE));
        }
        Value::Object(shown)
    }

    fn value(&self, schemas: &Schemas<'_>, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => match written_as_text(schemas, text) {
                Some(inner) => self.value(schemas, &inner, depth),
                None => json!(self.text(text)),
            },
            Value::Object(_) | Value::Array(_) if depth >= DEEPEST => json!("…"),
            Value::Object(fields) => self.fields(schemas, fields, depth),
            Value::Array(items) => {
                let schemas = schemas.items();
                let shown = items.iter().take(SIDE_BY_SIDE);
                let mut shown: Vec<_> = shown
                    .map(|item| match schemas.are_marked() {
                        true => json!(HIDDEN),
                        false => self.value(&schemas, item, depth + 1),
                    })
                    .collect();
                if items.len() > SIDE_BY_SIDE {
                    shown.push(json!(format!("… {} more", items.len() - SIDE_BY_SIDE)));
                }
                Value::Array(shown)
            }
            other => other.clone(),
        }
    }

    /// A text without secrets.
    pub fn hidden_in(&self, text: &str) -> String {
        let mut safe = hidden::secrets().hidden(text).into_owned();
        for value in &self.values {
            safe = safe.replace(value, HIDDEN);
        }
        for token in &self.tokens {
            safe = token.hidden_in(&safe, HIDDEN);
        }
        without_named_secrets(&safe)
    }

    /// The first line of a text, without secrets, and how long the whole is if that is more.
    pub fn text(&self, text: &str) -> String {
        let end = text.char_indices().nth(LOOKED_AT);
        let looked_at = &text[..end.map_or(text.len(), |(at, _)| at)];
        let safe = self.hidden_in(looked_at);
        let line = safe.trim_start().lines().next().unwrap_or_default();
        let mut shown: String = line.chars().take(SHOWN).collect();
        if shown.len() < safe.trim().len() || looked_at.len() < text.len() {
            shown.push_str(&format!("… ({} bytes)", text.len()));
        }
        one_line(&shown).into_owned()
    }
}

/// A name as it is shown: on one line, and not too long.
pub fn name(name: &str) -> String {
    let short: String = name.chars().take(SHOWN).collect();
    one_line(&short).into_owned()
}

/// What a text holds that is taken for the object or list which its schema asks for.
fn written_as_text(schemas: &Schemas<'_>, text: &str) -> Option<Value> {
    let value: Value = schemas
        .are_made_of_more()
        .then(|| serde_json::from_str(text).ok())
        .flatten()?;
    (value.is_object() || value.is_array()).then_some(value)
}

/// Whether something of this name is secret.
fn is_secret_name(name: &str) -> bool {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.'));
    let plain = letters.collect::<String>().to_ascii_lowercase();
    SECRET_NAMES.contains(&plain.as_str()) || SECRET_WORDS.iter().any(|word| plain.contains(word))
}

/// A text without what is given to names of secrets in it, as in `token = "…"`, `{"password": "…"}` and `?api_key=…`,
/// without what comes after `Bearer` and `Basic`, and without what stands before the `@` of a URL.
fn without_named_secrets(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(word) = rest.find(is_in_word) {
        safe.push_str(&rest[..word]);
        rest = &rest[word..];
        let end = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        safe.push_str(name);
        rest = &rest[end..];
        let hidden = if ["bearer", "basic"]
            .iter()
            .any(|scheme| name.eq_ignore_ascii_case(scheme))
        {
            rest.strip_prefix(' ')
                .map(|secret| (1, until_blank(secret)))
        } else if is_secret_name(name) {
            given(rest)
        } else if let Some(url) = rest.strip_prefix("://") {
            let authority = url.find(['/', ' ', '"', '\'']).unwrap_or(url.len());
            url[..authority].rfind('@').map(|at| (3, at))
        } else {
            None
        };
        if let Some((before, length)) = hidden.filter(|(_, length)| *length > 0) {
            safe.push_str(&rest[..before]);
            safe.push_str(HIDDEN);
            rest = &rest[before + length..];
        }
    }
    safe.push_str(rest);
    safe
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// What is given to the name that `text` follows: how many bytes before it, and how many it has.
fn given(text: &str) -> Option<(usize, usize)> {
    let name_ends = text.trim_start_matches(['"', '\'', ']', ' ']);
    let value = name_ends.strip_prefix(['=', ':'])?.trim_start_matches(' ');
    let before = text.len() - value.len();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) => {
            let inside = &value[1..];
            Some((before + 1, inside.find(quote).unwrap_or(inside.len())))
        }
        None => Some((before, until_blank(value))),
    }
}

fn until_blank(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, '&' | '"' | '\'' | ',' | ';' | ')' | '}'))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let variables = [
            ("GITHUB_TOKEN", "ghp_12345678"),
            ("HOME", "/home/somebody"),
            ("PWD", "/srv/project"),
            ("OLDPWD", "/srv/before"),
            ("CC_LINK_TOKEN", "abc"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Secrets::new([Token::new("of-the-settings")], variables)
    }

    fn short(arguments: Value) -> Value {
        secrets().short(None, arguments.as_object().unwrap())
    }

    #[test]
    fn what_is_secret_is_not_shown_wherever_it_stands() {
        for (given, shown) in [
            (
                json!({"apiKey": "x1", "api-key": 7}),
                json!({"apiKey": HIDDEN, "api-key": HIDDEN}),
            ),
            (
                json!({"to": {"Auth": ["x"]}}),
                json!({"to": {"Auth": HIDDEN}}),
            ),
            (json!({"a": "ghp_12345678!"}), json!({"a": "[hidden]!"})),
            (
                json!({"a": ["is of-the-settings"]}),
                json!({"a": ["is [hidden]"]}),
            ),
            // What is short is in anything, and what has an everyday name is no secret.
            (
                json!({"a": "abc /home/somebody"}),
                json!({"a": "abc /home/somebody"}),
            ),
            // Nor is the folder that one works in, whatever its variable is called.
            (
                json!({"a": "/srv/project/x /srv/before/y"}),
                json!({"a": "/srv/project/x /srv/before/y"}),
            ),
            (
                json!({"code": "local my_token = 'x1' go()"}),
                json!({"code": "local my_token = '[hidden]' go()"}),
            ),
            (
                json!({"code": r#"{["api-key"] = "x1", n = 1}"#}),
                json!({"code": r#"{["api-key"] = "[hidden]", n = 1}"#}),
            ),
            (
                json!({"code": r#"h = {Authorization = "Bearer x1"}"#}),
                json!({"code": r#"h = {Authorization = "[hidden]"}"#}),
            ),
            (
                json!({"code": "header('Bearer x1.y2', 3)"}),
                json!({"code": "header('Bearer [hidden]', 3)"}),
            ),
            (
                json!({"url": "http://me:x1@host/?token=x1&a=2"}),
                json!({"url": "http://[hidden]@host/?token=[hidden]&a=2"}),
            ),
            (
                json!({"code": "password = \"x1"}),
                json!({"code": "password = \"[hidden]"}),
            ),
            (
                json!({"code": "print('the token of ours')"}),
                json!({"code": "print('the token of ours')"}),
            ),
        ] {
            assert_eq!(short(given.clone()), shown, "{given}");
        }
        let schema = json!({"properties": {
            "word": {"type": "string", "writeOnly": true},
            "other": {"type": "string", "format": "password"},
        }});
        let given = json!({"word": "x1", "other": "x1", "third": true});
        let shown = secrets().short(schema.as_object(), given.as_object().unwrap());
        assert_eq!(
            shown,
            json!({"word": HIDDEN, "other": HIDDEN, "third": true})
        );
        // Wherever it stands, also in what is written as a text.
        let schema = json!({"properties": {
            "list": {"type": "array", "items": {"properties": {"pin": {"writeOnly": true}}}},
            "words": {"type": "array", "items": {"type": "string", "format": "password"}},
            "inner": {"type": "object", "properties": {"pin": {"writeOnly": true}}},
        }});
        let given = json!({"list": [{"pin": "x1"}, {"n": 2}], "words": ["x1"], "inner": "{\"pin\": \"x1\", \"n\": 1}"});
        let shown = secrets().short(schema.as_object(), given.as_object().unwrap());
        assert_eq!(
            shown,
            json!({"list": [{"pin": HIDDEN}, {"n": 2}], "words": [HIDDEN], "inner": {"pin": HIDDEN, "n": 1}})
        );
        // As pydantic writes a secret that may be left out.
        let schema = json!({"$defs": {"key": {"format": "password"}}, "properties": {
            "key": {"anyOf": [{"type": "string", "format": "password", "writeOnly": true}, {"type": "null"}]},
            "more": {"type": "object", "additionalProperties": {"$ref": "#/$defs/key"}},
        }});
        let given = json!({"key": "x1", "more": {"a": "x1"}});
        let shown = secrets().short(schema.as_object(), given.as_object().unwrap());
        assert_eq!(shown, json!({"key": HIDDEN, "more": {"a": HIDDEN}}));
    }

    #[test]
    fn what_is_long_is_cut_and_its_length_is_told() {
        let long = "é".repeat(200_000);
        let shown = short(json!({"code": format!("\n\n{long}\nmore"), "lines": "one\ntwo"}));
        let code = shown["code"].as_str().unwrap();
        assert!(
            code.starts_with("éé") && code.ends_with("é… (400007 bytes)"),
            "{code}"
        );
        assert!(code.chars().count() < 150);
        assert_eq!(shown["lines"], "one… (7 bytes)");
        let many: Map<_, _> = (0..100)
            .map(|n| (format!("k{n:02}"), json!(vec![n; 50])))
            .collect();
        let shown = short(Value::Object(many));
        assert_eq!(
            (shown.as_object().unwrap().len(), &shown["…"]),
            (13, &json!(88))
        );
        assert_eq!(shown["k00"][12], "… 38 more");
        let deep = (0..50).fold(json!(1), |inner, _| json!({"a": inner}));
        assert_eq!(short(deep), json!({"a": {"a": {"a": {"a": "…"}}}}));
    }

    #[test]
    fn nothing_of_any_text_is_lost_but_what_is_secret() {
        for text in [
            "",
            "token",
            "token=",
            "token = ",
            "://",
            "a://@",
            "Bearer",
            "Bearer ",
            "пароль token='п",
        ] {
            let _ = without_named_secrets(text);
        }
        assert_eq!(without_named_secrets("a token, b"), "a token, b");
    }
}
