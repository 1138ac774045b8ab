import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import fc from 'fast-check';
import { ApiError, errorTable, presentError } from '../../src/errors.ts';
import { BodyBudget } from '../../src/http/body-budget.ts';
import { errorResponse } from '../../src/http/response.ts';
import { readJsonBody } from '../../src/json/body.ts';
import { allowedMs, defaultPace, type Pace } from '../../src/lib/read-body.ts';

const megabyte = 1024 * 1024;
const newRequest = () => new Request('http://gateway/');

/** Whether it fits. */
function fits(grow: () => void): boolean {
  try {
    grow();
    return true;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'server_overloaded') return false;
    throw thrown;
  }
}

test('never more than the whole, never more than a quarter for one account, and all of it comes back', () => {
  const step = fc.record({
    account: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    bytes: fc.nat(400),
    releases: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new BodyBudget(1_000);
      const held: { request: Request; account: string; bytes: number }[] = [];
      const sumOf = (account: string | null) =>
        held.reduce(
          (sum, other) => sum + (account === null || other.account === account ? other.bytes : 0),
          0,
        );
      for (const { account, bytes, releases } of steps) {
        if (releases) {
          const last = held.pop();
          if (last) budget.release(last.request);
          continue;
        }
        const request = newRequest();
        const isExpected = bytes === 0 || (sumOf(account) + bytes <= 250 && sumOf(null) + bytes <= 1_000);
        expect(fits(() => budget.roomFor(request, account).growTo(bytes))).toBe(isExpected);
        if (isExpected) held.push({ request, account, bytes });
        expect(budget.takenBytes).toBe(sumOf(null));
      }
      for (const { request } of held) budget.release(request);
      expect(budget.takenBytes).toBe(0);
    }),
  );
});

test('a room grows and never shrinks, and is returned once', () => {
  const budget = new BodyBudget(1_000);
  const request = newRequest();
  const room = budget.roomFor(request, 'a');
  for (const bytes of [100, 50, 200]) room.growTo(bytes);
  expect(budget.takenBytes).toBe(200);
  expect(fits(() => room.checkGrowthTo(250))).toBe(true);
  expect(fits(() => room.checkGrowthTo(251))).toBe(false);
  expect(budget.takenBytes).toBe(200);
  budget.release(request);
  budget.release(request);
  room.growTo(100);
  expect(budget.takenBytes).toBe(0);
});

test('a room that cannot grow is given up, so that others can', () => {
  const budget = new BodyBudget(1_000);
  const [one, other] = [budget.roomFor(newRequest(), 'a'), budget.roomFor(newRequest(), 'a')];
  one.growTo(150);
  other.growTo(100);
  expect(fits(() => one.growTo(200))).toBe(false);
  expect(budget.takenBytes).toBe(100);
  expect(fits(() => other.growTo(250))).toBe(true);
  expect(fits(() => one.growTo(1))).toBe(true);
  expect(budget.takenBytes).toBe(250);
});

test('a body may take as long as its size allows, and never forever', () => {
  expect(allowedMs(0, defaultPace)).toBe(10_000);
  expect(allowedMs(81_920, defaultPace)).toBe(20_000);
  expect(allowedMs(20 * megabyte, defaultPace)).toBe(300_000);
});

/** A server that reads one body, and what a client gets that sends these pieces. */
async function answerTo(
  send: (write: (text: string) => void) => unknown,
  budget = new BodyBudget(80 * megabyte),
  pace: Pace = defaultPace,
): Promise<string> {
  using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      readJsonBody(request, { payer: { budget, accountId: 'a' }, pace }).then(
        (value) => Response.json(value),
        (error: ApiError) => errorResponse(error),
      ),
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(server.port ?? 0, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString();
    if (!/^connection: close/im.test(answer) && answer.includes('}')) resolve(answer);
  });
  socket.on('error', () => resolve(answer));
  socket.on('close', () => resolve(answer));
  await send((text) => socket.write(text));
  const received = await promise;
  socket.destroy();
  return received;
}

const head = 'POST / HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n';
const chunk = `100000\r\n${' '.repeat(megabyte)}\r\n`;

test('a body without a length takes room as it arrives', async () => {
  const budget = new BodyBudget(8 * megabyte);
  const answer = await answerTo((write) => {
    write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    for (let count = 0; count < 4; count++) write(chunk);
  }, budget);
  expect(answer).toStartWith('HTTP/1.1 503');
  expect(answer).toContain('server_overloaded');
});

test('a body takes room for what has arrived, and not for what it announces', async () => {
  const budget = new BodyBudget(8 * megabyte);
  let takenBytes = 0;
  const answer = await answerTo(async (write) => {
    write(`${head}Content-Length: ${2 * megabyte}\r\n\r\n${' '.repeat(megabyte)}`);
    while (budget.takenBytes < megabyte) await Bun.sleep(5);
    ({ takenBytes } = budget);
    write('{"a":12}'.padStart(megabyte));
  }, budget);
  expect(answer).toContain('{"a":12}');
  expect(takenBytes).toBeLessThanOrEqual(1.5 * megabyte);
  expect(budget.takenBytes).toBe(2 * megabyte);
});

test('a body that announces more than fits now is refused unread', async () => {
  const budget = new BodyBudget(8 * megabyte);
  const answer = await answerTo(
    (write) => write(`${head}Content-Length: ${2 * megabyte + 1}\r\n\r\n`),
    budget,
  );
  expect(answer).toStartWith('HTTP/1.1 503');
  expect(budget.takenBytes).toBe(0);
});

test('large bodies of several accounts are parsed in turn, and those of clients that left not at all', async () => {
  const budget = new BodyBudget(80 * megabyte);
  const order: string[] = [];
  const leaving = new AbortController();
  const read = async (accountId: string, signal?: AbortSignal) => {
    const request = new Request('http://gateway/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': `${megabyte}` },
      body: '{"a":12}'.padStart(megabyte),
      ...(signal === undefined ? {} : { signal }),
    });
    await readJsonBody(request, { payer: { budget, accountId } });
    order.push(accountId);
  };
  const left = read('a', leaving.signal).catch((error: unknown) => error);
  const stayed = ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'c'].map((accountId) => read(accountId));
  leaving.abort();
  await Promise.all(stayed);
  expect(await left).toBeInstanceOf(ApiError);
  expect(order.slice(-2)).toEqual(['a', 'a']);
  expect(order).toHaveLength(8);
});

test('small bodies take none of it', async () => {
  const budget = new BodyBudget(0);
  expect(await answerTo((write) => write(`${head}Content-Length: 8\r\n\r\n{"a":12}`), budget)).toContain(
    '{"a":12}',
  );
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n8\r\n{"a":12}\r\n0\r\n\r\n`;
  expect(await answerTo((write) => write(chunked), budget)).toContain('{"a":12}');
});

/** Quickly used up. */
const impatient = { graceMs: 200, minBytesPerSecond: 100_000, maxMs: 500 };

test.each([
  ['a small one that stalls', 'Content-Length: 8\r\n\r\n{"a"'],
  ['a large one that stalls', `Content-Length: 1000000\r\n\r\n{"a"`],
  ['one without a length that stalls', 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n'],
])('too slow a body is refused and its connection closed: %s', async (_, start) => {
  const answer = await answerTo((write) => write(head + start), undefined, impatient);
  expect(answer).toStartWith('HTTP/1.1 400');
  expect(answer).toMatch(/^connection: close/im);
  expect(answer).toContain('arrived too slowly');
});

test.each([
  ['below the least rate', 100, impatient],
  ['quick enough, but for too long', 10_000, { ...impatient, minBytesPerSecond: 1_000 }],
])('a body that keeps coming is refused too: %s', async (_, pieceBytes, pace) => {
  let timer: ReturnType<typeof setInterval> | null = null;
  const answer = await answerTo(
    (write) => {
      write(`${head}Content-Length: 10000000\r\n\r\n`);
      timer = setInterval(() => write(' '.repeat(pieceBytes)), 20);
    },
    undefined,
    pace,
  );
  if (timer !== null) clearInterval(timer);
  expect(answer).toStartWith('HTTP/1.1 400');
  expect(answer).toContain('arrived too slowly');
});

test('the refusals have their place in the table', () => {
  const error = new ApiError('server_overloaded');
  expect(errorTable[error.code]).toMatchObject({ status: 503, type: 'internal_error', retryable: 'yes' });
  expect(presentError(error).error.code).toBe('server_overloaded');
});
