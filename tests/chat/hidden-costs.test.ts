/** Whatever a provider of the same format charges for is part of the hold, however deep in a request it is, or refused. */
import { describe, expect, test } from 'bun:test';
import { inputBound } from '../../src/chat/bounds.ts';
import { parseMessages } from '../../src/chat/messages/parse.ts';
import type { ChatRequest } from '../../src/chat/request.ts';
import { parseResponses } from '../../src/chat/responses/parse.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import { ApiError } from '../../src/errors.ts';
import { testModel } from '../support/provider.ts';

const signatures = new Signatures(Buffer.alloc(32, 7));
const scope = { accountId: 'account', model: 'm' };
const long = 'word '.repeat(2_000);

function messages(changes: object, headers: Record<string, string> = {}) {
  const body = { model: 'm', max_tokens: 100, messages: [user('Hello')], ...changes };
  const all = new Headers({ 'anthropic-version': '2023-06-01', ...headers });
  return parseMessages(body, { headers: all, accountId: 'account' }, signatures);
}

function responses(changes: object) {
  const incoming = { headers: new Headers(), accountId: 'account' };
  return parseResponses(signatures)({ model: 'm', input: 'Hello', ...changes }, incoming);
}

const user = (...content: unknown[]) => ({
  role: 'user',
  content: typeof content[0] === 'string' ? content[0] : content,
});
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const document = (source: object, more: object = {}) => ({ type: 'document', source, ...more });

function tokensOf({ call, furtherInput }: ChatRequest<unknown>): number {
  return inputBound(call, testModel({ contextWindow: null } as object), furtherInput).tokens;
}

function refusedParam(run: () => unknown): string | undefined {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'unsupported_parameter') return thrown.param;
    throw thrown;
  }
  throw new Error('It was not refused.');
}

/** Servers that speak several formats may obey any of these, and then write more than is held for. */
const otherLimits = { n: 2, best_of: 2, min_tokens: 10, max_completion_tokens: 10, max_new_tokens: 10 };
const namesOf = (fields: object) => Object.entries(fields).map(([name, value]) => ({ name, value }));

describe('Messages', () => {
  test.each(namesOf({ ...otherLimits, max_output_tokens: 10 }))(
    '$name is not passed on',
    ({ name, value }) => {
      expect(refusedParam(() => messages({ [name]: value }))).toBe(name);
      expect(messages({ [name]: null, n: 1 }).original).not.toBeNull();
    },
  );

  test.each([
    [
      'a message of the system that looks like a billing line',
      {
        messages: [
          user('Hello'),
          { role: 'system', content: [text(`x-anthropic-billing-header: ${long}`)] },
          user('Go on'),
        ],
      },
    ],
    ['citations in instructions', { system: [text('Be brief.', { citations: [{ cited_text: long }] })] }],
  ])('%s counts as input', (_, changes) => {
    expect(tokensOf(messages(changes))).toBeGreaterThan(long.length);
  });

  const marked = text('x', { cache_control: { type: 'ephemeral', ttl: '1h' } });
  test.each([
    ['the content of a document', user(document({ type: 'content', content: [marked] }))],
    ['a search result', user({ type: 'search_result', source: 's', title: 't', content: [marked] })],
    ['a block of an unknown type', user({ type: 'new_kind', parts: { inner: [marked] } })],
    ['an unknown field of a block', user(text('x', { extra: marked }))],
    ['an unknown field of a message', { ...user('x'), extra: [marked] }],
  ])('a mark for an hour inside %s is held at its price', (_, message) => {
    expect(messages({ messages: [message] }).original?.cacheMarks).toBe('long');
  });

  test('a mark for an hour inside an unknown field is held at its price', () => {
    expect(messages({ extra: marked }).original?.cacheMarks).toBe('long');
  });

  test('a mark of a length that is not known counts as the longest', () => {
    const block = text('x', { cache_control: { type: 'ephemeral', ttl: '24h' } });
    expect(messages({ extra: block }).original?.cacheMarks).toBe('long');
  });

  test.each([
    [{ type: 'base64', media_type: 'image/png', data: 'AAAA' }],
    [{ type: 'url', url: 'https://example.com/cat.png' }],
  ])('an image inside a document has more tokens than bytes: %j', (source) => {
    const block = document({ type: 'content', content: [text('x'), { type: 'image', source }] });
    expect(messages({ messages: [user(block)] }).furtherInput?.unbounded).not.toBeNull();
  });

  test('the text of a document with citations is cut into pieces, each with a number', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'a. '.repeat(100) };
    const unbounded = (citations?: object) =>
      messages({ messages: [user(document(source, { citations }))] }).furtherInput?.unbounded;
    expect(unbounded({ enabled: true })).not.toBeNull();
    expect(unbounded({ enabled: false })).toBeNull();
    expect(unbounded()).toBeNull();
  });

  test("a file of the operator's account cannot be named inside a document", () => {
    const source = { type: 'file', file_id: 'file_1' };
    const block = document({ type: 'content', content: [{ type: 'image', source }] });
    expect(refusedParam(() => messages({ messages: [user(block)] }))).toBe('messages[0].content[0].source');
  });

  test.each(['compact_20260112', 'COMPACT_20260112', 'some_new_edit'])(
    'an edit that may run the model once more has no price here: %s',
    (type) => {
      const changes = { context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type }] } };
      expect(refusedParam(() => messages(changes))).toBe('context_management');
    },
  );

  test.each(['clear_thinking_20251015', 'clear_tool_uses_20250919'])('%s costs nothing', (type) => {
    expect(messages({ context_management: { edits: [{ type }] } }).original).not.toBeNull();
  });

  test('a feature with a price is refused in any spelling', () => {
    const headers = { 'anthropic-beta': 'effort-2025-11-24,Context-1M-2025-08-07' };
    expect(refusedParam(() => messages({}, headers))).toBe('anthropic-beta');
  });
});

describe('Responses', () => {
  test.each(namesOf({ ...otherLimits, max_tokens: 10, modalities: ['audio'], audio: {} }))(
    '$name is not passed on',
    ({ name, value }) => {
      expect(refusedParam(() => responses({ [name]: value }))).toBe(name);
      expect(responses({ [name]: null, n: 1 }).original).not.toBeNull();
    },
  );

  const look = { type: 'function', name: 'look' };
  const reasoning = () => {
    const value = JSON.stringify(['rs_1', 'x']);
    return { type: 'reasoning', encrypted_content: signatures.seal({ value, madeBy: 'm' }, scope) };
  };

  test.each([
    [
      'tools that are not allowed now',
      () => ({
        tools: [look, { ...look, name: 'find', description: long }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [look] },
      }),
    ],
    ['what a tool returns', () => ({ tools: [{ ...look, output_schema: { description: long } }] })],
    [
      'a namespace without tools',
      () => ({
        tools: [look, { type: 'namespace', name: 'n', description: long, tools: [] }],
      }),
    ],
    [
      'what an open model thought',
      () => ({
        input: [
          { role: 'user', content: 'Hello' },
          { ...reasoning(), content: [{ type: 'reasoning_text', text: long }] },
        ],
      }),
    ],
    [
      'annotations',
      () => ({
        input: [
          {
            role: 'assistant',
            content: [{ type: 'output_text', text: 'x', annotations: [{ quote: long }] }],
          },
        ],
      }),
    ],
  ])('%s: counts as input', (_, changes) => {
    const request = responses(changes());
    expect(tokensOf(request)).toBeGreaterThan(long.length);
    expect(request.original?.untranslatable).toBeNull();
  });
});
