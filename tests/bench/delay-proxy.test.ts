/** The network that puts a database at a distance. */
import { expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { freePort, startChild } from '../../bench/child.ts';
import { DelayLine } from '../../bench/delay-line.ts';
import { withWorkshop } from '../../bench/workshop.ts';

test('everything leaves in order, as soon as it is due and not before', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(20), isPushed: fc.boolean() }));
  fc.assert(
    fc.property(fc.nat(10), steps, (delayMs, all) => {
      const line = new DelayLine<{ number: number; pushedAtMs: number }>(delayMs);
      let nowMs = 0;
      let pushed = 0;
      const left: number[] = [];
      for (const { afterMs, isPushed } of all) {
        nowMs += afterMs;
        if (isPushed) line.push({ number: pushed++, pushedAtMs: nowMs }, nowMs);
        else
          for (const { number, pushedAtMs } of line.takeDue(nowMs)) {
            expect(nowMs - pushedAtMs).toBeGreaterThanOrEqual(delayMs);
            left.push(number);
          }
        if (!isPushed) expect(line.nextDueAtMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(nowMs);
      }
      left.push(...line.takeDue(nowMs + delayMs).map(({ number }) => number));
      expect(left).toEqual(Array.from({ length: pushed }, (_, number) => number));
      expect(line.nextDueAtMs).toBeNull();
    }),
  );
});

test('bytes arrive whole and in order, not before a round trip, and so does the end', async () => {
  await withWorkshop(async (workshop) => {
    const socketFile = join(workshop.folder, 'echo');
    const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    await new Promise<void>((resolve) => {
      echo.listen(socketFile, resolve);
    });
    workshop.onStop(async () => {
      echo.close();
    });
    const port = freePort();
    const roundTripMs = 300;
    await startChild('delay-proxy.ts', [`${port}`, socketFile, `${roundTripMs}`], workshop);
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 251));
    const socket = connect(port, '127.0.0.1');
    const startedAtMs = performance.now();
    let firstAtMs = 0;
    const received: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => {
      firstAtMs ||= performance.now();
      received.push(bytes);
    });
    const ended = Promise.withResolvers<void>();
    socket.on('end', ended.resolve);
    socket.on('error', ended.reject);
    socket.end(sent);
    await ended.promise;
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    expect(firstAtMs - startedAtMs).toBeGreaterThanOrEqual(roundTripMs);
  });
});
