/** Between the body and the provider: what a model and its providers can do, and how much a request can write. */
import { describe, expect, test } from 'bun:test';
import { defaultOutputTokens, tokenBounds } from '../src/chat/bounds.ts';
import { ableToServe, checkCapabilities } from '../src/chat/capabilities.ts';
import { parseChat } from '../src/chat/parse.ts';
import { type Capabilities, type OptionalParameter, optionalParameters } from '../src/models/model.ts';
import { anthropic } from '../src/providers/anthropic.ts';
import type { ChatAdapter } from '../src/providers/chat.ts';
import { openai } from '../src/providers/openai.ts';
import type { Candidate } from '../src/routing/candidates.ts';
import {
  basic,
  type Fields,
  image,
  jsonSchema,
  look,
  parts,
  plus,
  refusalOf,
  tools,
  url,
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
  test('the output is max_tokens, or the smaller of the default and what the model writes', () => {
    const outputOf = (fields: Fields, maxOutputTokens: number | null) =>
      tokenBounds(parseChat(plus(fields)), model({ maxOutputTokens })).outputTokens;
    expect(outputOf({ max_tokens: 9_000 }, null)).toBe(9_000);
    expect(outputOf({ max_tokens: 7 }, 100)).toBe(7);
    expect(outputOf({}, null)).toBe(defaultOutputTokens);
    expect(outputOf({}, 100)).toBe(100);
    expect(outputOf({}, 100_000)).toBe(4_096);
  });
});
