/** Usage in OpenAI's format and in the variants of the vendors that speak it. */
import type { Meters } from '../lib/meters.ts';
import type { ReportedUsage } from './chat.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount, objectAt } from './wire.ts';

/** All of the prompt's tokens are in prompt_tokens, whether a cache was involved or not. */
export function readOpenaiUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.prompt_tokens) || !isCount(usage.completion_tokens)) return null;
  const report = new UsageReport();
  const input = report.optional(usage, 'prompt_tokens') ?? 0;
  const output = report.optional(usage, 'completion_tokens') ?? 0;
  const details = objectAt(usage, 'prompt_tokens_details');
  const read = report.firstOf(
    [details, 'cached_tokens'],
    // DeepSeek.
    [usage, 'prompt_cache_hit_tokens'],
    // Moonshot.
    [usage, 'cached_tokens'],
    // Mistral.
    [details, 'num_cached_tokens'],
    [usage, 'num_cached_tokens'],
  );
  const reasoning = report.optional(objectAt(usage, 'completion_tokens_details'), 'reasoning_tokens');
  const total = report.optional(usage, 'total_tokens');
  // Reasoning is part of completion_tokens, except with xAI. The total tells which it is, so that each token counts once.
  const isSeparate = reasoning !== null && reasoning > 0 && total === input + output + reasoning;
  if (!isSeparate && reasoning !== null && reasoning > output) report.contradict();
  const outputs = isSeparate ? [output + reasoning] : report.outputs(input, output, total);
  const inputs = readInputs(report, usage, details, input, read ?? 0);
  return report.usage(inputs, outputs, reasoning);
}

function readInputs(
  report: UsageReport,
  usage: Fields,
  details: Fields | null,
  input: number,
  read: number,
): readonly Meters[] {
  // The second one is Qwen's, for caches that a request asks for.
  const written = report.firstOf([details, 'cache_write_tokens'], [details, 'cache_creation_input_tokens']);
  const long = report.optional(objectAt(details, 'cache_write_tokens_details'), 'ttl_12h_tokens') ?? 0;
  const write = written ?? long;
  if (long > write) report.contradict();
  const writeLong = Math.min(long, write);
  const inputs = report.inputIncluding(input, { read, write: write - writeLong, writeLong });
  // DeepSeek: hits and misses are all of the prompt.
  const missed = report.optional(usage, 'prompt_cache_miss_tokens');
  if (missed === null || missed + read === input) return inputs;
  report.contradict();
  const other = { freshInput: missed, cacheRead: read, cacheWrite: 0, cacheWriteLong: 0, output: 0 };
  return [...inputs, other];
}
