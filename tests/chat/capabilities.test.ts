/** Between the body and the provider: what a model and its providers can do, and how much a request can write. */
import { describe, expect, test } from 'bun:test';
import { ableToServe, checkCapabilities } from '../../src/chat/capabilities.ts';
import { parseExtendedChat } from '../../src/chat/completions/extensions.ts';
import { parseChat } from '../../src/chat/completions/parse.ts';
import { chatTerms } from '../../src/chat/hold.ts';
import {
  type Capabilities,
  type Model,
  type OptionalParameter,
  optionalParameters,
} from '../../src/models/model.ts';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { ChatAdapter, Original } from '../../src/providers/chat.ts';
import { openai } from '../../src/providers/openai.ts';
import { responses } from '../../src/providers/responses.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import type { Candidate } from '../../src/routing/candidates.ts';
import {
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
} from '../support/chat-bodies.ts';
import { capable, testModel as model, testProvider } from '../support/provider.ts';

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

  test('a refusal names the section that explains it', () => {
    const plain = model({ capabilities: { ...capable, functionCalling: false, streaming: false } });
    const docsOf = (body: Fields) => refusalOf(() => checkCapabilities(parseChat(body), plain)).docs;
    expect(docsOf(tools(look))).toBe('chat#tools');
    expect(docsOf(plus({ stream: true }))).toBe('chat#what-a-model-cannot-do');
  });

  test('one image is enough, next to text and other messages', () => {
    const blind = model({ capabilities: { ...capable, imageInput: false } });
    const text = { type: 'text', text: 'What is this?' };
    const mixed = talk(user, { role: 'user', content: [text, { type: 'image_url', image_url: { url } }] });
    expect(refusalOf(() => checkCapabilities(parseChat(mixed), blind))).toMatchObject({ param: 'messages' });
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
    ['reasoning_effort', { reasoning_effort: 'low' }, { reasoning_effort: null }],
  ];
  const parse = (body: Fields) => parseExtendedChat(body, new Set(['reasoning_effort']));
  const reasoning = { efforts: ['low'], effortsWithTools: ['low'], control: 'effort' } as const;
  test.each(rows)('%s is refused when it asks for something', (param, asks, asksNothing) => {
    const lacking = model({ reasoning, unsupportedParameters: new Set([param]) });
    expect(refusalOf(() => checkCapabilities(parse(plus(asks)), lacking))).toMatchObject({
      code: 'unsupported_parameter',
      param,
      message: `This model does not support ${param}: leave it out.`,
    });
    expect(() => checkCapabilities(parse(plus(asks)), model({ reasoning }))).not.toThrow();
    expect(() => checkCapabilities(parse(plus(asksNothing)), lacking)).not.toThrow();
  });

  test('an effort is refused only where it is demanded', () => {
    const demanded = parse(plus({ reasoning_effort: 'low' }));
    expect(refusalOf(() => checkCapabilities(demanded, model()))).toMatchObject({
      code: 'unsupported_parameter',
      param: 'reasoning_effort',
    });
    const hinted = { ...demanded, call: { ...demanded.call, demandsEffort: false } };
    expect(() => checkCapabilities(hinted, model())).not.toThrow();
  });

  test('every parameter that can be listed has a row', () => {
    expect(rows.map(([param]) => param).toSorted()).toEqual([...optionalParameters].toSorted());
  });
});

describe('ableToServe', () => {
  const order = parseChat(plus({ seed: 1, temperature: 1.5 }));
  const candidate = (adapter: ChatAdapter, lacks: readonly OptionalParameter[] = []) =>
    ({
      connection: { provider: testProvider({ unsupportedParameters: new Set(lacks) }) },
      chat: adapter,
    }) as Candidate;

  test('keeps those who can honour everything, in their order', () => {
    const [first, second] = [candidate(openai), candidate(openai)];
    const all = [candidate(anthropic), first, candidate(openai, ['seed']), second];
    expect(ableToServe(all, order)).toEqual([first, second]);
    const able = [first, second];
    expect(ableToServe(able, order)).toBe(able);
  });

  test('leaves out those who cannot honour strict tools, unless no tool asks for it', () => {
    const dialect = { ...defaultDialect, strictTools: 'supported' } as const;
    const strict = {
      connection: { provider: testProvider({ dialect }) },
      chat: openai,
    } as unknown as Candidate;
    const lax = candidate(openai);
    const asked = (value: boolean | null) => parseChat(toolFunction({ name: 'look', strict: value }));
    expect(ableToServe([lax, strict, candidate(anthropic)], asked(true))).toHaveLength(2);
    for (const value of [false, null]) expect(ableToServe([lax, strict], asked(value))).toHaveLength(2);
    expect(refusalOf(() => ableToServe([lax, lax], asked(true)))).toMatchObject({
      code: 'unsupported_parameter',
      param: 'tools',
    });
  });

  describe('with an original that can be passed on', () => {
    const speaking = { ...anthropic, passOn: {} } as ChatAdapter;
    const original: Original = {
      format: 'messages',
      body: {},
      headers: {},
      model: 'm',
      untranslatable: { param: 'novelty', message: 'Only Messages has novelties.' },
      signatures: new Map(),
      seal: ({ value }) => value,
    };
    const silent = { ...anthropic, passOn: null };
    const all = [candidate(speaking), candidate(openai), candidate(speaking, ['seed']), candidate(silent)];

    test('whoever speaks its format takes all of it, except what the catalogue rules out', () => {
      expect(ableToServe(all, { ...order, original })).toEqual(all.slice(0, 1));
    });

    test('others take what can be translated', () => {
      const translatable = { ...original, untranslatable: null };
      expect(ableToServe(all, { ...order, original: translatable })).toEqual(all.slice(0, 2));
    });

    test('and refuse the rest by its name', () => {
      expect(refusalOf(() => ableToServe([candidate(openai)], { ...order, original }))).toMatchObject({
        code: 'unsupported_parameter',
        param: 'novelty',
      });
    });
  });

  describe('a limit below what a format takes', () => {
    const plain = parseChat(basic);
    const [picky, other] = [candidate(responses), candidate(openai)];
    const limited = (outputLimit: number | null) => ({ ...plain, outputLimit });

    test('is never raised: others serve it, or it is refused', () => {
      expect(ableToServe([picky, other], limited(15))).toEqual([other]);
      expect(refusalOf(() => ableToServe([picky], limited(15)))).toMatchObject({
        code: 'unsupported_parameter',
        param: 'max_tokens',
        message: 'This model takes a max_tokens of at least 16.',
      });
      for (const limit of [16, null]) expect(ableToServe([picky], limited(limit))).toEqual([picky]);
    });

    test('nor is a length, or the limit of what is passed on', () => {
      const length = parseChat(plus({ max_tokens: 15 }));
      expect(refusalOf(() => ableToServe([picky], length)).param).toBe('max_tokens');
      expect(ableToServe([picky], parseChat(plus({ max_tokens: 16 })))).toEqual([picky]);
      const original = { format: 'responses', untranslatable: null } as Original;
      expect(refusalOf(() => ableToServe([picky], { ...limited(15), original })).param).toBe('max_tokens');
    });
  });

  test('refuses for what the first lacks when none can', () => {
    const refusal = refusalOf(() => ableToServe([candidate(openai, ['seed']), candidate(anthropic)], order));
    expect(refusal).toMatchObject({ code: 'unsupported_parameter', param: 'seed' });
    expect(refusalOf(() => ableToServe([candidate(anthropic)], order))).toMatchObject({
      param: 'temperature',
    });
  });
});

describe('how long an answer may get', () => {
  const price = {
    billingType: 'token',
    form: 'flat',
    rates: { input: 1n, output: 1n },
    region: null,
    note: null,
  } as const;
  const rangeOf = (fields: Fields, limits: Partial<Model>) => {
    const terms = chatTerms(parseChat(plus(fields)), model(limits), price, 'none');
    return [terms.minOutputTokens, terms.maxOutputTokens];
  };

  test('is max_tokens, or between a short answer and what the model writes', () => {
    expect(rangeOf({ max_tokens: 9_000 }, {})).toEqual([9_000, 9_000]);
    expect(rangeOf({ max_tokens: 7 }, { maxOutputTokens: 100 })).toEqual([7, 7]);
    expect(rangeOf({}, { maxOutputTokens: 100 })).toEqual([100, 100]);
    expect(rangeOf({}, { maxOutputTokens: 128_000 })).toEqual([1_024, 128_000]);
    // The catalogue has no limit; every known model writes this much.
    expect(rangeOf({}, { maxOutputTokens: null })).toEqual([1_024, 4_096]);
  });

  test('leaves room for the input in the context window, but never less than a short answer', () => {
    const [, most = 0] = rangeOf({}, { maxOutputTokens: 128_000, contextWindow: 128_000 });
    expect(most).toBeLessThan(128_000);
    expect(most).toBeGreaterThan(120_000);
    const messages = [{ role: 'user', content: 'x'.repeat(1_000_000) }];
    expect(rangeOf({ messages }, { maxOutputTokens: 64_000, contextWindow: 128_000 })).toEqual([
      1_024, 1_024,
    ]);
    // What the client itself asks for is passed on as it is.
    const asked = { messages, max_tokens: 64_000 };
    expect(rangeOf(asked, { maxOutputTokens: 64_000, contextWindow: 128_000 })).toEqual([64_000, 64_000]);
  });
});
