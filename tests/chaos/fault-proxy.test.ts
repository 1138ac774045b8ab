/** The bad network of the chaos runs does what it says, to the byte, on real sockets. */
import { afterEach, describe, expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { startDeafPort } from '../../chaos/world/deaf-port.ts';
import { type Fault, nextStep, type Step } from '../../chaos/world/fault.ts';
import { type FaultProxy, type Observer, startFaultProxy } from '../../chaos/world/fault-proxy.ts';
import { eventually } from '../support/eventually.ts';

const until = (isSo: () => boolean) => eventually(isSo.toString(), isSo);

/** Long enough for anything in transit on this machine to arrive. */
const silenceMs = 250;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Bytes that encode their position, so that a lost, doubled or displaced one shows. */
function numbered(count: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: count }, (_, place) => (place * 31 + (place >> 8)) & 0xff));
}

type End = 'open' | 'fin' | 'ECONNRESET' | (string & {});
type Peer = { readonly socket: Socket; received: Buffer; end: End };

function watch(socket: Socket): Peer {
  const pieces: Buffer[] = [];
  const peer = {
    socket,
    end: 'open',
    get received() {
      return Buffer.concat(pieces);
    },
  };
  socket.on('data', (bytes: Buffer) => pieces.push(bytes));
  socket.on('end', () => {
    peer.end = 'fin';
  });
  socket.on('error', (error: Error & { code?: string }) => {
    peer.end = error.code ?? error.message;
  });
  closers.push(() => socket.destroy());
  return peer;
}

type World = Readonly<{
  proxy: FaultProxy;
  /** The target's ends of the connections that reached it. */
  arrived: readonly Peer[];
  visit: () => Peer;
}>;

async function startWorld(fault: Fault = { kind: 'none' }, observer?: Observer): Promise<World> {
  const arrived: Peer[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => arrived.push(watch(socket)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const proxy = await startFaultProxy({ host: '127.0.0.1', port }, observer);
  closers.push(() => proxy.close());
  proxy.fault = fault;
  const visit = () => watch(connect({ host: proxy.host, port: proxy.port, allowHalfOpen: true }));
  return { proxy, arrived, visit };
}

const request = Buffer.from('What is the answer?');

/** A client whose request has arrived, and the target's end of it. */
async function ask({ arrived, visit }: World): Promise<{ client: Peer; target: Peer }> {
  const place = arrived.length;
  const client = visit();
  client.socket.write(request);
  await until(() => arrived[place]?.received.length === request.length);
  const target = arrived[place];
  if (!target) throw new Error('It did not arrive.');
  return { client, target };
}

describe('without a fault', () => {
  test('every byte passes both ways, and each end of sending is passed on by itself', async () => {
    const world = await startWorld();
    const client = world.visit();
    const [sent, answered] = [numbered(3_000_000), numbered(2_000_003)];
    client.socket.end(sent);
    await until(() => world.arrived[0]?.end === 'fin');
    expect(world.arrived[0]?.received.equals(sent)).toBe(true);
    expect(client.end).toBe('open');
    world.arrived[0]?.socket.end(answered);
    await until(() => client.end !== 'open');
    expect(client.end).toBe('fin');
    expect(client.received.equals(answered)).toBe(true);
    expect(world.proxy.counters).toEqual({ connections: 1, requestBytes: 3_000_000, answerBytes: 2_000_003 });
  });

  test('a reset of the target reaches the client, after what came before it', async () => {
    const { client, target } = await ask(await startWorld());
    target.socket.write(numbered(500));
    await until(() => client.received.length === 500);
    target.socket.resetAndDestroy();
    await until(() => client.end !== 'open');
    expect(client.end).toBe('ECONNRESET');
    expect(client.received).toEqual(numbered(500));
  });

  test('a client that resets or leaves does so at the target too', async () => {
    const world = await startWorld();
    const first = await ask(world);
    first.client.socket.resetAndDestroy();
    await until(() => first.target.end === 'ECONNRESET');
    const second = await ask(world);
    second.client.socket.end();
    await until(() => second.target.end === 'fin');
  });

  test('where the target refuses, the client is reset', async () => {
    const proxy = await startFaultProxy({ host: '127.0.0.1', port: 1 });
    closers.push(() => proxy.close());
    const client = watch(connect({ host: proxy.host, port: proxy.port }));
    await until(() => client.end !== 'open');
    expect(client.end).toBe('ECONNRESET');
  });

  test('a client that does not read stops the target, and loses nothing', async () => {
    const { client, target } = await ask(await startWorld());
    client.socket.pause();
    const size = 64_000_000;
    const written = await writeUntilStopped(target.socket, size);
    expect(written).toBeLessThan(size / 2);
    client.socket.resume();
    await until(() => client.end === 'fin');
    expect(client.received.length).toBe(size);
  });

  test('a target that does not read stops the client, and loses nothing', async () => {
    const { client, target } = await ask(await startWorld());
    target.socket.pause();
    const size = 64_000_000;
    const written = await writeUntilStopped(client.socket, size);
    expect(written).toBeLessThan(size / 2);
    target.socket.resume();
    await until(() => target.end === 'fin');
    expect(target.received.length).toBe(request.length + size);
  });
});

/** Keeps writing in the background while it can, then ends; returns how much it wrote before it was stopped. */
async function writeUntilStopped(socket: Socket, size: number): Promise<number> {
  const piece = Buffer.alloc(100_000, 7);
  let written = 0;
  const write = () => {
    while (written < size) {
      written += piece.length;
      if (!socket.write(piece)) {
        socket.once('drain', write);
        return;
      }
    }
    socket.end();
  };
  write();
  let before: number;
  do {
    before = written;
    await Bun.sleep(silenceMs);
  } while (written > before);
  return written;
}

describe('cut and reset', () => {
  const endings = [
    ['cut', 'fin'],
    ['reset', 'ECONNRESET'],
  ] as const;
  const answer = numbered(200_000);

  for (const [kind, end] of endings) {
    for (const afterBytes of [0, 1, 1_000, 65_536, 199_999]) {
      test(`${kind}: of an answer exactly ${afterBytes} bytes arrive, then ${end}`, async () => {
        const { client, target } = await ask(await startWorld({ kind, afterBytes }));
        target.socket.write(answer);
        await until(() => client.end !== 'open');
        expect(client.end).toBe(end);
        expect(client.received.equals(answer.subarray(0, afterBytes))).toBe(true);
        await until(() => target.end !== 'open');
      });
    }

    test(`${kind}: as long as there is no answer, nothing happens`, async () => {
      const { client, target } = await ask(await startWorld({ kind, afterBytes: 0 }));
      await Bun.sleep(silenceMs);
      expect([client.end, target.end]).toEqual(['open', 'open']);
    });

    test(`${kind}: an answer of exactly that many bytes is complete`, async () => {
      const { client, target } = await ask(await startWorld({ kind, afterBytes: 1_000 }));
      target.socket.end(numbered(1_000));
      await until(() => client.end !== 'open');
      expect(client.end).toBe('fin');
      expect(client.received).toEqual(numbered(1_000));
    });

    test(`${kind}: an answer in progress is hit where it is`, async () => {
      const world = await startWorld();
      const { client, target } = await ask(world);
      target.socket.write(answer.subarray(0, 700));
      await until(() => client.received.length === 700);
      expect(world.proxy.strike({ kind, afterBytes: 50 })).toBe(1);
      target.socket.write(answer.subarray(700));
      await until(() => client.end !== 'open');
      expect(client.end).toBe(end);
      expect(client.received).toEqual(answer.subarray(0, 750));
    });
  }

  test('fetch gets what passed before a cut, and then an error', async () => {
    const world = await startWorld({ kind: 'cut', afterBytes: 60 });
    const answered = fetch(`http://${world.proxy.host}:${world.proxy.port}/`);
    await until(() => world.arrived[0]?.received.includes('\r\n\r\n') ?? false);
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n';
    world.arrived[0]?.socket.write(head + 'x'.repeat(1_000));
    const response = await answered;
    expect(response.status).toBe(200);
    const reading = response.text().then(
      () => 'whole',
      () => 'broken',
    );
    expect(await reading).toBe('broken');
  });
});

describe('a black hole', () => {
  test('from the beginning: the client is connected, and the target hears nothing', async () => {
    const world = await startWorld({ kind: 'black-hole', afterBytes: 0 });
    const client = world.visit();
    client.socket.write(request);
    await until(() => world.proxy.counters.connections === 1);
    await Bun.sleep(silenceMs);
    expect(world.arrived).toEqual([]);
    expect([client.end, client.socket.readyState]).toEqual(['open', 'open']);
    expect(client.received.length).toBe(0);
    expect(world.proxy.counters.requestBytes).toBe(0);
  });

  test('when the request has been sent: it has arrived, and none of the answer comes back', async () => {
    const world = await startWorld();
    const { client, target } = await ask(world);
    world.proxy.strike({ kind: 'black-hole', afterBytes: 0 });
    target.socket.end(numbered(1_000));
    await Bun.sleep(silenceMs);
    expect([client.end, client.received.length]).toEqual(['open', 0]);
    expect(target.end).toBe('open');
  });

  test('in the middle of an answer: exactly that many bytes arrive, then neither side hears of the other', async () => {
    const { client, target } = await ask(await startWorld({ kind: 'black-hole', afterBytes: 1_234 }));
    target.socket.write(numbered(100_000));
    await until(() => client.received.length === 1_234);
    client.socket.write('Is anybody there?');
    target.socket.end('more');
    await Bun.sleep(silenceMs);
    expect(client.received).toEqual(numbered(100_000).subarray(0, 1_234));
    expect(client.end).toBe('open');
    expect(target.received).toEqual(request);
    expect(target.end).toBe('open');
  });

  test('the target can write into it for as long as it likes', async () => {
    const { target } = await ask(await startWorld({ kind: 'black-hole', afterBytes: 10 }));
    await new Promise<void>((resolve) => target.socket.end(Buffer.alloc(64_000_000), resolve));
  });

  test('a client that leaves it takes the connection to the target with it', async () => {
    const world = await startWorld();
    const { client, target } = await ask(world);
    world.proxy.strike({ kind: 'black-hole', afterBytes: 0 });
    client.socket.destroy();
    await until(() => target.end !== 'open');
  });
});

describe('slow answers', () => {
  test('delay: everything arrives, and nothing too early', async () => {
    const { client, target } = await ask(await startWorld({ kind: 'delay', delayMs: 300 }));
    const arrivals: number[] = [];
    client.socket.on('data', () => arrivals.push(performance.now()));
    const firstSentAtMs = performance.now();
    target.socket.write(numbered(1_000));
    await Bun.sleep(100);
    const lastSentAtMs = performance.now();
    target.socket.end(numbered(200_000));
    await until(() => client.end !== 'open');
    // Timers round to whole milliseconds.
    expect((arrivals[0] ?? 0) - firstSentAtMs).toBeGreaterThanOrEqual(299);
    expect(performance.now() - lastSentAtMs).toBeGreaterThanOrEqual(299);
    expect(client.end).toBe('fin');
    expect(client.received.equals(Buffer.concat([numbered(1_000), numbered(200_000)]))).toBe(true);
  });

  test('delay: a long answer is late once, and not once per piece', async () => {
    const { client, target } = await ask(await startWorld({ kind: 'delay', delayMs: 1_000 }));
    const answer = Buffer.alloc(12_000_000, 5);
    target.socket.end(answer);
    // If each piece waited for the one before it, this would take minutes.
    await until(() => client.end !== 'open');
    expect(client.received.equals(answer)).toBe(true);
  });

  test('drip: everything arrives, one byte and then the next', async () => {
    const world = await startWorld({ kind: 'drip', everyMs: 20 });
    const { client, target } = await ask(world);
    const startedAtMs = performance.now();
    target.socket.end(numbered(15));
    await until(() => client.end !== 'open');
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(14 * 20 - 1);
    expect(client.received).toEqual(numbered(15));
    expect(client.end).toBe('fin');
  });

  test('drip: after the first byte the others take their time, and the target waits', async () => {
    const { client, target } = await ask(await startWorld({ kind: 'drip', everyMs: 60_000 }));
    const size = 64_000_000;
    expect(await writeUntilStopped(target.socket, size)).toBeLessThan(size / 2);
    expect([client.received.length, client.end]).toEqual([1, 'open']);
  });

  test('a connection that is struck with none gets the rest at once', async () => {
    const world = await startWorld({ kind: 'drip', everyMs: 60_000 });
    const { client, target } = await ask(world);
    target.socket.end(numbered(100_000));
    await until(() => client.received.length === 1);
    world.proxy.strike({ kind: 'none' });
    await until(() => client.end !== 'open');
    expect(client.received.equals(numbered(100_000))).toBe(true);
  });
});

describe('refuse', () => {
  test('a connection is reset at once, and the target hears nothing', async () => {
    const world = await startWorld({ kind: 'refuse' });
    const client = world.visit();
    client.socket.write(request);
    await until(() => client.end !== 'open');
    expect([client.end, client.received.length]).toEqual(['ECONNRESET', 0]);
    await Bun.sleep(silenceMs);
    expect(world.arrived).toEqual([]);
    expect(world.proxy.counters).toEqual({ connections: 1, requestBytes: 0, answerBytes: 0 });
  });

  test('strikes connections that are open, also those in a black hole and those that wait', async () => {
    const world = await startWorld();
    const asking = await ask(world);
    world.proxy.fault = { kind: 'black-hole', afterBytes: 0 };
    const lost = world.visit();
    await until(() => world.proxy.counters.connections === 2);
    world.proxy.fault = { kind: 'delay', delayMs: 60_000 };
    const waiting = await ask(world);
    waiting.target.socket.write('late');
    world.proxy.fault = { kind: 'refuse' };
    expect(world.proxy.strike()).toBe(3);
    await until(() => [asking.client, lost, waiting.client].every(({ end }) => end === 'ECONNRESET'));
    await until(() => [asking.target, waiting.target].every(({ end }) => end !== 'open'));
    expect(world.proxy.strike()).toBe(0);
  });
});

describe('the fault in force', () => {
  test('is that of the moment when a connection is made, until it is struck', async () => {
    const world = await startWorld();
    const before = await ask(world);
    world.proxy.fault = { kind: 'cut', afterBytes: 3 };
    const after = await ask(world);
    for (const { target } of [before, after]) target.socket.write('abcdef');
    await until(() => after.client.end !== 'open' && before.client.received.length === 6);
    expect(after.client.received.toString()).toBe('abc');
    expect(before.client.end).toBe('open');
    world.proxy.strike();
    before.target.socket.write('ghijkl');
    await until(() => before.client.end !== 'open');
    expect(before.client.received.toString()).toBe('abcdefghi');
  });

  test('cannot bring back what a black hole has swallowed', async () => {
    const world = await startWorld();
    const { client, target } = await ask(world);
    world.proxy.strike({ kind: 'black-hole', afterBytes: 0 });
    target.socket.write('lost');
    await Bun.sleep(silenceMs);
    world.proxy.strike({ kind: 'none' });
    target.socket.write('not lost?');
    await Bun.sleep(silenceMs);
    expect([client.received.length, client.end]).toEqual([0, 'open']);
  });

  test('an observer hears of requests and of what was done, by connection', async () => {
    const heard: unknown[] = [];
    const world = await startWorld(
      { kind: 'none' },
      {
        onRequest: (connection, bytes) => heard.push([connection, bytes.toString()]),
        onFault: (connection, kind) => heard.push([connection, kind]),
      },
    );
    const first = await ask(world);
    first.target.socket.write('fine');
    await until(() => first.client.received.length === 4);
    world.proxy.fault = { kind: 'reset', afterBytes: 2 };
    const second = await ask(world);
    second.target.socket.write('not fine');
    await until(() => second.client.end !== 'open');
    expect(heard).toEqual([
      [1, `${request}`],
      [2, `${request}`],
      [2, 'reset'],
    ]);
  });

  test('close ends what is open, whatever its fault, and the port', async () => {
    const world = await startWorld();
    const open = await ask(world);
    world.proxy.fault = { kind: 'black-hole', afterBytes: 0 };
    const lost = world.visit();
    await until(() => world.proxy.counters.connections === 2);
    await world.proxy.close();
    await until(() => [open.client, open.target, lost].every(({ end }) => end !== 'open'));
    const late = world.visit();
    await until(() => late.end !== 'open');
    expect(late.end).toBe('ECONNREFUSED');
  });
});

describe('the decision, for any pieces', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 20 });
  const count = fc.integer({ min: 0, max: 20_000 });

  type Passed = Readonly<{ bytes: number; atMs: number; arrivedAtMs: number }>;

  /** Pieces that arrive one after another, 7 ms apart, then the end; a clock that only moves when it must. */
  function play(fault: Fault, pieceSizes: readonly number[]): { passed: Passed[]; last: Step['act'] } {
    const waiting = [...pieceSizes, 0].map((bytes, place) => ({ bytes, arrivedAtMs: place * 7 }));
    const passed: Passed[] = [];
    let nowMs = 0;
    for (;;) {
      const [next] = waiting;
      if (next) nowMs = Math.max(nowMs, next.arrivedAtMs);
      const passage = {
        passedBytes: passed.reduce((sum, { bytes }) => sum + bytes, 0),
        passedAtMs: passed.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY,
        next: next ?? null,
      };
      const step = nextStep(fault, passage, nowMs);
      if (step.act === 'wait') nowMs += step.ms;
      else if (step.act === 'pass' && next) {
        expect(step.bytes).toBeLessThanOrEqual(next.bytes);
        passed.push({ bytes: step.bytes, atMs: nowMs, arrivedAtMs: next.arrivedAtMs });
        waiting.shift();
        if (step.bytes < next.bytes) waiting.unshift({ ...next, bytes: next.bytes - step.bytes });
      } else return { passed, last: step.act };
    }
  }

  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const bytesOf = (passed: readonly Passed[]) => sum(passed.map(({ bytes }) => bytes));

  test('cut, reset and black hole let exactly that many bytes pass', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('cut', 'reset', 'black-hole'),
        count,
        sizes,
        (kind, afterBytes, pieceSizes) => {
          const total = sum(pieceSizes);
          const { passed, last } = play({ kind, afterBytes }, pieceSizes);
          expect(bytesOf(passed)).toBe(Math.min(total, afterBytes));
          if (kind === 'black-hole') expect(last).toBe(total >= afterBytes ? 'lose' : 'rest');
          else expect(last).toBe(total > afterBytes ? kind : 'rest');
        },
      ),
    );
  });

  test('delay lets everything pass, each piece that much later', () => {
    fc.assert(
      fc.property(count, sizes, (delayMs, pieceSizes) => {
        const { passed, last } = play({ kind: 'delay', delayMs }, pieceSizes);
        expect(passed.map(({ bytes }) => bytes)).toEqual([...pieceSizes, 0]);
        expect(passed.every(({ atMs, arrivedAtMs }) => atMs === arrivedAtMs + delayMs)).toBe(true);
        expect(last).toBe('rest');
      }),
    );
  });

  test('drip lets everything pass, byte by byte, a second apart unless given', () => {
    const few = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 5 });
    fc.assert(
      fc.property(few, fc.option(fc.integer({ min: 1, max: 5_000 })), (pieceSizes, everyMs) => {
        const { passed } = play(everyMs === null ? { kind: 'drip' } : { kind: 'drip', everyMs }, pieceSizes);
        const bytes = passed.slice(0, -1);
        expect(bytes.every((one) => one.bytes === 1)).toBe(true);
        expect(bytes.length).toBe(sum(pieceSizes));
        const gaps = bytes.slice(1).map(({ atMs }, place) => atMs - (bytes[place]?.atMs ?? 0));
        expect(gaps.every((gap) => gap >= (everyMs ?? 1_000))).toBe(true);
      }),
    );
  });
});

describe('a deaf port', () => {
  test('connecting to it neither succeeds nor fails', async () => {
    const deaf = await startDeafPort();
    closers.push(deaf.close);
    let isConnected = false;
    const client = watch(connect({ host: deaf.host, port: deaf.port }));
    client.socket.on('connect', () => {
      isConnected = true;
    });
    await Bun.sleep(4 * silenceMs);
    expect([isConnected, client.end]).toEqual([false, 'open']);
  });

  test('ends with the process that started it, even if that is killed', async () => {
    const program = join(import.meta.dir, '../../chaos/world/deaf-port.ts');
    const text = `const { startDeafPort } = await import(${JSON.stringify(program)});
      console.log((await startDeafPort()).port);
      await Bun.sleep(1_000_000);`;
    const parent = Bun.spawn([process.execPath, '-e', text], { stdout: 'pipe' });
    closers.push(() => parent.kill());
    let port = 0;
    for await (const bytes of parent.stdout) {
      port = Number(Buffer.from(bytes).toString());
      break;
    }
    parent.kill('SIGKILL');
    let client: Peer;
    do {
      client = watch(connect({ host: '127.0.0.1', port }));
      await Bun.sleep(50);
      client.socket.destroy();
    } while (client.end !== 'ECONNREFUSED');
  });

  test('is gone once it is closed', async () => {
    const deaf = await startDeafPort();
    await deaf.close();
    const client = watch(connect({ host: deaf.host, port: deaf.port }));
    await until(() => client.end !== 'open');
    expect(client.end).toBe('ECONNREFUSED');
  });
});
