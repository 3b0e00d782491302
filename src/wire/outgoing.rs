//! The frames that the bridge sends, written. No I/O.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    ending::HelloError,
    frame::Response,
    limits::{DEFAULT_MAX_MESSAGE, PROTOCOL},
    names::{Boot, Method, RequestId},
    parts::Part,
    text::{self, TextMode},
};

/// `hello-ok`: the link stands, with this many seconds between pings, and this many of silence until a peer counts as
/// dead.
pub fn hello_ok(ping_seconds: u64, dead_seconds: u64) -> String {
    json!({
        "type": "hello-ok",
        "protocol": PROTOCOL,
        "bridge": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
        "maxMessage": DEFAULT_MAX_MESSAGE,
        "pingSeconds": ping_seconds,
        "deadSeconds": dead_seconds,
    })
    .to_string()
}

/// `hello-error`: the link is refused or ended.
pub fn hello_error(told: &HelloError) -> String {
    let mut frame = json!({ "type": "hello-error", "error": told.error, "retry": told.retry });
    if let Some(after) = told.retry_after {
        frame["retryAfterMs"] = json!(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
    }
    ascii(&frame)
}

/// Asks for a pong with the same number.
pub fn ping(n: u64) -> String {
    json!({ "type": "ping", "n": n }).to_string()
}

/// The answer to a ping.
pub fn pong(n: u64) -> String {
    json!({ "type": "pong", "n": n }).to_string()
}

/// The originating bridge has the answer.
pub fn ack(id: &RequestId) -> String {
    ascii(&json!({ "type": "ack", "id": id }))
}

/// Stop this job.
pub fn cancel(id: &RequestId) -> String {
    ascii(&json!({ "type": "cancel", "id": id }))
}

/// This job's call was answered, and it is to go on by itself.
pub fn detach(id: &RequestId) -> String {
    ascii(&json!({ "type": "detach", "id": id }))
}

/// All of a job's output up to this piece arrived.
pub fn output_ack(id: &RequestId, seq: u64) -> String {
    ascii(&json!({ "type": "output-ack", "id": id, "seq": seq }))
}

/// A computer's answer that an owner gives its guest in the computer's place: it went wrong on the way there.
pub fn response(response: &Response) -> String {
    ascii(&json!({
        "type": "response",
        "id": response.id,
        "ok": response.answer.error.is_none(),
        "error": response.answer.error,
    }))
}

/// A part of a frame.
pub fn part(part: &Part) -> String {
    ascii(
        &json!({ "type": "part", "of": part.of, "n": part.n, "count": part.count, "data": part.data }),
    )
}

/// A part arrived, or its whole frame is refused.
pub fn part_ack(of: &str, n: usize, error: Option<&str>) -> String {
    let mut frame = json!({ "type": "part-ack", "of": of, "n": n });
    if let Some(error) = error {
        frame["error"] = json!(error);
    }
    ascii(&frame)
}

/// A request for a computer. An agent of version 1 is sent the first three fields only.
#[derive(Debug, Clone, Serialize)]
pub struct Request<'a> {
    r#type: &'static str,
    id: &'a RequestId,
    method: Method,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<&'a Boot>,
    #[serde(rename = "deadlineMs", skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    attached: bool,
    #[serde(rename = "startBefore", skip_serializing_if = "Option::is_none")]
    start_before: Option<u64>,
}

impl<'a> Request<'a> {
    /// A request as version 1 has it.
    pub fn new(id: &'a RequestId, method: Method, params: Option<&'a Value>) -> Self {
        Self {
            r#type: "request",
            id,
            method,
            params,
            boot: None,
            deadline_ms: None,
            attached: false,
            start_before: None,
        }
    }

    /// The same for this boot of an agent of version 2, with what is left of its time.
    pub fn for_boot(mut self, boot: &'a Boot, deadline_ms: u64) -> Self {
        self.boot = Some(boot);
        self.deadline_ms = Some(deadline_ms);
        self
    }

    /// The same for an agent that stops it once no bridge claims it: a call waits for it.
    pub fn attached(mut self) -> Self {
        self.attached = true;
        self
    }

    /// The same, and the agent is not to begin it once its clock shows that, in milliseconds since 1970.
    pub fn start_before(mut self, moment: u64) -> Self {
        self.start_before = Some(moment);
        self
    }

    /// As one message.
    ///
    /// # Errors
    /// `params` is no JSON.
    pub fn message(&self, mode: TextMode) -> serde_json::Result<String> {
        text::encode(self, mode)
    }

    /// As a frame to send in parts, where strings may hold bytes over 127 as they are; or how long it would be as such
    /// for an agent of version 1, which takes none.
    ///
    /// # Errors
    /// `params` is no JSON.
    pub fn unescaped(&self, mode: TextMode) -> serde_json::Result<String> {
        match mode {
            TextMode::Plain => serde_json::to_string(self),
            TextMode::Bytes => text::encode_in_parts(self),
        }
    }
}

fn ascii(frame: &Value) -> String {
    // A Value's keys are strings, so it is always JSON.
    text::encode(frame, TextMode::Plain).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_as_the_protocol_shows_it() {
        let params = json!({"code": "return 1+1"});
        let id = "req-1".into();
        let request = Request::new(&id, Method::ExecLua, Some(&params));
        assert_eq!(
            request.message(TextMode::Plain).unwrap(),
            r#"{"type":"request","id":"req-1","method":"exec-lua","params":{"code":"return 1+1"}}"#
        );
        assert_eq!(
            Request::new(&"req-2".into(), Method::Ping, None)
                .message(TextMode::Plain)
                .unwrap(),
            r#"{"type":"request","id":"req-2","method":"ping"}"#
        );
        assert_eq!(
            Request::new(&"b7f2-41".into(), Method::Ping, None)
                .for_boot(&"k3v9".into(), 20_000)
                .message(TextMode::Bytes)
                .unwrap(),
            r#"{"type":"request","id":"b7f2-41","method":"ping","boot":"k3v9","deadlineMs":20000}"#
        );
        assert_eq!(
            Request::new(&"b7f2-41".into(), Method::Ping, None)
                .for_boot(&"k3v9".into(), 20_000)
                .start_before(1_764_331_220_123)
                .message(TextMode::Bytes)
                .unwrap(),
            r#"{"type":"request","id":"b7f2-41","method":"ping","boot":"k3v9","deadlineMs":20000,"startBefore":1764331220123}"#
        );
    }

    #[test]
    fn small_frames_are_written_as_the_protocol_shows_them() {
        assert_eq!(ack(&"b7f2-41".into()), r#"{"type":"ack","id":"b7f2-41"}"#);
        assert_eq!(
            cancel(&"b7f2-41".into()),
            r#"{"type":"cancel","id":"b7f2-41"}"#
        );
        assert_eq!(
            output_ack(&"b7f2-41".into(), 3),
            r#"{"type":"output-ack","id":"b7f2-41","seq":3}"#
        );
        assert_eq!(
            part_ack("f", 0, None),
            r#"{"type":"part-ack","of":"f","n":0}"#
        );
        assert_eq!(
            part_ack("f", 1, Some("too-large")),
            r#"{"type":"part-ack","of":"f","n":1,"error":"too-large"}"#
        );
        let refused = HelloError {
            error: "é".into(),
            retry: true,
            retry_after: Some(std::time::Duration::from_millis(9_500)),
        };
        assert_eq!(
            hello_error(&refused),
            r#"{"type":"hello-error","error":"\u00e9","retry":true,"retryAfterMs":9500}"#
        );
    }
}
