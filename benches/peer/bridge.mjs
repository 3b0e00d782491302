// A bridge as one writes it in a day with the official MCP SDK and ws: the peer of the figures.

import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { WebSocketServer } from "ws";

/** How long a computer has to answer, in milliseconds. */
const TIME = 20_000;

/** The sockets of the computers, by their numbers. */
const computers = new Map();

/** Who waits for an answer, by the request's id. */
const waiting = new Map();
let next = 1;

const http = createServer((_request, response) => {
  response.end(JSON.stringify({ ok: true, computers: computers.size }));
});

new WebSocketServer({ server: http }).on("connection", (socket) => {
  socket.on("message", (data) => {
    const frame = JSON.parse(data.toString());
    if (frame.type === "hello") {
      computers.set(frame.computerId, socket);
      socket.on("close", () => computers.delete(frame.computerId));
    } else if (frame.type === "response") {
      waiting.get(frame.id)?.(frame);
    }
  });
});

function ask(id, method, params) {
  const request = String(next++);
  return new Promise((resolve) => {
    const done = (answer) => {
      clearTimeout(timer);
      waiting.delete(request);
      resolve(answer);
    };
    const timer = setTimeout(done, TIME, undefined);
    waiting.set(request, done);
    computers.get(id).send(JSON.stringify({ type: "request", id: request, method, params }));
  });
}

const text = (text) => ({ content: [{ type: "text", text }] });
const server = new McpServer({ name: "peer", version: "1.0.0" });

server.registerTool("probe-computers", {}, async () => {
  const pings = [...computers.keys()].map(async (id) => (await ask(id, "ping"))?.result ?? `timeout from ${id}`);
  return text((await Promise.all(pings)).join("\n"));
});

server.registerTool("list-computers", {}, () => {
  const linked = [...computers.keys()].map((computerId) => ({ computerId }));
  const told = { linkPort: `127.0.0.1:${http.address().port}`, computers: linked };
  return { ...text(JSON.stringify(told)), structuredContent: told };
});

http.listen(0, "127.0.0.1", () => server.connect(new StdioServerTransport()));
process.stdin.on("end", () => process.exit(0));
