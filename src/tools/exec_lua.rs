//! `exec-lua`: runs Lua on one computer and shows what came of it.

use std::time::{Duration, SystemTime};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::{Value, json};

use super::{
    Tool, annotations,
    arguments::{Arguments, Problem},
    failure, object, text,
    wording::{linked_names, name_of, why_gone},
};
use crate::fabric::{AgentError, Answer, AskError, Computer, ComputerId, Fabric};

/// How long a call waits for the code to end, in milliseconds, when it does not say.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;

/// The longest a call may wait, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// The tool.
pub struct ExecLua {
    definition: Definition,
}

impl ExecLua {
    /// The tool.
    pub fn new() -> Self {
        let definition = Definition::new(
            "exec-lua",
            "Run Lua code on a linked ComputerCraft computer and get what it printed, then the values it returned; \
             use the game's APIs (turtle, peripheral, fs, redstone, …) as in a program there.",
            object(json!({
                "type": "object",
                "properties": {
                    "computerId": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The computer's number. May be left out when exactly one is linked.",
                    },
                    "code": {
                        "type": "string",
                        "description": "Lua 5.1/5.2 statements, or one expression such as turtle.getFuelLevel().",
                    },
                    "timeoutMs": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_TIMEOUT_MS,
                        "description": "How long to wait for the answer, in milliseconds. Default 20000.",
                    },
                },
                "required": ["code"],
                "additionalProperties": false,
            })),
        )
        .with_title("Run Lua on a computer")
        .with_annotations(annotations(false, true, false, true));
        Self { definition }
    }
}

impl Tool for ExecLua {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        fabric: &'a Fabric,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            let call = match Call::read(arguments) {
                Ok(call) => call,
                Err(problem) => return failure(problem),
            };
            match call.run(fabric).await {
                Ok(shown) => text(shown),
                Err(shown) => failure(shown),
            }
        }
        .boxed()
    }
}

/// One call's arguments.
struct Call {
    computer: Option<ComputerId>,
    code: String,
    time: Duration,
}

impl Call {
    fn read(arguments: JsonObject) -> Result<Self, Problem> {
        let mut arguments = Arguments::new(arguments);
        let call = Self {
            computer: arguments.computer()?,
            code: arguments.text("code")?,
            time: Duration::from_millis(arguments.whole_number(
                "timeoutMs",
                1,
                MAX_TIMEOUT_MS,
                DEFAULT_TIMEOUT_MS,
            )?),
        };
        arguments.end()?;
        Ok(call)
    }

    async fn run(self, fabric: &Fabric) -> Result<String, String> {
        let computer = &choose(self.computer, fabric).await?;
        let params = json!({ "code": self.code });
        match fabric
            .ask(computer, "exec-lua", Some(&params), self.time)
            .await
        {
            Ok(Answer {
                error: None,
                result,
            }) => Ok(success(result.as_ref())),
            Ok(Answer {
                error: Some(error),
                result,
            }) => Err(error_text(computer, &error, result.as_ref())),
            Err(error) => Err(ask_error_text(computer, &error)),
        }
    }
}

/// The computer a call means: the one it names, or the only one that is linked.
async fn choose(wanted: Option<ComputerId>, fabric: &Fabric) -> Result<Computer, String> {
    if let Some(id) = wanted
        && let Some(computer) = fabric
            .computer(id)
            .await
            .map_err(|problem| problem.to_string())?
        && computer.link().is_some()
    {
        return Ok(computer);
    }
    let mut computers = fabric
        .computers()
        .await
        .map_err(|problem| problem.to_string())?;
    let problem = match wanted {
        Some(id) => not_linked(id, &computers),
        None => {
            computers.retain(|computer| computer.link().is_some());
            match computers.len() {
                0 => "No computers connected.".to_owned(),
                1 => return Ok(computers.remove(0)),
                _ => {
                    let names = linked_names(&computers);
                    return Err(format!(
                        "Several computers are linked, so say which with `computerId`: {names}."
                    ));
                }
            }
        }
    };
    Err(format!(
        "{problem} Start `mcp-computer` on it in the game; list-computers shows when it has linked."
    ))
}

/// Why this computer can't be asked, and which others can.
fn not_linked(id: ComputerId, computers: &[Computer]) -> String {
    let why = match computers.iter().find(|computer| computer.facts.id == id) {
        Some(gone) => why_gone(gone, SystemTime::now()),
        None => format!("Computer {id} is not linked."),
    };
    match linked_names(computers) {
        none if none.is_empty() => format!("{why} No computer is linked now."),
        names => format!("{why} Linked now: {names}."),
    }
}

/// The output, then the values as Lua shows them.
fn success(result: Option<&Value>) -> String {
    let output = output_of(result);
    let mut shown = output.to_owned();
    if let Some(returns) = result
        .and_then(|result| result.get("returns"))
        .and_then(Value::as_array)
    {
        for value in returns {
            end_line(&mut shown);
            shown.push_str(&show(value));
        }
    }
    if shown.is_empty() {
        shown.push_str("The code ran to its end; it printed nothing and returned nothing.");
    }
    shown
}

fn output_of(result: Option<&Value>) -> &str {
    result
        .and_then(|result| result.get("output"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A value's descriptor, as Lua would show the value.
fn show(descriptor: &Value) -> String {
    let text_at = |key: &str| descriptor.get(key).and_then(Value::as_str);
    match (text_at("type"), descriptor.get("value")) {
        (Some("nil"), _) => "nil".to_owned(),
        (Some("string"), Some(Value::String(text))) => quote(text),
        (Some("number"), Some(Value::Number(number))) => show_number(number),
        (Some(_), Some(Value::Bool(truth))) => truth.to_string(),
        _ => match text_at("repr") {
            Some(repr) => repr.to_owned(),
            None => descriptor.to_string(),
        },
    }
}

/// Lua has one kind of number: `2.0` on the wire is `2`.
fn show_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

/// A string as a Lua literal; line breaks stay readable as `\n`.
fn quote(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            // Three digits, so that a digit after it is not taken for a part of it.
            c if c.is_ascii_control() => literal.push_str(&format!("\\{:03}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// What the agent reports, as far as it knows it: kind and message, traceback, hint, and the output so far.
fn error_text(computer: &Computer, error: &AgentError, result: Option<&Value>) -> String {
    let name = name_of(&computer.facts);
    let mut shown = match error.kind.as_str() {
        "error" => format!("Error on computer {name}: {}", error.message),
        kind => format!("{kind} error on computer {name}: {}", error.message),
    };
    if let Some(traceback) = &error.traceback {
        shown.push_str(&format!("\n\n{traceback}"));
    }
    if let Some(hint) = hint_for(error) {
        shown.push_str(&format!("\n\nHint: {hint}"));
    }
    let output = output_of(result);
    if !output.is_empty() {
        shown.push_str(&format!("\n\nOutput before the error:\n{output}"));
    }
    shown
}

fn hint_for(error: &AgentError) -> Option<&str> {
    const OLD_AGENT: &str = "the agent on that computer is older than this bridge. Update it in the game: \
        `wget http://HOST:PORT/mcp-computer.lua mcp-computer.lua` from this bridge's address (delete the old file \
        first), then start it again.";
    match &error.hint {
        Some(hint) => Some(hint),
        None => error
            .message
            .contains("unknown method")
            .then_some(OLD_AGENT),
    }
}

fn ask_error_text(computer: &Computer, error: &AskError) -> String {
    let name = name_of(&computer.facts);
    match error {
        AskError::Timeout(time) => format!(
            "timeout on computer {name}: no answer within {} ms. The code may still be running there. Give it longer \
             with `timeoutMs`, or let it do less at a time.",
            time.as_millis()
        ),
        AskError::TooLarge { .. } => {
            format!("too-large on computer {name}: {error}. Send the code in smaller pieces.")
        }
        AskError::LinkLost(_) => format!(
            "link-lost on computer {name}: {error}. Whether the code ran to its end is not known; look before you run \
             it again."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_lua_shows_them() {
        for (descriptor, shown) in [
            (json!({"type":"nil"}), "nil"),
            (json!({"type":"number","value":2}), "2"),
            (json!({"type":"number","value":2.0}), "2"),
            (json!({"type":"number","value":-0.5}), "-0.5"),
            (json!({"type":"number","repr":"nan"}), "nan"),
            (json!({"type":"boolean","value":false}), "false"),
            (
                json!({"type":"string","value":"a\"b\n\u{1}2"}),
                r#""a\"b\n\0012""#,
            ),
            (json!({"type":"table","repr":"{ 1, 2 }"}), "{ 1, 2 }"),
            (
                json!({"type":"function","repr":"function: 0x1"}),
                "function: 0x1",
            ),
            (json!("odd"), "\"odd\""),
        ] {
            assert_eq!(show(&descriptor), shown);
        }
    }

    #[test]
    fn the_output_comes_first_and_then_one_value_a_line() {
        let result = json!({"output": "hi\nthere", "returns": [{"type":"number","value":1}, {"type":"nil"}]});
        assert_eq!(success(Some(&result)), "hi\nthere\n1\nnil");
        assert_eq!(
            success(Some(&json!({"output": "hi\n", "returns": []}))),
            "hi\n"
        );
        assert!(
            success(Some(&json!({"output": "", "returns": []})))
                .contains("printed nothing and returned nothing")
        );
        assert!(success(None).contains("returned nothing"));
    }

    #[test]
    fn an_old_agents_unknown_method_says_how_to_update_it() {
        let error = AgentError {
            kind: "error".into(),
            message: "unknown method".into(),
            traceback: None,
            hint: None,
        };
        assert!(hint_for(&error).unwrap().contains("Update it"));
    }
}
