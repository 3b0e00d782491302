//! Frames of the link protocol.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use mcp_bridge::wire::{
    frame::{self, AgentFrame, FrameError},
    hello::Hello,
    limits,
    names::{ComputerId, Method},
    outgoing::Request,
    parts::Part,
    text::{TextMode, decode_value},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    agent_json::any_json,
    strings::{any_mode, any_text},
    targets::{link_frames, parts},
};

fn any_method() -> impl Strategy<Value = Method> {
    prop_oneof![
        Just(Method::Ping),
        Just(Method::ExecLua),
        Just(Method::RunHandler)
    ]
}

fn hello(message: &str) -> Result<Hello, FrameError> {
    match frame::read(message, TextMode::Plain)? {
        AgentFrame::Hello(hello) => Ok(*hello),
        other => panic!("not a hello: {other:?}"),
    }
}

/// One of the words that frames consist of, or another.
fn any_word() -> impl Strategy<Value = String> {
    let words = "type hello accepted output response event part part-ack ping pong request id ok result error n seq text dropped job of count data boot jobs computerId computerLabel protocol agent \
                 computer name version kind advanced host maxMessage token message traceback hint";
    let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
    prop_oneof![9 => proptest::sample::select(words), 1 => any_text()]
}

/// JSON of frames' words and any values.
fn near_frame() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        any_json(),
        any_word().prop_map(Value::from),
        (0..3u8).prop_map(Value::from)
    ];
    let fields = proptest::collection::vec((any_word(), value), 0..6);
    (any_word(), fields).prop_map(|(kind, fields)| {
        let mut frame = serde_json::Map::from_iter(fields);
        frame.insert("type".to_owned(), kind.into());
        Value::Object(frame)
    })
}

/// A frame, and its parts by number, each twice and in any order.
fn parts_of_a_frame() -> impl Strategy<Value = (Vec<u8>, Vec<(usize, Vec<u8>)>)> {
    let frame = proptest::collection::vec(any::<u8>(), 1..400);
    (frame, 1..90_usize).prop_flat_map(|(frame, size)| {
        let pieces = frame.chunks(size).map(<[u8]>::to_vec);
        let parts: Vec<_> = pieces.enumerate().collect();
        let twice = [parts.clone(), parts].concat();
        (Just(frame), Just(twice).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn any_text_is_a_frame_or_refused(text in any_text(), mode in any::<u8>()) {
        link_frames::check(&[&[mode], text.as_bytes()].concat());
    }

    #[test]
    fn any_json_is_read_as_what_it_says_or_refused(
        value in prop_oneof![any_json(), near_frame()], mode in any::<u8>(),
    ) {
        link_frames::check(&[&[mode], value.to_string().as_bytes()].concat());
    }

    #[test]
    fn a_version_1_hello_comes_back_as_given(
        id in 0..=1u64 << 53, as_double in any::<bool>(), label in proptest::option::of(any_text()),
    ) {
        let computer = if as_double { json!(id as f64) } else { json!(id) };
        let message = json!({"type": "hello", "computerId": computer, "computerLabel": label}).to_string();
        let read = hello(&message).unwrap();
        prop_assert_eq!(read.computer, ComputerId(id));
        prop_assert_eq!(read.label, label.filter(|label| !label.is_empty()));
        prop_assert_eq!((read.protocol, read.max_message), (1, limits::DEFAULT_MAX_MESSAGE));
        prop_assert!(read.token.is_none() && read.agent.is_none() && read.machine.is_none());
        prop_assert_eq!(TextMode::Plain, hello(&message).unwrap().dialect().text_mode());
    }

    #[test]
    fn a_version_2_hello_comes_back_as_given(
        id in 0..=1u64 << 53, texts in proptest::collection::vec(any_text(), 6), advanced in any::<bool>(),
        protocol in 2..=u32::MAX, max_message in any::<u32>(), others in near_frame(),
    ) {
        let [label, name, version, kind, host, token] = <[String; 6]>::try_from(texts).unwrap();
        let mut message = others;
        let fields = json!({
            "type": "hello", "computerId": id, "computerLabel": label, "protocol": protocol, "token": token,
            "agent": {"name": name, "version": version}, "maxMessage": max_message, "boot": "b", "jobs": [],
            "computer": {"kind": kind, "advanced": advanced, "host": host, "width": 51, "height": 19},
            // These aren't a hello's, but of types that any frame's must have.
            "id": null, "ok": null, "n": null, "seq": null, "text": null, "dropped": null, "outputBytes": null,
            "name": null, "of": null, "count": null, "data": null,
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let read = hello(&message.to_string()).unwrap();
        prop_assert_eq!(read.dialect().text_mode(), TextMode::Bytes);
        prop_assert_eq!((read.computer, read.protocol), (ComputerId(id), limits::PROTOCOL));
        prop_assert_eq!(read.label.unwrap_or_default(), label);
        prop_assert_eq!((read.max_message, read.token), (max_message as usize, Some(token)));
        let agent = read.agent.unwrap();
        prop_assert_eq!((agent.name, agent.version), (name, version));
        let machine = read.machine.unwrap();
        prop_assert_eq!((machine.kind, machine.host, machine.advanced), (kind, host, advanced));
    }

    #[test]
    fn a_result_comes_back_as_given(id in any_text(), result in any_json(), mode in any_mode()) {
        let message = json!({"type": "response", "id": id, "ok": true, "result": result}).to_string();
        let AgentFrame::Response(response) = frame::read(&message, mode).unwrap() else {
            panic!("not a response");
        };
        prop_assert_eq!(response.id.as_str(), id);
        prop_assert!(response.answer.error.is_none());
        prop_assert_eq!(response.answer.result.unwrap_or_default(), decode_value(result, mode));
    }

    #[test]
    fn an_error_of_either_version_comes_back_as_given(
        texts in proptest::collection::vec("\\PC{1,20}", 4), output in any_text(), mode in any_mode(),
    ) {
        let wire = |text: &String| -> Value {
            let json = mcp_bridge::wire::text::encode(text, mode).unwrap();
            serde_json::from_str(&json).unwrap()
        };
        let error = |error: Value| {
            let message = json!({
                "type": "response", "id": "r", "ok": false, "error": error, "result": {"output": wire(&output)},
            });
            match frame::read(&message.to_string(), mode).unwrap() {
                AgentFrame::Response(response) => response.answer,
                other => panic!("not a response: {other:?}"),
            }
        };
        let [kind, message, traceback, hint] = <[String; 4]>::try_from(texts).unwrap();
        let old = error(wire(&message));
        prop_assert_eq!(&old.result.unwrap()["output"], &output);
        prop_assert_eq!(&old.error.unwrap().message, &message);
        let new = error(json!({
            "kind": wire(&kind), "message": wire(&message), "traceback": wire(&traceback), "hint": wire(&hint),
        }));
        let new = new.error.unwrap();
        prop_assert_eq!((new.kind.as_str(), new.message), (&*kind, message));
        prop_assert_eq!((new.traceback, new.hint), (Some(traceback), Some(hint)));
    }

    #[test]
    fn what_a_job_prints_comes_back_as_given(
        id in any_text(), seq in any::<u64>(), dropped in proptest::option::of(any::<u64>()),
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let text: String = bytes.iter().copied().map(char::from).collect();
        let message = json!({"type": "output", "id": id, "seq": seq, "text": text, "dropped": dropped});
        let AgentFrame::Output(piece) = frame::read(&message.to_string(), TextMode::Bytes).unwrap() else {
            panic!("not output");
        };
        prop_assert_eq!((piece.id.as_str(), piece.seq, piece.bytes), (&*id, seq, bytes));
        prop_assert_eq!(piece.dropped, dropped.unwrap_or(0));
    }

    #[test]
    fn a_part_comes_back_as_given(of in any_text(), n in any::<u32>(), count in any::<u32>(), data in "[A-Za-z0-9+/=]{0,40}") {
        let message = json!({"type": "part", "of": of, "n": n, "count": count, "data": data}).to_string();
        let AgentFrame::Part(read) = frame::read(&message, TextMode::Bytes).unwrap() else {
            panic!("not a part");
        };
        prop_assert_eq!(read, Part { of, n: n as usize, count: count as usize, data });
    }

    #[test]
    fn a_frame_is_put_together_whatever_the_order_of_its_parts((frame, parts) in parts_of_a_frame()) {
        let count = parts.len() / 2;
        let lines: Vec<_> = parts
            .iter()
            .map(|(n, bytes)| json!({"type": "part", "of": "f", "n": n, "count": count, "data": BASE64.encode(bytes)}))
            .map(|part| part.to_string())
            .collect();
        let whole: String = frame.iter().copied().map(char::from).collect();
        prop_assert_eq!(parts::put_together(&lines.join("\n"), TextMode::Bytes), [whole]);
    }

    #[test]
    fn requests_say_what_was_asked(
        id in any_text(), method in any_method(), params in proptest::option::of(any_json()), mode in any_mode(),
    ) {
        let frame = Request::new(&id.clone().into(), method, params.as_ref()).message(mode).unwrap();
        prop_assert!(frame.is_ascii());
        let frame = decode_value(serde_json::from_str(&frame).unwrap(), mode);
        prop_assert_eq!(&frame["type"], "request");
        prop_assert_eq!((&frame["id"], &frame["method"]), (&json!(id), &json!(method.as_str())));
        prop_assert_eq!(frame.get("params"), params.as_ref());
    }
}
