/** bun sandbox/main.ts [--port N] [--host H] [--log FILE] [--with-parent] */

import { parseArgs } from 'node:util';
import { startSandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    log: { type: 'string' },
    'with-parent': { type: 'boolean', default: false },
  },
});

if (values['with-parent']) {
  // The parent decides when to stop. A signal to the process group is meant for it, and it may still need answers.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}

const { port, url } = startSandbox({ port: Number(values.port), host: values.host, logFile: values.log });
console.log(JSON.stringify({ sandbox: 'listening', port, url }));

if (values['with-parent']) {
  // The parent holds the other end of stdin, which the system closes however the parent dies.
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}
