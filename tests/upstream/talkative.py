"""A small MCP server over stdio that does all that servers do beside their tools: it tells of changes of its resources, logs,
completes, attaches things to its answers, and asks its client for things.

Where $STARTS names a file, each start adds a line with what the client says that it is capable of; where $ENDS does, each
orderly end adds one.
"""

import json
import os
import sys
import threading

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "logging": {},
    "completions": {},
}
if os.environ.get("MUTE_RESOURCES"):
    CAPABILITIES["resources"] = {}

lock = threading.Lock()
tools = {}
subscribed = []
answers = {}
answered = threading.Condition()
client = {}
level = None


def note(variable, line):
    if variable in os.environ:
        with open(os.environ[variable], "a") as file:
            file.write(line + "\n")


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name, description, /, **properties):
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    tools[name] = {"name": name, "description": description, "inputSchema": schema}


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


tool("attached", "Tells what was attached to the call, and attaches something to the answer.")
tool("refuse", "Fails, as a request does, with a code and data.")
tool("log", "Logs, if that was asked for.", level="string", text="string")
tool("change", "Says that a resource has changed.", uri="string")
tool("embed", "Answers with a resource.")
tool("ask", "Asks the client for something.", method="string", params="object")
tool("later", "Asks the client for something after it has answered.", method="string")
tool("die", "Ends the process.")


def ask(method, params):
    with answered:
        identifier = f"ask-{len(answers)}"
        answers[identifier] = None
    message = {"id": identifier, "method": method}
    if params is not None:
        message["params"] = params
    send(message)
    with answered:
        answered.wait_for(lambda: answers[identifier] is not None, 60)
        return answers[identifier]


def call(name, arguments, meta):
    if name == "attached":
        meta.pop("progressToken", None)
        return text(json.dumps(meta, sort_keys=True), _meta={"example.org/of": "the answer"})
    if name == "refuse":
        return {"code": -32042, "message": "open it first", "data": {"url": "https://example.org/", "n": [1, None]}}
    if name == "log":
        if level is None or LEVELS.index(arguments["level"]) >= LEVELS.index(level):
            params = {"level": arguments["level"], "logger": "talk", "data": {"text": arguments["text"]}}
            send({"method": "notifications/message", "params": params})
        return text(str(level))
    if name == "change":
        send({"method": "notifications/resources/updated", "params": {"uri": arguments["uri"]}})
        return text(" ".join(subscribed))
    if name == "embed":
        resource = {"uri": "talk://a", "mimeType": "text/plain", "text": "x", "_meta": {"k": 1}}
        return {"content": [{"type": "resource", "resource": resource}]}
    if name == "ask":
        return text(json.dumps(ask(arguments["method"], arguments.get("params")), sort_keys=True))
    if name == "later":
        threading.Thread(target=lambda: note("ANSWERS", json.dumps(ask(arguments["method"], None))), daemon=True).start()
        return text("later")
    if name == "die":
        os._exit(3)
    return None


def result(method, params):
    global client, level
    if method == "initialize":
        client = params["capabilities"]
        note("STARTS", json.dumps(client, sort_keys=True))
        info = {"name": "talkative", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": info}
    if method == "tools/list":
        # As some servers do: what it can't do with this client it does not offer.
        conditional = {"ask": "sampling" in client or "elicitation" in client or "roots" in client}
        return {"tools": [one for name, one in tools.items() if conditional.get(name, True)]}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}
    if method == "prompts/get":
        resource = {"uri": "talk://a", "text": "x"}
        messages = [{"role": "user", "content": {"type": "resource", "resource": resource}}]
        return {"messages": messages, "_meta": {"given": params.get("_meta", {}).get("example.org/mark")}}
    if method == "resources/list":
        return {"resources": [{"uri": "talk://a", "name": "a"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "talk://{one}/{two}", "name": "t"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "x"}]}
    if method == "resources/subscribe":
        subscribed.append(params["uri"])
        return {}
    if method == "resources/unsubscribe":
        subscribed.remove(params["uri"])
        return {}
    if method == "logging/setLevel":
        level = params["level"]
        return {}
    if method == "completion/complete":
        before = params.get("context", {}).get("arguments", {})
        values = [params["ref"].get("name") or params["ref"].get("uri"), params["argument"]["value"], json.dumps(before)]
        return {"completion": {"values": values, "total": 7, "hasMore": True}, "_meta": {"m": 1}}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}), params.get("_meta", {}))
    return None


def answer(message):
    identifier, method = message.get("id"), message.get("method")
    if method is None:
        with answered:
            answers[identifier] = message.get("error") or message.get("result")
            answered.notify_all()
        return
    if identifier is None:
        note("HEARD", method)
        return
    answer = result(method, message.get("params", {}))
    if answer is None:
        send({"id": identifier, "error": {"code": -32601, "message": "unknown method"}})
    elif "code" in answer:
        send({"id": identifier, "error": answer})
    else:
        send({"id": identifier, "result": answer})


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") in ("tools/call", "prompts/get"):
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    else:
        answer(message)
note("ENDS", "ended")
