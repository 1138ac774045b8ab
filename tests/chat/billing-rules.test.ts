/** The rules of holds and charges, over random requests, prices, usages and endings. Pure functions, no server. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  believed,
  type ChatBill,
  chargeOf,
  type StreamOutcome,
  streamEnding,
  toleranceOf,
} from '../../src/chat/billing.ts';
import { adviceFor, chatTerms, holdRange, outputBound } from '../../src/chat/hold.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { type AccountState, decideHold, decideSettlement, type MeterState } from '../../src/ledger/decide.ts';
import { inputTokensOf, type Meters, plainMeters } from '../../src/lib/meters.ts';
import { type CacheWrites, costAtRates } from '../../src/pricing/cost.ts';
import type { TokenPrice } from '../../src/pricing/price.ts';
import type { ReportedUsage } from '../../src/providers/chat.ts';
import { orderOf } from '../support/chat-messages.ts';
import { emptyCall, testModel } from '../support/provider.ts';
import { reported } from '../support/reported-usage.ts';

const remarks = { region: null, note: null };
/** Prices per 1M tokens; half of them with more decimals than can be charged exactly per token. */
const rate = fc.oneof(
  fc.bigInt({ min: 0n, max: 200_000_000_000_000n }),
  fc.bigInt({ min: 0n, max: 200_000_000n }).map((unitsPerToken) => unitsPerToken * 1_000_000n),
);
const optionalRate = fc.option(rate, { nil: undefined });
const rates = fc.record({
  input: rate,
  output: rate,
  cacheRead: optionalRate,
  cacheWrite: optionalRate,
  cacheWriteLong: optionalRate,
});
const price: fc.Arbitrary<TokenPrice> = fc.oneof(
  rates.map((flat) => ({ billingType: 'token', form: 'flat', rates: flat, ...remarks }) as const),
  fc.tuple(rates, rates, fc.integer({ min: 1, max: 50_000 })).map(
    ([first, second, maxInputTokens]) =>
      ({
        billingType: 'token',
        form: 'tiers',
        headline: null,
        inputTokenTiers: [
          { ...first, maxInputTokens },
          { ...second, maxInputTokens: maxInputTokens * 2 },
        ],
        ...remarks,
      }) as const,
  ),
  fc.tuple(rates, rates).map(
    ([peak, offPeak]) =>
      ({
        billingType: 'token',
        form: 'bands',
        headline: null,
        timeBands: {
          timezone: 'UTC',
          offPeakStart: '22:00',
          offPeakEnd: '06:00',
          peak: { ...peak, name: 'day' },
          offPeak,
        },
        ...remarks,
      }) as const,
  ),
);

const request = fc.record({
  text: fc.oneof(fc.string({ maxLength: 200 }), fc.string({ minLength: 1_500, maxLength: 2_000 })),
  maxTokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
  outputLimit: fc.option(fc.integer({ min: 1, max: 200_000 })),
  contextWindow: fc.option(
    fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 1_000_000 })),
  ),
  maxOutputTokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
  price,
  writes: fc.constantFrom<CacheWrites>('none', 'short', 'long'),
});

const account: AccountState = { balance: 0n, held: 0n, entryCount: 0n, isSuspended: false };
const meter: MeterState = {
  held: 0n,
  monthSpent: 0n,
  monthlyLimit: null,
  requestsPerMinute: 600,
  maxConcurrent: 200,
  openCount: 0,
  theoreticalArrivalMs: 0,
  isRevoked: false,
  isExpired: false,
};
const funds = fc.record({
  balance: fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.bigInt({ min: 0n, max: 10n ** 15n })),
  monthlyLimit: fc.option(fc.bigInt({ min: 0n, max: 10n ** 15n })),
});

/** Mostly more than any request needs, so that most of them are admitted. */
const oftenEnough = fc.oneof(
  { arbitrary: funds, weight: 1 },
  { arbitrary: fc.constant({ balance: 10n ** 18n, monthlyLimit: null }), weight: 3 },
);

type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;
type Funds = typeof funds extends fc.Arbitrary<infer Value> ? Value : never;

/** A request as it is admitted; null when it is denied. */
function admit(
  { text, maxTokens, outputLimit, contextWindow, maxOutputTokens, price: asked, writes }: Request,
  { balance, monthlyLimit }: Funds,
) {
  const call = { ...emptyCall, messages: [{ role: 'user' as const, content: text }], maxTokens };
  const model = testModel({ contextWindow, maxOutputTokens });
  const terms = chatTerms({ call, outputLimit }, model, asked, writes);
  const range = holdRange(terms);
  const decision = decideHold({ ...account, balance }, { ...meter, monthlyLimit }, range, 1_000_000);
  if (decision.result.outcome === 'denied') return { terms, range, decision, admitted: null };
  const { amount } = decision.result;
  const bill: ChatBill = {
    price: asked,
    bounds: { inputTokens: terms.input.tokens, outputTokens: outputBound(terms, amount) },
    writes,
    held: amount,
    leastInputTokens: terms.input.leastTokens,
  };
  return { terms, range, decision, admitted: { amount, bill } };
}

const count = fc.oneof(
  fc.integer({ min: 0, max: 5_000 }),
  fc.integer({ min: 0, max: 300_000 }),
  fc.integer({ min: 0, max: 2 ** 50 }),
);
const few = fc.oneof(fc.constant(0), count);
const meters = fc.record({
  freshInput: count,
  cacheRead: few,
  cacheWrite: few,
  cacheWriteLong: few,
  output: count,
});
const usage: fc.Arbitrary<ReportedUsage> = fc.oneof(
  meters.map((reading) => reported(0, 0, { readings: [reading] })),
  fc
    .tuple(meters, meters)
    .map((readings) => reported(0, 0, { readings, contradiction: { prompt_tokens: -1 } })),
);
/** As much as a share of what the hold covers, or all of it: only there can a charge come near its hold. */
const share = fc.oneof(
  { arbitrary: fc.constant(1), weight: 3 },
  { arbitrary: fc.double({ min: 0, max: 1.01, noNaN: true }), weight: 1 },
);
const nearBounds = fc
  .record({
    input: share,
    output: share,
    weights: fc.array(fc.constantFrom<number>(0, 0, 1, 3), { minLength: 4, maxLength: 4 }),
  })
  .map(({ input, output, weights }) => ({ inputTokens, outputTokens }: ChatBill['bounds']): Meters => {
    const all = Math.floor(inputTokens * input);
    const sum = weights.reduce((one, other) => one + other, 0);
    const [cacheRead = 0, cacheWrite = 0, cacheWriteLong = 0] = weights.map((weight) =>
      sum === 0 ? 0 : Math.floor((all * weight) / sum),
    );
    const freshInput = all - cacheRead - cacheWrite - cacheWriteLong;
    return { freshInput, cacheRead, cacheWrite, cacheWriteLong, output: Math.floor(outputTokens * output) };
  });
type UsageWithin = (bounds: ChatBill['bounds']) => ReportedUsage;
const anyUsage = fc.oneof(
  usage.map(
    (report): UsageWithin =>
      () =>
        report,
  ),
  nearBounds.map(
    (near): UsageWithin =>
      (bounds) =>
        reported(0, 0, { readings: [near(bounds)] }),
  ),
  fc.tuple(nearBounds, nearBounds).map(
    ([one, other]): UsageWithin =>
      (bounds) =>
        reported(0, 0, { readings: [one(bounds), other(bounds)], contradiction: { prompt_tokens: -1 } }),
  ),
);
const at = fc.date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true });
const code = fc.constantFrom<ErrorCode | null>(
  null,
  'provider_timeout',
  'provider_stream_error',
  'malformed_stream_chunk',
  'repeated_streaming_chunk_limit',
  'usage_missing',
  'streaming_error',
);
const streamed = fc
  .record({
    usage: fc.option(usage),
    isFinished: fc.boolean(),
    isEnded: fc.boolean(),
    isUsageLost: fc.boolean(),
    failureCode: code,
    hasText: fc.boolean(),
    deliveredTokens: fc.integer({ min: 0, max: 1_000_000 }),
    outcome: fc.record({ code, isEndedHere: fc.boolean(), finishedAt: at }),
    isGone: fc.boolean(),
  })
  // What a stream cannot be: complete without its usage, or complete although it failed.
  .map(({ outcome, failureCode, ...rest }) => {
    const isWhole = rest.usage !== null && rest.isFinished && failureCode === null;
    const whole: StreamOutcome = isWhole
      ? { ...outcome, code: null, isEndedHere: false }
      : { ...outcome, code: failureCode ?? outcome.code ?? 'provider_stream_error' };
    return { ...rest, failure: failureCode === null ? null : { code: failureCode }, outcome: whole };
  });

type Stream = Parameters<typeof streamEnding>[2] &
  Readonly<{ usage: ReportedUsage | null; hasText: boolean }>;

function endingOf(
  bill: ChatBill,
  stream: Stream,
  outcome: StreamOutcome,
  isGone: boolean,
  stored: Parameters<typeof streamEnding>[5],
) {
  const { usage: report, hasText } = stream;
  const { finishedAt } = outcome;
  const charge = report && chargeOf(bill, { usage: report, finishedAt, hasText });
  return streamEnding(bill, charge, stream, outcome, isGone, stored);
}

/** What may be charged beyond a hold: some tokens of each kind, at the highest rates. */
function toleranceIn({ terms, admitted }: ReturnType<typeof admit>): bigint {
  if (admitted === null) return 0n;
  const { inputTokens, outputTokens } = admitted.bill.bounds;
  return costAtRates(terms.rates, plainMeters(toleranceOf(inputTokens), toleranceOf(outputTokens))).total;
}

describe('a hold', () => {
  test('is within its range and within what is free, and pays for the bound that the provider is told', () => {
    fc.assert(
      fc.property(request, funds, (asked, owned) => {
        const { terms, range, decision, admitted } = admit(asked, owned);
        const spendable =
          owned.monthlyLimit !== null && owned.monthlyLimit < owned.balance
            ? owned.monthlyLimit
            : owned.balance;
        if (admitted === null) {
          expect(range.min).toBeGreaterThan(spendable);
          return;
        }
        const { amount, bill } = admitted;
        expect(amount >= range.min && amount <= range.max && amount <= spendable).toBe(true);
        expect(
          costAtRates(terms.rates, plainMeters(bill.bounds.inputTokens, bill.bounds.outputTokens)).total,
        ).toBeLessThanOrEqual(amount);
        expect(decision.account.held).toBe(amount);
        if (asked.maxTokens !== null) expect(bill.bounds.outputTokens).toBe(asked.maxTokens);
        else expect(bill.bounds.outputTokens).toBeLessThanOrEqual(asked.maxOutputTokens ?? 4_096);
      }),
    );
  });

  test('leaves three quarters of what is free, unless less would be too short an answer', () => {
    fc.assert(
      fc.property(request, funds, (asked, owned) => {
        const { range, admitted } = admit({ ...asked, maxTokens: null }, { ...owned, monthlyLimit: null });
        if (admitted !== null && admitted.amount > range.min)
          expect(admitted.amount * 4n).toBeLessThanOrEqual(owned.balance);
      }),
    );
  });

  test('is denied with advice that would have worked', () => {
    fc.assert(
      fc.property(request, funds, (asked, owned) => {
        const { terms, decision } = admit(asked, owned);
        if (decision.result.outcome === 'held' || decision.result.shortage === null) return;
        const advice = adviceFor(terms, decision.result.shortage.spendable);
        const fits = Number(
          /max_tokens to ([\d,]+) or less/.exec(advice ?? '')?.[1]?.replaceAll(',', '') ?? '0',
        );
        if (fits > 0) expect(admit({ ...asked, maxTokens: fits }, owned).admitted).not.toBeNull();
        // With an inexact rate, one more token may round down to what is there; it is not advised.
        else if (terms.rates.output % 1_000_000n === 0n && terms.rates.output > 0n)
          expect(admit({ ...asked, maxTokens: 1 }, owned).admitted).toBeNull();
        const { range, terms: least } = admit({ ...asked, maxTokens: 1 }, owned);
        const needsLess = least.maxOutputTokens < terms.minOutputTokens && range.min < holdRange(terms).min;
        expect(advice !== null).toBe(fits > 0 || needsLess);
      }),
    );
  });
});

describe('a charge', () => {
  test('never exceeds its hold by more than the tolerance, whatever is reported', () => {
    fc.assert(
      fc.property(request, oftenEnough, anyUsage, at, (asked, owned, usageIn, finishedAt) => {
        const whole = admit(asked, owned);
        if (whole.admitted === null) return;
        const { amount, bill } = whole.admitted;
        const report = usageIn(bill.bounds);
        const ending = chargeOf(bill, { usage: report, finishedAt, hasText: true });
        expect(ending.cost.total).toBeLessThanOrEqual(amount + toleranceIn(whole));
        // What is not believed is charged at the bound itself, which is paid for.
        const { inputTokens, outputTokens } = bill.bounds;
        const isWithin = report.readings.some(
          (reading) => inputTokensOf(reading) <= inputTokens && reading.output <= outputTokens,
        );
        if (isWithin) expect(ending.cost.total).toBeLessThanOrEqual(amount);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is the sum of its meters, and the cheapest way to read the report', () => {
    fc.assert(
      fc.property(request, oftenEnough, anyUsage, at, (asked, owned, usageIn, finishedAt) => {
        const { admitted } = admit(asked, owned);
        if (admitted === null) return;
        const { bill } = admitted;
        const report = usageIn(bill.bounds);
        const { cost, usage: billed } = chargeOf(bill, { usage: report, finishedAt, hasText: true });
        const { read, write, writeLong } = cost.cached ?? { read: 0n, write: 0n, writeLong: 0n };
        const fresh = cost.input - read - write - writeLong;
        expect(fresh >= 0n && cost.total === cost.input + cost.output).toBe(true);
        const cached = billed.cached ?? { read: 0, write: 0, writeLong: 0 };
        expect(cached.read + cached.write + cached.writeLong).toBeLessThanOrEqual(billed.inputTokens);
        for (const reading of report.readings) {
          const alone = { ...report, readings: [reading] as const };
          const other = chargeOf(bill, { usage: alone, finishedAt, hasText: true }).cost.total;
          expect(cost.total).toBeLessThanOrEqual(other);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('says when the report is implausible, and never otherwise', () => {
    fc.assert(
      fc.property(request, funds, count, count, at, (asked, owned, input, output, finishedAt) => {
        const { admitted } = admit(asked, owned);
        if (admitted === null) return;
        const { bill } = admitted;
        const { inputTokens, outputTokens } = bill.bounds;
        const ending = chargeOf(bill, { usage: reported(input, output), finishedAt, hasText: true });
        const kept = believed(plainMeters(input, output), bill.bounds);
        expect(ending.usage).toMatchObject({ inputTokens: kept.freshInput, outputTokens: kept.output });
        const isCapped =
          input > inputTokens + toleranceOf(inputTokens) || output > outputTokens + toleranceOf(outputTokens);
        expect(ending.loss?.reason === 'implausible_usage').toBe(isCapped || output === 0);
      }),
    );
  });

  test('is at no higher tier than the hold, although a few tokens more are tolerated', () => {
    fc.assert(
      fc.property(request, rates, rates, at, (asked, first, second, finishedAt) => {
        const rich = { balance: 10n ** 18n, monthlyLimit: null };
        const flat = { billingType: 'token', form: 'flat', rates: first, ...remarks } as const;
        const inputTokens = admit({ ...asked, price: flat }, rich).terms.input.tokens;
        const tiers = [
          { ...first, maxInputTokens: inputTokens },
          { ...second, maxInputTokens: inputTokens + 1_000 },
        ] as const;
        const tiered = {
          billingType: 'token',
          form: 'tiers',
          headline: null,
          inputTokenTiers: tiers,
          ...remarks,
        };
        const whole = admit({ ...asked, price: tiered as TokenPrice }, rich);
        if (whole.admitted === null) throw new Error('There is enough.');
        const meters = plainMeters(inputTokens + 16, 1);
        const { bill, amount } = whole.admitted;
        const ending = chargeOf(bill, {
          usage: reported(inputTokens + 16, 1),
          finishedAt,
          hasText: true,
        });
        expect(ending.cost).toEqual(costAtRates(first, meters));
        expect(ending.cost?.total).toBeLessThanOrEqual(amount + toleranceIn(whole));
      }),
    );
  });

  test('for a stream: delivered means charged, no usage means nothing, however it ends', () => {
    fc.assert(
      fc.property(request, funds, streamed, (asked, owned, stream) => {
        const whole = admit(asked, owned);
        if (whole.admitted === null) return;
        const { amount, bill } = whole.admitted;
        const ending = endingOf(bill, stream, stream.outcome, stream.isGone, null);
        const { code: problem, isEndedHere } = stream.outcome;
        // A provider that reported usage and ended is charged for; a call that the gateway ended is estimated.
        const isHeardOut =
          stream.isEnded || (stream.isFinished && (problem === null || stream.failure !== null));
        const hasUsage = stream.usage !== null && isHeardOut;
        const isEstimated = !hasUsage && (isEndedHere || stream.isUsageLost);
        expect(ending.cost !== null).toBe(hasUsage || isEstimated);
        expect(ending.isEstimated).toBe(isEstimated);
        if (ending.isEstimated) expect(ending.cost?.total).toBeLessThanOrEqual(amount);
        expect(ending.cost?.total ?? 0n).toBeLessThanOrEqual(amount + toleranceIn(whole));
        expect(ending.status).toBe(stream.isGone ? 'cancelled' : problem === null ? 'completed' : 'failed');
        if (ending.cost === null) expect(ending.loss?.reason).toBe('usage_missing');

        const settled = decideSettlement(whole.decision.account, whole.decision.meter, amount, ending);
        expect(settled.account.held).toBe(0n);
        expect(settled.account.balance).toBeGreaterThanOrEqual(0n);
        expect(settled.account.balance).toBe(owned.balance - (settled.charge?.total ?? 0n));
        expect(settled.shortfall).toBeLessThanOrEqual(toleranceIn(whole));
      }),
    );
  });
});

describe('to the token', () => {
  const perToken = (units: bigint) => units * 1_000_000n;
  const bill: ChatBill = {
    price: {
      billingType: 'token',
      form: 'flat',
      rates: { input: perToken(1n), output: perToken(10n) },
      ...remarks,
    },
    bounds: { inputTokens: 1_000, outputTokens: 250 },
    writes: 'none',
    held: 3_500n,
    leastInputTokens: 10,
  };
  const finishedAt = new Date('2026-11-01T12:00:00Z');

  test('16 tokens and one percent, rounded up, are tolerated', () => {
    expect([0, 1, 100, 101, 1_000].map(toleranceOf)).toEqual([16, 17, 17, 18, 26]);
    expect(believed(plainMeters(1_026, 269), bill.bounds)).toEqual(plainMeters(1_026, 269));
    expect(believed(plainMeters(1_027, 270), bill.bounds)).toEqual(plainMeters(1_000, 250));
  });

  const billed = (inputTokens: number, outputTokens: number) => ({
    usage: {
      inputTokens,
      outputTokens,
      cached: null,
      units: inputTokens + outputTokens,
      unit: 'tokens' as const,
      tier: null,
    },
    cost: {
      input: BigInt(inputTokens),
      output: BigInt(outputTokens) * 10n,
      total: BigInt(inputTokens) + BigInt(outputTokens) * 10n,
      cached: null,
    },
  });
  /** What the provider said, whatever is charged of it. What it asks is unknown here. */
  const saying = (inputTokens: number, outputTokens: number) => ({
    reported: { usage: { inputTokens, outputTokens, cached: null }, cost: null },
  });
  const charged = (inputTokens: number, outputTokens: number, hasText = true, own = bill) =>
    chargeOf(own, { usage: reported(inputTokens, outputTokens), finishedAt, hasText });

  test('what is reported is charged, and what is not believed is lost', () => {
    expect(charged(10, 5)).toEqual({ ...billed(10, 5), ...saying(10, 5), loss: null });
    expect(charged(2_000, 5)).toEqual({
      ...billed(1_000, 5),
      ...saying(2_000, 5),
      loss: {
        reason: 'implausible_usage',
        amount: 1_000n,
        reported: { inputTokens: 2_000, outputTokens: 5 },
        counts: null,
      },
    });
    expect(charged(10, 1_250)).toMatchObject({ ...billed(10, 250), loss: { amount: 10_000n } });
  });

  test('text without a single token of output is a discrepancy of unknown worth, unless there was none', () => {
    expect(charged(10, 0)).toEqual({
      ...billed(10, 0),
      ...saying(10, 0),
      loss: {
        reason: 'implausible_usage',
        amount: null,
        reported: { inputTokens: 10, outputTokens: 0 },
        counts: null,
      },
    });
    expect(charged(10, 0, false).loss).toBeNull();
    expect(charged(10, 1).loss).toBeNull();
    // Not believed, and worth nothing.
    const free = { ...bill, price: { ...bill.price, rates: { input: 0n, output: 0n } } as TokenPrice };
    expect(charged(9_000, 5, true, free).loss).toMatchObject({ amount: null });
    const cheap = { ...bill, price: { ...bill.price, rates: { input: 1_000n, output: 0n } } as TokenPrice };
    expect(charged(2_000, 5, true, cheap).loss).toMatchObject({ amount: 1n });
  });

  const cachedRates = {
    input: perToken(10n),
    output: perToken(100n),
    cacheRead: perToken(1n),
    cacheWrite: perToken(12n),
    cacheWriteLong: perToken(20n),
  };
  const cachedBill = (writes: CacheWrites, held: bigint): ChatBill => ({
    ...bill,
    price: { ...bill.price, rates: cachedRates } as TokenPrice,
    writes,
    held,
  });
  /** Fresh, read, written, written for long, output. */
  type Counts = readonly [number, number, number, number, number];
  const reading = ([freshInput, cacheRead, cacheWrite, cacheWriteLong, output]: Counts): Meters => ({
    freshInput,
    cacheRead,
    cacheWrite,
    cacheWriteLong,
    output,
  });
  const outcomeOf = (own: ChatBill, first: Counts, ...others: readonly Counts[]) => {
    const contradiction = others.length === 0 ? null : { prompt_tokens: 1 };
    const readings = [reading(first), ...others.map(reading)] as const;
    const { usage, cost, loss } = chargeOf(own, {
      usage: reported(0, 0, { readings, contradiction }),
      finishedAt,
      hasText: true,
    });
    const { read, write, writeLong } = usage.cached ?? { read: 0, write: 0, writeLong: 0 };
    return [[read, write, writeLong], cost.total, loss?.amount ?? null] as const;
  };

  test('a hold is at the dearest price of input that the request can reach, and no dearer', () => {
    const { price: own } = cachedBill('none', 0n);
    const rateWith = (writes: CacheWrites) =>
      chatTerms(orderOf(emptyCall), testModel({ contextWindow: null, maxOutputTokens: 1 }), own, writes).rates
        .input;
    expect((['none', 'short', 'long'] as const).map(rateWith)).toEqual([
      perToken(10n),
      perToken(12n),
      perToken(20n),
    ]);
  });

  test('writes that the request cannot have caused are charged as far as the hold covers them', () => {
    const none = cachedBill('none', 35_000n);
    expect(outcomeOf(none, [500, 0, 0, 400, 220])).toEqual([[0, 0, 400], 35_000n, null]);
    expect(outcomeOf(none, [500, 0, 0, 400, 221])).toEqual([[0, 0, 0], 31_100n, 4_000n]);
    expect(outcomeOf(none, [999, 0, 0, 1, 250])).toEqual([[0, 0, 0], 35_000n, 10n]);
    expect(outcomeOf(none, [999, 0, 1, 0, 250])).toEqual([[0, 0, 0], 35_000n, 2n]);
    const short = cachedBill('short', 37_000n);
    expect(outcomeOf(short, [0, 0, 0, 1_000, 250])).toEqual([[0, 1_000, 0], 37_000n, 8_000n]);
    // What is tolerated is no discrepancy, whatever it was.
    expect(outcomeOf(short, [0, 0, 1_026, 0, 250])).toEqual([[0, 1_026, 0], 37_312n, null]);
    expect(outcomeOf(none, [1_026, 0, 0, 0, 250])).toEqual([[0, 0, 0], 35_260n, null]);
  });

  test('of several readings the cheapest is charged, and what the dearest costs more is lost', () => {
    const none = cachedBill('none', 35_000n);
    const [dear, cheap, middle]: Counts[] = [
      [900, 0, 0, 0, 5],
      [0, 900, 0, 0, 5],
      [450, 450, 0, 0, 5],
    ];
    for (const [first, ...others] of [
      [dear, cheap, middle],
      [cheap, middle, dear],
      [middle, dear, cheap],
    ] as Counts[][])
      expect(outcomeOf(none, first as Counts, ...others)).toEqual([[900, 0, 0], 1_400n, 8_100n]);
    // The parts of the input are all of its cost.
    const all: Counts = [1, 2, 3, 4, 5];
    expect(outcomeOf(none, all)).toEqual([[2, 3, 4], 10n + 2n + 36n + 80n + 500n, null]);
    const { cost } = chargeOf(none, {
      usage: reported(0, 0, { readings: [reading(all)] }),
      finishedAt,
      hasText: true,
    });
    expect(cost.cached).toEqual({ read: 2n, write: 36n, writeLong: 80n, saved: 100n - 128n });
  });

  const stream = {
    usage: reported(10, 5),
    isFinished: true,
    isEnded: true,
    isUsageLost: false,
    failure: null,
    hasText: true,
    deliveredTokens: 5,
  };
  const stored = { idempotencyHash: 'ab', response: 'cd', insufficientBalanceResponse: null };
  const outcome = { code: null, isEndedHere: false, finishedAt };
  const completedEnding = {
    ...billed(10, 5),
    providerCost: null,
    status: 'completed',
    errorCode: null,
    isEstimated: false,
    onInsufficientBalance: 'write_off',
    onAlreadyCharged: 'stands',
    loss: null,
    stored,
  };

  test('a stream that was heard out is charged by its usage, whoever is still there', () => {
    expect(endingOf(bill, stream, outcome, false, stored)).toEqual(completedEnding as never);
    expect(endingOf(bill, stream, outcome, true, stored)).toEqual({
      ...completedEnding,
      status: 'cancelled',
    } as never);
    const failed = { ...outcome, code: 'provider_timeout' } as const;
    expect(endingOf(bill, stream, failed, false, stored)).toEqual({
      ...completedEnding,
      status: 'failed',
      errorCode: 'provider_timeout',
    } as never);
    expect(endingOf(bill, stream, failed, true, stored)).toMatchObject({
      status: 'cancelled',
      errorCode: null,
    });
  });

  const isCharged = (changes: object, ended: Partial<StreamOutcome> = {}) =>
    endingOf(bill, { ...stream, isEnded: false, ...changes }, { ...outcome, ...ended }, false, stored)
      .cost !== null;

  test('usage counts when the provider has ended, or has finished and nothing else broke', () => {
    const code = 'provider_stream_error';
    expect(isCharged({})).toBe(true);
    expect(isCharged({ isEnded: true, isFinished: false }, { code })).toBe(true);
    expect(isCharged({ isFinished: false })).toBe(false);
    expect(isCharged({}, { code })).toBe(false);
    expect(isCharged({ failure: { code } }, { code })).toBe(true);
    expect(isCharged({ failure: { code }, isFinished: false }, { code })).toBe(false);
    expect(isCharged({ usage: null, isEnded: true })).toBe(false);
  });

  test('usage of no output is believed if nothing was delivered', () => {
    const silent = { ...stream, usage: reported(10, 0) };
    const lossOf = (hasText: boolean) => endingOf(bill, { ...silent, hasText }, outcome, false, stored).loss;
    expect(lossOf(false)).toBeNull();
    expect(lossOf(true)).not.toBeNull();
  });

  const estimate = (changes: object, own = bill) =>
    endingOf(
      own,
      { ...stream, usage: null, isEnded: false, ...changes },
      { ...outcome, code: 'streaming_error', isEndedHere: true },
      true,
      stored,
    );

  test('a call that the gateway ended is estimated by the fewest tokens of its texts, within the bounds', () => {
    expect(estimate({})).toEqual({
      ...billed(10, 5),
      providerCost: null,
      status: 'cancelled',
      errorCode: null,
      isEstimated: true,
      onInsufficientBalance: 'write_off',
      onAlreadyCharged: 'stands',
      loss: { reason: 'usage_missing', amount: null, reported: null, counts: null },
      stored,
    });
    // All of the input may have been read from a cache, if that is cheaper.
    const dear = cachedBill('none', 35_000n);
    expect(estimate({}, dear)).toMatchObject({ cost: { input: 10n, output: 500n, cached: null } });
    const dearer = { ...cachedRates, cacheRead: perToken(11n) };
    const odd = { ...dear, price: { ...dear.price, rates: dearer } as TokenPrice };
    expect(estimate({}, odd)).toMatchObject({ cost: { input: 100n, output: 500n } });
    expect(estimate({ deliveredTokens: 25_000 }).usage).toMatchObject({ outputTokens: 250 });
    expect(estimate({}, { ...bill, leastInputTokens: 25_000 }).usage).toMatchObject({ inputTokens: 1_000 });
  });

  test('without usage nothing is charged and nothing stored', () => {
    const nothing = endingOf(
      bill,
      { ...stream, usage: null },
      { ...outcome, code: 'usage_missing' },
      false,
      stored,
    );
    expect(nothing).toEqual({
      status: 'failed',
      errorCode: 'usage_missing',
      usage: null,
      cost: null,
      providerCost: null,
      isEstimated: false,
      onInsufficientBalance: 'withhold',
      onAlreadyCharged: 'stands',
      loss: { reason: 'usage_missing', amount: null, reported: null, counts: null },
      stored: null,
    });
    const lost = { ...stream, usage: null, isUsageLost: true };
    expect(endingOf(bill, lost, { ...outcome, code: 'malformed_stream_chunk' }, false, stored)).toMatchObject(
      { isEstimated: true, status: 'failed', errorCode: 'malformed_stream_chunk', stored },
    );
  });
});

describe('how long an answer may get', () => {
  const flat = {
    billingType: 'token',
    form: 'flat',
    rates: { input: 1_000_000n, output: 10_000_000n },
    ...remarks,
  } as const;
  const asking = { ...emptyCall, messages: [{ role: 'user' as const, content: 'x'.repeat(100) }] };
  const limits = (
    maxTokens: number | null,
    contextWindow: number | null,
    maxOutputTokens: number | null,
  ): readonly [least: number, most: number] => {
    const terms = chatTerms(
      orderOf({ ...asking, maxTokens }),
      testModel({ contextWindow, maxOutputTokens }),
      flat,
      'none',
    );
    return [terms.minOutputTokens, terms.maxOutputTokens];
  };

  test('is what the client says, or between 1,024 and what the model and its window allow', () => {
    const { likelyTokens } = chatTerms(
      orderOf(asking),
      testModel({ contextWindow: null }),
      flat,
      'none',
    ).input;
    expect(limits(7, 100_000, 50_000)).toEqual([7, 7]);
    expect(limits(null, null, 50_000)).toEqual([1_024, 50_000]);
    expect(limits(null, null, null)).toEqual([1_024, 4_096]);
    expect(limits(null, null, 1_000)).toEqual([1_000, 1_000]);
    expect(limits(null, 10_000, 50_000)).toEqual([1_024, 10_000 - likelyTokens]);
    expect(limits(null, 100_000, 50_000)).toEqual([1_024, 50_000]);
    expect(limits(null, likelyTokens + 100, 50_000)).toEqual([1_024, 1_024]);
  });

  test('follows from what is held, and so does the advice', () => {
    const terms = chatTerms(
      orderOf(asking),
      testModel({ contextWindow: null, maxOutputTokens: 5_000 }),
      flat,
      'none',
    );
    const input = BigInt(terms.input.tokens);
    expect(holdRange(terms)).toEqual({ min: input + 10_240n, max: input + 50_000n });
    expect(outputBound(terms, input + 20_009n)).toBe(2_000);
    expect(outputBound(terms, input + 10_240n)).toBe(1_024);
    expect(outputBound(terms, input + 99_999n)).toBe(5_000);
    expect(outputBound(terms, 0n)).toBe(1_024);
    expect(adviceFor(terms, input + 12_340n)).toContain('max_tokens to 1,234 or less');
    expect(adviceFor(terms, input + 10n)).toContain('max_tokens to 1 or less');
    expect(adviceFor(terms, input + 9n)).toMatch(/^A lower max_tokens needs less, but at least \$/);
  });
});
