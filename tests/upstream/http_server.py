"""An MCP server over HTTP, as rude as it is asked to be: `http_server.py MODE FOLDER`.

Listens on a port of loopback that it writes to FOLDER/port. It forgets all sessions when FOLDER/forget is made, and
deletes that. Each call of its tool `note` adds a line to FOLDER/calls. In the modes `login` and `login-by-hand` it takes
those alone that have logged in at the login server beside it (see `login_server.py`). In the mode `fails` it answers the
texts in BAD with something else, and `waits` and `streams` when there is FOLDER/go. Needs Python 3 alone.
"""

import json
import os
import queue
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from login_server import Login

MODE, FOLDER = sys.argv[1:3]
sessions = set()
streams = {}
lock = threading.Lock()

# How a server answers a session that it does not know: status, content type, body.
FORGETFUL = {
    "forgets-404": (404, "application/json", {"code": -32001, "message": "Session not found"}, None),
    "forgets-400": (400, "application/json", {"code": -32000, "message": "Bad Request: No valid session ID provided"}, None),
    "forgets-400-text": (400, "text/plain", "Invalid session", None),
    "forgets-500": (500, "application/json", {"code": -32603, "message": "Internal error"}, None),
    "forgets-500-text": (500, "text/plain", "Internal Server Error", None),
    "forgets-200-null": (200, "application/json", {"code": -32000, "message": "Session expired"}, None),
    "forgets-200-another": (200, "application/json", {"code": -32000, "message": "Who are you?"}, 999_999),
}
# What a server answers that has trouble with one call: status, content type, body, further headers.
BAD = {
    "503": (503, "text/plain", "Busy\nvery", {"Retry_After": "7"}),
    "502": (502, "text/html", "<html><head><title>The backend is away</title></head></html>", {}),
    "500": (500, "text/plain", "Oops", {}),
    "429": (429, "application/json", {"error": "too many sessions"}, {}),
    "400": (400, "text/plain", "Not so", {}),
    "html": (200, "text/html", "<html>\nWelcome", {}),
    "no-json": (200, "application/json", "{oops", {}),
}
TOOLS = [
    {"name": "note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
]


def path(name):
    return os.path.join(FOLDER, name)


def wait_for(name):
    while not os.path.exists(path(name)):
        time.sleep(0.02)


def result_of(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "rude"} if MODE == "odd" else {"name": "rude", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = params.get("arguments", {}).get("text", "")
        with open(path("calls"), "a") as file:
            file.write(text + "\n")
        if MODE == "heavy" and text.isdigit():
            return {"content": [], "structuredContent": {"values": [1] * int(text)}}
        if MODE == "holds-calls":
            threading.Event().wait()
        return {"content": [{"type": "text", "text": f"noted {text}"}]}
    return {}


def answer_to(message):
    identifier = message["id"]
    if MODE.startswith("wrong-id") and message["method"] != "initialize":
        identifier = 4_711 if MODE.endswith("number") else str(identifier)
    return {"jsonrpc": "2.0", "id": identifier, "result": result_of(message)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind=None, body=b"", **headers):
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.reply(405)

    def of_login(self, answer):
        status, headers, body = answer
        self.reply(status, "application/json", body, **headers)

    def do_GET(self):
        if MODE.startswith("login") and (answer := login.get(self.path)):
            return self.of_login(answer)
        if not (MODE == "older" and self.path == "/sse"):
            return self.reply(405)
        identifier = uuid.uuid4().hex
        streams[identifier] = queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(f"event: endpoint\ndata: /messages?session={identifier}\n\n".encode())
        while True:
            try:
                message = streams[identifier].get(timeout=0.5)
                self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
            except queue.Empty:
                self.wfile.write(b": still here\n\n")
            self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if MODE.startswith("login"):
            if login.hangs_up(self.path):
                self.close_connection = True
                return None
            if answer := login.post(self.path, body):
                return self.of_login(answer)
            login.forget()
            if not login.lets_in(self.headers.get("Authorization")):
                return self.reply(401, WWW_Authenticate=login.challenge())
            if needed := login.lacks(self.headers.get("Authorization")):
                challenge = f'Bearer error="insufficient_scope", scope="{needed}"'
                return self.reply(403, WWW_Authenticate=challenge)
        message = json.loads(body)
        if MODE == "older":
            return self.older(message)
        if MODE.startswith("moved-") and self.path == "/old":
            return self.reply(int(MODE[6:]), Location="/mcp")
        if MODE == "moved-away":
            return self.reply(302, Location="http://mcp.example/mcp")
        if MODE == "goes-in-circles":
            return self.reply(301, Location="/old" if self.path == "/mcp" else "/mcp")
        if MODE == "asks-for-authorization":
            return self.reply(401, WWW_Authenticate="Bearer")
        if MODE == "hangs":
            threading.Event().wait()
        if MODE == "is-down":
            return self.reply(503, "text/plain", "Down for maintenance")
        if MODE == "refuses":
            return self.reply(400, "text/plain", "This is no place for you\nand never was")
        if MODE == "is-a-web-page":
            return self.reply(200, "text/html", "<html>Welcome</html>")
        if os.path.exists(path("forget")):
            with lock:
                sessions.clear()
                os.remove(path("forget"))
        session = self.headers.get("Mcp-Session-Id")
        headers = {}
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            sessions.add(session)
            headers["Mcp_Session_Id"] = session
            with open(path("sessions"), "a") as file:
                file.write(session + "\n")
        elif session not in sessions:
            status, kind, body, identifier = FORGETFUL.get(MODE, FORGETFUL["forgets-404"])
            if isinstance(body, dict):
                body = {"jsonrpc": "2.0", "error": body}
                if MODE != "forgets-500":
                    body["id"] = identifier
            return self.reply(status, kind, body)
        if "id" not in message or "method" not in message:
            return self.reply(202)
        answer = answer_to(message)
        if MODE == "fails" and message["method"] == "tools/call":
            text = message["params"]["arguments"]["text"]
            if text in BAD:
                status, kind, body, more = BAD[text]
                return self.reply(status, kind, body, **more)
            if text in ("drop", "half", "cut", "streams"):
                return self.by_halves(text, json.dumps(answer))
            if text == "waits":
                wait_for("go")
        if MODE == "wrong-id-in-a-stream":
            return self.reply(200, "text/event-stream", f"event: message\ndata: {json.dumps(answer)}\n\n", **headers)
        self.reply(200, "application/json", answer, **headers)

    def by_halves(self, text, answer):
        self.close_connection = True
        if text == "drop":
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if text == "cut" else "text/event-stream")
        if text == "cut":
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        begun = answer[:20] if text == "cut" else "data: " + answer[:20]
        if text == "streams":
            self.wfile.write(b": wait\n\n")
            self.wfile.flush()
            wait_for("go")
            begun = f"data: {answer}\n\n"
        self.wfile.write(begun.encode())

    def older(self, message):
        identifier = self.path.partition("?session=")[2]
        if identifier not in streams:
            return self.reply(405)
        if "id" in message and "method" in message:
            streams[identifier].put(answer_to(message))
        self.reply(202)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        # Clients come and go.
        pass


server = Server(("127.0.0.1", 0), Handler)
login = Login(f"http://127.0.0.1:{server.server_address[1]}", FOLDER, MODE != "login-by-hand")
with open(path("port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(path("port.new"), path("port"))
server.serve_forever()
