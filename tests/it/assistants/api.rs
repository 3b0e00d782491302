//! The four APIs by which assistants ask their models: what is read of a request, and how a model's move is written.

use serde_json::{Value, json};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions.
    ChatCompletions,
    /// Google's `streamGenerateContent`.
    GenerateContent,
}

/// What a model is asked.
#[derive(Debug)]
pub struct Asked {
    /// The tools that it may call.
    pub offered: Vec<Offered>,
    /// What the calls of this conversation gave, as the model is shown it.
    pub shown: Vec<Shown>,
}

/// A tool as the model knows it.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Of the server, where an API keeps it apart from the tool's name.
    namespace: Option<String>,
    name: String,
}

impl Offered {
    /// Whether it is the tool that the server calls so. Assistants put the server's name before it, and some allow no
    /// hyphen.
    pub fn is(&self, name: &str) -> bool {
        self.name.replace('_', "-").ends_with(name)
    }
}

/// The answer of a tool.
#[derive(Debug)]
pub struct Shown {
    pub text: String,
    /// Where the API can say so.
    pub is_error: Option<bool>,
}

/// What a model does.
#[derive(Debug)]
pub enum Move {
    Call(Offered, Value),
    End,
}

impl Api {
    /// That of a request's path.
    pub fn at(path: &str) -> Option<Self> {
        Some(match path.rsplit(['/', ':']).next()? {
            "messages" => Api::Messages,
            "responses" => Api::Responses,
            "completions" => Api::ChatCompletions,
            "streamGenerateContent" => Api::GenerateContent,
            _ => return None,
        })
    }

    pub fn read(self, request: &Value) -> Asked {
        Asked {
            offered: self.offered(request),
            shown: self.shown(request),
        }
    }

    fn offered(self, request: &Value) -> Vec<Offered> {
        let tool = |namespace: Option<&Value>, tool: &Value| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            Some(Offered {
                namespace: namespace.and_then(text),
                name: text(&tool["name"])?,
            })
        };
        let tools = list(&request["tools"]);
        match self {
            Api::Messages => tools.filter_map(|one| tool(None, one)).collect(),
            Api::ChatCompletions => tools
                .filter_map(|one| tool(None, &one["function"]))
                .collect(),
            Api::GenerateContent => tools
                .flat_map(|group| list(&group["functionDeclarations"]))
                .filter_map(|one| tool(None, one))
                .collect(),
            Api::Responses => tools
                .flat_map(|one| match one["type"].as_str() {
                    Some("namespace") => list(&one["tools"])
                        .filter_map(|inner| tool(Some(&one["name"]), inner))
                        .collect(),
                    _ => Vec::from_iter(tool(None, one)),
                })
                .collect(),
        }
    }

    fn shown(self, request: &Value) -> Vec<Shown> {
        let answer = |content: &Value, is_error| Shown {
            text: text_of(content),
            is_error,
        };
        match self {
            Api::Messages => list(&request["messages"])
                .flat_map(|message| list(&message["content"]))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| answer(&block["content"], Some(block["is_error"] == true)))
                .collect(),
            Api::Responses => list(&request["input"])
                .filter(|item| item["type"] == "function_call_output")
                .map(|item| answer(&item["output"], None))
                .collect(),
            Api::ChatCompletions => list(&request["messages"])
                .filter(|message| message["role"] == "tool")
                .map(|message| answer(&message["content"], None))
                .collect(),
            Api::GenerateContent => list(&request["contents"])
                .flat_map(|content| list(&content["parts"]))
                .filter_map(|part| part.get("functionResponse"))
                .map(|response| match &response["response"] {
                    failed if failed.get("error").is_some() => answer(&failed["error"], Some(true)),
                    fine => answer(&fine["output"], Some(false)),
                })
                .collect(),
        }
    }

    /// The answer to a request, as a stream of events. `number` tells calls of one conversation apart.
    pub fn answer(self, request: &Value, number: usize, what: &Move) -> String {
        let model = &request["model"];
        let id = format!("call_{number}");
        match self {
            Api::Messages => {
                let (block, delta, reason) = match what {
                    Move::Call(tool, arguments) => (
                        json!({"type": "tool_use", "id": id, "name": tool.name, "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
                        "tool_use",
                    ),
                    Move::End => (
                        json!({"type": "text", "text": ""}),
                        json!({"type": "text_delta", "text": "done"}),
                        "end_turn",
                    ),
                };
                let message = json!({"id": "message", "type": "message", "role": "assistant", "model": model,
                    "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
                events(&[
                    json!({"type": "message_start", "message": message}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    json!({"type": "content_block_delta", "index": 0, "delta": delta}),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}),
                    json!({"type": "message_stop"}),
                ])
            }
            Api::Responses => {
                let item = match what {
                    Move::Call(tool, arguments) => {
                        let mut item = json!({"type": "function_call", "id": format!("item_{number}"),
                            "call_id": id, "name": tool.name, "arguments": arguments.to_string()});
                        if let Some(namespace) = &tool.namespace {
                            item["namespace"] = json!(namespace);
                        }
                        item
                    }
                    Move::End => json!({"type": "message", "role": "assistant", "id": "message",
                        "content": [{"type": "output_text", "text": "done"}]}),
                };
                let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
                events(&[
                    json!({"type": "response.created", "response": {"id": "response"}}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                    json!({"type": "response.completed", "response": {"id": "response", "usage": usage}}),
                ])
            }
            Api::ChatCompletions => {
                let (delta, reason) = match what {
                    Move::Call(tool, arguments) => {
                        let function =
                            json!({"name": tool.name, "arguments": arguments.to_string()});
                        let call =
                            json!({"index": 0, "id": id, "type": "function", "function": function});
                        (
                            json!({"role": "assistant", "tool_calls": [call]}),
                            "tool_calls",
                        )
                    }
                    Move::End => (json!({"role": "assistant", "content": "done"}), "stop"),
                };
                let choices = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
                let chunk = json!({"id": "completion", "object": "chat.completion.chunk", "created": 1,
                    "model": model, "choices": choices});
                format!("{}data: [DONE]\n\n", events(&[chunk]))
            }
            Api::GenerateContent => {
                let part = match what {
                    Move::Call(tool, arguments) => {
                        json!({"functionCall": {"id": id, "name": tool.name, "args": arguments}})
                    }
                    Move::End => json!({"text": "done"}),
                };
                let content = json!({"role": "model", "parts": [part]});
                let candidate = json!({"content": content, "finishReason": "STOP", "index": 0});
                events(&[
                    json!({"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}}),
                ])
            }
        }
    }
}

/// Server-sent events, each named by its `type` if it has one.
fn events(events: &[Value]) -> String {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(event).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of a content, which may be in blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        blocks => list(blocks)
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
