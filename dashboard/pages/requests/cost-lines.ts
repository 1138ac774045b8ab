/** What a request cost, line by line: a count × its price = a cost. The lines add up to the input, the output and the total. */
import type { GenerationDetail, MeteredCost } from '../../../src/console/contract.ts';
import { amountOf, divideHalfUp, ratedTokens, scaleDigits, unitsOf } from '../../kit/amounts.ts';
import { formatCount } from '../../kit/format-figures.ts';

export type CostLine = Readonly<{
  label: string;
  /** Such as `900 tokens`. */
  count: string;
  /** USD per `unit`; null if it cannot be told from the cost. */
  price: string | null;
  unit: 'per 1M' | 'each';
  /** Null when nothing was charged. */
  cost: string | null;
}>;

export type CostBreakdown = Readonly<{
  /** The parts of the input. Empty if it has only one, which is then the line of the input itself. */
  inputParts: readonly CostLine[];
  input: CostLine | null;
  output: CostLine;
  /** The balance did not cover the whole cost, so the lines are what was paid of it. */
  isCut: boolean;
}>;

const partLabels: Readonly<Record<MeteredCost['meter'], string>> = {
  fresh_input: 'Fresh input',
  cache_read: 'Read from a cache',
  cache_write: 'Written to a cache',
  cache_write_long: 'Written to a cache for longer',
  output: 'Output',
};

type Billed = Pick<GenerationDetail, 'usage' | 'cost' | 'meters' | 'ledger'>;

/** Null while nothing is known to have been used. */
export function breakDownCost({ usage, cost, meters, ledger }: Billed): CostBreakdown | null {
  if (usage === null) return null;
  const isCut = cost !== null && ledger?.write_off_reason === 'insufficient_balance';
  if (usage.unit === 'images') return { inputParts: [], input: null, output: imageLine(usage, cost), isCut };
  const line = (label: string, tokens: number, of: string | null, isOne = true): CostLine => ({
    label,
    count: tokens === 1 ? '1 token' : `${formatCount(tokens)} tokens`,
    price: of === null || isCut || !isOne ? null : priceBehind(tokens, of),
    unit: 'per 1M',
    cost: of,
  });
  const inputMeters = (meters ?? []).filter(({ meter }) => meter !== 'output');
  const isOne = inputMeters.length <= 1;
  return {
    inputParts: isOne
      ? []
      : inputMeters
          .filter(({ tokens }) => tokens > 0)
          .map(({ meter, tokens, cost: of }) => line(partLabels[meter], tokens, of)),
    input: line('Input', usage.input_tokens, cost?.input ?? null, isOne),
    output: line('Output', usage.output_tokens, cost?.output ?? null),
    isCut,
  };
}

function imageLine({ units }: NonNullable<Billed['usage']>, cost: Billed['cost']): CostLine {
  const count = BigInt(units);
  const total = cost === null ? null : unitsOf(cost.total);
  const isWhole = total !== null && count > 0n && total % count === 0n;
  return {
    label: 'Images',
    count: count === 1n ? '1 image' : `${formatCount(Number(units))} images`,
    price: isWhole ? amountOf(total / count) : null,
    unit: 'each',
    cost: cost?.total ?? null,
  };
}

/**
 * The shortest price per 1M tokens at which this many cost exactly this much, rounded half up as the gateway does. A price
 * with up to six decimals is always found again, because a single token at another such price would cost something else.
 * Null if no price has that cost.
 */
export function priceBehind(tokens: number, cost: string): string | null {
  if (tokens === 0) return null;
  const count = BigInt(tokens);
  const units = unitsOf(cost);
  for (let decimals = 0; decimals <= scaleDigits; decimals++) {
    const step = 10n ** BigInt(scaleDigits - decimals);
    // The multiple of the step that comes closest. If it does not have this cost, no other multiple does.
    const price = step * divideHalfUp(units * ratedTokens, count * step);
    if (divideHalfUp(count * price, ratedTokens) === units) return amountOf(price);
  }
  return null;
}
