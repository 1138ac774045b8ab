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

/** What the contract rejects: parameters by name, a forced tool choice, images as base64, fields that helpers add, references to what is stored. */
const refusedParams =
  /^(?:max_completion_tokens|frequency_penalty|user|n|logprobs|top_logprobs|reasoning|reasoning_effort|tool_choice|response_format|previous_response_id|input\[\d+\]|messages\[\d+\]\.(?:parsed|provider_specific_fields))$/;

export function isExplained({ outcome, code, param }: Outcome): boolean {
  if (outcome === 'failed') return false;
  if (outcome !== 'refused') return true;
  return code === 'unsupported_parameter' && refusedParams.test(param ?? '');
}

/** As tests/clients/node/checks.mjs and python/checks.py name it. */
const replay = 'reasoning sent back';

/** A client that says that it sent reasoning back is believed only if a provider got some in what it was sent. */
export function confirmed(outcomes: readonly Outcome[], sent: readonly unknown[]): Outcome[] {
  const isSentBack = sent.some((body) => /"(?:encrypted_content|signature)":"/.test(JSON.stringify(body)));
  return outcomes.map((one) =>
    one.check !== replay || one.outcome !== 'works' || isSentBack
      ? one
      : { check: replay, outcome: 'failed', detail: 'No provider got any.' },
  );
}
