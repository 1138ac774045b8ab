import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { DecisionError, type DecisionErrorName, decisionErrorTable } from '../../src/decisions/errors.ts';
import { presentDecisionError } from '../../src/decisions/present.ts';

test('docs/decisions.md lists every error with its status, type and message', () => {
  const documented = readFileSync(new URL('../../docs/decisions.md', import.meta.url), 'utf8');
  for (const { status, type, message } of Object.values(decisionErrorTable))
    expect(documented).toContain(`| ${status} | \`${type}\` | ${message} |`);
});

test.each(Object.keys(decisionErrorTable) as DecisionErrorName[])(
  '%s is shown without its cause',
  (reason) => {
    const { status, type, message } = decisionErrorTable[reason];
    const error = new DecisionError(reason, { cause: new Error('secret') });
    expect(presentDecisionError(error, 'req_1')).toEqual({
      error: { type, status, message, request_id: 'req_1' },
    });
  },
);

test('what is known about the provider is shown', () => {
  const failed = (status: number | null, requestId: string | null, retryAfterSeconds: number | null) =>
    presentDecisionError(
      new DecisionError('rate_limit', { upstream: { provider: 'P', status, requestId }, retryAfterSeconds }),
      'req_1',
    ).error;
  expect(failed(429, 'up_1', 0)).toMatchObject({
    provider: 'P',
    upstream_status: 429,
    upstream_request_id: 'up_1',
    retry_after_seconds: 0,
  });
  expect(Object.keys(failed(null, null, null))).toEqual([
    'type',
    'status',
    'message',
    'request_id',
    'provider',
  ]);
});
