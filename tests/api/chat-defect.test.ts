/**
 * What cannot be caused from outside a gateway: a defect of its own in the middle of a stream, a node without a slot left to
 * read on for a client that has gone, and a database that is slow for exactly one statement.
 */
import { afterAll, expect, test } from 'bun:test';
import { startSandbox } from '../../sandbox/server.ts';
import { completions } from '../../src/chat/completions/dialect.ts';
import { Claim } from '../../src/idempotency/claim.ts';
import { ReadOnStreams } from '../../src/inference/read-on-streams.ts';
import { newId } from '../../src/lib/ids.ts';
import { openai } from '../../src/providers/openai.ts';
import { eventsOf } from '../support/chat-fixture.ts';
import { orderOf } from '../support/chat-messages.ts';
import { eventually } from '../support/eventually.ts';
import { emptyCall } from '../support/provider.ts';
import { type ServedStream, serveStream as serve } from '../support/served-stream.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

/** Answers one chat request from a sandbox. */
function serveStream(
  content: string,
  readOn: ReadOnStreams,
  openReader: typeof openai.openReader = openai.openReader,
  claim: Claim | null = null,
): ServedStream {
  const call = { ...emptyCall, messages: [{ role: 'user' as const, content }] };
  return serve({
    chat: { model: 'm', stream: true, ...orderOf(call), asked: { includeUsage: false } },
    dialect: completions,
    providers: [{ baseUrl: `${sandbox.url}/v1`, adapter: { ...openai, openReader } }],
    readOn,
    claim,
  });
}

test('in-band streaming_error, settled without a charge, the cause in the log only', async () => {
  let count = 0;
  const served = serveStream('[[chunk-delay 10]] a b c d e f', new ReadOnStreams(), (upstream) => {
    const read = openai.openReader(upstream);
    return (data: string) => {
      count += 1;
      if (count > 4) throw new TypeError('defect-canary');
      return read(data);
    };
  });
  const events = eventsOf(await (await fetch(served.url, { method: 'POST' })).text());
  await served.stop();
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({
    error: { code: 'streaming_error', type: 'internal_error' },
  });
  expect(events.at(-1)).toBe('[DONE]');
  expect(events.join()).not.toContain('defect-canary');
  expect(served.log()).toContain('defect-canary');
  expect(served.settled).toMatchObject([{ status: 'failed', errorCode: 'streaming_error', cost: null }]);
});

test('a stream whose client left and that cannot be read on is charged by what was delivered, under-estimated', async () => {
  const noPlaces = new ReadOnStreams(0);
  const served = serveStream('[[long 500]] [[chunk-delay 20]]', noPlaces);
  const client = new AbortController();
  const response = await fetch(served.url, { method: 'POST', signal: client.signal });
  const reader = response.body?.getReader();
  let text = '';
  while (text.length < 3_000) text += new TextDecoder().decode((await reader?.read())?.value);
  client.abort();
  await eventually('the settlement', () => served.settled.length > 0);
  await served.stop();
  const [settlement] = served.settled;
  expect(settlement).toMatchObject({
    status: 'cancelled',
    errorCode: null,
    isEstimated: true,
    onInsufficientBalance: 'write_off',
    usage: { inputTokens: 10 },
    attempts: [{ status: 'cancelled', errorCode: 'streaming_error' }],
  });
  const { usage, cost } = settlement ?? {};
  expect(usage?.outputTokens).toBeWithin(1, 500);
  expect(cost?.total).toBe(BigInt(usage?.units ?? 0));
});

test('the time that it takes to store a long response is part of the time that its client waits for the settlement', async () => {
  const stagingMs = 100;
  const request = { keyId: newId(), idempotencyHash: '00', bodyHash: '00' };
  const details = { requestId: newId(), mayBeStored: true, presentError: () => ({}) };
  const keeper = {
    key: Buffer.alloc(32),
    stage: () => Bun.sleep(stagingMs).then(() => true),
    release: () => Promise.resolve(),
    note: () => undefined,
  };
  const claim = new Claim(request, details, keeper);
  const served = serveStream('[[long 500]]', new ReadOnStreams(), openai.openReader, claim);
  await (await fetch(served.url, { method: 'POST' })).text();
  await served.stop();
  expect(served.settled).toMatchObject([{ status: 'completed', stored: { response: 'staged' } }]);
  // A timer may be early by a part of a millisecond.
  expect(served.waitedMs[0]).toBeGreaterThan(stagingMs - 1);
});
