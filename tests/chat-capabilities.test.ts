/** Between the body and the provider: what a model and its providers can do, and how much a request can cost. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { defaultOutputTokens, tokenBounds } from '../src/chat/bounds.ts';
import { ableToServe, checkCapabilities } from '../src/chat/capabilities.ts';
import { parseChat } from '../src/chat/parse.ts';
import { type Capabilities, type OptionalParameter, optionalParameters } from '../src/models/model.ts';
import { anthropic } from '../src/providers/anthropic.ts';
import type { ChatAdapter } from '../src/providers/chat.ts';
import { openai } from '../src/providers/openai.ts';
import type { Candidate } from '../src/routing/candidates.ts';
import {
  asking,
  basic,
  type Fields,
  image,
  jsonSchema,
  look,
  parts,
  plus,
  refusalOf,
  talk,
  toolFunction,
  tools,
  url,
  user,
} from './support/chat-bodies.ts';
import { capable, testModel as model, testProvider } from './support/provider.ts';

describe('checkCapabilities', () => {
  const rows: readonly (readonly [keyof Capabilities, string, Fields])[] = [
    ['streaming', 'stream', plus({ stream: true })],
    ['imageInput', 'messages', image({ url })],
    ['functionCalling', 'tools', tools(look)],
    ['structuredOutput', 'response_format', jsonSchema({ name: 'x' })],
  ];
  test.each(rows)('without %s, %s is unsupported', (capability, param, body) => {
    const request = parseChat(body);
    expect(() => checkCapabilities(request, model())).not.toThrow();
    const lacking = model({ capabilities: { ...capable, [capability]: false } });
    expect(refusalOf(() => checkCapabilities(request, lacking))).toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
    expect(() => checkCapabilities(parseChat(basic), lacking)).not.toThrow();
  });

  test('json_object and text parts need nothing', () => {
    const plain = model({ capabilities: { ...capable, structuredOutput: false, imageInput: false } });
    const body = { ...parts({ type: 'text', text: 'x' }), response_format: { type: 'json_object' } };
    expect(() => checkCapabilities(parseChat(body), plain)).not.toThrow();
  });

  test('max_tokens must not exceed what the model writes', () => {
    const small = model({ maxOutputTokens: 100 });
    expect(() => checkCapabilities(parseChat(plus({ max_tokens: 100 })), small)).not.toThrow();
    const refusal = refusalOf(() => checkCapabilities(parseChat(plus({ max_tokens: 101 })), small));
    expect(refusal).toMatchObject({ code: 'invalid_parameter', param: 'max_tokens' });
    expect(refusal.message).toContain('at most 100 tokens');
  });
});

describe('unsupported_parameters of a model', () => {
  const rows: readonly (readonly [OptionalParameter, Fields, Fields])[] = [
    ['temperature', { temperature: 1 }, { temperature: null }],
    ['top_p', { top_p: 1 }, { top_p: null }],
    ['stop', { stop: 'x' }, { stop: null }],
    ['presence_penalty', { presence_penalty: 0.1 }, { presence_penalty: 0 }],
    ['tool_choice', { tools: [look], tool_choice: 'none' }, { tools: [look], tool_choice: 'auto' }],
    [
      'parallel_tool_calls',
      { tools: [look], parallel_tool_calls: false },
      { tools: [look], parallel_tool_calls: true },
    ],
    ['response_format', { response_format: { type: 'json_object' } }, { response_format: { type: 'text' } }],
    ['seed', { seed: 0 }, { seed: null }],
  ];
  test.each(rows)('%s is refused when it asks for something', (param, asks, asksNothing) => {
    const lacking = model({ unsupportedParameters: new Set([param]) });
    expect(refusalOf(() => checkCapabilities(parseChat(plus(asks)), lacking))).toMatchObject({
      code: 'unsupported_parameter',
      param,
      message: `This model does not support ${param}: leave it out.`,
    });
    expect(() => checkCapabilities(parseChat(plus(asks)), model())).not.toThrow();
    expect(() => checkCapabilities(parseChat(plus(asksNothing)), lacking)).not.toThrow();
  });

  test('every parameter that can be listed has a row', () => {
    expect(rows.map(([param]) => param).toSorted()).toEqual([...optionalParameters].toSorted());
  });
});

describe('ableToServe', () => {
  const call = parseChat(plus({ seed: 1, temperature: 1.5 })).call;
  const candidate = (adapter: ChatAdapter, lacks: readonly OptionalParameter[] = []) =>
    ({
      connection: { provider: testProvider({ unsupportedParameters: new Set(lacks) }), chat: adapter },
    }) as Candidate;

  test('keeps those who can honour everything, in their order', () => {
    const [first, second] = [candidate(openai), candidate(openai)];
    const all = [candidate(anthropic), first, candidate(openai, ['seed']), second];
    expect(ableToServe(all, call)).toEqual([first, second]);
    const able = [first, second];
    expect(ableToServe(able, call)).toBe(able);
  });

  test('refuses for what the first lacks when nobody can', () => {
    const refusal = refusalOf(() => ableToServe([candidate(openai, ['seed']), candidate(anthropic)], call));
    expect(refusal).toMatchObject({ code: 'unsupported_parameter', param: 'seed' });
    expect(refusalOf(() => ableToServe([candidate(anthropic)], call))).toMatchObject({
      param: 'temperature',
    });
  });
});

describe('tokenBounds', () => {
  const inputOf = (body: Fields) => tokenBounds(parseChat(body), model()).inputTokens;

  const rows: readonly (readonly [string, Fields, number])[] = [
    ['5 bytes', basic, 3 + 16],
    ['UTF-8 bytes', talk({ role: 'user', content: 'é😀' }), 3 + 16],
    ['two messages, rounded once', talk(user, user), 5 + 32],
    ['text parts', parts({ type: 'text', text: 'abcd' }, { type: 'text', text: 'ef' }), 3 + 16],
    ['an image', image({ url }), 2_000 + 16],
    ['an image in detail', image({ url, detail: 'high' }), 2_000 + 16],
    ['an image of low detail', image({ url, detail: 'low' }), 200 + 16],
    ['megabytes of an image', image({ url: `data:image/png;base64,${'A'.repeat(3_000_000)}` }), 2_000 + 16],
    // call_1 + look + {} = 12 bytes, then call_1 + ok + look = 12 bytes.
    ['a tool call', talk(asking), 6 + 32],
    [
      'its result',
      talk(asking, { role: 'tool', tool_call_id: 'call_1', content: 'ok', name: 'look' }),
      12 + 48,
    ],
    ['a tool', tools(look), Math.ceil((5 + 4) / 2) + 32],
    [
      'a tool with a schema',
      toolFunction({ name: 'look', description: 'ab', parameters: { a: 'é' } }),
      Math.ceil((5 + 4 + 2 + 10) / 2) + 32,
    ],
    [
      'a format',
      jsonSchema({ name: 'x', description: 'yz', schema: { a: 1 } }),
      Math.ceil((5 + 3 + 7) / 2) + 16,
    ],
  ];
  test.each(rows)('%s', (_, body, tokens) => {
    expect(inputOf(body)).toBe(tokens);
  });

  test('the input cannot exceed the context of the model', () => {
    const request = parseChat(talk({ role: 'user', content: 'x'.repeat(1_000) }));
    expect(tokenBounds(request, model({ contextWindow: 100 })).inputTokens).toBe(100);
    expect(tokenBounds(request, model({ contextWindow: 1_000 })).inputTokens).toBe(516);
  });

  test('the output is max_tokens, or the smaller of the default and what the model writes', () => {
    const outputOf = (fields: Fields, maxOutputTokens: number | null) =>
      tokenBounds(parseChat(plus(fields)), model({ maxOutputTokens })).outputTokens;
    expect(outputOf({ max_tokens: 9_000 }, null)).toBe(9_000);
    expect(outputOf({ max_tokens: 7 }, 100)).toBe(7);
    expect(outputOf({}, null)).toBe(defaultOutputTokens);
    expect(outputOf({}, 100)).toBe(100);
    expect(outputOf({}, 100_000)).toBe(4_096);
  });

  test('more text never means a lower bound', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, more) => {
        const bound = (content: string) => inputOf(talk({ role: 'user', content }));
        expect(bound(first + more)).toBeGreaterThanOrEqual(bound(first));
      }),
    );
  });
});
