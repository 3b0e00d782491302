// A bridge for clients that leave after one call: it keeps `tools/call` back until a computer is linked.
//
//     node linked-bridge.mjs HEARD BRIDGE
//
// Starts BRIDGE and passes the client's lines on to it; its answers go straight to the client. The lines are also
// written to the file HEARD. The link port must be given, by CC_LINK_PORT.

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const [heard, binary] = process.argv.slice(2);
const health = `http://127.0.0.1:${process.env.CC_LINK_PORT}/health`;
const bridge = spawn(binary, { stdio: ['pipe', 'inherit', 'inherit'] });
bridge.on('exit', (code) => process.exit(code ?? 1));
// A bridge that has ended takes no more lines; its exit says so.
bridge.stdin.on('error', () => {});

/** Waits for the first computer; whoever started the client sets the limit. */
async function linked() {
  for (;;) {
    try {
      if ((await (await fetch(health)).json()).computers > 0) return;
    } catch {
      // The port is not open yet.
    }
    await sleep(20);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  appendFileSync(heard, `${line}\n`);
  if (JSON.parse(line).method === 'tools/call') await linked();
  bridge.stdin.write(`${line}\n`);
}
bridge.stdin.end();
