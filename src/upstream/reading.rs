//! What a server says, read within bounds, by whichever way it comes.

use rmcp::{
    ErrorData,
    model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::base::json::has_more_values;

/// From how many bytes on a message is long: it is read beside the one thread that serves all.
pub const LONG: usize = 64 * 1024;

/// How many JSON values a message has at most. A list of 2,000 tools with ten arguments each has half as many, and a
/// server may list them in pages.
pub const MOST_VALUES: usize = 200_000;

/// What stands in place of what can't be read: an error, if that is an answer.
pub type Instead = Option<Box<ServerJsonRpcMessage>>;

/// Reads a message.
///
/// # Errors
/// It is none, or has too many values. If it is the answer to a request, with an error in its place, so that whoever waits
/// for it hears of it.
pub fn read(text: &[u8]) -> Result<ServerJsonRpcMessage, Instead> {
    if let Some(instead) = in_place_of_too_many(text) {
        return Err(instead);
    }
    serde_json::from_slice(text).map_err(|error| {
        in_place_of(
            text,
            &format!("the server's answer is not one of the protocol's: {error}"),
        )
    })
}

/// The same, beside the one thread that serves all if it is long.
///
/// # Errors
/// See [`read`].
#[cfg(feature = "upstream-http")]
pub async fn read_beside(
    text: impl AsRef<[u8]> + Send + 'static,
) -> Result<ServerJsonRpcMessage, Instead> {
    if text.as_ref().len() <= LONG {
        return read(text.as_ref());
    }
    tokio::task::spawn_blocking(move || read(text.as_ref()))
        .await
        .unwrap_or(Err(None))
}

/// What stands for a message that has too many values to be read: an error if it is an answer, nothing if it is anything
/// else; none at all if it has not too many.
pub fn in_place_of_too_many(text: &[u8]) -> Option<Instead> {
    let problem = || {
        format!(
            "the server's answer has more than {MOST_VALUES} JSON values (each number, text, list and object is one), and \
             is not passed on; ask it for less at once"
        )
    };
    has_more_values(text, MOST_VALUES).then(|| in_place_of(text, &problem()))
}

/// An error in place of an answer, if it is one.
fn in_place_of(text: &[u8], problem: &str) -> Instead {
    #[derive(Deserialize)]
    struct Outline<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        method: Option<IgnoredAny>,
    }
    // serde would take an array for a struct's fields in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let outline: Outline<'_> = serde_json::from_slice(text).ok()?;
    if outline.method.is_some() {
        return None;
    }
    let id: RequestId = serde_json::from_str(outline.id?.get()).ok()?;
    let error = ErrorData::internal_error(problem.to_owned(), None);
    Some(Box::new(JsonRpcMessage::error(error, Some(id))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_has_too_many_values_an_answer_becomes_an_error_and_the_rest_nothing() {
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        let answer = format!(r#"{{"jsonrpc":"2.0","result":{{"id":1,"a":{many}}},"id":7}}"#);
        let instead = read(answer.as_bytes()).unwrap_err().unwrap();
        let instead = serde_json::to_value(instead).unwrap();
        assert_eq!(instead["id"], 7);
        let problem = instead["error"]["message"].as_str().unwrap();
        assert!(problem.contains("200000 JSON values"), "{problem}");
        for other in [
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":{many}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{many}}}}}"#),
            many.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":{many}"#),
        ] {
            assert!(matches!(read(other.as_bytes()), Err(None)));
        }
        let text = serde_json::to_string(&many).unwrap();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"a":{text}}}}}"#);
        assert!(read(answer.as_bytes()).is_ok());
    }
}
