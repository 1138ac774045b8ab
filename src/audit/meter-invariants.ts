/** The invariants of tokens by meter, and of what calls cost the operator. */
import type { Invariant } from './invariant.ts';
import { everyMarginDay, marginDaysSinceCheckpoint } from './usage-sums.ts';

const cachedTokens = 'cache_read_tokens + cache_write_tokens + cache_write_long_tokens';
const cachedCosts = 'cost_cache_read + cost_cache_write + cost_cache_write_long';

/** Each of them is there or none is, and together they are at most the whole. */
const areParts = (parts: readonly [string, string, string], whole: string) => `
  case num_nulls(${parts.join(', ')}) when 3 then true
    when 0 then least(${parts.join(', ')}) >= 0 and coalesce(${whole} >= ${parts.join(' + ')}, false)
    else false end`;

const areTokens = areParts(
  ['cache_read_tokens', 'cache_write_tokens', 'cache_write_long_tokens'],
  'input_tokens',
);

/** What was not used costs nothing. If all input was cached, it costs what the parts cost. */
const areCosts = `
  ${areParts(['cost_cache_read', 'cost_cache_write', 'cost_cache_write_long'], 'cost_input')}
  and (cost_cache_read is null
    or coalesce((cache_read_tokens > 0 or cost_cache_read = 0) and (cache_write_tokens > 0 or cost_cache_write = 0)
      and (cache_write_long_tokens > 0 or cost_cache_write_long = 0)
      and (input_tokens > ${cachedTokens} or cost_input = ${cachedCosts}), false))
  and (cost_total is null or (cost_cache_read is null) = (cache_read_tokens is null))`;

const areTokensOfAttempt = areParts(
  ['attempt.cache_read_tokens', 'attempt.cache_write_tokens', 'attempt.cache_write_long_tokens'],
  'attempt.input_tokens',
);

/** The months that are always there, so that a Generation of them is missing only if it never was. */
const retainedId = "first_id_at(date_trunc('month', now() - interval '31 days', 'UTC'))";

/** Each of them is there or none is, and none is less than nothing. */
const areWhole = (...parts: readonly string[]) =>
  `num_nulls(${parts.join(', ')}) in (0, ${parts.length}) and least(${parts.join(', ')}) >= 0 is not false`;

const hasKnownUnit = "coalesce(unit in ('tokens', 'images'), true)";

export const meterInvariants: readonly Invariant[] = [
  {
    invariant: 'each Generation says how it ended, and what it cost is the sum of its parts',
    query: ({ sinceId }) => `
      select count(*) as checked,
             count(*) filter (where not (status in ('completed', 'failed', 'cancelled') and ${hasKnownUnit}
               and (status <> 'completed' or cost_total is not null and error_code is null)
               and (status <> 'failed' or error_code is not null)
               and ${areWhole('cost_input', 'cost_output', 'cost_total')}
               and cost_total = cost_input + cost_output is not false
               and ${areWhole('input_tokens', 'output_tokens', 'units')} and (units is null) = (unit is null)
               and (cost_total is null or units is not null) and hold >= 0 is not false)) as violations
      from generations where id >= '${sinceId}'`,
  },
  {
    invariant: 'cached tokens are part of the input of their Generation, and cost part of what it costs',
    query: ({ sinceId }) => `
      select count(*) as checked, count(*) filter (where not (${areTokens}) or not (${areCosts})) as violations
      from generations where id >= '${sinceId}'`,
  },
  {
    invariant: 'each usage record has possible counts, and no cost below zero',
    query: ({ sinceId }) => `
      select count(*) as checked,
             count(*) filter (where not (${areTokens}) or least(input_tokens, output_tokens, units, cost) < 0
               or not ${hasKnownUnit} or (cache_saved is null) <> (cache_read_tokens is null)
               or provider_cost < 0 or provider_cost is not null and provider is null) as violations
      from usage_records where id >= '${sinceId}'`,
  },
  {
    invariant: 'each Generation with a cost has the tokens and the provider of its usage record',
    query: ({ sinceId }) => `
      select count(*) as checked,
             count(*) filter (where (one.input_tokens, one.output_tokens, one.cache_read_tokens, one.cache_write_tokens,
                 one.cache_write_long_tokens)
               is distinct from (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens,
                 used.cache_write_long_tokens)
               or used.provider <> one.provider) as violations
      from generations as one join usage_records as used on used.id = one.id
      where one.cost_total is not null and one.id >= '${sinceId}' and used.id >= '${sinceId}'`,
  },
  {
    invariant: 'revenue and provider cost that were added up by day and model equal their usage records',
    query: ({ isFull }) => (isFull ? everyMarginDay : marginDaysSinceCheckpoint),
  },
  {
    invariant: 'every uncharged attempt belongs to a finished Generation, while that is retained',
    query: ({ sinceId }) => `
      select count(*) as checked,
             count(*) filter (where generations.id is null and (open_generations.id is not null
                 or attempt.generation_id >= ${retainedId})
               or generations.account_id <> attempt.account_id or attempt.cost < 0 or not (${areTokensOfAttempt})) as violations
      from uncharged_attempts as attempt
      left join generations on generations.id = attempt.generation_id
      left join open_generations on open_generations.id = attempt.generation_id
      where attempt.generation_id >= '${sinceId}'`,
  },
];
