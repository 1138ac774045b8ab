/** Whose turn it is: the order of the candidates, and the gate before each of them. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ErrorCode } from '../../src/errors.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import { Calls } from '../../src/providers/call.ts';
import { ProviderError } from '../../src/providers/upstream.ts';
import {
  type Candidate,
  CandidatesInTurn,
  candidatesByModel,
  inOrder,
} from '../../src/routing/candidates.ts';
import { connectProviders } from '../../src/routing/connections.ts';
import type { Gate } from '../../src/routing/gate.ts';
import { Gates } from '../../src/routing/gates.ts';
import { testProvider as provider } from '../support/provider.ts';

test('a candidate knows what its provider charges, where the catalogue says so', () => {
  const result = parseCatalog(
    `price_version: "1"
providers:
  one: { adapter: openai, base_url: http://127.0.0.1:1 }
  two: { adapter: openai, base_url: http://127.0.0.1:2 }
models:
  m: { workload: chat, providers: [one, { provider: two, cost: { input: "1", output: "2" } }] }
`,
    'catalog.yaml',
  );
  if (!result.ok) throw new Error(result.problems.join('\n'));
  const surroundings = { secret: () => null, isProxied: true, calls: new Calls() };
  const connections = connectProviders(result.catalog, surroundings, null);
  const candidates = candidatesByModel(result.catalog, connections, new Gates()).get('m') ?? [];
  expect(candidates.map(({ cost }) => cost)).toMatchObject([
    null,
    { billingType: 'token', rates: { input: 10n ** 12n, output: 2n * 10n ** 12n } },
  ]);
});

const weighted = fc.array(fc.record({ weight: fc.option(fc.integer({ min: 1, max: 1000 })) }), {
  maxLength: 8,
});
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('every candidate has exactly one place in the order, whatever is drawn', () => {
  fc.assert(
    fc.property(weighted, fc.array(chance, { minLength: 8, maxLength: 8 }), (candidates, chances) => {
      const draws = [...chances];
      const ordered = inOrder(candidates, () => draws.shift() ?? 0);
      expect(ordered.length).toBe(candidates.length);
      expect(new Set(ordered)).toEqual(new Set(candidates));
    }),
  );
});

test('without weights the order is that of the catalogue', () => {
  const candidates = ['a', 'b', 'c'].map((id) => ({ id, weight: null }));
  expect(inOrder(candidates, () => 0.99)).toEqual(candidates);
});

test('with weights the first place is drawn in proportion, and 1 stands for a weight that is not given', () => {
  const candidates = [
    { id: 'a', weight: 6 },
    { id: 'b', weight: 3 },
    { id: 'c', weight: null },
  ];
  const counts = new Map<string, number>();
  for (let step = 0; step < 1000; step += 1) {
    const [first] = inOrder(candidates, () => step / 1000);
    counts.set(first?.id ?? '', (counts.get(first?.id ?? '') ?? 0) + 1);
  }
  expect(Object.fromEntries(counts)).toEqual({ a: 600, b: 300, c: 100 });
});

const failure = (code: ErrorCode, retryAfterSeconds: number | null) =>
  new ProviderError(code, { retryAfterSeconds });

function permitOf(gate: Gate, account = 'a') {
  const permit = gate.enter(account);
  if (permit === null) throw new Error('The gate lets nobody through.');
  return permit;
}

test('a provider gets no more calls at once than allowed, over all its models', () => {
  const gates = new Gates();
  const [one, two] = [
    gates.at(provider({ maxConcurrency: 2 }), 'one'),
    gates.at(provider({ maxConcurrency: 2 }), 'two'),
  ];
  const first = permitOf(one);
  permitOf(two);
  expect(one.enter('a')).toBeNull();
  expect(two.enter('a')).toBeNull();
  expect(two.waitMs('a')).toBe(1_000);
  first.withdrawn();
  expect(two.enter('a')).not.toBeNull();
});

test('a provider that says how long to wait is paused for that long, and not broken', () => {
  const gate = new Gates().at(provider(), 'm');
  for (let count = 0; count < 3; count += 1) permitOf(gate).succeeded();
  permitOf(gate).failed(failure('provider_rate_limit', 40));
  expect(gate.enter('a')).toBeNull();
  expect(gate.waitMs('a')).toBeGreaterThan(39_000);
  expect(gate.waitMs('a')).toBeLessThanOrEqual(40_000);
});

test('no provider is paused for longer than an hour', () => {
  const gate = new Gates().at(provider(), 'm');
  permitOf(gate).failed(failure('provider_rate_limit', 86_400));
  expect(gate.waitMs('a')).toBeLessThanOrEqual(3_600_000);
});

test('what the request was to blame for does not count against the provider', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 2, openMs: 60_000 } }), 'm');
  for (let count = 0; count < 10; count += 1) permitOf(gate).failed(failure('provider_bad_request', null));
  for (let count = 0; count < 10; count += 1) permitOf(gate).withdrawn();
  expect(gate.enter('a')).not.toBeNull();
  permitOf(gate).failed(failure('provider_rate_limit', null));
  permitOf(gate).failed(failure('provider_unavailable', null));
  expect(gate.enter('a')).toBeNull();
});

test('a probe counts as soon as the provider begins to answer, and its later failure counts too', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 0 } }), 'm');
  permitOf(gate).failed(failure('provider_timeout', null));
  const probe = permitOf(gate);
  expect(gate.enter('a')).toBeNull();
  probe.answered();
  permitOf(gate).withdrawn();
  probe.failed(failure('provider_stream_error', null));
  // Open again, for no time at all: the next call is a probe, and alone.
  expect(gate.enter('a')).not.toBeNull();
  expect(gate.enter('a')).toBeNull();
});

test('the observer is told when a provider is skipped, for how long, and when it is back', () => {
  const changes: string[] = [];
  const gates = new Gates((event) => {
    if (event.kind === 'short') throw new Error('This machine is short of nothing.');
    const { provider: name, model, kind, pauseMs, account } = event;
    changes.push(`${name} ${model} ${kind} ${pauseMs} ${account ?? 'everyone'}`);
  });
  const gate = gates.at(provider({ name: 'Name', circuit: { failures: 1, openMs: 20 } }), 'm');
  const late = permitOf(gate);
  permitOf(gate).failed(failure('provider_timeout', null));
  Bun.sleepSync(21);
  permitOf(gate).withdrawn();
  permitOf(gate).failed(failure('provider_timeout', null));
  Bun.sleepSync(41);
  permitOf(gate).succeeded();
  permitOf(gate).succeeded();
  late.failed(failure('provider_timeout', null));
  permitOf(gate).failed(failure('provider_rate_limit', 3));
  expect(changes).toEqual([
    'Name m opened 20 a',
    'Name m opened 40 a',
    'Name m closed 0 a',
    'Name m paused 3000 a',
  ]);
});

test.each([
  ['a bad request, which only concerns itself', 'provider_bad_request', 3600],
  ['no time at all', 'provider_rate_limit', 0],
] as const)('no pause for %s', (_what, code, seconds) => {
  const gate = new Gates().at(provider({ circuit: { failures: 100, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(failure(code, seconds));
  expect(gate.enter('a')).not.toBeNull();
});

test('a limit without a time to wait counts as a failure', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 2, openMs: 60_000 } }), 'm');
  for (let count = 0; count < 2; count += 1) permitOf(gate).failed(failure('provider_rate_limit', 0));
  expect(gate.enter('a')).toBeNull();
});

test('a probe that is refused as wrong has found the provider at work', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 0 } }), 'm');
  permitOf(gate).failed(failure('provider_timeout', null));
  permitOf(gate).failed(failure('provider_bad_request', null));
  permitOf(gate);
  expect(gate.enter('a')).not.toBeNull();
});

test('repetition, which a prompt can cause, shuts nobody out', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(failure('repeated_streaming_chunk_limit', null));
  expect(gate.enter('a')).not.toBeNull();
});

test('what a client provoked shuts nobody out', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(new ProviderError('provider_error', { upstreamStatus: 200, isProvoked: true }));
  expect(gate.enter('a')).not.toBeNull();
});

test('with a new key a provider is called again', () => {
  const gates = new Gates();
  const failing = provider({ circuit: { failures: 1, openMs: 60_000 } });
  permitOf(gates.at(failing, 'm', 'old')).failed(failure('provider_authentication_error', null));
  expect(gates.at(failing, 'm', 'old').enter('a')).toBeNull();
  expect(gates.at(failing, 'm', 'new').enter('a')).not.toBeNull();
});

test('a permit ends once', () => {
  const permit = permitOf(new Gates().at(provider(), 'm'));
  permit.succeeded();
  expect(() => permit.withdrawn()).toThrow('ended already');
});

test('a gate remembers across catalogues, takes new settings, and is another one at another address', () => {
  const gates = new Gates();
  const gate = gates.at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(failure('provider_unavailable', null));
  expect(gates.at(provider(), 'm').enter('a')).toBeNull();
  expect(gates.at(provider({ baseUrl: 'http://127.0.0.1:10/v1' }), 'm').enter('a')).not.toBeNull();
  expect(gates.at(provider(), 'other').enter('a')).not.toBeNull();
});

test('turns skip providers that may not be called and say when to come back', () => {
  const gates = new Gates();
  const candidates = ['a', 'b', 'c'].map((id) => ({ gate: gates.at(provider({ id }), 'm') }) as Candidate);
  candidates[0]?.gate.enter('a')?.failed(failure('provider_rate_limit', 30));
  candidates[2]?.gate.enter('a')?.failed(failure('provider_rate_limit', 20));
  const turns = new CandidatesInTurn(candidates, 'a');
  expect(turns.current?.candidate).toBe(candidates[1] as Candidate);
  expect(turns.next()).toBeNull();
  expect(turns.current).toBeNull();
  turns.next();
  candidates[1]?.gate.enter('a')?.failed(failure('provider_rate_limit', 10));
  expect(new CandidatesInTurn(candidates, 'a').current).toBeNull();
  expect(new CandidatesInTurn(candidates, 'a').waitSeconds()).toBe(10);
});
