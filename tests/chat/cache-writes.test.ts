/** What a request can make providers write to their caches, and what is held for it. */
import { describe, expect, test } from 'bun:test';
import { cacheWrites } from '../../src/chat/cache-writes.ts';
import { chatTerms, holdRange } from '../../src/chat/hold.ts';
import type { Adapter, Catalog, Provider, RouteApi } from '../../src/models/model.ts';
import type { TokenPrice, TokenRates } from '../../src/pricing/price.ts';
import type { ChatCall, Original } from '../../src/providers/chat.ts';
import { type Candidate, candidatesByModel } from '../../src/routing/candidates.ts';
import type { ProviderConnection } from '../../src/routing/connections.ts';
import { Gates } from '../../src/routing/gates.ts';
import { assistant, orderOf } from '../support/chat-messages.ts';
import { emptyCall, testModel, testProvider } from '../support/provider.ts';

const once: ChatCall = { ...emptyCall, messages: [{ role: 'user', content: 'Hello' }], maxTokens: 0 };
const look = { name: 'look', description: null, parameters: null, strict: null };
const withTools: ChatCall = { ...once, tools: [look] };
const goingOn: ChatCall = {
  ...once,
  messages: [...once.messages, assistant('Hi'), { role: 'user', content: 'How?' }],
};

const common = { billingType: 'token', region: null, note: null } as const;
const flat = (rates: TokenRates): TokenPrice => ({ ...common, form: 'flat', rates });
const dollar = 1_000_000_000_000n;
const rates = { input: dollar, output: dollar, cacheWrite: 2n * dollar, cacheWriteLong: 3n * dollar };
const priced = flat(rates);

/** The candidates of one model at these providers. */
function candidatesAt(
  price: TokenPrice,
  ...providers: (Partial<Provider> & Readonly<{ api?: RouteApi }>)[]
): readonly Candidate[] {
  const listed = providers.map(({ api: _, ...changes }, index) =>
    testProvider({ id: `${index}`, ...changes }),
  );
  const routes = providers.map(({ api = null }, index) => ({
    providerId: `${index}`,
    upstreamModel: 'm',
    api,
    weight: null,
  }));
  const connections = new Map(
    listed.map((provider) => [provider.id, { provider, apiKey: null } as ProviderConnection]),
  );
  const catalog: Catalog = {
    priceVersion: '1',
    priceGroups: new Map(),
    providers: new Map(listed.map((provider) => [provider.id, provider])),
    models: new Map([['m', testModel({ price, routes } as object)]]),
    digest: '',
  };
  return candidatesByModel(catalog, connections, new Gates()).get('m') ?? [];
}

const auto = (adapter: Adapter) => ({ adapter, promptCache: 'auto' }) as const;

test.each([
  // What is marked is written, and it is marked where a further turn is likely.
  [[auto('anthropic')], 'none', 'short'],
  [[auto('openai')], 'none', 'short'],
  [[{ adapter: 'anthropic' }], 'none', 'none'],
  // These may write by themselves.
  [[{ adapter: 'openai' }], 'short', 'short'],
  [[{ adapter: 'google' }], 'none', 'none'],
  // Nothing is marked in this format.
  [[{ ...auto('openai'), api: 'responses' }], 'short', 'short'],
  [[{ adapter: 'openai', api: 'responses' }], 'short', 'short'],
  // Writes what its directives say.
  [[{ adapter: 'sandbox' }], 'long', 'long'],
  // Any of them may serve the request.
  [[{ adapter: 'google' }, auto('anthropic')], 'none', 'short'],
  [[auto('anthropic'), { adapter: 'openai' }], 'short', 'short'],
  [[{ adapter: 'openai' }, { adapter: 'sandbox' }, { adapter: 'google' }], 'long', 'long'],
  [[], 'none', 'none'],
] as const)('%j: %s once, %s when a further turn is likely', (providers, first, later) => {
  const candidates = candidatesAt(priced, ...providers);
  expect(cacheWrites(once, candidates)).toBe(first);
  expect(cacheWrites(withTools, candidates)).toBe(later);
  expect(cacheWrites(goingOn, candidates)).toBe(later);
});

test.each([
  // What is passed on has the client's marks.
  [{ format: 'messages', cacheMarks: null }, [auto('anthropic')], 'none'],
  [{ format: 'messages', cacheMarks: 'short' }, [{ adapter: 'anthropic' }], 'short'],
  [{ format: 'messages', cacheMarks: 'long' }, [{ adapter: 'anthropic' }], 'long'],
  // This format has no marks, and its servers may write by themselves.
  [{ format: 'responses' }, [{ adapter: 'openai', api: 'responses' }], 'short'],
  [{ format: 'responses' }, [{ ...auto('openai'), api: 'responses' }], 'short'],
  // What is translated is marked here.
  [{ format: 'messages', cacheMarks: 'long' }, [auto('openai')], 'short'],
] as const)('%j to %j: %s', (original, providers, writes) => {
  expect(cacheWrites(withTools, candidatesAt(priced, ...providers), original as unknown as Original)).toBe(
    writes,
  );
});

describe('breakpoints need a price for what they cause', () => {
  const { cacheWrite: _, ...lacking } = rates;
  const tier = { ...rates, maxInputTokens: 10 };
  const bands = { timezone: 'UTC', offPeakStart: '00:00', offPeakEnd: '01:00' };
  const tiers = (...inputTokenTiers: [typeof tier, ...(TokenRates & { maxInputTokens: number })[]]) =>
    ({ ...common, form: 'tiers', headline: null, inputTokenTiers }) satisfies TokenPrice;
  const banded = (peak: TokenRates, offPeak: TokenRates): TokenPrice => ({
    ...common,
    form: 'bands',
    headline: null,
    timeBands: { ...bands, peak: { ...peak, name: 'Peak' }, offPeak },
  });

  test.each([
    [true, priced],
    [false, flat(lacking)],
    [true, tiers(tier, { ...tier, maxInputTokens: 20 })],
    [false, tiers(tier, { ...lacking, maxInputTokens: 20 })],
    [true, banded(rates, rates)],
    [false, banded(rates, lacking)],
    [false, banded(lacking, rates)],
  ])('%p', (isMarked, price) => {
    const [candidate] = candidatesAt(price, auto('anthropic'));
    expect(candidate?.marksCache).toBe(isMarked);
    expect(cacheWrites(withTools, candidatesAt(price, auto('anthropic')))).toBe(isMarked ? 'short' : 'none');
    expect(cacheWrites(withTools, candidatesAt(price, auto('openai')))).toBe(isMarked ? 'short' : 'none');
    expect(candidatesAt(price, { adapter: 'anthropic' })[0]?.marksCache).toBe(false);
  });
});

describe('what is held', () => {
  const heldFor = (call: ChatCall, ...providers: Partial<Provider>[]) => {
    const writes = cacheWrites(call, candidatesAt(priced, ...providers));
    const terms = chatTerms(orderOf(call), testModel(), priced, writes);
    return { tokens: BigInt(terms.input.tokens), amount: holdRange(terms).max };
  };

  test.each([
    ['once, at a provider that writes what is marked', once, auto('anthropic'), 1n],
    ['with tools there', withTools, auto('anthropic'), 2n],
    ['later in the conversation', goingOn, auto('openai'), 2n],
    ['with tools, unmarked', withTools, { adapter: 'anthropic' }, 1n],
    ['once, at a server that may write by itself', once, { adapter: 'openai' }, 2n],
    ['in the sandbox', once, { adapter: 'sandbox' }, 3n],
  ] as const)('%s', (_, call, provider, dollars) => {
    const { tokens, amount } = heldFor(call, provider);
    expect(tokens).toBeGreaterThan(0n);
    expect(amount).toBe((tokens * dollars * dollar) / 1_000_000n);
  });
});
