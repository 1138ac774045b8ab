/** A defect of our own in the middle of a stream, made on purpose: an adapter that throws what no adapter should. */
import { afterAll, expect, test } from 'bun:test';
import { startSandbox } from '../../sandbox/server.ts';
import type { ChatRun } from '../../src/chat/chat-run.ts';
import { answerAsStream } from '../../src/chat/stream.ts';
import { AbandonedStreams } from '../../src/inference/abandoned-streams.ts';
import { OpenGeneration, openAttempt } from '../../src/inference/generation.ts';
import type { Settlement } from '../../src/ledger/operations.ts';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { Line } from '../../src/providers/line.ts';
import { openai } from '../../src/providers/openai.ts';
import { Turns } from '../../src/routing/candidates.ts';
import { Gates } from '../../src/routing/gates.ts';
import { eventsOf } from '../support/chat-fixture.ts';
import { emptyCall, testProvider } from '../support/provider.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

test('in-band streaming_error, settled without a charge, the cause in the log only', async () => {
  const settled: Settlement[] = [];
  let logged = '';
  const facts = {
    id: newId(),
    accountId: newId(),
    keyId: newId(),
    workload: 'chat',
    model: 'm',
    streaming: true,
    priceListId: 1,
    createdAtMs: Date.now(),
  };
  const ledger = {
    hold: () => Promise.reject(new Error('not asked')),
    settle: (settlement: Settlement) => {
      settled.push(settlement);
      return Promise.resolve('settled' as const);
    },
    settleOnce: () => Promise.reject(new Error('not asked')),
    isBusy: () => false,
    close: () => Promise.resolve(),
  };
  let count = 0;
  const openReader: typeof openai.openReader = (upstream) => {
    const read = openai.openReader(upstream);
    return (data: string) => {
      count += 1;
      if (count > 4) throw new TypeError('defect-canary');
      return read(data);
    };
  };
  const provider = testProvider();
  const baseUrl = `${sandbox.url}/v1`;
  const link = { line: new Line(baseUrl, true), timeouts: provider.timeouts };
  const connection = { provider, baseUrl, apiKey: 'x', link, chat: { ...openai, openReader }, images: null };
  const gate = new Gates().at(provider, 'm');
  const turns = new Turns([{ connection, upstreamModel: 'm', weight: null, gate }], 'account');
  const first = turns.current;
  if (first === null) throw new Error('The gate is open.');
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const call = {
        ...emptyCall,
        messages: [{ role: 'user' as const, content: '[[chunk-delay 10]] a b c d e f' }],
      };
      const log = createLog('error', (line) => {
        logged += line;
      });
      const run: ChatRun = {
        requestId: requestIdFromUuid(newId()),
        chat: { model: 'm', stream: true, includeUsage: false, call },
        price: {
          billingType: 'token',
          form: 'flat',
          rates: { input: 1n, output: 1n },
          region: null,
          note: null,
        },
        maxOutputTokens: null,
        generation: new OpenGeneration(
          facts,
          provider.name,
          { attempt: openAttempt(1, provider.name, Date.now()), permit: first.permit },
          ledger,
          log,
        ),
        turns,
        claim: null,
        client: request.signal,
      };
      const response = await answerAsStream(run, {
        abandoned: new AbandonedStreams(),
        log,
        noteAttempts: () => Promise.resolve(),
      });
      response.headers.set('x-service-request-id', run.requestId);
      return response;
    },
  });
  const events = eventsOf(
    await (await fetch(new URL('/v1/chat/completions', server.url), { method: 'POST' })).text(),
  );
  await server.stop(true);
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({
    error: { code: 'streaming_error', type: 'internal_error' },
  });
  expect(events.at(-1)).toBe('[DONE]');
  expect(events.join()).not.toContain('defect-canary');
  expect(logged).toContain('defect-canary');
  expect(settled).toMatchObject([{ status: 'failed', errorCode: 'streaming_error', cost: null }]);
});
