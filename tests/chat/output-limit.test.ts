/** The upper limit that some dialects set to an answer: no order, so it is lowered to what is possible and paid for. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatDialect } from '../../src/chat/dialect.ts';
import { chatTerms, holdRange, outputBound } from '../../src/chat/hold.ts';
import { chatWorkload } from '../../src/chat/workload.ts';
import { decideHold } from '../../src/ledger/decide.ts';
import type { TokenPrice } from '../../src/pricing/price.ts';
import { Calls } from '../../src/providers/call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { openai } from '../../src/providers/openai.ts';
import type { Candidate } from '../../src/routing/candidates.ts';
import { Gates } from '../../src/routing/gates.ts';
import { orderOf } from '../support/chat-messages.ts';
import { emptyCall, testModel, testProvider } from '../support/provider.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

const price: TokenPrice = {
  billingType: 'token',
  form: 'flat',
  rates: { input: 1_000_000n, output: 10_000_000n },
  region: null,
  note: null,
};
const call = { ...emptyCall, messages: [{ role: 'user' as const, content: 'Hello' }] };
const order = (outputLimit: number | null) => ({ ...orderOf(call), outputLimit });
const termsOf = (
  outputLimit: number | null,
  maxOutputTokens: number | null,
  contextWindow: number | null = null,
) => chatTerms(order(outputLimit), testModel({ maxOutputTokens, contextWindow }), price, 'none');
/** What an account with this balance gets for the request; null when it is denied. */
function boundFor(terms: ReturnType<typeof termsOf>, balance: bigint): number | null {
  const { result } = decideHold(
    { balance, held: 0n, entryCount: 0n, isSuspended: false },
    {
      held: 0n,
      monthSpent: 0n,
      monthlyLimit: null,
      requestsPerMinute: 600,
      maxConcurrent: 200,
      openCount: 0,
      theoreticalArrivalMs: 0,
      isRevoked: false,
      isExpired: false,
    },
    holdRange(terms),
    1_000_000,
  );
  return result.outcome === 'denied' ? null : outputBound(terms, result.amount);
}
const plenty = 10n ** 18n;

describe('the limit of an answer', () => {
  test.each([
    ['what the client sets', 20_000, 64_000, [1_024, 20_000]],
    ['never more than the model writes', 128_000, 64_000, [1_024, 64_000]],
    ['that of every model where none is published', 128_000, null, [1_024, 4_096]],
    ['also where it is short', 7, 64_000, [7, 7]],
    ['also where the model writes little', 128_000, 100, [100, 100]],
    ['that of the model without one', null, 64_000, [1_024, 64_000]],
  ] as const)('is %s', (_name, limit, model, range) => {
    const { minOutputTokens, maxOutputTokens } = termsOf(limit, model);
    expect([minOutputTokens, maxOutputTokens]).toEqual([...range]);
    expect(boundFor(termsOf(limit, model), plenty)).toBe(range[1]);
  });

  test('leaves room for the input in the context window', () => {
    const { input, maxOutputTokens } = termsOf(128_000, 128_000, 100_000);
    expect(maxOutputTokens).toBe(100_000 - input.likelyTokens);
  });

  test('means nothing next to a length that the call asks for', () => {
    const exact = { ...order(5), call: { ...call, maxTokens: 50 } };
    const terms = chatTerms(exact, testModel({ maxOutputTokens: 100 }), price, 'none');
    expect([terms.minOutputTokens, terms.maxOutputTokens]).toEqual([50, 50]);
  });

  test('follows the balance down to a short answer, and no further', () => {
    const length = fc.integer({ min: 1, max: 200_000 });
    let denied = 0;
    let lowered = 0;
    fc.assert(
      fc.property(
        length,
        fc.option(length),
        fc.oneof(fc.bigInt({ min: 0n, max: 30_000n }), fc.bigInt({ min: 0n, max: 3_000_000n })),
        (limit, model, balance) => {
          const terms = termsOf(limit, model);
          const most = Math.min(limit, model ?? 4_096);
          const least = Math.min(1_024, most);
          const inputCost = BigInt(terms.input.tokens);
          const bound = boundFor(terms, balance);
          if (bound === null) {
            denied += 1;
            expect(balance).toBeLessThan(inputCost + 10n * BigInt(least));
            return;
          }
          expect(bound).toBeWithin(least, most + 1);
          expect(inputCost + 10n * BigInt(bound)).toBeLessThanOrEqual(balance);
          if (bound < most) lowered += 1;
          expect(boundFor(terms, plenty)).toBe(most);
          // The client's limit takes nothing away that would be granted without one.
          const without = boundFor(termsOf(null, model), balance);
          if (without !== null && limit >= without) expect(bound).toBe(without);
        },
      ),
      { numRuns: 1_000 },
    );
    expect(denied).toBeGreaterThan(20);
    expect(lowered).toBeGreaterThan(20);
  });
});

test('the provider gets the bound that the hold covers, not the limit of the client', async () => {
  const provider = startScriptedProvider();
  const facts = testProvider();
  const link = {
    calls: new Calls(),
    watchdog: new ConnectWatchdog(provider.url, true),
    timeouts: facts.timeouts,
  };
  const candidate: Candidate = {
    connection: { provider: facts, baseUrl: provider.url, apiKey: null, link, images: null },
    chat: openai,
    upstreamModel: 'm',
    weight: null,
    cost: null,
    gate: new Gates().at(facts, 'm'),
    marksCache: false,
    reasoning: null,
    takesVerbosity: false,
  };
  const workload = chatWorkload({ route: 'made-up', showsReasoning: false } as ChatDialect<null>);
  const origin = { requestId: 'req_1', traceparent: null, cacheKey: null, noteUsed: () => undefined };
  const terms = termsOf(128_000, 64_000);
  const inputCost = BigInt(terms.input.tokens);
  const chat = { ...order(128_000), model: 'm', stream: false, asked: null };
  const plan = {
    model: 'm',
    candidates: [candidate],
    hold: holdRange(terms),
    conversation: null,
    chat,
    price,
    terms,
  };
  for (const [held, bound] of [
    [inputCost + 640_000n, 64_000],
    [inputCost + 50_009n, 5_000],
    [inputCost + 10_240n, 1_024],
  ] as const) {
    const called = workload.call(workload.accept(plan, held, null), candidate, origin);
    const exchange = await provider.received('Hello');
    expect(JSON.parse(exchange.body).max_tokens).toBe(bound);
    exchange.reply({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] });
    await called;
  }
  await provider.stop();
});
