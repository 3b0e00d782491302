//! What a line of standard input or the body of a request is: a message for rmcp, or something that is answered at
//! once. No I/O.

use rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
    },
};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::{cursor, greeting, id_scanner::find_id};
use crate::base::json::has_more_values;

/// From how many bytes on a message is long: it is read beside the one thread that serves all.
pub const LONG: usize = 64 * 1024;

/// How many JSON values a message has at most. What models write has a thousand times less; what has as many keeps the
/// thread that serves all for some 50 ms, by the copies that are made of it.
pub const MOST_VALUES: usize = 100_000;

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INVALID_PARAMS: i32 = -32_602;

/// How many messages a batch has at most: all answers to them are one message too.
const MAX_BATCH: usize = 1_000;

/// What one line is.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Several, each to be read by itself: a batch, which revisions up to 2025-03-26 have.
    Batch(Vec<Box<RawValue>>),
    /// No message, with the line that answers it.
    Refused(String),
    /// Nothing that wants an answer: an empty line, or a notification that can't be read.
    Nothing,
}

/// Reads one line without its line feed.
///
/// What is a JSON object with an `id` of text or number is answered under that id, whatever else is wrong with it.
pub fn read(line: &[u8]) -> Incoming {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Incoming::Nothing;
    }
    if has_more_values(line, MOST_VALUES) {
        return of_too_many_values(line);
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => taken(message, line),
        Err(error) => diagnose(line, &error),
    }
}

/// What is answered to a line of more values than are read: whose request it is, its outline tells.
fn of_too_many_values(line: &[u8]) -> Incoming {
    #[derive(Deserialize)]
    struct Outline<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        method: Option<IgnoredAny>,
    }
    let is_object = line.trim_ascii_start().starts_with(b"{");
    let outline = serde_json::from_slice::<Outline<'_>>(line);
    if let (true, Ok(Outline { id, method })) = (is_object, outline) {
        let id = id.and_then(|id| serde_json::from_str::<RequestId>(id.get()).ok());
        match (method, id) {
            // To an answer there is no answer: whoever waits for it hears why there is none.
            (None, Some(id)) => {
                let problem =
                    format!("the client's answer has more than {MOST_VALUES} JSON values");
                let error = ErrorData::invalid_request(problem, None);
                return Incoming::Message(Box::new(JsonRpcMessage::error(error, Some(id))));
            }
            (Some(_), None) => {
                tracing::debug!("passed over a notification of too many values");
                return Incoming::Nothing;
            }
            _ => {}
        }
    }
    let problem = format!(
        "This message has more than {MOST_VALUES} JSON values (each number, text, list and object is one). Send less in \
         one message; one long text is one value."
    );
    refuse(find_id(line).as_deref(), INVALID_REQUEST, &problem)
}

/// What a message is, that rmcp could read from this line.
fn taken(message: ClientJsonRpcMessage, line: &[u8]) -> Incoming {
    if let JsonRpcMessage::Request(request) = &message
        && let Some(problem) = cursor::unreadable(&request.request, line)
    {
        return refuse(find_id(line).as_deref(), INVALID_PARAMS, &problem);
    }
    Incoming::Message(Box::new(greeting::mended(&message).unwrap_or(message)))
}

/// Why a line is no message, once rmcp could not read it.
fn diagnose(line: &[u8], error: &serde_json::Error) -> Incoming {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(syntax) => {
            return refuse(
                find_id(line).as_deref(),
                PARSE_ERROR,
                &format!("This message is not valid JSON: {syntax}"),
            );
        }
    };
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(_) => return batch(line),
        _ => return refuse(None, INVALID_REQUEST, "This message is not a JSON object"),
    };
    if !fields.contains_key("id") && fields.get("method").is_some_and(Value::is_string) {
        tracing::debug!(%error, "passed over a notification that can't be read");
        return Incoming::Nothing;
    }
    let problem = if fields.get("jsonrpc") != Some(&"2.0".into()) {
        "`jsonrpc` must be \"2.0\"".to_owned()
    } else if fields
        .get("method")
        .is_some_and(|method| !method.is_string())
    {
        "`method` must be a string".to_owned()
    } else if !fields.contains_key("method")
        && !fields.contains_key("result")
        && !fields.contains_key("error")
    {
        "there is no `method`".to_owned()
    } else if !fields
        .get("id")
        .is_some_and(|id| id.is_string() || id.is_i64())
    {
        "`id` must be a string or a whole number of at most 64 bits".to_owned()
    } else {
        error.to_string()
    };
    refuse(
        find_id(line).as_deref(),
        INVALID_REQUEST,
        &format!("Invalid request: {problem}"),
    )
}

/// The messages of an array, which was read as one before.
fn batch(line: &[u8]) -> Incoming {
    let messages: Vec<Box<RawValue>> = serde_json::from_slice(line).unwrap_or_default();
    match messages.len() {
        0 => refuse(None, INVALID_REQUEST, "This batch is empty"),
        count if count > MAX_BATCH => {
            let problem =
                format!("This batch has {count} messages, and one has {MAX_BATCH} at most");
            refuse(None, INVALID_REQUEST, &problem)
        }
        _ => Incoming::Batch(messages),
    }
}

/// The answers to a batch in a session whose revision has none: one for each request, since a client waits for each.
pub fn no_batches(messages: &[Box<RawValue>]) -> Vec<String> {
    const PROBLEM: &str = "Batches belong to revisions of MCP up to 2025-03-26, and this is none of them: send each \
        message by itself";
    let requests = messages.iter().filter_map(|message| {
        let message = message.get();
        let fields: Value = serde_json::from_str(message).ok()?;
        fields.get("method")?;
        find_id(message.as_bytes())
    });
    let mut answers: Vec<_> = requests
        .map(|id| reply(Some(&id), INVALID_REQUEST, PROBLEM))
        .collect();
    if answers.is_empty() {
        answers.push(reply(None, INVALID_REQUEST, PROBLEM));
    }
    answers
}

/// What a message of a batch is.
pub fn read_in_batch(message: &RawValue) -> Incoming {
    let line = message.get().as_bytes();
    if !line.starts_with(b"{") {
        let problem = "This part of a batch is not a JSON object";
        return refuse(None, INVALID_REQUEST, problem);
    }
    let incoming = read(line);
    let Incoming::Message(message) = &incoming else {
        return incoming;
    };
    let JsonRpcMessage::Request(request) = &**message else {
        return incoming;
    };
    let problem = match &request.request {
        ClientRequest::InitializeRequest(_) => "`initialize` can't be part of a batch",
        other => {
            let version = other.get_meta().protocol_version();
            if version.is_none_or(|version| has_batches(&version)) {
                return incoming;
            }
            "This request is of a revision of MCP that has no batches: send it by itself"
        }
    };
    refuse(find_id(line).as_deref(), INVALID_REQUEST, problem)
}

/// Whether this revision has batches.
pub fn has_batches(version: &ProtocolVersion) -> bool {
    version.as_str() <= ProtocolVersion::V_2025_03_26.as_str()
}

/// The answer to a line that is too long to be read, whose id was picked out while it passed.
pub fn too_long(id: Option<&str>, cap: usize) -> String {
    reply(
        id,
        INVALID_REQUEST,
        &format!("This message is over {cap} bytes long. Send less in one message."),
    )
}

/// The answer to a long message that is of no session, though it is of a revision that has them. It is not read.
pub fn without_session(line: &[u8]) -> String {
    let problem = format!(
        "This message of {} bytes is of no session: send `initialize` first, and with each message the header \
         Mcp-Session-Id that is answered to it",
        line.len()
    );
    reply(find_id(line).as_deref(), INVALID_REQUEST, &problem)
}

/// The answer to a request whose id another request is still using.
pub fn id_in_use(id: &rmcp::model::RequestId) -> String {
    let raw = serde_json::to_string(id).unwrap_or_default();
    reply(
        Some(&raw),
        INVALID_REQUEST,
        &format!(
            "Invalid request: the id {raw} belongs to a request that is still being answered."
        ),
    )
}

fn refuse(id: Option<&str>, code: i32, message: &str) -> Incoming {
    Incoming::Refused(reply(id, code, message))
}

/// An error response as one line. The id goes back as it came: a number of any size, a string in its own escapes.
fn reply(id: Option<&str>, code: i32, message: &str) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        jsonrpc: &'static str,
        // MCP's schema lets the id be absent, and not null, when there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        error: Problem<'a>,
    }
    #[derive(Serialize)]
    struct Problem<'a> {
        code: i32,
        message: &'a str,
    }
    let id = id.and_then(|id| serde_json::from_str::<&RawValue>(id).ok());
    let reply = Reply {
        jsonrpc: "2.0",
        id,
        error: Problem { code, message },
    };
    // Texts and numbers only, so it is always JSON.
    serde_json::to_string(&reply).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(line: &str) -> Value {
        match read(line.as_bytes()) {
            Incoming::Refused(reply) => serde_json::from_str(&reply).unwrap(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn requests_notifications_and_responses_go_on() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}\r",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"id":7,"params":{"name":"x","arguments":"no object"},"method":"tools/call","jsonrpc":"2.0"}"#,
        ] {
            assert!(
                matches!(read(line.as_bytes()), Incoming::Message(_)),
                "{line}"
            );
        }
    }

    #[test]
    fn every_object_with_an_id_is_answered_under_it_wherever_it_stands() {
        for (line, id) in [
            (r#"{"id":5}"#, json!(5)),
            (r#"{"method":7,"jsonrpc":"2.0","id":"x"}"#, json!("x")),
            (
                r#"{"jsonrpc":"1.0","method":"ping","params":{"id":9},"id":"\u00e9\n"}"#,
                json!("é\n"),
            ),
            (r#"{"method":"ping","id":5}"#, json!(5)),
            (
                r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
                json!(18446744073709551616.0),
            ),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5)),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}"#,
                json!(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":{"#,
                json!(4),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"ping","params":[1,{"id":1}],"id":6"#,
                json!(6),
            ),
        ] {
            assert_eq!(refused(line)["id"], id, "{line}");
        }
    }

    #[test]
    fn a_number_of_any_size_goes_back_as_it_came() {
        let Incoming::Refused(reply) =
            read(br#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#)
        else {
            panic!()
        };
        assert!(
            reply.contains(r#""id":123456789012345678901234567890,"#),
            "{reply}"
        );
    }

    #[test]
    fn what_has_no_usable_id_is_answered_without_one() {
        for line in [
            "{",
            "nonsense",
            "[]",
            "7",
            "null",
            "{}",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            "Content-Length: 20",
        ] {
            let reply = refused(line);
            assert!(reply.get("id").is_none(), "{line}: {reply}");
            assert!(
                reply["error"]["code"].is_i64() && reply["jsonrpc"] == "2.0",
                "{line}: {reply}"
            );
        }
    }

    #[test]
    fn an_array_is_a_batch_whose_messages_are_read_one_by_one() {
        let Incoming::Batch(messages) = read(
            br#" [{"jsonrpc":"2.0","id":1,"method":"ping"}, 7, [], {"id":2}, {"jsonrpc":"2.0","method":"x"},
                {"jsonrpc":"2.0","id":3,"method":"initialize"},
                {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{
                    "io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}]"#,
        ) else {
            panic!("no batch")
        };
        let answers: Vec<_> = messages
            .iter()
            .map(|message| match read_in_batch(message) {
                Incoming::Refused(reply) => serde_json::from_str::<Value>(&reply).unwrap(),
                Incoming::Message(_) => json!("a message"),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            (&answers[0], &answers[4]),
            (&json!("a message"), &json!("a message"))
        );
        for (at, id) in [
            (1, Value::Null),
            (2, Value::Null),
            (3, json!(2)),
            (5, json!(3)),
            (6, json!(4)),
        ] {
            assert_eq!(
                (&answers[at]["id"], &answers[at]["error"]["code"]),
                (&id, &json!(-32600)),
                "{at}"
            );
        }
        let refused = no_batches(&messages);
        assert_eq!(refused.len(), 3, "{refused:?}");
        assert_eq!(no_batches(&messages[1..3]).len(), 1);
        let many = format!("[{}1]", "1,".repeat(MAX_BATCH));
        assert!(
            matches!(read(many.as_bytes()), Incoming::Refused(reply) if reply.contains("1001"))
        );
    }

    #[test]
    fn what_has_too_many_values_is_answered_as_what_it_is() {
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        for id in ["7", "\"a\""] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"id":1,"a":{many}}},"id":{id}}}"#
            );
            let refused = refused(&line);
            assert_eq!(refused["id"].to_string(), id);
            let problem = refused["error"]["message"].as_str().unwrap();
            assert!(
                problem.contains("more than 100000 JSON values"),
                "{problem}"
            );
        }
        let answer = format!(r#"{{"jsonrpc":"2.0","id":8,"result":{{"a":{many}}}}}"#);
        match read(answer.as_bytes()) {
            Incoming::Message(message) => {
                let message = serde_json::to_value(message).unwrap();
                assert_eq!(message["id"], 8);
                assert!(message["error"]["message"].is_string(), "{message}");
            }
            other => panic!("{other:?}"),
        }
        let told =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":{many}}}}}"#);
        assert!(matches!(read(told.as_bytes()), Incoming::Nothing));
        assert_eq!(refused(&many)["error"]["code"], INVALID_REQUEST);
        assert_eq!(
            refused(&format!("{many}]"))["error"]["code"],
            INVALID_REQUEST
        );
        // As many as are taken, and a long text of what would be values elsewhere.
        let most = format!("[{}0]", "0,".repeat(MOST_VALUES - 20));
        for fits in [most, serde_json::to_string(&many).unwrap()] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{fits}}}}}}}"#
            );
            assert!(matches!(read(line.as_bytes()), Incoming::Message(_)));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_answered() {
        assert!(
            matches!(read(b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\xff\"}"), Incoming::Refused(reply) if reply.contains("\"id\":8"))
        );
    }

    #[test]
    fn empty_lines_and_unreadable_notifications_are_passed_over() {
        for line in ["", "\r", "  ", r#"{"method":"notifications/x","params":3}"#] {
            assert!(matches!(read(line.as_bytes()), Incoming::Nothing), "{line}");
        }
    }
}

#[cfg(test)]
mod properties {
    use proptest::{collection::vec, prelude::*, sample::Index};

    use super::*;
    use crate::mcp::id_scanner::properties::{
        Fields, cases, message_fields, written_id, written_object,
    };

    /// An object with one `id` of text or number, at any place among its fields, and that id.
    fn object_with_id() -> impl Strategy<Value = (String, Value)> {
        let key = prop_oneof![4 => Just(r#""id""#), 1 => Just(r#""\u0069d""#), 1 => Just(r#""\u0069\u0064""#)];
        (message_fields(), key, written_id(), any::<Index>()).prop_flat_map(
            |(fields, key, id, at)| {
                let mut fields: Vec<_> = fields
                    .into_iter()
                    .filter(|(key, _)| serde_json::from_str::<String>(key).unwrap() != "id")
                    .collect();
                fields.insert(at.index(fields.len() + 1), (key.to_owned(), id.clone()));
                let id: Value = serde_json::from_str(&id).unwrap();
                (written_object(Just(fields)), Just(id))
            },
        )
    }

    /// The id that a line is answered or forwarded under.
    fn id_of(incoming: &Incoming) -> Option<Value> {
        let id = match incoming {
            Incoming::Refused(reply) => {
                return serde_json::from_str::<Value>(reply)
                    .unwrap()
                    .get("id")
                    .cloned();
            }
            Incoming::Nothing | Incoming::Batch(_) => return None,
            Incoming::Message(message) => match &**message {
                JsonRpcMessage::Request(request) => Some(&request.id),
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Notification(_) => None,
            },
        };
        id.map(|id| serde_json::to_value(id).unwrap())
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        fn every_object_with_an_id_is_answered_or_forwarded_under_it((line, id) in object_with_id()) {
            prop_assert_eq!(id_of(&read(line.as_bytes())), Some(id));
        }

        #[test]
        fn whatever_a_line_is_its_answer_is_one_line_of_json_rpc(
            line in prop_oneof![
                vec(any::<u8>(), 0..40),
                written_object(message_fields()).prop_map(String::into_bytes),
                (object_with_id(), any::<Index>(), any::<u8>()).prop_map(|((line, _), at, byte)| {
                    let mut line = line.into_bytes();
                    let at = at.index(line.len());
                    line[at] = byte;
                    line
                }),
            ],
        ) {
            if let Incoming::Refused(reply) = read(&line) {
                prop_assert!(!reply.contains(['\n', '\r']));
                let Fields(fields) = serde_json::from_str(&reply).unwrap();
                let keys: Vec<_> = fields.iter().map(|(key, _)| key.as_str()).filter(|key| *key != "id").collect();
                prop_assert_eq!(keys, ["jsonrpc", "error"]);
                // An id that the client never sent would be the answer to another request of its.
                let id = fields.iter().find(|(key, _)| key == "id").map_or("", |(_, id)| id.get());
                prop_assert!(id.is_empty() || line.windows(id.len()).any(|part| part == id.as_bytes()), "{}", id);
            }
        }
    }
}
