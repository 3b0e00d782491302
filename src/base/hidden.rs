//! Secrets that this process has read for somebody's code, and that nothing it says is to show: answers, errors, logs,
//! progress, lists of jobs. They are hidden where they stand word for word.

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// How many values are known at most; the latest. A person has a few, and changes them now and then.
const MOST: usize = 500;

/// Those of this process: what one part of it was given, another may be handed.
pub fn secrets() -> &'static Hidden {
    static SECRETS: Hidden = Hidden(Mutex::new(Vec::new()));
    &SECRETS
}

/// Secrets that are kept out of what is said.
#[derive(Default)]
pub struct Hidden(Mutex<Vec<Secret>>);

struct Secret {
    name: String,
    /// The value, and the ways in which other texts have it.
    forms: Vec<String>,
}

impl Hidden {
    /// Keeps this out from now on.
    pub fn note(&self, name: &str, value: &str) {
        let mut handed = self.lock();
        if handed
            .iter()
            .any(|secret| secret.name == name && secret.forms[0] == value)
        {
            return;
        }
        let in_json = Value::from(value).to_string();
        let mut forms = vec![
            value.to_owned(),
            in_json[1..in_json.len() - 1].to_owned(),
            utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        ];
        forms.dedup();
        if handed.len() >= MOST {
            handed.remove(0);
        }
        handed.push(Secret {
            name: name.to_owned(),
            forms,
        });
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// A text without them.
    pub fn hidden<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let handed = self.lock();
        if handed.is_empty() {
            return Cow::Borrowed(text);
        }
        // One that holds another is hidden whole.
        let mut longest: Vec<_> = handed.iter().collect();
        longest.sort_by_key(|secret| std::cmp::Reverse(secret.forms[0].len()));
        let mut hidden = Cow::Borrowed(text);
        for secret in longest {
            for form in &secret.forms {
                if hidden.contains(form.as_str()) {
                    hidden = Cow::Owned(hidden.replace(form, &format!("[secret {}]", secret.name)));
                }
            }
        }
        hidden
    }

    /// Takes them out of a value.
    pub fn hide(&self, value: &mut Value) {
        if self.lock().is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hidden(text) {
                    *text = hidden;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(hidden) = self.hidden(&number.to_string()) {
                    *value = Value::String(hidden);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(fields) => {
                for (name, mut field) in std::mem::take(fields) {
                    self.hide(&mut field);
                    fields.insert(self.hidden(&name).into_owned(), field);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Secret>> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        let handed = Hidden::default();
        let mut value =
            json!({"a": "x tok\"en/1 y", "tok\"en/1": [12345678, true], "b": "tok%22en%2F1"});
        let before = value.clone();
        handed.hide(&mut value);
        assert_eq!(value, before);
        handed.note("KEY", "tok\"en/1");
        handed.note("PIN", "12345678");
        handed.note("LONGER", "tok\"en/1-and-more");
        handed.hide(&mut value);
        assert_eq!(
            value,
            json!({"a": "x [secret KEY] y", "[secret KEY]": ["[secret PIN]", true], "b": "[secret KEY]"})
        );
        assert_eq!(
            handed.hidden("{\"k\":\"tok\\\"en/1\"}"),
            "{\"k\":\"[secret KEY]\"}"
        );
        assert_eq!(handed.hidden("tok\"en/1-and-more"), "[secret LONGER]");
    }
}
