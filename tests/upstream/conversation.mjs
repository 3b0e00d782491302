// A conversation of the official TypeScript SDK's client with real MCP servers through the bridge.
//
//   node conversation.mjs FOLDER BRIDGE
//
// FOLDER holds `node_modules` and, below it, `files` and the configuration. Each check prints a line.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, bridge, files] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(modules, 'package.json')));
const load = (path) => import(pathToFileURL(require.resolve(path)));
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
const {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} = await load('@modelcontextprotocol/sdk/types.js');

async function check(what, work) {
  await work();
  console.log(`ok ${what}`);
}

const PATIENCE = 60_000;
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(what, condition) {
  for (const start = Date.now(); Date.now() - start < PATIENCE; await sleep(50)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(`never: ${what}`);
}

const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(CC_|MCP_)/.test(name)));
const transport = new StdioClientTransport({ command: bridge, env: { ...settings, PATH: process.env.PATH }, stderr: 'inherit' });
const client = new Client({ name: 'tests', version: '1' }, {});
const complaints = [];
client.onerror = (error) => complaints.push(error);
const changes = { tools: 0, prompts: 0, resources: 0 };
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { changes.tools += 1; });
client.setNotificationHandler(PromptListChangedNotificationSchema, () => { changes.prompts += 1; });
client.setNotificationHandler(ResourceListChangedNotificationSchema, () => { changes.resources += 1; });
await client.connect(transport);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content.map((block) => block.text).join('\n');

await check('the tools of every server come up', async () => {
  const names = await until('all are listed', async () => {
    const { tools } = await client.listTools();
    const servers = new Set(tools.map(({ name }) => name.split('__')[0]));
    return ['everything', 'files', 'memory', 'time'].every((server) => servers.has(server)) && tools.map(({ name }) => name);
  });
  for (const name of ['everything__echo', 'files__read_text_file', 'memory__create_entities', 'time__convert_time']) {
    assert(names.includes(name), name);
  }
  assert(names.includes('upstream-status') && names.includes('exec-lua'));
  // Of the tools it is not told: it has asked for them itself.
  await until('the change is told', () => changes.prompts > 0 && changes.resources > 0);
});

await check('every server answers', async () => {
  assert.equal(text(await call('everything__get-sum', { a: 2, b: 40 })), 'The sum of 2 and 40 is 42.');
  writeFileSync(join(files, 'a.txt'), 'héllo\n');
  assert.equal(text(await call('files__read_text_file', { path: join(files, 'a.txt') })), 'héllo\n');
  const entities = [{ name: 'chest', entityType: 'block', observations: ['holds coal'] }];
  await call('memory__create_entities', { entities });
  assert.match(text(await call('memory__search_nodes', { query: 'coal' })), /chest/);
  const time = { source_timezone: 'Etc/UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
  assert.match(text(await call('time__convert_time', time)), /21:00/);
});

await check('an error of a server is one of the tool', async () => {
  for (const [name, args] of [
    ['files__read_text_file', { path: '/etc/passwd' }],
    ['time__convert_time', { source_timezone: 'Nowhere', time: '12:00', target_timezone: 'Etc/UTC' }],
    ['everything__get-sum', { a: 'x' }],
  ]) {
    const result = await call(name, args);
    assert(result.isError && text(result).length > 0, name);
  }
});

await check('images pass unharmed', async () => {
  const result = await call('everything__get-tiny-image', {});
  const image = result.content.find(({ type }) => type === 'image');
  assert.equal(image.mimeType, 'image/png');
  assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG');
});

await check('structured content passes, and fits its schema', async () => {
  // The SDK checks it against the schema that it listed.
  const result = await call('everything__get-structured-content', { location: 'Chicago' });
  assert.equal(typeof result.structuredContent.temperature, 'number');
  assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
});

await check('annotations of content pass', async () => {
  const { content } = await call('everything__get-annotated-message', { messageType: 'error', includeImage: true });
  assert.deepEqual(content[0].annotations, { priority: 1, audience: ['user', 'assistant'] });
});

await check('progress comes step by step', async () => {
  const told = [];
  const onprogress = ({ progress, total }) => told.push([progress, total]);
  const result = await call('everything__trigger-long-running-operation', { duration: 0.5, steps: 4 }, { onprogress });
  assert.match(text(result), /completed/);
  // The SDK loses what comes in one piece with the answer, as the last step may.
  assert.deepEqual(told.slice(0, 3), [[1, 4], [2, 4], [3, 4]]);
});

await check('a cancelled call leaves the server free for the next', async () => {
  const cancel = new AbortController();
  const steps = [];
  const running = call('everything__trigger-long-running-operation', { duration: 600, steps: 60_000 }, {
    signal: cancel.signal,
    onprogress: (step) => steps.push(step),
  });
  const rejected = assert.rejects(running);
  await until('it runs', () => steps.length > 0);
  cancel.abort('no longer needed');
  await rejected;
  assert.equal(text(await call('everything__echo', { message: 'next' })), 'Echo: next');
});

await check('resources are listed and read through the bridge', async () => {
  const { resources } = await client.listResources();
  const document = resources.find(({ uri }) => uri === 'everything+demo://resource/static/document/features.md');
  const { contents } = await client.readResource({ uri: document.uri });
  assert.equal(contents[0].uri, document.uri);
  assert.match(contents[0].text, /Everything/);
  const { resourceTemplates } = await client.listResourceTemplates();
  const template = resourceTemplates.find(({ uriTemplate }) => uriTemplate.includes('dynamic/blob'));
  const blob = await client.readResource({ uri: template.uriTemplate.replace('{resourceId}', '7') });
  assert.match(Buffer.from(blob.contents[0].blob, 'base64').toString(), /7/);
  await assert.rejects(client.readResource({ uri: 'everything+demo://nothing' }));
  await assert.rejects(client.readResource({ uri: 'demo://resource/dynamic/text/1' }), /resource/);
});

await check('a link in an answer leads to what it links to', async () => {
  const { content } = await call('everything__get-resource-links', { count: 2 });
  const links = content.filter(({ type }) => type === 'resource_link');
  assert.equal(links.length, 2);
  for (const { uri } of links) {
    const { contents } = await client.readResource({ uri });
    assert.equal(contents[0].uri, uri);
  }
});

await check('a resource in an answer passes', async () => {
  const { content } = await call('everything__get-resource-reference', { resourceType: 'Text', resourceId: 3 });
  const { resource } = content.find(({ type }) => type === 'resource');
  assert.match(resource.text, /3/);
});

await check('prompts are listed and filled in', async () => {
  const { prompts } = await client.listPrompts();
  assert(prompts.some(({ name }) => name === 'everything__args-prompt'));
  const { messages } = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Paris', state: 'Texas' } });
  assert.match(messages[0].content.text, /Paris.*Texas/);
  await assert.rejects(client.getPrompt({ name: 'everything__none' }), /Unknown prompt/);
});

await check('a change of a list reaches the client', async () => {
  const before = changes.resources;
  const data = `data:text/plain,${'x'.repeat(100)}`;
  const made = await call('everything__gzip-file-as-resource', { name: 'new.gz', data, outputType: 'resourceLink' });
  assert(!made.isError, text(made));
  await until('it is told', () => changes.resources > before);
  const { resources } = await client.listResources();
  const found = resources.find(({ uri }) => uri.startsWith('everything+') && uri.endsWith('new.gz'));
  const { contents } = await client.readResource({ uri: found.uri });
  assert.equal(Buffer.from(contents[0].blob, 'base64').readUInt16BE(), 0x1f8b);
});

await check('a server that is killed is answered for, and comes back', async () => {
  const steps = [];
  const running = call('everything__trigger-long-running-operation', { duration: 600, steps: 60_000 }, {
    onprogress: (step) => steps.push(step),
  });
  await until('it runs', () => steps.length > 0);
  const status = text(await call('upstream-status', {}));
  const [, group] = /everything: connected .*, pid (\d+)/.exec(status);
  process.kill(Number(group), 'SIGTERM');
  const result = await running;
  assert(result.isError && text(result).includes('The server `everything` ended'), text(result));
  assert.equal(text(await call('everything__echo', { message: 'back' })), 'Echo: back');
});

await check('the client heard nothing that it could not read', () => {
  // But for a last step that came with its answer, or after the call was given up: see above.
  const late = /progress notification for an unknown token.*"total":(4|60000)\b/;
  assert.deepEqual(complaints.filter(({ message }) => !late.test(message)), []);
});

await client.close();
console.log('end');
