//! Computers written from `src/wire/PROTOCOL.md` alone: their WebSocket, without the product's agent.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use mlua::{Lua, MultiValue, Value as LuaValue};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest, protocol::CloseFrame},
};

use super::soon;

/// A raw link.
pub struct Computer {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// What the bridge did next.
#[derive(Debug)]
pub enum Event {
    Frame(Value),
    Closed(Option<CloseFrame>),
    Broken(Error),
}

/// What this start of a program of version 2 says first.
fn hello_as(id: u64, boot: &str, jobs: &[&str]) -> Value {
    json!({
        "type": "hello", "computerId": id, "computerLabel": "two", "protocol": 2,
        "agent": {"name": "test-agent", "version": "9.9.9"}, "boot": boot,
        "computer": {"kind": "turtle", "advanced": true, "host": "tests", "width": 39, "height": 13},
        "policy": "full", "capabilities": [], "maxMessage": 131072, "jobs": jobs,
    })
}

impl Computer {
    /// Connects, and says nothing yet.
    pub async fn connect(port: SocketAddr) -> Self {
        Self::connect_with(port, &[]).await.unwrap()
    }

    /// Connects with these headers beside the usual ones.
    pub async fn connect_with(port: SocketAddr, headers: &[(&str, &str)]) -> Result<Self, Error> {
        let mut request = format!("ws://{port}/").into_client_request()?;
        for (name, value) in headers {
            let name: tokio_tungstenite::tungstenite::http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (socket, _) = soon("the link port answers", connect_async(request)).await?;
        Ok(Self { socket })
    }

    /// Links as a computer of protocol version 1.
    pub async fn link(port: SocketAddr, id: u64, label: Option<&str>) -> Self {
        let mut computer = Self::connect(port).await;
        let hello = json!({"type": "hello", "computerId": id, "computerLabel": label});
        assert_eq!(computer.hello(hello).await["type"], "hello-ok");
        computer
    }

    /// Links as a computer of protocol version 2.
    pub async fn link_v2(port: SocketAddr, id: u64) -> Self {
        Self::link_boot(port, id, "first", &[]).await
    }

    /// The same, as this start of its program, which still knows these requests. As an agent does, it tries again where
    /// the link before is not known to be dead yet.
    pub async fn link_boot(port: SocketAddr, id: u64, boot: &str, jobs: &[&str]) -> Self {
        let linked = async {
            loop {
                let mut computer = Self::connect(port).await;
                let answer = computer.hello(hello_as(id, boot, jobs)).await;
                if answer["type"] == "hello-ok" {
                    return computer;
                }
                assert_eq!(answer["retry"], true, "{answer}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        soon("the computer is let in", linked).await
    }

    /// Links as this start of a program of version 2.
    pub async fn say_hello_as(&mut self, id: u64, boot: &str, jobs: &[&str]) {
        assert_eq!(
            self.hello(hello_as(id, boot, jobs)).await["type"],
            "hello-ok"
        );
    }

    /// Sends a hello and returns the answer.
    pub async fn hello(&mut self, hello: Value) -> Value {
        self.send(&hello).await;
        self.frame().await
    }

    /// Sends a frame.
    pub async fn send(&mut self, frame: &Value) {
        self.send_text(frame.to_string()).await;
    }

    /// Sends any text; a link that is gone is no failure here.
    pub async fn send_text(&mut self, text: String) {
        let _ = soon(
            "the bridge reads",
            self.socket.send(Message::Text(text.into())),
        )
        .await;
    }

    /// What the bridge does next.
    pub async fn event(&mut self) -> Event {
        loop {
            match soon("the bridge does something", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    assert!(text.is_ascii(), "the game needs ASCII: {text}");
                    return Event::Frame(serde_json::from_str(&text).unwrap());
                }
                Some(Ok(Message::Close(frame))) => return Event::Closed(frame),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Event::Broken(error),
                None => return Event::Closed(None),
            }
        }
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Value {
        match self.event().await {
            Event::Frame(frame) => frame,
            Event::Broken(error) => panic!("expected a frame, and the link broke: {error}"),
            Event::Closed(frame) => panic!("expected a frame, and the link was closed: {frame:?}"),
        }
    }

    /// The next request; pings, acknowledgements and the like are passed over.
    pub async fn request(&mut self) -> Value {
        self.frame_of_type("request").await
    }

    /// The next frame of a type; all others are passed over.
    pub async fn frame_of_type(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Says that a request was taken (version 2).
    pub async fn accept(&mut self, request: &Value) {
        self.send(&json!({"type": "accepted", "id": request["id"]}))
            .await;
    }

    /// The code and reason of the bridge's close, after any frames.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.event().await {
                Event::Frame(_) => {}
                Event::Closed(Some(close)) => return (close.code.into(), close.reason.to_string()),
                other => panic!("expected a close with a code: {other:?}"),
            }
        }
    }

    /// Answers a request with a result.
    pub async fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"type": "response", "id": request["id"], "ok": true, "result": result}))
            .await;
    }

    /// Serves requests with `answer` until the link ends; what it returns is sent.
    pub fn serve(
        mut self,
        mut answer: impl FnMut(&Value) -> Option<Value> + Send + 'static,
    ) -> JoinHandle<()> {
        tokio::spawn(async move {
            while let Some(Ok(message)) = self.socket.next().await {
                let Message::Text(text) = message else {
                    continue;
                };
                let request: Value = serde_json::from_str(&text).unwrap();
                if request["type"] == "request"
                    && let Some(response) = answer(&request)
                {
                    self.send(&response).await;
                }
            }
        })
    }
}

/// An agent of protocol version 1, written from the protocol's text: it answers `ping` and `exec-lua`, and nothing
/// else. It runs the code it is given in a plain Lua.
pub fn version_1_agent(
    id: u64,
    label: &str,
) -> impl FnMut(&Value) -> Option<Value> + Send + 'static {
    let pong = format!("pong from {id} (Label: {label})");
    move |request| {
        let answer = match request["method"].as_str()? {
            "ping" => json!({"ok": true, "result": pong}),
            "exec-lua" => run_lua(request["params"]["code"].as_str()?),
            _ => json!({"ok": false, "error": "unknown method"}),
        };
        let mut response = json!({"type": "response", "id": request["id"]});
        response
            .as_object_mut()?
            .extend(answer.as_object()?.clone());
        Some(response)
    }
}

fn run_lua(code: &str) -> Value {
    let lua = Lua::new();
    lua.load("output = '' function print(s) output = output .. tostring(s) .. '\\n' end")
        .exec()
        .unwrap();
    let returned = lua.load(code).set_name("=code").eval::<MultiValue>();
    let output: String = lua.globals().get("output").unwrap();
    match returned {
        Ok(values) => {
            let returns: Vec<_> = values.iter().map(|value| describe(&lua, value)).collect();
            json!({"ok": true, "result": {"returns": returns, "output": output}})
        }
        Err(error) => {
            json!({"ok": false, "error": error.to_string(), "result": {"output": output}})
        }
    }
}

fn describe(lua: &Lua, value: &LuaValue) -> Value {
    match value {
        LuaValue::Nil => json!({"type": "nil"}),
        LuaValue::String(text) => json!({"type": "string", "value": text.to_string_lossy()}),
        LuaValue::Integer(number) => json!({"type": "number", "value": number}),
        LuaValue::Number(number) => json!({"type": "number", "value": number}),
        LuaValue::Boolean(truth) => json!({"type": "boolean", "value": truth}),
        other => {
            let tostring: mlua::Function = lua.globals().get("tostring").unwrap();
            json!({"type": other.type_name(), "repr": tostring.call::<String>(other.clone()).unwrap()})
        }
    }
}
