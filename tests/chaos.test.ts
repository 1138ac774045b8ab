/** The short form of `npm run chaos`, and whether its judge notices what it is there to notice. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { networkProviders, priceOf } from '../chaos/catalog.ts';
import { type Evidence, joinCalls } from '../chaos/evidence.ts';
import type { FaultKind } from '../chaos/fault.ts';
import type { RecordedGeneration } from '../chaos/ledger-log.ts';
import { shortForm } from '../chaos/options.ts';
import { formatReport, isTrue } from '../chaos/report.ts';
import { type ChaosResult, runChaos } from '../chaos/run.ts';
import { judge } from '../chaos/truths.ts';
import type { ProviderCall } from '../chaos/upstream.ts';

const deadlineMs = 240_000;

function brokenTruths(evidence: Evidence): string[] {
  return judge(evidence)
    .filter((finding) => !isTrue(finding))
    .map(({ says }) => says);
}

describe('a request whose first answer was lost on the network, and whose second was good', () => {
  const lostUsage = { inputTokens: 100, outputTokens: 5 };
  const usage = { inputTokens: 101, outputTokens: 7 };
  const bounds = { inputTokens: 1_200, outputTokens: 100 };
  const first: ProviderCall = {
    requestId: 'req_1',
    provider: 'network',
    token: 'c1-1',
    usage: lostUsage,
    ended: 'complete',
  };
  const second: ProviderCall = { ...first, provider: 'upstream', usage };
  const failed = { provider: 'network', status: 'failed', errorCode: 'provider_stream_error' };
  const good: RecordedGeneration = {
    requestId: 'req_1',
    provider: 'upstream',
    isFallback: true,
    attempts: [failed, { provider: 'upstream', status: 'succeeded', errorCode: null }],
    status: 'completed',
    errorCode: null,
    streaming: true,
    ...usage,
    hold: priceOf(bounds),
    charges: [priceOf(usage)],
    refunds: [],
    isEstimated: false,
    writeOff: null,
  };

  type Story = Readonly<{
    generation?: Partial<RecordedGeneration>;
    calls?: readonly ProviderCall[];
    harm?: readonly FaultKind[];
  }>;

  /** What the judge finds wrong when the story differs from the good one in this. */
  function broken({ generation = {}, calls = [first, second], harm = ['reset'] }: Story): string[] {
    const books = { accounts: 1, unequalAccounts: 0, openGenerations: 0, holders: 0, strayCharges: [] };
    const moments = { uncoveredHolds: 0, unmatchedHolds: 0, unmatchedBalances: 0, exceededLimits: 0 };
    return brokenTruths({
      seen: [],
      asked: new Map([['c1-1', { kind, node: 0, startedAtMs: 1_000, bounds }]]),
      calls: joinCalls(calls),
      ledger: {
        ...books,
        generations: new Map([['req_1', { ...good, ...generation }]]),
        limitedKeys: 0,
        exceededLimits: 0,
        deadLetters: 0,
      },
      watched: { ...moments, samples: 1 },
      network: {
        played: new Map(),
        struck: 0,
        harmed: new Map([['req_1', new Set(harm)]]),
        counters: { connections: 1, requestBytes: 0, answerBytes: 0 },
      },
      kills,
    });
  }

  const wrongCharge = 'each charge equals the price of the usage that the provider logged';
  const lostForNoReason = 'usage stays without a charge only for a reason that is allowed';

  test('is charged for the second', () => {
    expect(broken({})).toEqual([]);
  });

  test('must not be charged for the first, nor for both', () => {
    expect(broken({ generation: { charges: [priceOf(lostUsage)] } })).toEqual([wrongCharge]);
    expect(broken({ generation: { ...lostUsage, charges: [priceOf(lostUsage)] } })).toEqual([wrongCharge]);
    expect(broken({ generation: { charges: [priceOf(usage) + priceOf(lostUsage)] } })).toEqual([wrongCharge]);
  });

  test('must be charged for what was reported to the provider that it names', () => {
    expect(broken({ generation: { provider: 'network' } })).toEqual([wrongCharge, lostForNoReason]);
    expect(broken({ calls: [first, { ...second, usage: null }] })).toEqual(['no usage, no charge']);
    expect(broken({ calls: [first] })).toEqual(['no usage, no charge']);
  });

  test('may leave the first unpaid only if the network broke its answer, or it was too late', () => {
    expect(broken({ harm: [] })).toEqual([lostForNoReason]);
    expect(broken({ harm: ['delay', 'drip'] })).toEqual([lostForNoReason]);
    for (const kind of ['cut', 'reset', 'black-hole', 'refuse'] as const)
      expect(broken({ harm: [kind] })).toEqual([]);
    const late = [{ ...failed, errorCode: 'provider_timeout' }, ...good.attempts.slice(1)];
    expect(broken({ harm: ['delay'], generation: { attempts: late } })).toEqual([]);
  });

  test('may leave the first unpaid only if it was recorded as failed', () => {
    const attempts = [{ ...failed, status: 'succeeded', errorCode: null }, ...good.attempts.slice(1)];
    expect(broken({ generation: { attempts } })).toEqual([
      lostForNoReason,
      'another provider was asked only after one had failed',
    ]);
  });

  test('must not leave the second unpaid', () => {
    expect(broken({ generation: { charges: [] } })).toEqual([lostForNoReason]);
    const interrupted = { status: 'failed', errorCode: 'gateway_interrupted', charges: [] };
    expect(broken({ generation: interrupted })).toEqual([]);
  });

  test('must not have been sent twice, by one provider or under another ID', () => {
    expect(broken({ calls: [first, first, second] })).toEqual([
      'no provider was called twice for one request',
    ]);
    expect(broken({ calls: [first, second, { ...second, requestId: 'req_2', usage: null }] })).toEqual([
      'no provider was called without a Generation',
      'no provider was called without an attempt on record',
      'no request of a client was carried out twice',
    ]);
  });

  test('must have every attempt on record, and say that it fell back', () => {
    const attempts = good.attempts.slice(1);
    expect(broken({ generation: { attempts, isFallback: false } })).toEqual([
      lostForNoReason,
      'no provider was called without an attempt on record',
    ]);
    expect(broken({ generation: { isFallback: false } })).toEqual([
      'another provider was asked only after one had failed',
    ]);
  });
});

describe('gateways and database killed again and again under load, one provider behind a bad network', () => {
  let result: ChaosResult;

  beforeAll(async () => {
    result = await runChaos({ ...shortForm, gatewayKills: 6, databaseKills: 2 });
    console.log(formatReport(result));
  }, deadlineMs);

  afterAll(() => {
    if (result.findings.every(isTrue)) result.remove();
    else console.log(`The logs of this run are in ${result.folder}`);
  });

  test('every truth holds', () => {
    expect(result.findings.filter((finding) => !isTrue(finding))).toEqual([]);
  });

  test('there was something to judge', () => {
    const outcomes = new Set(result.evidence.seen.map(({ outcome }) => outcome));
    const endings = new Set([...result.evidence.ledger.generations.values()].map(({ status }) => status));
    expect([...outcomes]).toEqual(expect.arrayContaining(['success', 'error', 'aborted', 'unreachable']));
    expect([...endings]).toEqual(expect.arrayContaining(['completed', 'failed', 'cancelled']));
    expect(result.findings.filter(({ checked }) => checked === 0)).toEqual([]);
    expect(result.kills.gatewayReadyMs).toHaveLength(6);
    expect(result.kills.databaseReadyMs).toHaveLength(2);
  });

  test('the network went bad in every way, and other providers took over', () => {
    const { network, ledger } = result.evidence;
    expect([...network.played.keys()].toSorted()).toEqual([
      'black-hole',
      'cut',
      'delay',
      'drip',
      'none',
      'refuse',
      'reset',
    ]);
    expect(network.struck).toBeGreaterThan(0);
    const fallbacks = [...ledger.generations.values()].filter(
      ({ status, attempts }) =>
        status === 'completed' && networkProviders.has(attempts[0]?.provider ?? '') && attempts.length > 1,
    );
    expect(fallbacks.length).toBeGreaterThan(0);
  });

  test('the judge notices usage that got lost although the network did nothing', () => {
    const { evidence } = result;
    const forged: Evidence = { ...evidence, network: { ...evidence.network, harmed: new Map() } };
    expect(brokenTruths(forged)).toEqual(['usage stays without a charge only for a reason that is allowed']);
  });

  test('what was left open came to an end by itself', () => {
    expect(result.orphansMs).toBeLessThan(60_000);
  });

  /** The same evidence, but for one Generation that was completed and whose client saw it. */
  function forge(change: (generation: RecordedGeneration) => RecordedGeneration | null): string[] {
    const { evidence } = result;
    const success = evidence.seen.find(({ outcome }) => outcome === 'success');
    const id = success?.requestId ?? '';
    const generations = new Map(evidence.ledger.generations);
    const found = generations.get(id);
    const changed = found ? change(found) : null;
    if (changed === null) generations.delete(id);
    else generations.set(id, changed);
    const forged: Evidence = { ...evidence, ledger: { ...evidence.ledger, generations } };
    return brokenTruths(forged);
  }

  test('the judge notices a charge that is off by the smallest unit', () => {
    expect(forge((found) => ({ ...found, charges: [(found.charges[0] ?? 0n) + 1n] }))).toEqual([
      'each charge equals the price of the usage that the provider logged',
    ]);
  });

  test('the judge notices a second charge', () => {
    expect(forge((found) => ({ ...found, charges: [...found.charges, ...found.charges] }))).toContain(
      'at most one charge per Generation, and none without one',
    );
  });

  test('the judge notices a success that was not charged', () => {
    expect(forge((found) => ({ ...found, charges: [] }))).toEqual([
      'usage stays without a charge only for a reason that is allowed',
      'no client saw success without a committed charge',
    ]);
  });

  test('the judge notices a Generation that is missing', () => {
    expect(forge(() => null)).toContain('every request that was admitted has a final Generation');
  });

  test('the judge notices a charge without usage', () => {
    const { evidence } = result;
    const forged: Evidence = { ...evidence, calls: new Map() };
    expect(brokenTruths(forged)).toEqual(['no usage, no charge']);
  });
});
