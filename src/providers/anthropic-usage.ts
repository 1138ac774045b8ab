/** Usage in Anthropic's format. */
import type { ReportedUsage } from './chat.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount, objectAt } from './wire.ts';

/** Tokens read from or written to a cache are not part of input_tokens; thinking is part of output_tokens. */
export function readAnthropicUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.input_tokens) || !isCount(usage.output_tokens)) return null;
  const report = new UsageReport();
  const freshInput = report.optional(usage, 'input_tokens') ?? 0;
  const output = report.optional(usage, 'output_tokens') ?? 0;
  const read = report.optional(usage, 'cache_read_input_tokens');
  const thinking = report.optional(objectAt(usage, 'output_tokens_details'), 'thinking_tokens');
  if (thinking !== null && thinking > output) report.contradict();
  const inputs = readWrites(report, usage).map(([cacheWrite, cacheWriteLong]) => ({
    freshInput,
    cacheRead: read ?? 0,
    cacheWrite,
    cacheWriteLong,
    output: 0,
  }));
  return report.usage(inputs, [output], thinking);
}

/** Written for five minutes and for an hour. Without the breakdown, all of it is for five minutes. */
function readWrites(report: UsageReport, usage: Fields): readonly (readonly [number, number])[] {
  const all = report.optional(usage, 'cache_creation_input_tokens');
  const parts = objectAt(usage, 'cache_creation');
  const short = report.optional(parts, 'ephemeral_5m_input_tokens');
  const long = report.optional(parts, 'ephemeral_1h_input_tokens');
  if (short === null && long === null) return [[all ?? 0, 0]];
  const broken = [short ?? 0, long ?? 0] as const;
  if (all === null || all === broken[0] + broken[1]) return [broken];
  report.contradict();
  return [[Math.max(0, all - broken[1]), Math.min(all, broken[1])], broken];
}
