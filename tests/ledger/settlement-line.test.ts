/** How settlements are made, and their lines in the spool: what is written can be read, by this version and the next. */
import { describe, expect, setSystemTime, test } from 'bun:test';
import fc from 'fast-check';
import type { AppliedLimits, Settlement } from '../../src/ledger/operations.ts';
import {
  closedUnbilled,
  completed,
  failure,
  lossOf,
  parseLimits,
  parseSettlement,
  serializeSettlement,
  settlementOf,
  withheld,
} from '../../src/ledger/settlement.ts';
import { meterIdOf } from '../../src/limits/meter-id.ts';
import { newAttempt } from '../support/ledger-operations.ts';

const id = '0199a1b2-0000-7000-8000-000000000001';
const settlement: Settlement = {
  kind: 'settle',
  generation: {
    id,
    accountId: id,
    keyId: id,
    workload: 'chat',
    model: 'm',
    streaming: false,
    priceListId: 1,
    idempotencyHash: 'ab',
    createdAtMs: 1,
  },
  isHeld: true,
  provider: 'p',
  status: 'completed',
  errorCode: null,
  usage: {
    inputTokens: 9,
    outputTokens: 2,
    cached: { read: 4, write: 3, writeLong: 1 },
    units: 11,
    unit: 'tokens',
    tier: null,
  },
  cost: { input: 10n, output: 20n, total: 30n, cached: { read: 1n, write: 3n, writeLong: 4n, saved: -2n } },
  providerCost: 7n,
  isEstimated: true,
  onInsufficientBalance: 'write_off',
  onAlreadyCharged: 'refund',
  loss: {
    reason: 'implausible_usage',
    amount: 5n,
    reported: null,
    counts: { prompt_tokens: 9, cached_tokens: -1, total_tokens: null },
  },
  attempts: [],
  stored: { idempotencyHash: 'ab', response: 'cd', insufficientBalanceResponse: 'ef' },
  completedAtMs: 2,
  latencyMs: 1,
  timeToFirstTokenMs: null,
};

test('a settlement is read as it was written', () => {
  expect(parseSettlement(serializeSettlement(settlement))).toEqual(settlement);
});

/** What earlier versions wrote of usage, and how it is read. */
const withoutMeters = { usage: { inputTokens: 9, outputTokens: 2, units: 11, unit: 'tokens', tier: null } };
const plain: Settlement = {
  ...settlement,
  usage: { inputTokens: 9, outputTokens: 2, cached: null, units: 11, unit: 'tokens', tier: null },
  cost: { input: 10n, output: 20n, total: 30n, cached: null },
  providerCost: null,
  loss: { reason: 'interrupted', amount: 5n, reported: null, counts: null },
};

test('version 0.1 wrote other names', () => {
  const { onInsufficientBalance, onAlreadyCharged, stored, generation, ...rest } = settlement;
  const { idempotencyHash, ...facts } = generation;
  const { providerCost, ...known } = rest;
  const former = {
    ...known,
    ...withoutMeters,
    cost: { input: '10n', output: '20n', total: '30n' },
    loss: { reason: 'interrupted', amount: '5n', reported: null },
    generation: { ...facts, claimedName: idempotencyHash },
    whenShort: onInsufficientBalance,
    whenCharged: onAlreadyCharged,
    kept: { name: 'ab', whole: 'cd', whenShort: 'ef' },
  };
  expect(parseSettlement(JSON.stringify(former))).toEqual(plain);
  expect(parseSettlement(JSON.stringify({ ...former, kept: null }))).toEqual({ ...plain, stored: null });
});

test('the version before wrote neither meters nor costs', () => {
  const { providerCost, ...rest } = JSON.parse(serializeSettlement(plain));
  const { counts, ...loss } = rest.loss;
  const attempt = {
    index: 1,
    provider: 'p',
    status: 'failed',
    startedAtMs: 1,
    completedAtMs: 2,
    upstreamStatus: null,
    errorCode: null,
  };
  const former = {
    ...rest,
    ...withoutMeters,
    cost: { input: '10n', output: '20n', total: '30n' },
    loss,
    attempts: [attempt],
  };
  expect(parseSettlement(JSON.stringify(former))).toEqual({
    ...plain,
    attempts: [{ ...attempt, status: 'failed', uncharged: null }],
  });
});

test('the limits of every end user are read as they were written, in the spool and from an open Generation', () => {
  fc.assert(
    fc.property(fc.string(), (endUser) => {
      const meter = { id: meterIdOf(id, endUser), limitId: id, endUser };
      const limits: AppliedLimits = {
        version: 3,
        meters: [{ ...meter, kind: 'spend_per_day', scope: 'each_end_user' }],
      };
      const one: Settlement = { ...settlement, generation: { ...settlement.generation, limits } };
      expect(parseSettlement(serializeSettlement(one))).toEqual(one);
      expect(parseLimits(limits)).toEqual(limits);
    }),
  );
});

test('attempts that nobody was charged for are read as they were written', () => {
  for (const uncharged of [
    { usage: null, cost: null },
    { usage: { inputTokens: 5, outputTokens: 0, cached: null }, cost: 3n },
    { usage: { inputTokens: 5, outputTokens: 1, cached: { read: 5, write: 0, writeLong: 0 } }, cost: null },
  ]) {
    const one: Settlement = { ...settlement, attempts: [newAttempt({ uncharged })] };
    expect(parseSettlement(serializeSettlement(one))).toEqual(one);
  }
});

test('a line that was cut short, or that something else wrote, is not a settlement', () => {
  const line = serializeSettlement(settlement);
  fc.assert(
    fc.property(fc.nat(line.length - 1), (length) => {
      expect(parseSettlement(line.slice(0, length))).toBeNull();
    }),
  );
  fc.assert(fc.property(fc.json(), (text) => expect(parseSettlement(text)).toBeNull()));
});

const parsed = (changes: object) => parseSettlement(JSON.stringify({ ...wire, ...changes }));
const wire: Readonly<Record<string, unknown>> = JSON.parse(
  serializeSettlement({
    ...settlement,
    attempts: [
      {
        index: 0,
        provider: 'p',
        status: 'failed',
        startedAtMs: 1,
        completedAtMs: null,
        upstreamStatus: 503,
        errorCode: 'provider_timeout',
        uncharged: null,
      },
    ],
    usage: { inputTokens: 0, outputTokens: 0, cached: null, units: 0, unit: 'images', tier: 'hd' },
    loss: {
      reason: 'implausible_usage',
      amount: null,
      reported: { inputTokens: 0, outputTokens: 0 },
      counts: null,
    },
  }),
);

test('fields that were added later have a default', () => {
  const { isEstimated, onAlreadyCharged, stored, ...rest } = wire;
  expect(parseSettlement(JSON.stringify(rest))).toMatchObject({
    isEstimated: false,
    onAlreadyCharged: 'stands',
    stored: null,
  });
  const { idempotencyHash, ...generation } = settlement.generation;
  expect(parsed({ generation })).toMatchObject({ generation: { idempotencyHash: null } });
});

test('a loss used to be its reason alone', () => {
  expect(parsed({ loss: 'usage_missing' })?.loss).toEqual(lossOf('usage_missing'));
});

test('every value that a settlement can have is read', () => {
  for (const status of ['completed', 'failed', 'cancelled'])
    expect(parsed({ status })).toMatchObject({ status });
  for (const onInsufficientBalance of ['withhold', 'write_off'])
    expect(parsed({ onInsufficientBalance })).toMatchObject({ onInsufficientBalance });
  for (const onAlreadyCharged of ['stands', 'refund', 'refund_unless_stored'])
    expect(parsed({ onAlreadyCharged })).toMatchObject({ onAlreadyCharged });
  for (const reason of ['usage_missing', 'interrupted', 'implausible_usage'])
    expect(parsed({ loss: reason })).toMatchObject({ loss: { reason } });
  const [attempt] = wire.attempts as object[];
  for (const status of ['in_progress', 'succeeded', 'failed', 'cancelled'])
    expect(parsed({ attempts: [{ ...attempt, status }] })).toMatchObject({ attempts: [{ status }] });
  expect(parsed({ usage: null, cost: null, loss: null, errorCode: null })).not.toBeNull();
});

test('amounts are exact, whatever their size, and nothing else passes for one', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }), (total) => {
      const one = { ...settlement, cost: { input: 0n, output: total, total, cached: null } };
      expect(parseSettlement(serializeSettlement(one))).toEqual(one);
    }),
  );
  for (const total of ['1', 'n', '1.5n', 'x1n', '1nx', ' 1n', '--1n', `1${'0'.repeat(38)}n`, 1])
    expect(parsed({ cost: { input: '0n', output: '0n', total } })).toBeNull();
});

test('a field that is missing or of another type makes it no settlement', () => {
  expect(parsed({})).not.toBeNull();
  const optional = [
    'isHeld',
    'isEstimated',
    'onAlreadyCharged',
    'stored',
    'idempotencyHash',
    'cached',
    'providerCost',
    'counts',
    'uncharged',
  ];
  const check = (object: Readonly<Record<string, unknown>>, parse: (changed: object) => unknown) => {
    for (const [name, value] of Object.entries(object)) {
      expect(parse({ ...object, [name]: [[value]] })).toBeNull();
      if (optional.includes(name)) continue;
      const { [name]: _left, ...rest } = object;
      expect(parse(rest)).toBeNull();
    }
  };
  check(wire, (changed) => parseSettlement(JSON.stringify(changed)));
  for (const name of ['generation', 'usage', 'cost', 'loss', 'stored'])
    check(wire[name] as Record<string, unknown>, (changed) => parsed({ [name]: changed }));
  const [attempt] = wire.attempts as Record<string, unknown>[];
  check(attempt ?? {}, (changed) => parsed({ attempts: [changed] }));
  const usage = wire.usage as object;
  for (const name of ['inputTokens', 'outputTokens', 'units'])
    expect(parsed({ usage: { ...usage, [name]: -1 } })).toBeNull();
  const cached = { read: 1, write: 0, writeLong: 0 };
  check(cached, (changed) => parsed({ usage: { ...usage, cached: changed } }));
  const costs = { read: '1n', write: '0n', writeLong: '0n', saved: '-1n' };
  check(costs, (changed) => parsed({ cost: { input: '1n', output: '0n', total: '1n', cached: changed } }));
  expect(parsed({ usage: { ...usage, cached: { ...cached, read: -1 } } })).toBeNull();
});

describe('a settlement that is made', () => {
  const { generation, provider, attempts } = { ...settlement, attempts: [] };
  const nowMs = Date.UTC(2026, 10, 1);
  const at = <Result>(make: () => Result): Result => {
    setSystemTime(new Date(nowMs));
    try {
      return make();
    } finally {
      setSystemTime();
    }
  };
  const failed = {
    status: 'failed',
    errorCode: 'provider_timeout',
    usage: null,
    cost: null,
    providerCost: null,
    isEstimated: false,
    onInsufficientBalance: 'withhold',
    onAlreadyCharged: 'stands',
    loss: null,
    stored: null,
  } as const;

  test('counts its times from the beginning of the Generation', () => {
    const began = { ...generation, createdAtMs: nowMs - 700 };
    const facts = { generation: began, isHeld: false, provider, attempts };
    const made = {
      ...failed,
      kind: 'settle',
      generation: began,
      isHeld: false,
      provider,
      attempts,
      completedAtMs: nowMs,
      latencyMs: 700,
    } as const;
    expect(at(() => settlementOf(facts, failed))).toEqual({ ...made, timeToFirstTokenMs: null });
    expect(at(() => settlementOf({ ...facts, firstTokenAtMs: nowMs - 600 }, failed))).toEqual({
      ...made,
      timeToFirstTokenMs: 100,
    });
  });

  test('charges nothing for a failure, and records what may be lost with it', () => {
    expect(failure('provider_timeout')).toEqual(failed);
    expect(failure('provider_timeout', 'usage_missing')).toEqual({
      ...failed,
      loss: { reason: 'usage_missing', amount: null, reported: null, counts: null },
    });
  });

  test('charges for what was completed', () => {
    const { usage, cost, providerCost, loss, stored } = settlement;
    if (usage === null || cost === null) throw new Error('It has both.');
    expect(
      completed(
        { usage, cost, reported: { usage, cost: providerCost }, loss },
        'cancelled',
        'write_off',
        stored,
      ),
    ).toEqual({
      status: 'cancelled',
      errorCode: null,
      usage,
      cost,
      providerCost,
      isEstimated: false,
      onInsufficientBalance: 'write_off',
      onAlreadyCharged: 'stands',
      loss,
      stored,
    });
  });

  test('for a response that nobody got charges nothing and refunds a charge', () => {
    const one = { ...settlement, attempts: [] };
    const closed = {
      ...failed,
      kind: 'settle',
      generation,
      isHeld: true,
      provider,
      attempts: [],
      errorCode: 'billing_consistency_error',
      loss: lossOf('interrupted'),
      completedAtMs: nowMs,
      latencyMs: nowMs - 1,
      timeToFirstTokenMs: null,
    } as const;
    for (const onAlreadyCharged of ['stands', 'refund'] as const)
      expect(at(() => withheld({ ...one, onAlreadyCharged }))).toEqual({
        ...closed,
        onAlreadyCharged: 'refund',
      });
    // A retry may have got the stored response: it is paid for.
    const replayable = { ...one, onAlreadyCharged: 'refund_unless_stored' } as const;
    expect(at(() => withheld(replayable))).toEqual({ ...closed, onAlreadyCharged: 'refund_unless_stored' });
    expect(at(() => closedUnbilled({ ...settlement, attempts: [] }))).toEqual(closed);
  });
});
