/** The lines on the page of a Generation: they add up, and their prices are those that were charged. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sumMoney, unitsOf } from '../../dashboard/kit/amounts.ts';
import { breakDownCost, type CostLine, priceBehind } from '../../dashboard/pages/requests/cost-lines.ts';
import type { GenerationDetail } from '../../src/console/contract.ts';
import { meteredCosts } from '../../src/console/metered-costs.ts';
import type { GenerationSummary } from '../../src/generations/generation-store.ts';
import { decideSettlement } from '../../src/ledger/decide.ts';
import type { BilledCost } from '../../src/ledger/operations.ts';
import { cachedTokensOf, inputTokensOf, type Meters, plainMeters } from '../../src/lib/meters.ts';
import { formatMoney, type Money } from '../../src/lib/money.ts';
import { costAtRates } from '../../src/pricing/cost.ts';

const tokenCount = fc.oneof(fc.nat(20), fc.nat(2_000_000), fc.nat(2 ** 50));
/** Prices as in catalogues: up to 6 decimals, from free to a thousand dollars. */
const usualPrice = fc.nat(1_000_000_000).map((millionths) => BigInt(millionths) * 1_000_000n);
const anyPrice = fc.bigInt({ min: 0n, max: 10n ** 16n });

const costOf = (tokens: number, price: Money) =>
  costAtRates({ input: price, output: 0n }, plainMeters(tokens, 0)).input;

describe('the price behind a cost', () => {
  test('is the one that was charged, if that has up to six decimals', () => {
    fc.assert(
      fc.property(tokenCount, usualPrice, (tokens, price) => {
        fc.pre(tokens > 0);
        expect(priceBehind(tokens, formatMoney(costOf(tokens, price)))).toBe(formatMoney(price));
      }),
      { numRuns: 1_000 },
    );
  });

  test('gives the cost again by the rounding of the gateway, and is no longer than the one that was charged', () => {
    fc.assert(
      fc.property(tokenCount, anyPrice, (tokens, price) => {
        fc.pre(tokens > 0);
        const cost = costOf(tokens, price);
        const found = unitsOf(priceBehind(tokens, formatMoney(cost)) ?? '-1');
        expect(costOf(tokens, found)).toBe(cost);
        expect(decimalsIn(found)).toBeLessThanOrEqual(decimalsIn(price));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    [1, '0.000000150000', '0.150000000000'],
    [3, '0.000012000003', '4.000001000000'],
    [7, '0.000000000000', '0.000000000000'],
    [2, '0.000000000001', '0.000000500000'],
    [0, '0.000000000000', null],
    // Two million tokens cost an even number of units at every price.
    [2_000_000, '0.000000000001', null],
  ])('of %d tokens for %s is %p', (tokens, cost, price) => {
    expect(priceBehind(tokens, cost)).toBe(price);
  });
});

function decimalsIn(price: Money): number {
  return formatMoney(price).replace(/0+$/, '').split('.')[1]?.length ?? 0;
}

const meters: fc.Arbitrary<Meters> = fc.record({
  freshInput: tokenCount,
  cacheRead: fc.oneof(fc.constant(0), tokenCount),
  cacheWrite: fc.oneof(fc.constant(0), tokenCount),
  cacheWriteLong: fc.oneof(fc.constant(0), tokenCount),
  output: tokenCount,
});
const rates = fc.record({
  input: usualPrice,
  output: usualPrice,
  cacheRead: usualPrice,
  cacheWrite: usualPrice,
  cacheWriteLong: usualPrice,
});

/** What the page gets of a request that was charged this, from its row in the database. */
function detailOf(used: Meters, cost: BilledCost, writeOffReason: string | null): Parts {
  const cached = cachedTokensOf(used);
  const amount = (money: Money | undefined) => (money === undefined ? null : formatMoney(money));
  const count = (tokens: number | undefined) => (tokens === undefined ? null : BigInt(tokens));
  const inputTokens = inputTokensOf(used);
  const row = {
    unit: 'tokens',
    input_tokens: BigInt(inputTokens),
    output_tokens: BigInt(used.output),
    cost_input: formatMoney(cost.input),
    cost_output: formatMoney(cost.output),
    cache_read_tokens: count(cached?.read),
    cache_write_tokens: count(cached?.write),
    cache_write_long_tokens: count(cached?.writeLong),
    cost_cache_read: amount(cost.cached?.read),
    cost_cache_write: amount(cost.cached?.write),
    cost_cache_write_long: amount(cost.cached?.writeLong),
  };
  return {
    usage: {
      input_tokens: inputTokens,
      output_tokens: used.output,
      total_tokens: inputTokens + used.output,
      units: `${inputTokens + used.output}`,
      unit: 'tokens',
    },
    cost: {
      input: formatMoney(cost.input),
      output: formatMoney(cost.output),
      total: formatMoney(cost.total),
      currency: 'USD',
    },
    meters: meteredCosts(row as GenerationSummary),
    ledger: {
      charged: formatMoney(cost.total),
      refunded: null,
      refunds: [],
      is_estimated: false,
      written_off: null,
      write_off_reason: writeOffReason,
    },
  };
}

type Parts = Pick<GenerationDetail, 'usage' | 'cost' | 'meters' | 'ledger'>;

function expectToAddUp(detail: Parts): void {
  const breakdown = breakDownCost(detail);
  const costOfLine = (line: CostLine | null | undefined) => line?.cost ?? '0';
  const parts = breakdown?.inputParts ?? [];
  if (parts.length > 0) expect(sumMoney(parts.map(costOfLine))).toBe(detail.cost?.input ?? '');
  expect(costOfLine(breakdown?.input)).toBe(detail.cost?.input ?? '');
  expect(sumMoney([costOfLine(breakdown?.input), costOfLine(breakdown?.output)])).toBe(
    detail.cost?.total ?? '',
  );
  for (const { tokens, cost } of detail.meters ?? []) {
    expect(tokens).toBeGreaterThanOrEqual(0);
    expect(cost).not.toStartWith('-');
  }
}

describe('the lines', () => {
  test('add up to the twelfth digit, each at its own price', () => {
    fc.assert(
      fc.property(meters, rates, (used, prices) => {
        const detail = detailOf(used, costAtRates(prices, used), null);
        expectToAddUp(detail);
        const breakdown = breakDownCost(detail);
        const shown = [...(breakdown?.inputParts ?? []), breakdown?.input, breakdown?.output];
        const priceOf = (label: string) => shown.find((line) => line?.label === label)?.price;
        const isCached = cachedTokensOf(used) !== null;
        for (const [label, tokens, price] of [
          [isCached ? 'Fresh input' : 'Input', used.freshInput, prices.input],
          ['Read from a cache', used.cacheRead, prices.cacheRead],
          ['Written to a cache', used.cacheWrite, prices.cacheWrite],
          ['Written to a cache for longer', used.cacheWriteLong, prices.cacheWriteLong],
          ['Output', used.output, prices.output],
        ] as const)
          if (tokens > 0) expect(priceOf(label)).toBe(formatMoney(price));
      }),
    );
  });

  test('add up to what was paid if the balance did not cover it, and claim no price', () => {
    fc.assert(
      fc.property(meters, rates, fc.double({ min: 0, max: 0.99, noNaN: true }), (used, prices, share) => {
        const cost = costAtRates(prices, used);
        const balance = (cost.total * BigInt(Math.floor(share * 1_000))) / 1_000n;
        fc.pre(balance < cost.total);
        const account = { balance, held: 0n, entryCount: 0n };
        const meter = { held: 0n, openCount: 1, monthSpent: 0n };
        const { charge } = decideSettlement(
          account as Parameters<typeof decideSettlement>[0],
          meter as Parameters<typeof decideSettlement>[1],
          0n,
          { cost, onInsufficientBalance: 'write_off' },
        );
        expect(charge?.total).toBe(balance);
        const detail = detailOf(used, charge ?? cost, 'insufficient_balance');
        expectToAddUp(detail);
        const breakdown = breakDownCost(detail);
        expect(breakdown?.isCut).toBe(true);
        const { inputParts = [], input = null, output = null } = breakdown ?? {};
        for (const line of [...inputParts, input, output]) expect(line?.price ?? null).toBeNull();
      }),
    );
  });

  test('of an old record are the input and the output', () => {
    const used = plainMeters(1_200, 345);
    const detail = detailOf(
      used,
      costAtRates({ input: 150_000_000_000n, output: 600_000_000_000n }, used),
      null,
    );
    expect(breakDownCost(detail)).toEqual({
      inputParts: [],
      input: {
        label: 'Input',
        count: '1,200 tokens',
        price: '0.150000000000',
        unit: 'per 1M',
        cost: '0.000180000000',
      },
      output: {
        label: 'Output',
        count: '345 tokens',
        price: '0.600000000000',
        unit: 'per 1M',
        cost: '0.000207000000',
      },
      isCut: false,
    });
  });

  test('of images are one, with the price of each', () => {
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0, units: '3', unit: 'images' };
    const cost = {
      input: '0.000000000000',
      output: '0.120000000000',
      total: '0.120000000000',
      currency: 'USD',
    };
    expect(breakDownCost({ usage, cost, meters: null, ledger: null })).toEqual({
      inputParts: [],
      input: null,
      output: {
        label: 'Images',
        count: '3 images',
        price: '0.040000000000',
        unit: 'each',
        cost: '0.120000000000',
      },
      isCut: false,
    });
  });

  test('of a request that was not charged have counts without costs, and none without usage', () => {
    const { usage, ledger } = detailOf(
      plainMeters(1, 2),
      costAtRates({ input: 0n, output: 0n }, plainMeters(1, 2)),
      null,
    );
    const uncharged = breakDownCost({ usage, cost: null, meters: null, ledger });
    expect(uncharged?.input).toMatchObject({ count: '1 token', price: null, cost: null });
    expect(breakDownCost({ usage: null, cost: null, meters: null, ledger })).toBeNull();
  });
});
