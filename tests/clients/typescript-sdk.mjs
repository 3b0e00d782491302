// One whole conversation of an official TypeScript SDK with the real bridge, over stdio or streamable HTTP.
//
//     node typescript-sdk.mjs FOLDER PACKAGE ERA REVISION BRIDGE VERSION
//
// FOLDER holds node_modules; PACKAGE is the SDK there; ERA is legacy, modern or auto; REVISION is the one that must be
// spoken; BRIDGE is the binary, or the URL of one that serves, and VERSION its version. It prints `ok …` for each check and ends with 1 at the first
// that fails. `link ADDRESS` asks whoever started it for a computer that links there, with number 12 and label base;
// `tool NAME` asks for a tool of this name, which returns it.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder, sdk, era, revision, bridge, version] = process.argv.slice(2);
const load = createRequire(join(folder, 'package.json'));

/** Whether it is the SDK of 2026-07-28, which has a package and calls of its own. */
const second = sdk === '@modelcontextprotocol/client';
const { Client } = load(second ? sdk : `${sdk}/client/index.js`);
const remote = bridge.startsWith('http://');
const { StdioClientTransport, StreamableHTTPClientTransport } = remote
  ? load(second ? sdk : `${sdk}/client/streamableHttp.js`)
  : load(second ? `${sdk}/stdio` : `${sdk}/client/stdio.js`);
// The first SDKs had no validator; the newest of their line stands in for theirs.
const { AjvJsonSchemaValidator } = load(second ? `${sdk}/validators/ajv` : 'sdk-2025-11-25/validation/ajv');

const UNKNOWN_TOOL = -32602;
const REVISION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
/** The longest that anything is waited for, in milliseconds. It only counts when something is broken. */
const PATIENCE = 20_000;

async function check(what, test) {
  try {
    await test();
  } catch (error) {
    console.log(`failed: ${what}\n${error?.stack ?? error}`);
    for (const { sent, received } of wire.slice(-12)) {
      console.log(`  ${sent ? '>' : '<'} ${JSON.stringify(sent ?? received).slice(0, 1000)}`);
    }
    process.exit(1);
  }
  console.log(`ok ${what}`);
}

async function until(what, test) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await test();
    if (found) return found;
    assert(Date.now() < end, `it took over ${PATIENCE} ms: ${what}`);
    // Nothing tells of changes yet, so it is asked again at a gentle pace.
    await sleep(20);
  }
}

/** Everything that went over the pipe or the wire, in order. */
const wire = [];

/** A transport that writes down what it carries. */
function tapped(transport) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) => {
    wire.push({ sent: message });
    return send(message, ...rest);
  };
  let handler;
  Object.defineProperty(transport, 'onmessage', {
    get: () => handler,
    set: (next) => {
      handler = next && ((message, ...rest) => {
        wire.push({ received: message });
        return next(message, ...rest);
      });
    },
  });
  return transport;
}

const sent = (method) => wire.flatMap(({ sent }) => (sent?.method === method ? [sent] : []));
const answer = (id) => wire.find(({ received }) => received && !received.method && received.id === id)?.received;

// What a bridge needs to know of its surroundings; the SDK itself passes on little more than PATH and HOME.
const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(CC_|MCP_BRIDGE_)/.test(name)));
const transport = tapped(remote
  ? new StreamableHTTPClientTransport(new URL(bridge))
  : new StdioClientTransport({ command: bridge, env: settings, stderr: 'inherit' }));
const negotiation = { legacy: 'legacy', modern: { pin: revision }, auto: 'auto' }[era];
const client = new Client({ name: 'tests', version: '1' }, second ? { versionNegotiation: { mode: negotiation } } : {});

/** What the client could not make sense of. */
const complaints = [];
client.onerror = (error) => complaints.push(error);

const call = (name, args, options) => second
  ? client.callTool({ name, arguments: args }, options)
  : client.callTool({ name, arguments: args }, undefined, options);
const lua = (code, options) => call('exec-lua', { code }, options);
const text = (result) => result.content.map((block) => block.text).join('\n');

async function success(result) {
  const answered = await result;
  assert(!answered.isError, text(answered));
  return text(answered);
}

async function failure(result) {
  const answered = await result;
  assert.equal(answered.isError, true, text(answered));
  return text(answered);
}

const modern = revision >= '2026';

await check(`it connects and speaks ${revision}`, async () => {
  await client.connect(transport);
  if (modern) {
    // The question which revisions there are went to a process of its own; this one is asked in earnest.
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    assert.equal(sent('initialize').length, 0);
  } else {
    const [handshake] = sent('initialize');
    assert.equal(handshake.params.protocolVersion, revision);
    assert.equal(answer(handshake.id).result.protocolVersion, revision);
  }
});

await check('the server says who it is', () => {
  const { name, version: itsVersion } = client.getServerVersion();
  assert.deepEqual([name, itsVersion], ['mcp-bridge', version]);
});

await check('the server says how to use it', () => {
  assert.match(client.getInstructions(), /probe-computers.*exec-lua.*never as instructions/s);
  assert(client.getServerCapabilities().tools);
});

let tools;
await check('it lists the tools', async () => {
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.deepEqual(names, [...names].sort());
  for (const name of [
    'call-tool', 'cancel-job', 'exec-lua', 'find-tools', 'get-job', 'list-computers', 'list-files', 'list-jobs',
    'probe-computers', 'run-script',
  ]) {
    assert(names.includes(name), `no ${name} in ${names}`);
  }
  // As they were sent: some SDKs drop what they don't know of a schema.
  ({ tools } = answer(sent('tools/list').at(-1).id).result);
});

const named = (name) => tools.find((tool) => tool.name === name);
const validator = (schema) => new AjvJsonSchemaValidator().getValidator(schema);

await check("the SDK's validator takes every schema", () => {
  for (const { inputSchema, outputSchema } of tools) {
    validator(inputSchema);
    if (outputSchema) validator(outputSchema);
  }
  const execLua = validator(named('exec-lua').inputSchema);
  assert(execLua({ code: '1', computerId: 12, timeoutMs: 1000 }).valid);
  for (const wrong of [{}, { code: { a: 7 } }, { code: '1', computerId: -1 }, { code: '1', compterId: 1 }]) {
    assert(!execLua(wrong).valid, JSON.stringify(wrong));
  }
});

await check('a second listing is the same', async () => {
  await client.listTools();
  const [first, again] = sent('tools/list').slice(-2).map(({ id }) => answer(id).result);
  assert.deepEqual(again, first);
});

/** The structured content of `list-computers`, which must be of the form it promises, and say what the text says. */
async function listed() {
  const result = await call('list-computers', {});
  const valid = validator(named('list-computers').outputSchema)(result.structuredContent);
  assert(valid.valid, valid.errorMessage);
  assert(text(result).includes(`Link port: ${result.structuredContent.linkPort}`), text(result));
  return result.structuredContent;
}

await check('list-computers keeps to its schema without computers', async () => {
  const { computers, linkPort } = await listed();
  assert.deepEqual(computers, []);
  assert.equal(await success(call('probe-computers', {})), 'No computers connected.');
  console.log(`link ${linkPort}`);
});

await check('a computer that links is listed, and the list keeps to its schema', async () => {
  const computer = await until('the computer is listed', async () => {
    const { computers } = await listed();
    return computers.find(({ computerId, linked }) => computerId === 12 && linked);
  });
  assert.deepEqual([computer.label, computer.agent.name], ['base', 'mcp-computer']);
});

await check('probe-computers gets an answer', async () => {
  assert.equal(await success(call('probe-computers', {})), 'pong from 12 (Label: base)');
});

await check('probe-computers works without an `arguments` object', async () => {
  assert.equal(await success(call('probe-computers', undefined)), 'pong from 12 (Label: base)');
});

await check('exec-lua shows what was printed and returned', async () => {
  assert.equal(await success(lua('print("hi") return 6 * 7, "é"')), 'hi\n=> 42\n=> "é"');
});

await check('a Lua error is a tool error', async () => {
  assert.match(await failure(lua('error("boom")')), /12 \(Label: base\).*boom/);
});

await check('a wrong argument is a tool error that names it', async () => {
  assert.match(await failure(call('exec-lua', { code: [7] })), /`code` must be a string, not /);
  assert.match(await failure(call('exec-lua', { code: '1', compterId: 12 })), /no argument `compterId`/);
});

await check('an unknown tool is a protocol error', async () => {
  await assert.rejects(call('no-such-tool', {}), { code: UNKNOWN_TOOL, message: /no-such-tool/ });
});

await check('two calls run at once', async () => {
  // The first can only end once the second has run.
  const first = success(lua('while not fs.exists("second") do sleep(0.05) end return "first"'));
  const second = success(lua('fs.makeDir("second") return "second"'));
  assert.deepEqual(await Promise.all([first, second]), ['=> "first"', '=> "second"']);
});

const callOf = (code) => sent('tools/call').find(({ params }) => params.arguments?.code === code);

await check('a call that asks for progress hears what the code prints before it ends', async () => {
  // The code ends only once its first line was heard of.
  const code = 'print("first") while not fs.exists("heard") do sleep(0.05) end print("second") return "done"';
  const reported = [];
  let noted;
  const onprogress = (progress) => {
    reported.push(progress.progress);
    noted ??= success(lua('fs.makeDir("heard")'));
  };
  assert.equal(await success(lua(code, { onprogress })), 'first\nsecond\n=> "done"');
  await noted;
  const token = callOf(code).params._meta.progressToken;
  // The oldest SDKs pass on no more of a report than its numbers.
  const received = wire.flatMap(({ received }) => (received?.params?.progressToken === token ? [received.params] : []));
  assert.deepEqual(reported, received.map(({ progress }) => progress));
  assert(reported.every((progress, at) => at === 0 || progress > reported[at - 1]), `${reported}`);
  assert.match(received.map(({ message }) => message).join(''), /^first\n(second\n)?$/);
});

const cancelled = () => sent('notifications/cancelled').map(({ params }) => params.requestId);
/** In the newest revision a client gives up a request over HTTP by closing its connection. */
const givenUp = (...codes) => (remote && modern ? [] : codes.map((code) => callOf(code).id));

/** Lua that goes on writing to this file and never ends. */
const endless = (file) =>
  `while true do local file = fs.open("${file}", "a") file.write("x") file.close() sleep(0.05) end`;

/** Whether a file that is written to twenty times a second grows within half a second. */
async function grows(file) {
  const size = `fs.getSize("${file}")`;
  return (await success(lua(`local before = ${size} sleep(0.5) return ${size} > before`))) === '=> true';
}

/** What `list-jobs` says of the job that runs this code. */
async function listedJob(code) {
  const lines = (await success(call('list-jobs', {}))).split('\n');
  return lines.find((line) => line.endsWith(`: ${code}`));
}

/** Once a call of `endless` is given up, its code no longer runs, and its job says why. */
async function stopped(file) {
  const line = await until('the job has ended', async () => {
    const line = await listedJob(endless(file));
    return !line.includes('running for') && line;
  });
  assert.match(line, /: stopped /);
  assert.equal(await grows(file), false);
  const [jobId] = line.split(' ');
  assert.match(await success(call('get-job', { jobId })), /^The code was stopped before its end on computer 12 \(Label: base\), as was asked/m);
}

await check('cancelling a call stops its job on the computer', async () => {
  const cancel = new AbortController();
  const rejected = assert.rejects(lua(endless('begun'), { signal: cancel.signal }));
  await until('the code runs', async () => (await success(lua('fs.exists("begun")'))) === '=> true');
  assert.equal(await grows('begun'), true);
  assert.match(await listedJob(endless('begun')), / on 12 \(Label: base\): running for /);
  cancel.abort('no longer needed');
  await rejected;
  await stopped('begun');
  assert.deepEqual(cancelled(), givenUp(endless('begun')));
});

await check('a call that the client waits for no longer stops its job too, and the session outlives it', async () => {
  await assert.rejects(lua(endless('slow'), { timeout: 1_000 }), /timed out/i);
  await stopped('slow');
  assert.deepEqual(cancelled(), givenUp(endless('begun'), endless('slow')));
});

await check('what was given up is not answered', () => {
  for (const code of ['begun', 'slow'].map(endless)) assert.equal(answer(callOf(code).id), undefined);
});

if (modern) {
  await check('every request says its revision, and every result that it is complete', () => {
    const requests = wire.flatMap(({ sent }) => (sent?.id !== undefined ? [sent] : []));
    for (const { id, params } of requests) {
      assert.equal(params._meta[REVISION_KEY], revision);
      assert(params._meta[CAPABILITIES_KEY]);
      const { result } = answer(id) ?? {};
      if (result) assert.equal(result.resultType, 'complete');
    }
  });
} else {
  await check('ping is answered', async () => {
    await client.ping();
    assert.deepEqual(answer(sent('ping').at(-1).id).result, {});
  });
}

/** What a client of the era with a handshake is told unasked, and others only by a subscription. */
const CHANGED = 'notifications/tools/list_changed';
/** The list of resources follows the computers. */
const RESOURCES = 'notifications/resources/list_changed';
const notices = () => wire.flatMap(({ received }) => (received?.method ? [received.method] : []));

await check('a tool that comes later is told of, listed and called', async () => {
  assert(client.getServerCapabilities().tools.listChanged);
  console.log('tool latecomer');
  if (!modern) await until('the client is told', () => notices().includes(CHANGED));
  const late = async () => (await client.listTools()).tools.some(({ name }) => name === 'latecomer');
  await until('the tool is listed', late);
  assert.equal(await success(call('latecomer', {})), 'latecomer');
});

await check('the client heard nothing it did not ask for or could not read', () => {
  const expected = ['notifications/progress', ...(modern ? [] : [CHANGED, RESOURCES])];
  assert.deepEqual(notices().filter((method) => !expected.includes(method)), []);
  assert.equal(notices().filter((method) => method === CHANGED).length, modern ? 0 : 1);
  assert.deepEqual(complaints, []);
});

if (remote) {
  await check('the session ends when the client closes', async () => {
    const session = transport.sessionId;
    assert.equal(session === undefined, modern);
    if (!modern) await transport.terminateSession();
    await client.close();
    if (modern) return;
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session };
    headers.accept = 'application/json, text/event-stream';
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    assert.equal((await fetch(bridge, { method: 'POST', headers, body })).status, 404);
  });
} else {
  await check('the process leaves with exit code 0 when the client closes', async () => {
    // The older SDKs send SIGTERM at once. The newer ones close the pipe, and send it only to a process that stays.
    const signalled = !second && sdk < 'sdk-2025-11-25';
    const child = transport._process;
    await client.close();
    await until('the process ends', () => child.exitCode !== null || child.signalCode !== null);
    assert.equal(child.killed, signalled);
    // Windows has no SIGTERM: there it is the end.
    if (!signalled || process.platform !== 'win32') assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
  });
}
