/** What a script reports about one check, and whether that is explained. */
import { z } from 'zod';

export const columns = [
  'chat',
  'stream',
  'tools',
  'structured output',
  'image input',
  'image output',
  'errors',
] as const;

const outcomeSchema = z.object({
  check: z.string(),
  outcome: z.enum(['works', 'refused', 'failed', 'not offered', 'untested']),
  code: z.string().nullish(),
  param: z.string().nullish(),
  detail: z.string().nullish(),
});

export type Outcome = Readonly<z.infer<typeof outcomeSchema>>;

/** One JSON object per line; other lines are the client's own output. A column without a line has failed. */
export function readOutcomes(output: string): Outcome[] {
  const reported = output
    .split('\n')
    .filter((line) => line.startsWith('{"check"'))
    .map((line) => outcomeSchema.parse(JSON.parse(line)));
  const missing = columns
    .filter((column) => !reported.some(({ check }) => check === column))
    .map((check) => ({ check, outcome: 'failed' as const, detail: 'The script ended without a report.' }));
  return [...reported, ...missing];
}

/** What the contract rejects: parameters by name, a forced tool choice, images as base64, fields that helpers add. */
const refusedParams =
  /^(?:max_completion_tokens|frequency_penalty|user|n|logprobs|top_logprobs|reasoning|reasoning_effort|tool_choice|response_format|messages\[\d+\]\.(?:parsed|provider_specific_fields))$/;

export function isExplained({ outcome, code, param, detail }: Outcome): boolean {
  if (outcome === 'failed') return false;
  if (outcome !== 'refused') return true;
  if (code === 'not_found') return detail?.includes('/v1/responses') === true;
  return code === 'unsupported_parameter' && refusedParams.test(param ?? '');
}
