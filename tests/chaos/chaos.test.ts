/** The short form of `npm run chaos`, and whether its judge notices what it is there to notice. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Evidence, joinCalls } from '../../chaos/judge/evidence.ts';
import { judge } from '../../chaos/judge/judge.ts';
import type { CancelledCall, DaySums, RecordedGeneration } from '../../chaos/judge/ledger-log.ts';
import { type ChaosResult, formatReport, isTrue } from '../../chaos/judge/report.ts';
import { earlyCalls } from '../../chaos/judge/unheld-calls.ts';
import { runChaos } from '../../chaos/run.ts';
import type { Seen } from '../../chaos/trials/client-call.ts';
import { isLarge } from '../../chaos/trials/clock-jumps.ts';
import { shortForm } from '../../chaos/trials/options.ts';
import { readingsOf } from '../../chaos/world/bounds.ts';
import {
  costOf,
  costsOf,
  fullInputPrice,
  holdOf,
  networkProviders,
  priceOf,
} from '../../chaos/world/catalog.ts';
import type { FaultKind } from '../../chaos/world/fault.ts';
import type { ProviderCall } from '../../chaos/world/upstream.ts';
import { preparedTemplate } from '../support/embedded.ts';
import { nothingByHand, quietMoments } from './evidence.ts';

const deadlineMs = 240_000;

const bookedTruth =
  'each movement that was answered as booked is in the ledger, as it was asked for and answered';
const unaskedTruth = 'no movement is in the ledger that was not asked for, or was refused';

const meters = 'each meter of a charge costs its tokens times its price';
const records = 'each usage record has the meters of its Generation, and what its provider asks';
const uncharged =
  'what nobody was charged for is on record as the provider logged it, and never next to its charge';
const days = 'usage and margins by day add up to the usage records';
const truthsOfMeters = [meters, records, uncharged, days];

/** Without those of meters, which most stories about charges do not tell. */
function brokenTruths(evidence: Evidence): string[] {
  return allBroken(evidence).filter((says) => !truthsOfMeters.includes(says));
}

function allBroken(evidence: Evidence): string[] {
  return judge(evidence)
    .filter((truth) => !isTrue(truth))
    .map(({ says }) => says);
}

const noDays: DaySums = {
  requests: 0,
  readTokens: 0,
  writtenTokens: 0,
  saved: 0n,
  marginRequests: 0,
  revenue: 0n,
  cost: 0n,
  unpricedRequests: 0,
};

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
    calledAtMs: 1_010,
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
    cached: null,
    costInput: fullInputPrice(usage),
    record: {
      readTokens: null,
      writtenTokens: null,
      saved: null,
      provider: 'upstream',
      providerCost: costOf('upstream', usage),
    },
    uncharged: [],
    hold: holdOf(bounds),
    charges: [priceOf(usage)],
    refunds: [],
    refundsByHand: [],
    isEstimated: false,
    writeOff: null,
  };

  const line: Seen = {
    token: 'c1-1',
    kind: 'plain',
    keyName: 'rich',
    streaming: true,
    bounds,
    node: 0,
    startedAtMs: 1_000,
    requestId: 'req_1',
    firstByteAtMs: 1_020,
    outcome: 'error',
    status: 200,
    code: null,
    usage: null,
    isOwnAnswer: true,
    ms: 1,
  };

  type Story = Readonly<{
    generation?: Partial<RecordedGeneration>;
    calls?: readonly ProviderCall[];
    harm?: readonly FaultKind[];
    kind?: string;
    kills?: Evidence['kills'];
    /** When the database was killed, if not for a long time. */
    databaseKills?: readonly number[];
    outages?: Evidence['outages'];
    isLost?: boolean;
    /** When the hold was committed; null if there is none. */
    heldAtMs?: number | null;
    seen?: Partial<Seen> | null;
    cancelled?: CancelledCall | null;
    freezes?: Evidence['freezes'];
    deadLetters?: number;
    days?: DaySums;
  }>;

  /** What the judge finds wrong when the story differs from the good one in this. */
  function broken(story: Story): string[] {
    return brokenTruths(evidenceOf(story));
  }

  function evidenceOf({
    generation = {},
    calls = [first, second],
    harm = ['reset'],
    kind = 'plain',
    kills = [],
    databaseKills = [],
    outages = databaseKills.map((fromMs) => ({ fromMs, untilMs: fromMs + 50 })),
    isLost = false,
    heldAtMs = isLost ? null : 1_005,
    seen = null,
    cancelled = null,
    freezes = [],
    deadLetters = 0,
    days: added = noDays,
  }: Story): Evidence {
    const books = { accounts: 1, unequalAccounts: 0, openGenerations: 0, holders: 0, strayCharges: [] };
    return {
      ...nothingByHand,
      seen: seen === null ? [] : [{ ...line, ...seen }],
      asked: new Map([['c1-1', { ...line, kind, ...(seen ?? { firstByteAtMs: null }) }]]),
      calls: joinCalls(calls),
      ledger: {
        ...books,
        generations: new Map(isLost ? [] : [['req_1', { ...good, ...generation }]]),
        cancelledCalls: new Map(cancelled === null ? [] : [['req_1', cancelled]]),
        movements: [],
        limitedKeys: 0,
        exceededLimits: 0,
        deadLetters,
        days: added,
      },
      holds: new Map(heldAtMs === null ? [] : [['req_1', heldAtMs]]),
      watched: quietMoments,
      network: {
        played: new Map(),
        struck: 0,
        harmed: new Map([['req_1', new Set(harm)]]),
        counters: { connections: 1, requestBytes: 0, answerBytes: 0 },
      },
      kills,
      outages,
      freezes,
    };
  }

  const wrongCharge =
    'each charge equals the price of the usage that the provider logged, within what was held for';
  const chargedFailure =
    'no client that was told of a failure was charged, except for what it had already received';
  const unheldByte = 'no client received a byte of a request whose hold was not committed';
  const misrecorded =
    'what a cancelled early call used is on record as the provider logged it, or as unknown';
  const unheldCall = 'a provider was called without a hold only where it was denied, failed or lost';
  const lostForNoReason = 'usage goes uncharged only for an allowed reason';

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
      'another provider was called only after one had failed',
    ]);
  });

  test('must not leave the second unpaid', () => {
    expect(broken({ generation: { charges: [] } })).toEqual([lostForNoReason]);
  });

  test('must not leave it unpaid as interrupted, unless its own gateway was killed after the request', () => {
    const generation = { status: 'failed', errorCode: 'gateway_interrupted', charges: [] };
    expect(broken({ generation })).toEqual([lostForNoReason]);
    expect(broken({ generation, kills: [{ node: 0, atMs: 2_000 }] })).toEqual([]);
    expect(broken({ generation, kills: [{ node: 1, atMs: 2_000 }] })).toEqual([lostForNoReason]);
    expect(broken({ generation, kills: [{ node: 0, atMs: 500 }] })).toEqual([lostForNoReason]);
  });

  test('may leave nothing behind only if a crash lost its hold and its gateway was killed too', () => {
    const gone = [
      unheldCall,
      'every request that was admitted has a final Generation',
      'no provider was called without an attempt on record',
    ];
    const lost = { isLost: true, seen: { outcome: 'cut' } } as const;
    const kills = [{ node: 0, atMs: 9_000 }];
    expect(broken({ ...lost, kills, databaseKills: [2_000] })).toEqual([]);
    expect(broken({ ...lost, kills, databaseKills: [900] })).toEqual([unheldByte, ...gone]);
    expect(broken({ ...lost, kills, databaseKills: [2_010] })).toEqual([unheldByte, ...gone]);
    expect(broken({ ...lost, kills: [{ node: 1, atMs: 9_000 }], databaseKills: [2_000] })).toEqual(gone);
    const success = { isLost: true, kills, databaseKills: [2_000], seen: { outcome: 'success' } } as const;
    expect(broken(success)).toEqual(['no client saw success without a committed charge', gone[1] ?? '']);
  });

  describe('and whose hold was committed', () => {
    const delivered = { outcome: 'success', firstByteAtMs: 1_020, usage } as const;

    test('before the first byte is delivered, whenever the call began', () => {
      for (const heldAtMs of [1_005, 1_015, 1_020.9])
        expect(broken({ heldAtMs, seen: delivered })).toEqual([]);
    });

    test('must not be delivered before, whatever was killed and however it ended', () => {
      const late = { heldAtMs: 1_022, generation: { isFallback: false, attempts: good.attempts.slice(1) } };
      const calls = [second];
      expect(broken({ ...late, calls, seen: delivered })).toEqual([unheldByte]);
      const crash = { databaseKills: [1_021], kills: [{ node: 0, atMs: 1_021 }] };
      expect(broken({ ...late, ...crash, calls, seen: delivered })).toEqual([unheldByte]);
      for (const seen of [
        { outcome: 'cut' },
        { outcome: 'aborted' },
        { outcome: 'error', code: 'provider_stream_error', status: 502 },
        { outcome: 'error', code: 'insufficient_balance', status: 200 },
      ] as const)
        expect(broken({ ...late, calls, seen })).toContain(unheldByte);
    });

    test('again after a crash, for the second provider, may have sent its header before', () => {
      expect(broken({ heldAtMs: 1_022, seen: delivered })).toEqual([unheldByte]);
      expect(broken({ heldAtMs: 1_022, seen: delivered, databaseKills: [1_021] })).toEqual([]);
    });

    test('must not be missing, unless the database was killed within a second of the call', () => {
      expect(broken({ heldAtMs: null, seen: delivered })).toEqual([unheldByte, unheldCall]);
      expect(broken({ heldAtMs: null, seen: delivered, databaseKills: [2_009] })).toEqual([]);
      // A session may outlive its server for a moment.
      expect(broken({ heldAtMs: null, seen: delivered, databaseKills: [960] })).toEqual([]);
      expect(broken({ heldAtMs: null, seen: delivered, databaseKills: [940] })).toEqual([
        unheldByte,
        unheldCall,
      ]);
      expect(broken({ heldAtMs: null, seen: delivered, databaseKills: [2_010] })).toEqual([
        unheldByte,
        unheldCall,
      ]);
    });

    test('must not be missing after a call in an outage, unless the database was killed again right after it', () => {
      const story = { heldAtMs: null, seen: delivered };
      const away = { fromMs: 900, untilMs: 4_000 };
      expect(broken({ ...story, outages: [away] })).toEqual([unheldByte, unheldCall]);
      expect(broken({ ...story, outages: [away, { fromMs: 4_999, untilMs: 5_100 }] })).toEqual([]);
      expect(broken({ ...story, outages: [away, { fromMs: 5_000, untilMs: 5_100 }] })).toEqual([
        unheldByte,
        unheldCall,
      ]);
    });

    test('must be charged even if the client left before it was committed', () => {
      const generation = {
        status: 'cancelled',
        charges: [],
        isFallback: false,
        attempts: [{ provider: 'upstream', status: 'cancelled', errorCode: null }],
      };
      const seen = {
        outcome: 'aborted',
        firstByteAtMs: null,
        requestId: null,
        status: null,
        ms: 10,
      } as const;
      expect(broken({ generation, calls: [second], heldAtMs: 1_030, seen })).toEqual([lostForNoReason]);
    });

    test('but not confirmed in time, is uncharged, with the call on record', () => {
      const generation = {
        status: 'failed',
        errorCode: 'balance_lookup_failed',
        charges: [],
        isFallback: false,
        attempts: [{ provider: 'upstream', status: 'cancelled', errorCode: null }],
      };
      const cancelled = { provider: 'upstream', reason: 'not_committed', usage: null, cost: null };
      const story = { generation, calls: [second], heldAtMs: 4_000 };
      const told = { outcome: 'error', status: 500, code: 'balance_lookup_failed' } as const;
      expect(broken({ ...story, seen: told, cancelled })).toEqual([]);
      expect(broken({ ...story, seen: told })).toEqual([
        'a call whose hold was denied or failed is on record as ours',
      ]);
      expect(broken({ ...story, seen: { outcome: 'cut' }, cancelled })).toEqual([
        lostForNoReason,
        unheldByte,
      ]);
    });

    test('for less than was expected may have the provider called again', () => {
      const cancelled = { provider: 'network', reason: 'smaller_hold', usage: null, cost: null };
      const twice = 'no provider was called twice for one request';
      expect(broken({ calls: [first, first, second], cancelled })).toEqual([]);
      expect(broken({ calls: [first, second], cancelled })).toEqual([]);
      const again = { calls: [first, { ...second, usage: lostUsage }, second] };
      const known = {
        ...cancelled,
        provider: 'upstream',
        usage: lostUsage,
        cost: costOf('upstream', lostUsage),
      };
      expect(broken({ ...again, cancelled: known })).toEqual([]);
      expect(broken({ ...again, cancelled: { ...known, cost: 1n } })).toEqual([misrecorded]);
      expect(broken({ calls: [first, first, second, second], cancelled })).toEqual([twice]);
      expect(
        broken({ calls: [first, first, second], cancelled: { ...cancelled, reason: 'denied' } }),
      ).toEqual([twice]);
    });

    test('must have left a Generation', () => {
      const kills = [{ node: 0, atMs: 1_500 }];
      expect(broken({ isLost: true, heldAtMs: 1_005, kills, databaseKills: [1_400] })).toContain(unheldCall);
    });
  });

  describe('and whose hold was never committed', () => {
    const refused = { outcome: 'error', status: 402, code: 'insufficient_balance' } as const;
    const silent = { firstByteAtMs: null, requestId: null, status: null } as const;
    const unheld = { isLost: true, calls: [first] } as const;

    test('may have been sent to a provider if the client was told that nothing was held', () => {
      expect(broken({ ...unheld, seen: refused })).toEqual([]);
      const failedHold = { ...refused, status: 503, code: 'balance_lookup_failed' };
      expect(broken({ ...unheld, seen: failedHold })).toEqual([]);
      for (const code of ['server_not_configured', 'api_keys_lookup_failed', 'internal_error'])
        expect(broken({ ...unheld, seen: { ...refused, code } })).toContain(unheldCall);
    });

    test('may have been sent if the client left, or its gateway was killed, before anything was delivered', () => {
      expect(broken({ ...unheld, seen: { ...silent, outcome: 'aborted' } })).toEqual([]);
      const cut = { ...silent, outcome: 'cut' } as const;
      expect(broken({ ...unheld, seen: cut })).toContain(unheldCall);
      expect(broken({ ...unheld, seen: cut, kills: [{ node: 0, atMs: 1_500 }] })).toEqual([]);
      expect(broken({ ...unheld, seen: cut, kills: [{ node: 1, atMs: 1_500 }] })).toContain(unheldCall);
      expect(broken({ ...unheld, seen: cut, kills: [{ node: 0, atMs: 9_000 }] })).toContain(unheldCall);
      const kills = [{ node: 0, atMs: 1_500 }];
      expect(broken({ ...unheld, seen: { outcome: 'cut' }, kills })).toEqual(
        expect.arrayContaining([unheldByte, unheldCall]),
      );
    });

    test('must be on record if its gateway lived on, with what the provider logged or as unknown', () => {
      const forgotten = 'a call whose hold was denied or failed is on record as ours';
      const direct = { ...unheld, calls: [second], seen: refused } as const;
      const record = { provider: 'upstream', reason: 'denied', usage, cost: costOf('upstream', usage) };
      expect(broken(direct)).toEqual([forgotten]);
      expect(broken({ ...direct, cancelled: record })).toEqual([]);
      expect(broken({ ...direct, cancelled: { ...record, usage: null, cost: null } })).toEqual([]);
      expect(broken({ ...direct, cancelled: { ...record, cost: null } })).toEqual([misrecorded]);
      expect(broken({ ...direct, cancelled: { ...record, usage: lostUsage } })).toEqual([misrecorded]);
      const elsewhere = { ...record, provider: 'network', usage: null, cost: null };
      expect(broken({ ...direct, cancelled: elsewhere })).toEqual([forgotten]);
      expect(broken({ ...direct, kills: [{ node: 0, atMs: 2_000 }] })).toEqual([]);
      const kills = [{ node: 0, atMs: 9_000 }];
      expect(broken({ ...direct, kills })).toEqual([forgotten]);
      expect(broken({ ...direct, kills, outages: [{ fromMs: 900, untilMs: 4_000 }] })).toEqual([]);
      expect(broken({ ...direct, kills, outages: [{ fromMs: 900, untilMs: 1_000 }] })).toEqual([forgotten]);
      expect(broken({ ...direct, outages: [{ fromMs: 900, untilMs: 4_000 }] })).toEqual([forgotten]);
      // The database went away again before there was time to say so, or only afterwards.
      const late = [{ node: 0, atMs: 15_000 }];
      const again = (fromMs: number) => [
        { fromMs: 900, untilMs: 4_000 },
        { fromMs, untilMs: 12_000 },
      ];
      expect(broken({ ...direct, kills: late, outages: again(9_000) })).toEqual([]);
      expect(broken({ ...direct, kills: late, outages: again(11_000) })).toEqual([forgotten]);
    });

    test('is counted by what became of the hold, with what its usage would have cost', () => {
      const counted = earlyCalls(evidenceOf({ ...unheld, seen: refused }));
      expect(counted.unheld).toEqual(
        new Map([['denied: insufficient_balance', { count: 1, amount: priceOf(lostUsage) }]]),
      );
      expect(earlyCalls(evidenceOf({ heldAtMs: 1_031, seen: {} }))).toEqual({
        begunEarly: 1,
        longestMs: 20,
        unheld: new Map(),
      });
      expect(earlyCalls(evidenceOf({ heldAtMs: 1_010.9, seen: {} })).begunEarly).toBe(0);
    });
  });

  test('is charged no more than was held for, and the rest is written off', () => {
    const reported = { inputTokens: 20, outputTokens: 1_500 };
    const capped = { inputTokens: 20, outputTokens: 100 };
    const calls = [first, { ...second, usage: reported }];
    const writeOff = { reason: 'implausible_usage', amount: priceOf(reported) - priceOf(capped) };
    const generation = { ...capped, charges: [priceOf(capped)], writeOff };
    expect(broken({ calls, generation })).toEqual([]);
    expect(broken({ calls, generation: { ...generation, writeOff: null } })).toEqual([wrongCharge]);
    const believed = { ...reported, charges: [priceOf(reported)] };
    expect(broken({ calls, generation: believed })).toEqual([
      wrongCharge,
      'no charge exceeds its hold by more than the tolerance',
    ]);
  });

  test('is charged for a little more than was held for', () => {
    const slightlyMore = { inputTokens: 1_210, outputTokens: 110 };
    const calls = [first, { ...second, usage: slightlyMore }];
    const generation = { ...slightlyMore, charges: [priceOf(slightlyMore)] };
    expect(broken({ calls, generation })).toEqual([]);
    expect(broken({ calls, generation: { ...generation, hold: priceOf(usage) } })).toEqual([
      'no charge exceeds its hold by more than the tolerance',
    ]);
  });

  test('may be estimated only where the gateway ended the call, and too low', () => {
    const estimated = {
      provider: 'network',
      isFallback: false,
      attempts: [{ ...failed, errorCode: 'provider_timeout' }],
      status: 'failed',
      errorCode: 'provider_timeout',
      charges: [priceOf(lostUsage)],
      isEstimated: true,
    };
    const estimate = 'a charge is estimated only where the gateway ended the call, and never too high';
    const told = { code: 'provider_timeout' };
    expect(broken({ generation: estimated, calls: [first], seen: told })).toEqual([]);
    expect(broken({ generation: { ...estimated, attempts: [failed] }, calls: [first] })).toEqual([estimate]);
    expect(broken({ generation: { ...estimated, charges: [priceOf(usage)] }, calls: [first] })).toEqual([
      estimate,
    ]);
    for (const code of ['repeated_streaming_chunk_limit', 'malformed_stream_chunk']) {
      const readOn = { ...estimated, attempts: [{ ...failed, errorCode: code }], errorCode: code };
      expect(broken({ generation: readOn, calls: [first], seen: { code } })).toEqual([]);
    }
    const unestimated = { ...estimated, ...lostUsage, isEstimated: false };
    expect(broken({ generation: unestimated, calls: [first], seen: told })).toEqual([chargedFailure]);
  });

  test('must not be free because of an unreadable chunk', () => {
    const unread = { status: 'failed', errorCode: 'malformed_stream_chunk' };
    const told = { code: 'malformed_stream_chunk' };
    const kind = 'malformed';
    expect(broken({ kind, generation: unread, seen: told })).toEqual([]);
    const free = { ...unread, charges: [] };
    expect(broken({ kind, generation: free, seen: told })).toEqual([lostForNoReason]);
    expect(broken({ kind, generation: { ...free, status: 'cancelled', errorCode: null } })).toEqual([
      lostForNoReason,
    ]);
    // Only what the provider never reported may go uncharged.
    expect(broken({ kind, generation: free, calls: [first, { ...second, usage: null }] })).toEqual([]);
  });

  test('is refunded by hand to the last unit, and no further', () => {
    const tooMuch = 'all refunds of a Generation together are at most its charge';
    const price = priceOf(usage);
    const refundsOf = (...refundsByHand: bigint[]) => broken({ generation: { refundsByHand } });
    expect(refundsOf(price)).toEqual([]);
    expect(refundsOf(price - 1n, 1n)).toEqual([]);
    expect(refundsOf(price - 1n, 2n)).toEqual([tooMuch]);
    const seen = { outcome: 'success', usage } as const;
    expect(broken({ generation: { refundsByHand: [price] }, seen })).toEqual([]);
    const withheld = { streaming: false, status: 'failed', errorCode: 'billing_consistency_error' };
    const rest = { ...withheld, refunds: [price - 5n] };
    expect(broken({ generation: { ...rest, refundsByHand: [5n] } })).toEqual([]);
    expect(broken({ generation: { ...rest, refundsByHand: [6n] } })).toContain(tooMuch);
  });

  test('is refunded in full when it was withheld, and only then', () => {
    const refund = 'a refund gives back the whole of a charge whose answer was withheld';
    const withheld = {
      streaming: false,
      status: 'failed',
      errorCode: 'billing_consistency_error',
      refunds: [priceOf(usage)],
    };
    const told = { streaming: false, status: 500, code: 'billing_consistency_error' };
    expect(broken({ generation: withheld, seen: told })).toEqual([]);
    expect(broken({ generation: { ...withheld, refunds: [] }, seen: told })).toEqual([chargedFailure]);
    expect(broken({ generation: { ...withheld, refunds: [1n] } })).toEqual([refund]);
    expect(broken({ generation: { refunds: [priceOf(usage)] } })).toEqual([refund, lostForNoReason]);
    expect(broken({ generation: withheld, seen: { outcome: 'success' } })).toEqual([
      'no client saw success without a committed charge',
    ]);
  });

  test('is charged despite a failure that its client was told of only for what was delivered before', () => {
    const looped = { status: 'failed', errorCode: 'repeated_streaming_chunk_limit' };
    const told = { code: 'repeated_streaming_chunk_limit' };
    expect(broken({ generation: looped, seen: told })).toEqual([]);
    expect(broken({ generation: looped, seen: { ...told, status: 502 } })).toEqual([chargedFailure]);
    expect(broken({ seen: { code: 'billing_temporarily_unavailable' } })).toEqual([]);
    expect(broken({ generation: looped, seen: { code: 'billing_temporarily_unavailable' } })).toEqual([]);
    expect(broken({ seen: { code: 'insufficient_balance' } })).toEqual([chargedFailure]);
    expect(broken({ seen: { code: 'provider_stream_error' } })).toEqual([chargedFailure]);
    const charges = [priceOf(usage) - 5n];
    const short = { status: 'failed', errorCode: 'insufficient_balance', charges };
    const writeOff = { reason: 'insufficient_balance', amount: 5n };
    expect(broken({ generation: { ...short, writeOff }, seen: { code: 'insufficient_balance' } })).toEqual(
      [],
    );
  });

  describe('whose input was cached', () => {
    const cachedUsage = { inputTokens: 101, outputTokens: 7, readTokens: 60, writtenTokens: 30 };
    const { fresh, read, written } = costsOf(cachedUsage);
    const saved = fullInputPrice(cachedUsage) - fresh - read - written;
    const providerCost = costOf('upstream', cachedUsage);
    const generation = {
      charges: [priceOf(cachedUsage)],
      cached: { readTokens: 60, writtenTokens: 30, costRead: read, costWritten: written },
      costInput: fresh + read + written,
      record: { readTokens: 60, writtenTokens: 30, saved, provider: 'upstream', providerCost },
    };
    const added = {
      requests: 1,
      readTokens: 60,
      writtenTokens: 30,
      saved,
      marginRequests: 1,
      revenue: priceOf(cachedUsage),
      cost: providerCost ?? 0n,
      unpricedRequests: 0,
    };
    const calls = [first, { ...second, usage: cachedUsage }];
    const cachedStory = (changes: Partial<RecordedGeneration>, story: Story = {}) =>
      allBroken(evidenceOf({ calls, days: added, ...story, generation: { ...generation, ...changes } }));

    test('is charged by meter, with a record and sums that say the same', () => {
      expect(cachedStory({})).toEqual([]);
      expect(cachedStory({}, { calls: [first, second] })).toContain(wrongCharge);
      expect(cachedStory({ cached: null })).toEqual([wrongCharge, records]);
      const { cached, record } = generation;
      expect(cachedStory({ cached: { ...cached, readTokens: 61 } })).toEqual([wrongCharge, records]);
      expect(cachedStory({ cached: { ...cached, costRead: read + 1n } })).toEqual([meters]);
      expect(cachedStory({ costInput: generation.costInput + 1n })).toEqual([meters, records]);
      expect(cachedStory({ record: { ...record, writtenTokens: 29 } })).toEqual([records, days]);
      expect(cachedStory({ record: { ...record, saved: saved + 1n } })).toEqual([records, days]);
      expect(cachedStory({ record: { ...record, provider: 'network' } })).toEqual([records]);
      expect(cachedStory({ record: { ...record, providerCost: null } })).toEqual([records, days]);
      expect(cachedStory({ record: null })).toEqual([records, days]);
      const refunded = { refundsByHand: [5n] };
      expect(cachedStory(refunded)).toEqual([days]);
      expect(cachedStory(refunded, { days: { ...added, revenue: added.revenue - 5n } })).toEqual([]);
      for (const name of Object.keys(added) as (keyof DaySums)[]) {
        const wrong = { ...added, [name]: name in added && typeof added[name] === 'bigint' ? -1n : -1 };
        expect(cachedStory({}, { days: wrong })).toEqual([days]);
      }
      const line = { outcome: 'success', usage: cachedUsage } as const;
      expect(cachedStory({}, { seen: line })).toEqual([]);
      expect(cachedStory({}, { seen: { ...line, usage: { ...cachedUsage, readTokens: 0 } } })).toEqual([
        'the usage reported to a client is the usage that was billed',
      ]);
    });

    test('has its uncharged calls on record as they were logged', () => {
      const unpaid = { provider: 'network', usage: lostUsage, cost: costOf('network', lostUsage) };
      expect(cachedStory({ uncharged: [unpaid] })).toEqual([]);
      expect(cachedStory({ uncharged: [{ ...unpaid, usage: null, cost: null }] })).toEqual([]);
      expect(cachedStory({ uncharged: [{ ...unpaid, cost: null }] })).toEqual([uncharged]);
      expect(cachedStory({ uncharged: [{ ...unpaid, usage: usage }] })).toEqual([uncharged]);
      expect(cachedStory({ uncharged: [{ ...unpaid, provider: 'upstream' }] })).toEqual([uncharged]);
    });

    test('is charged by the cheapest reading of a report that contradicts itself', () => {
      const contradiction = { inputTokens: 100, outputTokens: 7, readTokens: 101, writtenTokens: 0 };
      const [low, high] = readingsOf(contradiction);
      expect([low, high]).toEqual([
        { ...contradiction, readTokens: 100 },
        { ...contradiction, inputTokens: 201 },
      ]);
      const charged = {
        inputTokens: 100,
        charges: [priceOf(low)],
        cached: { readTokens: 100, writtenTokens: 0, costRead: 0n, costWritten: 0n },
      };
      const story = { calls: [first, { ...second, usage: contradiction }] };
      const amount = priceOf(high ?? low) - priceOf(low);
      const writeOff = { reason: 'implausible_usage', amount };
      expect(broken({ ...story, generation: { ...charged, writeOff } })).toEqual([]);
      expect(broken({ ...story, generation: charged })).toEqual([wrongCharge]);
      const dear = { ...charged, ...high, charges: [priceOf(high ?? low)] };
      expect(broken({ ...story, generation: dear })).toEqual([wrongCharge]);
    });
  });

  test('must not be set aside', () => {
    expect(broken({ deadLetters: 1 })).toEqual(['no settlement was refused by the database and set aside']);
  });

  test('must not have been sent twice, by one provider or under another ID', () => {
    expect(broken({ calls: [first, first, second] })).toEqual([
      'no provider was called twice for one request',
    ]);
    expect(broken({ calls: [first, second, { ...second, requestId: 'req_2', usage: null }] })).toEqual([
      unheldCall,
      'no provider was called without an attempt on record',
      'no client’s request was executed twice',
    ]);
  });

  test('must have every attempt on record, and say that it fell back', () => {
    const attempts = good.attempts.slice(1);
    expect(broken({ generation: { attempts, isFallback: false } })).toEqual([
      lostForNoReason,
      'no provider was called without an attempt on record',
    ]);
    expect(broken({ generation: { isFallback: false } })).toEqual([
      'another provider was called only after one had failed',
    ]);
  });
});

describe('gateways and database killed again and again under load, one provider behind a bad network', () => {
  let result: ChaosResult;

  beforeAll(async () => {
    result = await runChaos({
      ...shortForm,
      preparedFolder: await preparedTemplate(),
      connections: 16,
      gatewayKills: 3,
      databaseKills: 2,
      leaseMs: 3_000,
      hostileRounds: 1,
      hostileMs: 2_000,
    });
    console.log(formatReport(result));
  }, deadlineMs);

  afterAll(() => {
    if (result.truths.every(isTrue)) result.remove();
    else console.log(`The logs of this run are in ${result.folder}`);
  });

  test('every truth holds', () => {
    expect(result.truths.filter((truth) => !isTrue(truth))).toEqual([]);
  });

  test('there was something to judge', () => {
    const outcomes = new Set(result.evidence.seen.map(({ outcome }) => outcome));
    const generations = [...result.evidence.ledger.generations.values()];
    const endings = new Set(generations.map(({ status }) => status));
    const unread = generations.filter(({ errorCode }) => errorCode === 'malformed_stream_chunk');
    expect(unread.some(({ charges }) => charges.length === 1)).toBe(true);
    expect([...outcomes]).toEqual(expect.arrayContaining(['success', 'error', 'aborted', 'unreachable']));
    expect([...endings]).toEqual(expect.arrayContaining(['completed', 'failed', 'cancelled']));
    expect(generations.some(({ isEstimated }) => isEstimated)).toBe(true);
    expect(earlyCalls(result.evidence).begunEarly).toBeGreaterThan(0);
    expect(
      result.truths.filter(({ checked, mayBeUntested = false }) => checked === 0 && !mayBeUntested),
    ).toEqual([]);
    expect(result.kills.gatewayReadyMs).toHaveLength(3);
    expect(result.kills.databaseReadyMs).toHaveLength(2);
  });

  test('a gateway was frozen past its lease, and clocks were off by much and by little', () => {
    const { freezes, clockJumps } = result.kills;
    expect(freezes).toHaveLength(1);
    expect(freezes.flatMap(({ open }) => open).length).toBeGreaterThan(0);
    expect(clockJumps.map(isLarge).toSorted()).toEqual([false, true]);
  });

  test('hostile clients did everything they can alongside honest ones', () => {
    const { honest, deeds } = result.bystanders;
    expect(honest.alone.length).toBeGreaterThan(0);
    expect(honest['with hostile clients'].length).toBeGreaterThan(0);
    const kinds = new Set([...deeds.keys()].map((deed) => deed.split(':')[0] ?? ''));
    expect([...kinds].toSorted()).toEqual([
      'abandoned streams',
      'deep bodies',
      'idempotency keys without a balance',
      'oversized bodies',
      'replays',
      'requests without a balance',
      'slow bodies',
      'unknown keys',
    ]);
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
    expect(brokenTruths(forged)).toEqual(['usage goes uncharged only for an allowed reason']);
  });

  test('what was left open was closed without help', () => {
    expect(result.orphansMs).toBeLessThan(60_000);
  });

  /** The same evidence, except for one Generation that was completed, whose client saw it, and that nobody refunded. */
  function forge(change: (generation: RecordedGeneration) => RecordedGeneration | null): string[] {
    const { evidence } = result;
    const generations = new Map(evidence.ledger.generations);
    const success = evidence.seen.find(
      ({ outcome, requestId }) =>
        outcome === 'success' && generations.get(requestId ?? '')?.refundsByHand.length === 0,
    );
    const id = success?.requestId ?? '';
    const found = generations.get(id);
    const changed = found ? change(found) : null;
    if (changed === null) generations.delete(id);
    else generations.set(id, changed);
    const forged: Evidence = { ...evidence, ledger: { ...evidence.ledger, generations } };
    return brokenTruths(forged);
  }

  test('the judge notices a charge that is off by the smallest unit', () => {
    expect(forge((found) => ({ ...found, charges: [(found.charges[0] ?? 0n) + 1n] }))).toEqual([
      'each charge equals the price of the usage that the provider logged, within what was held for',
    ]);
  });

  test('there were caches, contradictions and calls that nobody paid for', () => {
    const generations = [...result.evidence.ledger.generations.values()];
    const { days: sums, generations: all } = result.evidence.ledger;
    expect(all.size).toBeGreaterThan(0);
    expect(sums.readTokens).toBeGreaterThan(0);
    expect(sums.writtenTokens).toBeGreaterThan(0);
    expect(sums.cost).toBeGreaterThan(0n);
    expect(sums.unpricedRequests).toBeGreaterThan(0);
    expect(generations.some(({ writeOff }) => writeOff?.reason === 'implausible_usage')).toBe(true);
    expect(generations.some(({ uncharged: calls }) => calls.length > 0)).toBe(true);
  });

  test('the judge notices a second charge', () => {
    expect(forge((found) => ({ ...found, charges: [...found.charges, ...found.charges] }))).toContain(
      'at most one charge per Generation, and none without one',
    );
  });

  test('the judge notices a success that was not charged', () => {
    expect(forge((found) => ({ ...found, charges: [] }))).toEqual([
      'usage goes uncharged only for an allowed reason',
      'no client saw success without a committed charge',
    ]);
  });

  test('the judge notices a hold that was committed after the first byte, and one that never was', () => {
    const { evidence } = result;
    const success = evidence.seen.findLast(({ outcome }) => outcome === 'success');
    const id = success?.requestId ?? '';
    const unheldByte = 'no client received a byte of a request whose hold was not committed';
    const late = new Map(evidence.holds).set(id, (success?.firstByteAtMs ?? 0) + 2);
    expect(brokenTruths({ ...evidence, holds: late })).toEqual([unheldByte]);
    const missing = new Map(evidence.holds);
    missing.delete(id);
    expect(brokenTruths({ ...evidence, holds: missing })).toContain(unheldByte);
  });

  test('money was moved by hand, limits were changed and refused requests, and exports went on', () => {
    const { movements, askedLimits, exports, seen } = result.evidence;
    const done = new Set(movements.map(({ kind, answer }) => `${kind} ${answer}`));
    expect([...done]).toEqual(
      expect.arrayContaining(['credit booked', 'correction booked', 'refund booked', 'correction refused']),
    );
    expect(movements.some(({ answer }) => answer === 'repeated')).toBe(true);
    expect([...movements, ...askedLimits].some(({ sent }) => sent > 1)).toBe(true);
    const changed = new Set(askedLimits.map(({ action, answer }) => `${action} ${answer}`));
    expect([...changed]).toEqual(expect.arrayContaining(['create done', 'update done']));
    expect(exports.some(({ goneOn }) => goneOn > 0)).toBe(true);
    const refusedOf = (name: string) => seen.filter(({ keyName, code }) => keyName === name && code !== null);
    expect(refusedOf('capped').some(({ code }) => code === 'spend_limit_exceeded')).toBe(true);
    expect(refusedOf('paced').some(({ code }) => code === 'rate_limit_exceeded')).toBe(true);
  });

  test('the judge notices a movement that is missing, one that is there twice, and one that nobody asked for', () => {
    const { evidence } = result;
    const name = (reference: string | null) =>
      evidence.movements.find((asked) => asked.reference === reference && asked.answer === 'booked');
    const movement = evidence.ledger.movements.find(
      ({ reference }) => reference !== null && name(reference) !== undefined,
    );
    if (movement === undefined) throw new Error('Nothing was booked.');
    const forged = (movements: Evidence['ledger']['movements']) =>
      brokenTruths({ ...evidence, ledger: { ...evidence.ledger, movements } });
    const others = evidence.ledger.movements.filter((other) => other !== movement);
    expect(forged(others)).toEqual([bookedTruth]);
    expect(forged([...evidence.ledger.movements, { ...movement, number: 0 }])).toContain(bookedTruth);
    expect(forged([...evidence.ledger.movements, { ...movement, reference: 'nobody’s' }])).toEqual([
      unaskedTruth,
    ]);
  });

  test('events reached webhooks, payments were made, and grants ended', () => {
    const { events, payments, endedGrants, outside } = result.evidence;
    expect(new Set(events.deliveries.map(({ endpoint }) => endpoint)).size).toBe(2);
    expect(new Set(events.deliveries.map(({ reply }) => reply)).size).toBeGreaterThan(1);
    expect(new Set(outside.accessChanges.map(({ action }) => action)).size).toBeGreaterThan(1);
    expect(payments.credits.length).toBeGreaterThan(0);
    expect(endedGrants.length).toBeGreaterThan(0);
    expect(outside.rest.left).toEqual([]);
  });

  test('the judge notices an event that is missing, another ID, and a payment that is credited twice', () => {
    const { evidence } = result;
    const { events, payments } = evidence;
    const about = events.events.findIndex((event) => event.about !== null);
    const lost = { ...events, events: events.events.toSpliced(about, 1) };
    expect(brokenTruths({ ...evidence, events: lost })).toContain(
      'what happened to money and access is told by one event',
    );
    const others = events.deliveries.slice(0, 1).map((one) => ({ ...one, webhookId: 'evt_other' }));
    const renamed = { ...events, deliveries: [...events.deliveries, ...others] };
    expect(brokenTruths({ ...evidence, events: renamed })).toContain(
      'an event always came with the same ID and the same body',
    );
    const twice = { ...payments, credits: [...payments.credits, ...payments.credits.slice(0, 1)] };
    expect(brokenTruths({ ...evidence, payments: twice })).toEqual([
      'every payment that was made is credited once, with its amount',
    ]);
  });

  test('the judge notices a Generation that is missing', () => {
    expect(forge(() => null)).toContain('every request that was admitted has a final Generation');
  });

  test('the judge notices a charge without usage', () => {
    const { evidence } = result;
    const forged: Evidence = { ...evidence, calls: new Map() };
    expect(brokenTruths(forged)).toContain('no usage, no charge');
  });
});
