/** Usage in Anthropic's format. */
import type { ReportedUsage } from './chat.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount, isObject } from './wire.ts';

/** Tokens read from or written to a cache are not part of input_tokens; thinking is part of output_tokens. */
export function readAnthropicUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.input_tokens) || !isCount(usage.output_tokens)) return null;
  const report = new UsageReport();
  const freshInput = report.optional(usage, 'input_tokens') ?? 0;
  const output = report.optional(usage, 'output_tokens') ?? 0;
  const read = report.optional(usage, 'cache_read_input_tokens');
  const details = report.details(usage, 'output_tokens_details');
  const thinking = report.optional(details, 'output_tokens_details.thinking_tokens');
  if (thinking !== null && thinking > output) report.contradict();
  const written = report.optional(usage, 'cache_creation_input_tokens');
  const byTime = report.details(usage, 'cache_creation');
  const short = report.optional(byTime, 'cache_creation.ephemeral_5m_input_tokens');
  const long = report.optional(byTime, 'cache_creation.ephemeral_1h_input_tokens');
  const inputs = report.writes(written, short, long).map(({ write, writeLong }) => ({
    freshInput,
    cacheRead: read ?? 0,
    cacheWrite: write,
    cacheWriteLong: writeLong,
    output: 0,
  }));
  return report.usage(inputs, [output], thinking);
}

/** The counts of the input in a stream, as they were last reported. */
export type AnthropicInput = Record<(typeof inputFields)[number], unknown>;

const inputFields = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'cache_read_input_tokens',
] as const;

export function noInput(): AnthropicInput {
  return {
    input_tokens: null,
    cache_creation_input_tokens: null,
    cache_creation: null,
    cache_read_input_tokens: null,
  };
}

/**
 * Counts cover the whole answer so far: a new one replaces the last. No answer is without input, so a report of none, as
 * some servers send it with the output, says nothing about it.
 */
export function noteInput(input: AnthropicInput, reported: Fields | null): void {
  if (reported === null || (isNone(reported) && !isNone(input))) return;
  const { cache_creation_input_tokens: before, cache_creation: byTime } = input;
  for (const field of inputFields) input[field] = reported[field] ?? input[field];
  // Later reports have a new sum and no longer its parts. What was written for an hour stays; the rest is new.
  if (input.cache_creation_input_tokens !== before && (reported.cache_creation ?? null) === null)
    input.cache_creation = isObject(byTime)
      ? { ephemeral_1h_input_tokens: byTime.ephemeral_1h_input_tokens }
      : null;
}

/** Whether no count is anything but zero. */
function isNone({
  input_tokens,
  cache_creation_input_tokens,
  cache_creation,
  cache_read_input_tokens,
}: Fields): boolean {
  const byTime = cache_creation ?? {};
  if (!isObject(byTime)) return false;
  const { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens } = byTime;
  return [
    input_tokens,
    cache_creation_input_tokens,
    cache_read_input_tokens,
    ephemeral_5m_input_tokens,
    ephemeral_1h_input_tokens,
  ].every((count) => (count ?? 0) === 0);
}
