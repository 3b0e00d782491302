//! Reads a tool's arguments: which one is wrong, what was expected, what came.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::computers::ComputerId;

/// The arguments of one call. What was read is taken out, so that what is left over is known.
pub struct Arguments {
    fields: JsonObject,
}

/// Why the arguments can't be used, for the model to read.
pub type Problem = String;

impl Arguments {
    /// These arguments. A `null` counts as left out: some clients fill in every optional argument.
    pub fn new(mut fields: JsonObject) -> Self {
        fields.retain(|_, value| !value.is_null());
        Self { fields }
    }

    /// A text that must be there.
    pub fn text(&mut self, name: &str) -> Result<String, Problem> {
        match self.fields.shift_remove(name) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(format!("`{name}` must be a string, not {}.", shown(&other))),
            None => Err(format!("`{name}` is missing; it must be a string.")),
        }
    }

    /// A text that may be left out.
    pub fn optional_text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.fields.contains_key(name) {
            true => self.text(name).map(Some),
            false => Ok(None),
        }
    }

    /// A whole number within bounds, or `default`.
    pub fn whole_number(
        &mut self,
        name: &str,
        least: u64,
        most: u64,
        default: u64,
    ) -> Result<u64, Problem> {
        let Some(value) = self.fields.shift_remove(name) else {
            return Ok(default);
        };
        ComputerId::from_json(&value)
            .map(|ComputerId(number)| number)
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| {
                format!(
                    "`{name}` must be a whole number from {least} to {most}, not {}.",
                    shown(&value)
                )
            })
    }

    /// Yes or no, or no if it was left out.
    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.fields.shift_remove(name) {
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(format!(
                "`{name}` must be true or false, not {}.",
                shown(&other)
            )),
            None => Ok(false),
        }
    }

    /// One of these words, or the first if it was left out.
    pub fn choice(&mut self, name: &str, words: &[&'static str]) -> Result<&'static str, Problem> {
        let value = self.fields.shift_remove(name);
        let chosen = match &value {
            None => words.first(),
            Some(value) => words.iter().find(|word| value.as_str() == Some(**word)),
        };
        chosen.copied().ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!(
                "`{name}` must be {}, not {}.",
                words.join(" or "),
                shown(&value.unwrap_or_default())
            )
        })
    }

    /// An object, or an empty one if it was left out.
    pub fn object(&mut self, name: &str) -> Result<JsonObject, Problem> {
        match self.fields.shift_remove(name) {
            Some(Value::Object(fields)) => Ok(fields),
            Some(other) => Err(format!(
                "`{name}` must be an object, not {}.",
                shown(&other)
            )),
            None => Ok(JsonObject::new()),
        }
    }

    /// A computer's number, if it was given.
    pub fn computer(&mut self) -> Result<Option<ComputerId>, Problem> {
        let Some(value) = self.fields.shift_remove("computerId") else {
            return Ok(None);
        };
        match ComputerId::from_json(&value) {
            Some(id) => Ok(Some(id)),
            None => Err(format!(
                "`computerId` must be a computer's number, such as 12, not {}.",
                shown(&value)
            )),
        }
    }

    /// Everything was read.
    pub fn end(self) -> Result<(), Problem> {
        match self.fields.keys().next() {
            Some(name) => Err(format!(
                "There is no argument `{}`.",
                crate::base::text::one_line(name)
            )),
            None => Ok(()),
        }
    }
}

/// A value for an error message, cut short.
pub fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Arguments {
        match value {
            Value::Object(fields) => Arguments::new(fields),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_was_expected_and_what_came() {
        let mut given = arguments(json!({"code": 7, "timeoutMs": "soon", "computerId": "12"}));
        assert_eq!(
            given.text("code").unwrap_err(),
            "`code` must be a string, not 7."
        );
        assert_eq!(
            given.text("code").unwrap_err(),
            "`code` is missing; it must be a string."
        );
        assert_eq!(
            given.whole_number("timeoutMs", 1, 10, 5).unwrap_err(),
            "`timeoutMs` must be a whole number from 1 to 10, not \"soon\"."
        );
        assert!(
            given
                .computer()
                .unwrap_err()
                .contains("such as 12, not \"12\"")
        );
    }

    #[test]
    fn null_counts_as_left_out_and_a_float_form_as_the_number() {
        let mut given = arguments(json!({"computerId": null, "timeoutMs": 5.0}));
        assert_eq!(given.computer(), Ok(None));
        assert_eq!(given.whole_number("timeoutMs", 1, 10, 7), Ok(5));
        assert_eq!(given.end(), Ok(()));
    }

    #[test]
    fn a_flag_and_a_choice_are_what_they_say_or_left_out() {
        let mut given = arguments(json!({"exclusive": true, "onTimeout": "cancel"}));
        assert_eq!(
            (given.flag("exclusive"), given.flag("other")),
            (Ok(true), Ok(false))
        );
        assert_eq!(
            given.choice("onTimeout", &["detach", "cancel"]),
            Ok("cancel")
        );
        assert_eq!(
            given.choice("onTimeout", &["detach", "cancel"]),
            Ok("detach")
        );
        let mut wrong = arguments(json!({"exclusive": "yes", "onTimeout": "stop"}));
        assert_eq!(
            wrong.flag("exclusive").unwrap_err(),
            "`exclusive` must be true or false, not \"yes\"."
        );
        assert_eq!(
            wrong
                .choice("onTimeout", &["detach", "cancel"])
                .unwrap_err(),
            "`onTimeout` must be \"detach\" or \"cancel\", not \"stop\"."
        );
    }

    #[test]
    fn an_unknown_argument_is_named() {
        assert_eq!(
            arguments(json!({"compterId": 1})).end().unwrap_err(),
            "There is no argument `compterId`."
        );
    }
}
