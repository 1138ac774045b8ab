/** Usage in the format of OpenAI's Responses API: other names than in chat completions, the same rules. */
import type { ReportedUsage } from './chat.ts';
import { readOutputs, readWrites } from './openai-usage.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount } from './wire.ts';

/** Cached and written tokens are part of input_tokens, reasoning is part of output_tokens. */
export function readResponsesUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.input_tokens) || !isCount(usage.output_tokens)) return null;
  const report = new UsageReport();
  const input = report.optional(usage, 'input_tokens') ?? 0;
  const output = report.optional(usage, 'output_tokens') ?? 0;
  const outputDetails = report.details(usage, 'output_tokens_details');
  const reasoning = report.optional(outputDetails, 'output_tokens_details.reasoning_tokens');
  const total = report.optional(usage, 'total_tokens');
  const outputs = readOutputs(report, { input, output, reasoning, total });
  const details = report.details(usage, 'input_tokens_details');
  const read = report.optional(details, 'input_tokens_details.cached_tokens') ?? 0;
  const inputs = readWrites(report, details, 'input_tokens_details').flatMap((written) =>
    report.inputIncluding(input, { read, ...written }),
  );
  return report.usage(inputs, outputs, reasoning);
}
