// The bridge as the client that MCP's conformance suite tests: `node client.mjs URL`. A bridge whose one server is at that
// URL is started, the program that $MCP_BRIDGE names, and each tool that it then lists of the server is called once. Where the
// server asks who that is, a person's part in logging in is done here.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

// How long the server has to be listed, or found wanting. It takes moments; this only counts when something is broken.
const TO_LIST = 100_000;
// How long it may be found wanting: the bridge tries again, and on a machine with much else to do a first try may fail.
const TO_RECOVER = 15_000;
const SERVER = "suite";

const folder = mkdtempSync(join(tmpdir(), "mcp-bridge-"));
for (const name of ["config", "state", "project"]) mkdirSync(join(folder, name));
const servers = { mcpServers: { [SERVER]: { url: process.argv[2] } } };
writeFileSync(join(folder, "config", "mcp.json"), JSON.stringify(servers));

// What the suite tells of the scenario, such as by what its login server knows this client.
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const place = {
  cwd: join(folder, "project"),
  env: {
    ...process.env,
    CLIENT_SECRET: context.client_secret ?? "",
    MCP_BRIDGE_CONFIG_DIR: join(folder, "config"),
    MCP_BRIDGE_STATE_DIR: join(folder, "state"),
  },
};
const bridge = spawn(process.env.MCP_BRIDGE, ["--link-port", "0"], { ...place, stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
createInterface({ input: bridge.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});

const send = (message) => bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let last = 0;
function ask(method, params = {}) {
  const id = ++last;
  return new Promise((answer) => {
    waiting.set(id, answer);
    send({ id, method, params });
  });
}

function value(schema) {
  switch (schema.type) {
    case "integer":
    case "number":
      return 5;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return schema.enum?.[0] ?? "text";
  }
}

// Logs in as a person would whose browser follows every page.
async function logIn() {
  const args = ["upstream", "login", SERVER, "--no-browser", "--in-file"];
  if (context.client_id) args.push("--client-id", context.client_id);
  if (context.client_secret) args.push("--client-secret-variable", "CLIENT_SECRET");
  const login = spawn(process.env.MCP_BRIDGE, args, { ...place, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((end) => login.once("exit", end));
  for await (const line of createInterface({ input: login.stdout })) {
    console.error(line);
    if (/^ +https?:/.test(line)) await fetch(line.trim());
  }
  if ((await ended) !== 0) throw new Error("the login failed");
}

// The tools that the bridge lists of the server, once that is connected and all of them are there, or can't be.
async function tools() {
  const until = Date.now() + TO_LIST;
  let loggedIn = false;
  let failing;
  for (;;) {
    const { result: status } = await ask("tools/call", { name: "upstream-status", arguments: {} });
    const state = status.content[0].text;
    const { result } = await ask("tools/list");
    const found = result.tools.filter((tool) => tool.name.startsWith(`${SERVER}__`));
    if (!loggedIn && state.includes("upstream login")) {
      await logIn();
      loggedIn = true;
      failing = undefined;
      continue;
    }
    const count = /: connected for [^,]*, (\d+) tools?/.exec(state)?.[1];
    failing = / failed /.test(state) ? (failing ?? Date.now()) : undefined;
    const gaveUp = failing && Date.now() > failing + TO_RECOVER;
    if (found.length === Number(count) || gaveUp) {
      console.error(state);
      return found;
    }
    if (Date.now() > until) throw new Error(state);
    await new Promise((later) => setTimeout(later, 100));
  }
}

const clientInfo = { name: "conformance", version: "1" };
await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
send({ method: "notifications/initialized" });
const listed = await tools();
for (const tool of listed) {
  const properties = Object.entries(tool.inputSchema.properties ?? {});
  const args = Object.fromEntries(properties.map(([name, schema]) => [name, value(schema)]));
  // One scenario wants to be told what became of another tool's schema.
  if (tool.name.endsWith("__json_schema_echo")) {
    args.schema = listed.find((other) => other !== tool).inputSchema;
  }
  const answer = await ask("tools/call", { name: tool.name, arguments: args });
  console.error(tool.name, JSON.stringify(answer.result ?? answer.error));
}
bridge.stdin.end();
await new Promise((ended) => bridge.once("exit", ended));
rmSync(folder, { recursive: true, force: true });
