/**
 * What cannot be caused from outside a gateway: a defect of its own in the middle of a stream, a node without a slot left to
 * read on for a client that has gone, and a database that is slow for exactly one statement.
 */
import { afterAll, expect, test } from 'bun:test';
import { startSandbox } from '../../sandbox/server.ts';
import { completions } from '../../src/chat/completions/dialect.ts';
import { streamChatResponse } from '../../src/chat/stream.ts';
import { Claim } from '../../src/idempotency/claim.ts';
import { OpenGeneration } from '../../src/inference/generation.ts';
import { ReadOnStreams } from '../../src/inference/read-on-streams.ts';
import type { Settlement } from '../../src/ledger/operations.ts';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import type { TokenPrice } from '../../src/pricing/price.ts';
import { Calls } from '../../src/providers/call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { openai } from '../../src/providers/openai.ts';
import { CandidatesInTurn } from '../../src/routing/candidates.ts';
import { Gates } from '../../src/routing/gates.ts';
import { eventsOf } from '../support/chat-fixture.ts';
import { orderOf } from '../support/chat-messages.ts';
import { eventually } from '../support/eventually.ts';
import { emptyCall, testProvider } from '../support/provider.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

type Served = Readonly<{
  url: URL;
  settled: Settlement[];
  waitedMs: number[];
  log: () => string;
  stop: () => Promise<void>;
}>;

/** Answers one chat request as a stream, from a sandbox and to a real socket, with a ledger that only takes notes. */
function serveStream(
  content: string,
  readOn: ReadOnStreams,
  openReader: typeof openai.openReader = openai.openReader,
  claim: Claim | null = null,
): Served {
  const settled: Settlement[] = [];
  const waitedMs: number[] = [];
  let logged = '';
  const log = createLog('error', (line) => {
    logged += line;
  });
  const facts = {
    id: newId(),
    accountId: newId(),
    keyId: newId(),
    workload: 'chat',
    model: 'm',
    streaming: true,
    priceListId: 1,
    idempotencyHash: null,
    createdAtMs: Date.now(),
  };
  const ledger = {
    hold: () => Promise.reject(new Error('not asked')),
    count: () => Promise.reject(new Error('not asked')),
    settle: (settlement: Settlement, _onTimeout?: () => Settlement, waited = 0) => {
      settled.push(settlement);
      waitedMs.push(waited);
      return Promise.resolve('settled' as const);
    },
    settleOnce: () => Promise.reject(new Error('not asked')),
    isBusy: () => false,
    counts: () => ({ waiting: 0, unsettled: 0 }),
    close: () => Promise.resolve(),
  };
  const provider = testProvider();
  const baseUrl = `${sandbox.url}/v1`;
  const link = {
    calls: new Calls(),
    watchdog: new ConnectWatchdog(baseUrl, true),
    timeouts: provider.timeouts,
  };
  const connection = { provider, baseUrl, apiKey: 'x', link, chat: { ...openai, openReader }, images: null };
  const gate = new Gates().at(provider, 'm');
  const candidates = new CandidatesInTurn(
    [
      {
        connection,
        upstreamModel: 'm',
        weight: null,
        cost: null,
        gate,
        marksCache: false,
        reasoning: null,
        takesVerbosity: false,
      },
    ],
    'account',
  );
  const first = candidates.current;
  if (first === null) throw new Error('The gate is open.');
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const call = { ...emptyCall, messages: [{ role: 'user' as const, content }] };
      const price: TokenPrice = {
        billingType: 'token',
        form: 'flat',
        rates: { input: 1_000_000n, output: 1_000_000n },
        region: null,
        note: null,
      };
      const bounds = { inputTokens: 1_000, outputTokens: 1_000 };
      const run = {
        requestId: requestIdFromUuid(newId()),
        job: {
          chat: { model: 'm', stream: true, ...orderOf(call), asked: { includeUsage: false } },
          bill: { price, bounds, writes: 'none' as const, held: 1_000_000n, leastInputTokens: 10 },
          dialect: completions,
        },
        generation: new OpenGeneration(facts, provider.name, first, null, ledger, log),
        candidates,
        claim,
        client: request.signal,
      };
      const response = await streamChatResponse(run, {
        readOn,
        log,
        recordAttempts: () => Promise.resolve(),
      });
      response.headers.set('x-service-request-id', run.requestId);
      return response;
    },
  });
  return {
    url: new URL('/v1/chat/completions', server.url),
    settled,
    waitedMs,
    log: () => logged,
    stop: () => server.stop(true),
  };
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
  const claim = new Claim({ keyId: newId(), idempotencyHash: '00', bodyHash: '00' }, newId(), true, {
    key: Buffer.alloc(32),
    stage: () => Bun.sleep(stagingMs).then(() => true),
    release: () => Promise.resolve(),
    note: () => undefined,
  });
  const served = serveStream('[[long 500]]', new ReadOnStreams(), openai.openReader, claim);
  await (await fetch(served.url, { method: 'POST' })).text();
  await served.stop();
  expect(served.settled).toMatchObject([{ status: 'completed', stored: { response: 'staged' } }]);
  // A timer may be early by a part of a millisecond.
  expect(served.waitedMs[0]).toBeGreaterThan(stagingMs - 1);
});
