import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decisionErrorTable } from '../src/decisions/errors.ts';
import { ApiError, errorTable, presentError } from '../src/errors.ts';
import contractDecisionErrors from './contract/decision-errors.json';
import contractErrors from './contract/errors.json';

/** Our own codes, for what the contract leaves open. */
const addedCodes = [
  'gateway_interrupted',
  'internal_error',
  'limits_changed',
  'server_overloaded',
  'spend_limit_exceeded',
  'websocket_not_supported',
];

const publicRows = Object.entries(errorTable).filter(([, { surface }]) => surface === 'api');
const rowsOfTable = publicRows.flatMap(([code, { status, type, retryable, inBand }]) => [
  ...(status === null ? [] : [{ status, type, code, retryable }]),
  ...(inBand ? [{ status: null, type, code, retryable }] : []),
]);

const sorted = (rows: readonly object[]) =>
  rows.map((row) => JSON.stringify(row, Object.keys(row).sort())).sort();

test('the error table is the contract’s, plus what the contract leaves open', () => {
  const own = rowsOfTable.filter((row) => !addedCodes.includes(row.code));
  expect(sorted(own)).toEqual(sorted(contractErrors));
});

test('the decision error table is the contract’s', () => {
  const own = Object.values(decisionErrorTable).map(({ status, type }) => ({ status, type }));
  expect(sorted(own)).toEqual(sorted(contractDecisionErrors));
});

test('docs/errors.md lists every code with its status, type and advice', () => {
  const documented = readFileSync(join(import.meta.dir, '../docs/errors.md'), 'utf8');
  for (const [code, { status, type, retryable, inBand, message }] of Object.entries(errorTable)) {
    expect(documented).toContain(
      `| ${status ?? ''} | ${inBand ? 'yes' : ''} | ${type} | \`${code}\` | ${retryable} | ${message} |`,
    );
  }
});

test('the body names param only when there is one, and never the cause', () => {
  const refused = new ApiError('invalid_parameter', {
    param: 'top_p',
    message: 'top_p must be at most 1.',
    cause: new Error('secret'),
  });
  expect(presentError(refused)).toEqual({
    error: {
      message: 'top_p must be at most 1.',
      type: 'invalid_request_error',
      param: 'top_p',
      code: 'invalid_parameter',
    },
  });
  expect(JSON.stringify(presentError(new ApiError('not_found')))).not.toContain('param');
  expect(JSON.stringify(presentError(refused))).not.toContain('secret');
});
