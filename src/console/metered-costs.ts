/** What a Generation cost by meter. The parts add up to its input, its output and its total, to the last digit. */
import type { GenerationSummary } from '../generations/generation-store.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import type { MeteredCost } from './contract.ts';

type Part = Readonly<{ meter: MeteredCost['meter']; tokens: bigint; cost: Money }>;

/** Null when nothing was charged, or not by the token. */
export function meteredCosts(generation: GenerationSummary): MeteredCost[] | null {
  const { unit, input_tokens: inputTokens, output_tokens: outputTokens } = generation;
  const { cost_input: inputCost, cost_output: outputCost } = generation;
  if (unit !== 'tokens' || inputTokens === null || outputTokens === null) return null;
  if (inputCost === null || outputCost === null) return null;
  const cached = cachedParts(generation);
  const fresh: Part = {
    meter: 'fresh_input',
    tokens: cached.reduce((left, { tokens }) => left - tokens, inputTokens),
    cost: cached.reduce((left, { cost }) => left - cost, moneyFromDatabase(inputCost)),
  };
  const output: Part = { meter: 'output', tokens: outputTokens, cost: moneyFromDatabase(outputCost) };
  return [fresh, ...cached, output].map(({ meter, tokens, cost }) => ({
    meter,
    tokens: Number(tokens),
    cost: formatMoney(cost),
  }));
}

/** None for records without caches, such as those from before caches were recorded. */
function cachedParts(generation: GenerationSummary): readonly Part[] {
  const part = (meter: Part['meter'], tokens: bigint | null, cost: string | null): Part => ({
    meter,
    tokens: tokens ?? 0n,
    cost: cost === null ? 0n : moneyFromDatabase(cost),
  });
  return [
    part('cache_read', generation.cache_read_tokens, generation.cost_cache_read),
    part('cache_write', generation.cache_write_tokens, generation.cost_cache_write),
    part('cache_write_long', generation.cache_write_long_tokens, generation.cost_cache_write_long),
  ].filter(({ tokens }) => tokens > 0n);
}
