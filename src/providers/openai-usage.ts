/** Usage in OpenAI's format and in the variants of the vendors that speak it. */
import type { CachedTokens, Meters } from '../lib/meters.ts';
import type { ReportedUsage } from './chat.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount } from './wire.ts';

/** All of the prompt's tokens are in prompt_tokens, whether a cache was involved or not. */
export function readOpenaiUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.prompt_tokens) || !isCount(usage.completion_tokens)) return null;
  const report = new UsageReport();
  const input = report.optional(usage, 'prompt_tokens') ?? 0;
  const output = report.optional(usage, 'completion_tokens') ?? 0;
  const details = report.details(usage, 'completion_tokens_details');
  const reasoning = report.optional(details, 'completion_tokens_details.reasoning_tokens');
  const total = report.optional(usage, 'total_tokens');
  const outputs = readOutputs(report, { input, output, reasoning, total });
  return report.usage(readInputs(report, usage, input), outputs, reasoning);
}

type Totals = Readonly<{ input: number; output: number; reasoning: number | null; total: number | null }>;

/** Reasoning is part of the output, except with xAI. The total tells which it is, so that each token counts once. */
export function readOutputs(
  report: UsageReport,
  { input, output, reasoning, total }: Totals,
): readonly number[] {
  const isSeparate = reasoning !== null && reasoning > 0 && total === input + output + reasoning;
  if (isSeparate) return [output + reasoning];
  if (reasoning !== null && reasoning > output) report.contradict();
  return report.outputs(input, output, total);
}

function readInputs(report: UsageReport, usage: Fields, input: number): readonly Meters[] {
  const details = report.details(usage, 'prompt_tokens_details');
  // DeepSeek: hits and misses are all of the prompt. Servers that have both fields and fill in neither do not say anything.
  const hits = report.optional(usage, 'prompt_cache_hit_tokens');
  const misses = report.optional(usage, 'prompt_cache_miss_tokens');
  const isSilent = hits === 0 && misses === 0;
  const missed = isSilent ? null : misses;
  const reads = report.anyOf(
    [details, 'prompt_tokens_details.cached_tokens'],
    [isSilent ? null : usage, 'prompt_cache_hit_tokens'],
    // Moonshot.
    [usage, 'cached_tokens'],
    // Mistral.
    [details, 'prompt_tokens_details.num_cached_tokens'],
    [usage, 'num_cached_tokens'],
  );
  const rest = missed !== null && missed <= input ? input - missed : 0;
  const writes = readWrites(report, details, 'prompt_tokens_details');
  return (reads.length === 0 ? [rest] : reads).flatMap((read) => {
    const inputs = writes.flatMap((written) => report.inputIncluding(input, { read, ...written }));
    if (missed === null || missed + read === input) return inputs;
    report.contradict();
    return [...inputs, { freshInput: missed, cacheRead: read, cacheWrite: 0, cacheWriteLong: 0, output: 0 }];
  });
}

/** `path` is the vendor's name for the details of the input. */
export function readWrites(
  report: UsageReport,
  details: Fields | null,
  path: string,
): readonly Omit<CachedTokens, 'read'>[] {
  const byTime = report.details(details, `${path}.cache_write_tokens_details`);
  const short = report.optional(byTime, `${path}.cache_write_tokens_details.ttl_30m_tokens`);
  const long = report.optional(byTime, `${path}.cache_write_tokens_details.ttl_12h_tokens`);
  const totals = report.anyOf(
    [details, `${path}.cache_write_tokens`],
    // Qwen, for caches that a request asks for.
    [details, `${path}.cache_creation_input_tokens`],
  );
  return (totals.length === 0 ? [null] : totals).flatMap((all) => report.writes(all, short, long));
}
