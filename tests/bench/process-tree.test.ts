/** How the bench finds the processes of a peer, and what they have used. */
import { expect, test } from 'bun:test';
import { processClockMicroseconds } from '../../bench/process-clock.ts';
import {
  childrenOf,
  listenersOn,
  listeningInodes,
  programName,
  withDescendants,
} from '../../bench/process-tree.ts';
import { eventually } from '../support/eventually.ts';

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:270F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:270F 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0100007F:C350 0100007F:270F 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
   3: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1 0 100 0 0 10 0
   4: 00000000:270F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0 100 0 0 10 0
`;

test('sockets that listen on the port are found among connections to and from it', () => {
  expect(listeningInodes(table, 9999)).toEqual(new Set(['111', '555']));
  expect(listeningInodes(table, 80)).toEqual(new Set(['444']));
  expect(listeningInodes(table, 50000)).toEqual(new Set());
});

const onLinux = process.platform === 'linux';

test.if(onLinux)('the process that listens on a port is found, and nobody once it has stopped', async () => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = server.port ?? 0;
  expect(listenersOn(port)).toEqual([process.pid]);
  await server.stop(true);
  expect(listenersOn(port)).toEqual([]);
});

test.if(onLinux)('children of children belong to a process', async () => {
  const child = Bun.spawn(['sh', '-c', 'sleep 60 & echo $!; wait'], { stdout: 'pipe' });
  try {
    const { value } = await child.stdout.getReader().read();
    const grandchild = Number(new TextDecoder().decode(value));
    expect(childrenOf(child.pid)).toEqual([grandchild]);
    expect(withDescendants([process.pid])).toEqual(
      expect.arrayContaining([process.pid, child.pid, grandchild]),
    );
    // For a moment it is still a copy of the shell.
    await eventually('it has become the program', () => programName(grandchild) === 'sleep');
    process.kill(grandchild);
  } finally {
    child.kill();
    await child.exited;
  }
  expect(childrenOf(child.pid)).toEqual([]);
  expect(processClockMicroseconds(child.pid)).toBeNull();
});

test.if(onLinux)('the clock of a process counts what the process itself counts', () => {
  const own = () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  // Both are rounded, to ticks of up to 10 ms each.
  const roundingMicroseconds = 20_000;
  const before = own();
  const reading = processClockMicroseconds(process.pid);
  expect(reading).toBeGreaterThanOrEqual(before - roundingMicroseconds);
  expect(reading).toBeLessThanOrEqual(own() + roundingMicroseconds);
});
