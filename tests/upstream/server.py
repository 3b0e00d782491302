"""A small MCP server over stdio, as good or as bad as its first argument says.

Where $STARTS names a file, each start adds a line with its process id; where $HEARD does, each message that it gets. Where
$AWAITS does, it speaks MCP only once that is there.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"

lock = threading.Lock()
tools = {}
prompts = [{"name": "greet", "arguments": [{"name": "who"}]}]
answers = {}
asked = threading.Event()


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


tool("echo", os.environ.get("DESCRIPTION", "Says it again."), text="string")
tool("pid", "Tells its process id.")
tool("wait", "Makes the file `begun`, waits for the file `go`.", begun="string", go="string")
tool("steps", "Tells of each step.", count="integer")
tool("die", "Ends the process, after some last words.")
tool("add", "Adds a tool, and says five times that the list changed.", name="string")
tool("teach", "Adds a prompt, and says that their list changed.", name="string")
tool("flood", "Writes many lines to standard error.", lines="integer")
tool("long", "Prints a line of so many bytes that is no message.", bytes="integer")
tool("big", "Answers with a text of so many bytes.", bytes="integer")
tool("roots", "Asks the client for its roots.")
tool("variable", "Tells a variable of its environment.", name="string")
tool("fail", "Fails, as a tool does.")
tool("refuse", "Fails, as a request does.")
tool("bad.name", "Has a dot in its name.")
tools["bad-schema"] = {"name": "bad-schema", "inputSchema": {"type": "string"}}
tools["bad-output"] = {
    "name": "bad-output",
    "inputSchema": {"type": "object"},
    "outputSchema": {"anyOf": [{"type": "object"}]},
}


def schema(*required, **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}
# What is nearly right, or wrong: a name, and what its definition has besides.
ODD = {
    "null-required": {"inputSchema": {"type": "object", "properties": {"text": TEXT}, "required": None}},
    "null-properties": {"inputSchema": {"type": "object", "properties": None}},
    "no-properties": {"inputSchema": {"type": "object"}},
    "no-schema": {},
    "text-hints": {"inputSchema": schema(), "annotations": {"readOnlyHint": "true", "destructiveHint": "False"}},
    "choice": {"inputSchema": {"anyOf": [schema("id", id={"type": "integer"}), schema("name", name=TEXT)]}},
    "strange-argument": {"inputSchema": schema("$filter", **{"$filter": TEXT, "top": {"type": "integer"}})},
    "structured": {"inputSchema": schema()},
    "unfit": {"inputSchema": {"type": "string"}},
    "unreadable": {"inputSchema": "none"},
}
if MODE == "odd":
    tools = {name: {"name": name, **definition} for name, definition in ODD.items()}
if MODE == "given":
    with open(os.environ["TOOLS"]) as file:
        tools = {given["name"]: given for given in json.load(file)}
if MODE == "heavy":
    tool("values", "Answers with so many values.", count="integer")
    tool("tells", "Says something of so many values that nobody asked for.", count="integer")
if MODE == "many":
    for number in range(2_500):
        tool(f"tool-{number:04}", "One of many.")


def call(identifier, name, arguments, token):
    if MODE == "odd":
        if name == "structured":
            return {"structuredContent": {"n": 1}}
        return text(json.dumps(arguments))
    if name == "echo":
        return text(arguments["text"])
    if name == "pid":
        return text(str(os.getpid()))
    if name == "wait":
        open(arguments["begun"], "w").close()
        while not os.path.exists(arguments["go"]):
            time.sleep(0.01)
        return text("went")
    if name == "steps":
        for step in range(arguments["count"]):
            progress = {"progressToken": token, "progress": step, "total": arguments["count"], "message": f"step {step}"}
            send({"method": "notifications/progress", "params": progress})
        return text("done")
    if name == "die":
        print("these are my last words", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "add":
        tool(arguments["name"], "Was added.")
        for _ in range(5):
            send({"method": "notifications/tools/list_changed"})
        return text("added")
    if name == "teach":
        prompts.append({"name": arguments["name"]})
        send({"method": "notifications/prompts/list_changed"})
        return text("taught")
    if name == "flood":
        for line in range(arguments["lines"]):
            print(f"noise {line}", file=sys.stderr)
        sys.stderr.flush()
        return text("flooded")
    if name == "long":
        with lock:
            sys.stdout.write("x" * arguments["bytes"] + "\n")
            sys.stdout.flush()
        time.sleep(60)
    if name == "big":
        return text("x" * arguments["bytes"])
    if name == "values":
        return text("here", structuredContent={"values": [1] * arguments["count"]})
    if name == "tells":
        send({"method": "notifications/unheard-of", "params": {"values": [1] * arguments["count"]}})
        return text("told")
    if name == "roots":
        send({"id": "roots", "method": "roots/list"})
        asked.wait(10)
        return text(json.dumps(answers.get("roots")))
    if name == "variable":
        return text(str(os.environ.get(arguments["name"])))
    if name == "fail":
        return text("it failed", isError=True)
    if name == "refuse":
        raise ValueError("it refuses")
    return text(f"called {name}")


def answer(message):
    identifier, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method is None:
        answers[identifier] = message.get("error") or message.get("result")
        asked.set()
    elif method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}
        info = {"name": os.environ.get("SERVER_NAME", "test"), "version": "1"}
        if MODE == "odd":
            del info["version"]
        result = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
        send({"id": identifier, "result": result})
    elif method == "tools/list":
        # In pages, as a server with many tools does.
        names = list(tools)
        start = int(params.get("cursor", 0))
        page = 500 if MODE == "many" else 5
        result = {"tools": [tools[name] for name in names[start : start + page]]}
        if start + page < len(names):
            result["nextCursor"] = str(start + page)
        elif MODE == "circles":
            result["nextCursor"] = "0"
        elif MODE == "stands-still":
            # Another cursor each time, and nothing behind it.
            result["nextCursor"] = str(start + 1)
        send({"id": identifier, "result": result})
    elif method == "prompts/list" and MODE == "odd":
        send({"id": identifier, "error": {"code": -32601, "message": "there are no prompts after all"}})
    elif method == "prompts/list":
        send({"id": identifier, "result": {"prompts": prompts}})
    elif method == "prompts/get":
        words = "Hello, " + params["arguments"]["who"]
        send({"id": identifier, "result": {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}})
    elif method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        try:
            send({"id": identifier, "result": call(identifier, params["name"], params.get("arguments", {}), token)})
        except ValueError as error:
            send({"id": identifier, "error": {"code": -32000, "message": str(error)}})
    elif identifier is not None:
        send({"id": identifier, "error": {"code": -32601, "message": "unknown method"}})


note("STARTS", str(os.getpid()))

while "AWAITS" in os.environ and not os.path.exists(os.environ["AWAITS"]):
    time.sleep(0.01)
if MODE == "needs" and "FARM_KEY" not in os.environ:
    print("Error: FARM_KEY is not set", file=sys.stderr, flush=True)
    sys.exit(7)
if MODE == "dies":
    print("I can't go on", file=sys.stderr, flush=True)
    sys.exit(7)
if MODE == "floods":
    for line in range(200_000):
        print(f"starting {line}", file=sys.stderr)
if MODE == "rubbish":
    print("Welcome to the server!\n\n{\"not\": \"a message\"}\n[1, 2", flush=True)
if MODE == "garbage":
    while True:
        print("\\x00garbage \\xff" * 40, flush=True)
        time.sleep(0.01)
if MODE in ("helpers", "stubborn"):
    # One helper beside us, one whose parent has left it and, where that can be dealt with, one that left our group.
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    note("HELPERS", str(subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, **quiet).pid))
    orphan = subprocess.run(["sh", "-c", "sleep 1000 >/dev/null & echo $!"], stdout=subprocess.PIPE, **quiet)
    note("HELPERS", orphan.stdout.decode().strip())
    if sys.platform == "linux":
        escaped = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, start_new_session=True, **quiet)
        note("HELPERS", str(escaped.pid))
if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

for line in sys.stdin:
    note("HEARD", line.strip())
    if MODE == "mute":
        continue
    if MODE == "rubbish":
        print("DEBUG: got a line", flush=True)
    message = json.loads(line)
    threading.Thread(target=answer, args=(message,), daemon=True).start()

if MODE == "stubborn":
    while True:
        time.sleep(60)
