/** Usage in the format of Google's Gemini API. */
import type { ReportedUsage } from './chat.ts';
import { UsageReport } from './usage-report.ts';
import { type Fields, isCount } from './wire.ts';

/**
 * Thinking is not part of the candidates' tokens (the total is documented as prompt, thoughts and candidates) while
 * cached tokens are part of the prompt's, so each is counted once. Zero counts are omitted; a missing output count is
 * taken for zero only if the total agrees.
 */
export function readGoogleUsage(usage: Fields | null): ReportedUsage | null {
  if (usage === null || !isCount(usage.promptTokenCount)) return null;
  const report = new UsageReport();
  const prompt = report.optional(usage, 'promptTokenCount') ?? 0;
  const toolUse = report.optional(usage, 'toolUsePromptTokenCount') ?? 0;
  const thoughts = report.optional(usage, 'thoughtsTokenCount');
  const total = report.optional(usage, 'totalTokenCount');
  const read = report.optional(usage, 'cachedContentTokenCount') ?? 0;
  const input = prompt + toolUse;
  const isNone = total === input + (thoughts ?? 0);
  const candidates = report.optional(usage, 'candidatesTokenCount') ?? (isNone ? 0 : null);
  if (candidates === null) return null;
  const output = candidates + (thoughts ?? 0);
  // Only the prompt itself can have been cached.
  const inputs = report
    .inputIncluding(prompt, { read, write: 0, writeLong: 0 })
    .map((meters) => ({ ...meters, freshInput: meters.freshInput + toolUse }));
  // Where the total is documented, what the tools put into the prompt is part of it in one place and not in another.
  const outputs = total === prompt + output ? [output] : report.outputs(input, output, total);
  return report.usage(inputs, outputs, thoughts);
}
