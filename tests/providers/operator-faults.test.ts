/** Errors that look like the client's fault but are the operator's, and those that only resemble them. */
import { describe, expect, test } from 'bun:test';
import { readMessagesError, readOpenaiError } from '../../src/providers/operator-faults.ts';

const readers = { messages: readMessagesError, openai: readOpenaiError };

describe('is of the operator', () => {
  test.each([
    ['messages', 400, { message: 'Your credit balance is too low to access the Anthropic API.' }, 'credit'],
    ['messages', 400, { message: 'You have reached your specified API usage limits. You will' }, 'credit'],
    ['messages', 400, { message: 'This organization has been disabled.' }, 'key'],
    ['openai', 400, { code: 'billing_hard_limit_reached' }, 'credit'],
    ['openai', 400, { type: 'Arrearage', code: 'Arrearage' }, 'credit'],
    ['openai', 429, { type: 'insufficient_quota', code: null }, 'credit'],
    ['openai', 400, 'Incorrect API key provided: sk***YA.', 'key'],
    [
      'openai',
      400,
      { message: 'Your organization must be verified to use the model.', code: 'unsupported_value' },
      'key',
    ],
  ] as const)('%s %d %j', (format, status, error, setback) => {
    expect(readers[format](status, { error })?.setback).toBe(setback);
  });
});

describe('is not', () => {
  test.each([
    ['messages', 400, { type: 'invalid_request_error', message: 'messages: at least one is required' }],
    ['messages', 400, { message: 'Unknown role: "Your credit balance is too low"' }],
    ['messages', 413, { message: 'Your credit balance is too low' }],
    ['openai', 400, { message: "Invalid value: 'Your organization must be verified to '" }],
    ['openai', 400, { code: 'unsupported_value', message: 'Unsupported value' }],
    ['openai', 429, { code: 'rate_limit_exceeded' }],
    ['openai', 400, null],
    ['openai', 400, ['insufficient_quota']],
    ['openai', 400, 3],
  ] as const)('%s %d %j', (format, status, error) => {
    expect(readers[format](status, { error })).toBeNull();
    for (const garbage of [null, 'x', [], error]) expect(readers[format](status, garbage)).toBeNull();
  });
});
