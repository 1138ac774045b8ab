/** Google has no strict tools, but modes of the request that hold every call to its schema. */
import { expect, test } from 'bun:test';
import { google } from '../../src/providers/google.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const tool = { name: 'tide_table', description: null, parameters: null, strict: null };
const upstream = {
  baseUrl: 'https://example.test/v1beta',
  apiKey: null,
  model: 'gemini-x',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_1',
};

test.each([
  [null, { mode: 'VALIDATED' }],
  ['auto', { mode: 'VALIDATED' }],
  ['none', { mode: 'NONE' }],
  [{ functionName: 'now' }, { mode: 'ANY', allowedFunctionNames: ['now'] }],
] as const)('tool_choice %j', (toolChoice, functionCallingConfig) => {
  const tools = [tool, { ...tool, name: 'now', strict: true }];
  const call = { ...emptyCall, messages: [{ role: 'user', content: 'Hello' }], tools, toolChoice } as const;
  expect(google.unsupported(call, defaultDialect)).toBeNull();
  const { body } = google.chatRequest(call, upstream, false);
  expect(JSON.parse(body)).toMatchObject({ toolConfig: { functionCallingConfig } });
  expect(body).not.toContain('strict');
});
