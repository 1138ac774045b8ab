/**
 * A network between a gateway and its PostgreSQL, in a process of its own: what either sends arrives half a round trip
 * later, however much it is. Arguments: the port, the Unix socket of PostgreSQL, and the round trip in milliseconds.
 */
import { connect, createServer, type Socket } from 'node:net';
import { answerParent } from './child.ts';
import { DelayLine } from './delay-line.ts';

const [port, socketFile = '', roundTripMs] = process.argv.slice(2);

const line = new DelayLine<() => void>(Number(roundTripMs) / 2);
let isTimed = false;

function later(arrive: () => void): void {
  line.push(arrive, performance.now());
  if (!isTimed) wait();
}

function wait(): void {
  const { nextDueAtMs } = line;
  isTimed = nextDueAtMs !== null;
  if (nextDueAtMs !== null) waitUntil(nextDueAtMs, deliver);
}

function deliver(): void {
  for (const arrive of line.takeDue(performance.now())) arrive();
  wait();
}

const unchanged = new Int32Array(new SharedArrayBuffer(4));

/** More precisely than a timer, which counts whole milliseconds: nobody ever changes what is waited for. */
function waitUntil(atMs: number, act: () => void): void {
  const { async: isWaiting, value } = Atomics.waitAsync(
    unchanged,
    0,
    0,
    Math.max(0, atMs - performance.now()),
  );
  if (isWaiting) value.then(act, act);
  else queueMicrotask(act);
}

function passOn(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on('data', (bytes: Buffer) => later(() => to.write(bytes)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => later(() => to.destroy()));
}

const server = createServer({ allowHalfOpen: true }, (client) => {
  const postgres = connect({ path: socketFile, allowHalfOpen: true });
  passOn(client, postgres);
  passOn(postgres, client);
});
server.listen(Number(port), '127.0.0.1', () => answerParent(() => 'running'));
