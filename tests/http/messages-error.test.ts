/** Errors in the form of Anthropic's API: every code of the table has it. */
import { expect, test } from 'bun:test';
import { ApiError, apiErrorCodes, errorTable } from '../../src/errors.ts';
import { isForMessagesClient, presentMessagesError } from '../../src/http/messages-error.ts';
import { anyMessagesErrorSchema } from '../../src/openapi/schemas/messages.ts';

/** The names that the vendor documents. */
const types = new Map<number | null, string>([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

const requestId = 'req_0199a3f2c4d57e8a9b0c1d2e3f405162';
const shown = apiErrorCodes.filter((code) => errorTable[code].status !== null || errorTable[code].inBand);

test.each(shown)('%s', (code) => {
  const error = new ApiError(code, { param: 'messages[0]', message: 'What to do.', docs: 'messages#fields' });
  const body = presentMessagesError(error, requestId, 'https://gateway.example');
  expect(body).toEqual({
    type: 'error',
    error: {
      type: types.get(errorTable[code].status) ?? 'api_error',
      message: 'What to do. See https://gateway.example/docs/messages#fields',
      code,
      param: 'messages[0]',
    },
    request_id: requestId,
  });
  expect(anyMessagesErrorSchema.safeParse(body).success).toBe(true);
  expect(presentMessagesError(new ApiError(code), requestId).error.param).toBeNull();
});

test.each([
  ['/v1/messages', {}, true],
  ['/v1/messages?beta=true', {}, true],
  ['/v1/messages/count_tokens', {}, true],
  ['/v1/messagesx', {}, false],
  ['/v1/chat/completions', { 'anthropic-version': '2023-06-01' }, false],
  ['/v1/models', {}, false],
  ['/v1/models', { 'anthropic-version': '2023-06-01' }, true],
  ['/v1/models/a/b', { 'anthropic-version': '2023-06-01' }, true],
  ['/v1/modelsx', { 'anthropic-version': '2023-06-01' }, false],
])('%s with %j: %p', (path, headers, isMeant) => {
  const request = new Request(`http://gateway${path}`, { headers: headers as Record<string, string> });
  expect(isForMessagesClient(request)).toBe(isMeant);
});
