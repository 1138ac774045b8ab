/** How a body of POST /v1/messages becomes a request, and what is refused by name. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseCount, parseMessages } from '../../src/chat/messages/parse.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import { ApiError } from '../../src/errors.ts';
import { rawJson } from '../../src/json/raw.ts';
import type { ChatCall } from '../../src/providers/chat.ts';
import { fromWireId, toWireId } from '../../src/providers/messages-tool-ids.ts';

const signatures = new Signatures(Buffer.alloc(32, 7));
const accountId = 'account';

function parse(changes: object, headers: Record<string, string> = {}) {
  const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...changes };
  const all = new Headers({ 'anthropic-version': '2023-06-01', ...headers });
  return parseMessages(body, { headers: all, accountId }, signatures);
}

const callOf = (changes: object): ChatCall => parse(changes).call;

function refusalOf(run: () => unknown): { code: string; param: string | undefined; message: string } {
  try {
    run();
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    return { code: thrown.code, param: thrown.param, message: thrown.message };
  }
  throw new Error('It was not refused.');
}

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const text = (words: string) => ({ type: 'text', text: words });
const use = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'look', input });
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...more });
const tool = { name: 'look', description: 'Looks', input_schema: { type: 'object' } };

test('a refusal is short, however long what it names', () => {
  const long = 'long'.repeat(100_000);
  const requests = [
    { [long]: 1 },
    { messages: [{ ...user('a'), [long]: 1 }] },
    { messages: [user([{ ...text('a'), [long]: 1 }])] },
    { messages: [user([{ type: long }])] },
    { tools: [{ ...tool, [long]: 1 }] },
  ];
  for (const request of requests) {
    const { param = '', message = '' } = parse(request).original?.untranslatable ?? {};
    expect(message).toContain('longlong');
    expect(param.length + message.length).toBeLessThan(600);
  }
});

describe('a request', () => {
  test('is translated, with an upper limit and its original', () => {
    const request = parse({
      system: [text('Be brief.'), text('x-anthropic-billing-header: cc_version=2; cc_entrypoint=cli;')],
      stream: true,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      tools: [tool, { ...tool, name: 'find' }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
    });
    expect(request).toMatchObject({ model: 'm', stream: true, outputLimit: 100 });
    expect(request.call).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      maxTokens: null,
      temperature: 0.5,
      topP: 0.9,
      stop: ['END'],
      tools: [
        { name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: null },
        { name: 'find' },
      ],
      toolChoice: 'required',
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', schema: { type: 'object' }, strict: true },
      effort: 'high',
    });
    expect(request.original).toMatchObject({ format: 'messages', model: 'm', untranslatable: null });
  });

  test('keeps the order of text and calls, and puts results before what the user adds', () => {
    const { messages } = callOf({
      messages: [
        user([text('Look.')]),
        { role: 'system', content: 'In the middle.' },
        assistant(text('I will.'), use('a', { x: 1 }), text('And again.'), use('b')),
        user([
          text('Here.'),
          result('b', { content: [text('one'), text('two')] }),
          result('a', { content: 'broken', is_error: true }),
        ]),
      ],
      tools: [tool],
    });
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
      { role: 'system', content: 'In the middle.' },
      {
        role: 'assistant',
        items: [
          { type: 'text', text: 'I will.' },
          { type: 'tool_call', id: 'a', name: 'look', arguments: '{"x":1}' },
          { type: 'text', text: 'And again.' },
          { type: 'tool_call', id: 'b', name: 'look', arguments: '{}' },
        ],
      },
      { role: 'tool', toolCallId: 'b', content: 'one\ntwo', name: null, isError: false },
      { role: 'tool', toolCallId: 'a', content: 'broken', name: null, isError: true },
      { role: 'user', content: [{ type: 'text', text: 'Here.' }] },
    ]);
  });

  test('has the digits of large numbers in the arguments of its calls', () => {
    const input = { id: rawJson('12345678901234567890') };
    const messages = [user('x'), assistant(use('a', input)), user([result('a')])];
    const [, answer] = callOf({ messages, tools: [tool] }).messages;
    expect(answer).toMatchObject({ items: [{ arguments: '{"id":12345678901234567890}' }] });
    const wrong = [user('x'), assistant({ ...use('a'), input: rawJson('12345678901234567890') })];
    expect(refusalOf(() => parse({ messages: wrong })).param).toBe('messages[1].content[0].input');
  });

  test('has images, also in results', () => {
    const base64 = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QQ==' } };
    const byUrl = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    const { messages } = callOf({
      messages: [user([byUrl]), assistant(use('a')), user([result('a', { content: [base64] })])],
      tools: [tool],
    });
    expect(messages[0]?.role === 'user' && messages[0].content).toEqual([
      { type: 'image', url: 'https://example.com/a.png', detail: null },
    ]);
    expect(messages[2]?.role === 'tool' && messages[2].content).toEqual([
      { type: 'image', url: 'data:image/png;base64,QQ==', detail: null },
    ]);
  });

  test.each([
    [{ type: 'auto' }, 'auto', null],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
    [{ type: 'none' }, 'none', null],
    [{ type: 'tool', name: 'look', disable_parallel_tool_use: true }, { functionName: 'look' }, null],
    // Any of one tool is that tool, and a named tool is called once.
    [{ type: 'any', disable_parallel_tool_use: true }, { functionName: 'look' }, null],
  ] as const)('%j is the choice %j', (choice, expected, parallel) => {
    const { toolChoice, parallelToolCalls } = callOf({ tools: [tool], tool_choice: choice });
    expect([toolChoice, parallelToolCalls]).toEqual([expected, parallel]);
  });

  test.each([
    [{ thinking: { type: 'disabled' } }, 'none'],
    [{ thinking: { type: 'adaptive', display: 'updates' } }, null],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 100_000 } }, 'xhigh'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, 'max'],
  ] as const)('%j is the effort %s', (changes, effort) => {
    expect(callOf(changes).effort).toBe(effort);
  });

  test.each([
    [{}, 'nothing'],
    [{ thinking: { type: 'disabled' } }, 'nothing'],
    [{ thinking: { type: 'adaptive', display: 'omitted' } }, 'signature'],
    [{ thinking: { type: 'adaptive' } }, 'text'],
  ] as const)('%j shows %s of the thinking', (changes, shown) => {
    expect(parse(changes).asked.thinking).toBe(shown);
  });
});

describe('thinking', () => {
  const scope = { accountId, model: 'm' };
  const sealed = signatures.seal({ value: 'secret', madeBy: 'p/u' }, scope);
  const replay = (block: object, more: object = {}) =>
    parse({ messages: [user('Hi'), assistant(block, text('Yes.')), user('So?')], ...more });

  test('comes back with the signature that was sealed for this account and model', () => {
    const { call, original } = replay({ type: 'thinking', thinking: 'Hm.', signature: sealed });
    expect(call.messages[1]).toEqual({
      role: 'assistant',
      items: [
        { type: 'reasoning', text: 'Hm.', signature: { value: 'secret', madeBy: 'p/u' } },
        { type: 'text', text: 'Yes.' },
      ],
    });
    expect(original?.signatures.get(sealed)).toEqual({ value: 'secret', madeBy: 'p/u' });
    const redacted = replay({ type: 'redacted_thinking', data: sealed });
    expect(redacted.call.messages[1]).toMatchObject({ items: [{ type: 'reasoning', text: '' }, {}] });
  });

  test.each([
    ['of the vendor', { type: 'thinking', thinking: 'Hm.', signature: 'EqQBCgIYAhIM' }, {}],
    ['without a signature', { type: 'thinking', thinking: 'Hm.', signature: '' }, {}],
    ['for another model', { type: 'thinking', thinking: 'Hm.', signature: sealed }, { model: 'n' }],
    ['hidden, of the vendor', { type: 'redacted_thinking', data: 'x' }, {}],
  ])('%s is left out', (_, block, more) => {
    expect(replay(block, more).call.messages[1]).toEqual({
      role: 'assistant',
      items: [{ type: 'text', text: 'Yes.' }],
    });
  });
});

describe('what has no effect', () => {
  test.each([
    { metadata: { user_id: '{"device":"x"}' } },
    { cache_control: { type: 'ephemeral' } },
    { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    { context_management: null },
    { diagnostics: null },
    { service_tier: 'auto' },
    { service_tier: 'standard_only', speed: 'standard' },
    { mcp_servers: [] },
    { safeguards: [{ type: 'dangerous_tool_use', paths: ['/home'] }] },
    { thinking: { type: 'adaptive', display: 'updates' } },
    { tools: [{ ...tool, defer_loading: true, eager_input_streaming: true, cache_control: null }] },
    { tools: [{ name: 'DeferredToolPlaceholder', defer_loading: true }] },
    { tools: [], tool_choice: null },
    {
      messages: [user([{ ...text('x'), cache_control: { type: 'ephemeral', ttl: '1h' }, citations: null }])],
    },
    {
      messages: [
        user('x'),
        assistant({ ...use('a'), caller: { type: 'direct' } }),
        user([result('a', { content: 'y', is_error: false, cache_control: { type: 'ephemeral' } })]),
      ],
      tools: [tool],
    },
  ])('%j', (changes) => {
    expect(parse(changes).original?.untranslatable).toBeNull();
  });

  test('features that nobody knows', () => {
    const beta = 'claude-code-20250219,interleaved-thinking-2025-05-14, something-2030-01-01';
    expect(parse({}, { 'anthropic-beta': beta }).original?.headers).toEqual({
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,something-2030-01-01',
    });
  });
});

describe('what is refused, whoever would serve it', () => {
  test.each([
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ speed: 'fast' }, 'speed'],
    [{ inference_geo: 'eu' }, 'inference_geo'],
    [{ container: { id: 'x' } }, 'container'],
    [{ mcp_servers: [{ url: 'https://x' }] }, 'mcp_servers'],
    [{ fallbacks: ['m2'] }, 'fallbacks'],
    [{ diagnostics: { on: true } }, 'diagnostics'],
    [{ tools: [{ type: 'web_search_20260209', name: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'tool_search_tool_regex_20251119', name: 'x' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'unheard_of_20300101', name: 'x' }] }, 'tools[0].type'],
    [
      { messages: [user([{ type: 'image', source: { type: 'file', file_id: 'f' } }])] },
      'messages[0].content[0].source',
    ],
    [
      { messages: [user([{ type: 'document', source: { type: 'file', file_id: 'f' } }])] },
      'messages[0].content[0].source',
    ],
    [{ messages: [user([{ type: 'container_upload', file_id: 'f' }])] }, 'messages[0].content[0].type'],
    [
      {
        messages: [
          user('x'),
          assistant({ type: 'server_tool_use', id: 's', name: 'n', input: {} }),
          user('y'),
        ],
      },
      'messages[1].content[0].type',
    ],
  ])('%j', (changes, param) => {
    expect(refusalOf(() => parse(changes))).toMatchObject({ code: 'unsupported_parameter', param });
  });

  test('in the words that clients look for', () => {
    expect(refusalOf(() => parse({ speed: 'fast' })).message).toStartWith(
      'speed: Extra inputs are not permitted',
    );
    const { message, param } = refusalOf(() =>
      parse({}, { 'anthropic-beta': 'effort-2025-11-24,context-1m-2025-08-07' }),
    );
    expect(message).toStartWith(
      'Unexpected value(s) `context-1m-2025-08-07` for the `anthropic-beta` header.',
    );
    expect(param).toBe('anthropic-beta');
  });

  test.each(['temperature', 'top_p', 'top_k'])('%s in the newer version', (name) => {
    const newer = { 'anthropic-version': '2026-10-21' };
    expect(refusalOf(() => parse({ [name]: 1 }, newer))).toMatchObject({
      code: 'unsupported_parameter',
      param: name,
    });
    expect(parse({ [name]: 1 }).call).toBeDefined();
    expect(parse({}, newer).call).toBeDefined();
  });

  test('documents in assistant messages and citations of users, in the newer version', () => {
    const newer = { 'anthropic-version': '2026-10-21' };
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } };
    const cited = { ...text('x'), citations: [{ type: 'char_location' }] };
    for (const messages of [[user('x'), assistant(document), user('y')], [user([cited])]]) {
      expect(refusalOf(() => parse({ messages }, newer)).code).toBe('unsupported_parameter');
      expect(parse({ messages }).call).toBeDefined();
    }
  });

  test.each([[{}], [{ 'anthropic-version': '2022-01-01' }]])('an unknown version: %j', (sent) => {
    const incoming = { headers: new Headers(sent as Record<string, string>), accountId };
    const refusal = refusalOf(() => parseMessages({ model: 'm' }, incoming, signatures));
    expect(refusal.param).toBe('anthropic-version');
  });
});

describe('what only a provider of the same format can do', () => {
  const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'abc' } };
  test.each([
    [{ top_k: 5 }, 'top_k'],
    [{ novelty: 1 }, 'novelty'],
    [{ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
    [{ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 'context_management'],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
    [{ tools: [{ ...tool, novelty: true }] }, 'tools[0].custom.novelty'],
    [{ tools: [{ ...tool, name: 'x'.repeat(65) }] }, 'tools[0].name'],
    [{ messages: [user([document])] }, 'messages[0].content[0].type'],
    [{ messages: [user([{ type: 'novelty' }])] }, 'messages[0].content[0].type'],
    [{ messages: [user([{ ...text('x'), novelty: 1 }])] }, 'messages[0].content[0].novelty'],
    [{ messages: [user('x'), assistant(text('Prefill'))] }, 'messages'],
  ])('%j', (changes, param) => {
    expect(parse(changes).original?.untranslatable?.param).toBe(param);
  });

  test('says so in the words that clients look for', () => {
    expect(parse({ novelty: 1 }).original?.untranslatable?.message).toBe(
      'novelty: Extra inputs are not permitted',
    );
  });

  test('counts towards the input, or has no bound but the window', () => {
    const further = (changes: object) => parse(changes).furtherInput;
    expect(further({ messages: [user([document])] })).toMatchObject({ values: [document], unbounded: null });
    expect(further({ novelty: 'abc' })?.values).toEqual(['abc']);
    const sources = [
      { type: 'base64', media_type: 'application/pdf', data: 'QQ==' },
      { type: 'url', url: 'https://example.com/a.pdf' },
    ];
    for (const source of sources)
      expect(further({ messages: [user([{ type: 'document', source }])] })?.unbounded).toMatchObject({
        param: 'messages[0].content[0]',
      });
    expect(further({ messages: [user([{ type: 'novelty' }])] })?.unbounded).not.toBeNull();
    expect(further({ tools: [{ type: 'bash_20250124', name: 'bash' }] })?.tokens).toBeGreaterThan(1000);
  });
});

describe('marks for the cache', () => {
  const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } });
  test.each([
    [{}, null],
    [mark(), 'short'],
    [{ system: [{ ...text('x'), ...mark('5m') }] }, 'short'],
    [{ tools: [{ ...tool, ...mark('1h') }] }, 'long'],
    [{ messages: [user([{ ...text('x'), ...mark('1h') }])], ...mark() }, 'long'],
    [{ messages: [user('x'), assistant(use('a')), user([result('a', mark('1h'))])], tools: [tool] }, 'long'],
  ] as const)('%j: %s', (changes, marks) => {
    expect(parse(changes).original?.cacheMarks ?? null).toBe(marks);
  });
});

describe('a body that no provider of the format would take', () => {
  test.each([
    [{ max_tokens: undefined }, 'missing_required_parameter', 'max_tokens'],
    [{ max_tokens: 0 }, 'invalid_parameter', 'max_tokens'],
    [{ max_tokens: '5' }, 'invalid_parameter', 'max_tokens'],
    [{ messages: undefined }, 'missing_required_parameter', 'messages'],
    [{ messages: [] }, 'invalid_parameter', 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'invalid_parameter', 'messages[0].role'],
    [{ messages: [{ content: 'x' }] }, 'missing_required_parameter', 'messages[0].role'],
    [{ messages: [user('')] }, 'invalid_parameter', 'messages[0].content'],
    [{ messages: [user([])] }, 'invalid_parameter', 'messages[0].content'],
    [{ messages: [user([text(' ')])] }, 'invalid_parameter', 'messages[0].content[0].text'],
    [{ messages: [user([{ type: 'text' }])] }, 'missing_required_parameter', 'messages[0].content[0].text'],
    [{ messages: [user([5])] }, 'invalid_parameter', 'messages[0].content[0]'],
    [{ messages: [user([{ text: 'x' }])] }, 'missing_required_parameter', 'messages[0].content[0].type'],
    [
      {
        messages: [
          user([{ type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'x' } }]),
        ],
      },
      'invalid_parameter',
      'messages[0].content[0].source.media_type',
    ],
    [
      { messages: [user([{ type: 'image', source: { type: 'url', url: 'http://localhost/x' } }])] },
      'invalid_parameter',
      'messages[0].content[0].source.url',
    ],
    [{ messages: [user([result('a')])] }, 'invalid_parameter', 'messages[0].content[0].tool_use_id'],
    [{ messages: [user('x'), assistant(use('a'))] }, 'invalid_parameter', 'messages[1]'],
    [{ messages: [user('x'), assistant(use('a')), user('y')] }, 'invalid_parameter', 'messages[2]'],
    [
      { messages: [user('x'), assistant(use('a')), user([result('a'), result('a')])] },
      'invalid_parameter',
      'messages[2].content[1].tool_use_id',
    ],
    [
      { messages: [user('x'), assistant(use('a'), use('a')), user([result('a')])] },
      'invalid_parameter',
      'messages[1].content[1].id',
    ],
    [
      { messages: [user('x'), assistant(use('a b')), user([result('a b')])] },
      'invalid_parameter',
      'messages[1].content[0].id',
    ],
    [
      { messages: [user('x'), assistant(result('a')), user('y')] },
      'invalid_parameter',
      'messages[1].content[0].type',
    ],
    [{ tools: [tool, tool] }, 'invalid_parameter', 'tools[1].name'],
    [
      { tools: [tool], tool_choice: { type: 'tool', name: 'other' } },
      'invalid_parameter',
      'tool_choice.name',
    ],
    [{ tool_choice: { type: 'required' } }, 'invalid_parameter', 'tool_choice.type'],
    [{ thinking: { type: 'enabled', budget_tokens: 5 } }, 'invalid_parameter', 'thinking.budget_tokens'],
    [{ output_config: { effort: 'huge' } }, 'invalid_parameter', 'output_config.effort'],
    [{ cache_control: { type: 'ephemeral', ttl: '1y' } }, 'invalid_parameter', 'cache_control.ttl'],
    [{ temperature: 1.5 }, 'invalid_parameter', 'temperature'],
  ])('%j', (changes, code, param) => {
    expect(refusalOf(() => parse(changes))).toMatchObject({ code, param });
  });

  test('is an ApiError, whatever the JSON', () => {
    const body = fc.record(
      {
        model: fc.oneof(fc.constant('m'), fc.jsonValue()),
        max_tokens: fc.oneof(fc.constant(5), fc.jsonValue()),
        messages: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.record({ role: fc.constantFrom('user', 'assistant', 'system', 'x'), content: fc.jsonValue() }),
          ),
          fc.array(
            fc.record({
              role: fc.constantFrom('user', 'assistant', 'system'),
              content: fc.array(
                fc.record(
                  {
                    type: fc.constantFrom(
                      'text',
                      'image',
                      'tool_use',
                      'tool_result',
                      'thinking',
                      '__proto__',
                      'constructor',
                    ),
                    text: fc.jsonValue(),
                    source: fc.jsonValue(),
                    id: fc.jsonValue(),
                    content: fc.jsonValue(),
                  },
                  { requiredKeys: ['type'] },
                ),
              ),
            }),
          ),
        ),
        system: fc.jsonValue(),
        tools: fc.jsonValue(),
        thinking: fc.jsonValue(),
        context_management: fc.jsonValue(),
      },
      { requiredKeys: ['model', 'messages'] },
    );
    fc.assert(
      fc.property(body, (value) => {
        const incoming = { headers: new Headers({ 'anthropic-version': '2023-06-01' }), accountId };
        try {
          parseMessages(value, incoming, signatures);
        } catch (thrown) {
          if (!(thrown instanceof ApiError)) throw thrown;
        }
      }),
    );
  });
});

test('a count needs no limit on output', () => {
  const incoming = { headers: new Headers({ 'anthropic-version': '2023-06-01' }), accountId };
  const body = { model: 'm', messages: [user('Hello')], tools: [] };
  const { model, original } = parseCount(body, incoming, signatures);
  expect([model, original?.body]).toEqual(['m', body]);
});

describe('IDs of calls', () => {
  test('have only the characters of the format, and come back as they were', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        expect(toWireId(id)).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(fromWireId(toWireId(id))).toBe(id);
      }),
    );
    expect(toWireId('toolu_1')).toBe('toolu_1');
    expect(fromWireId(toWireId('functions.look:0'))).toBe('functions.look:0');
    expect(fromWireId(toWireId('recoded-x'))).toBe('recoded-x');
  });

  test('that were not made here stay as they are', () => {
    for (const id of ['recoded-!', 'recoded-', 'recoded-AAAA_', 'x'])
      expect(toWireId(fromWireId(id)) === id || fromWireId(id) === id).toBe(true);
  });
});

describe('a hostile body', () => {
  test('is refused at its first fault, not its last', () => {
    const bad = Array.from({ length: 90_000 }, () => ({ role: 'user', content: 5 }));
    expect(refusalOf(() => parse({ messages: bad })).param).toBe('messages[0].content');
    const blocks = Array.from({ length: 90_000 }, () => ({ type: 'text', text: 5 }));
    expect(refusalOf(() => parse({ messages: [user(blocks)] })).param).toBe('messages[0].content[0].text');
  });

  test('has no more messages, tools or stop strings than the format', () => {
    const many = (length: number) => Array.from({ length }, () => user('x'));
    expect(refusalOf(() => parse({ messages: many(100_001) })).param).toBe('messages');
    const declared = Array.from({ length: 2_001 }, (_, index) => ({ name: `t${index}` }));
    expect(refusalOf(() => parse({ tools: declared })).param).toBe('tools');
    expect(refusalOf(() => parse({ stop_sequences: Array.from({ length: 1_001 }, () => 'x') })).param).toBe(
      'stop_sequences',
    );
    expect(refusalOf(() => parse({}, { 'anthropic-beta': 'x,'.repeat(101) })).param).toBe('anthropic-beta');
    expect(refusalOf(() => parse({}, { 'anthropic-beta': 'x'.repeat(101) })).param).toBe('anthropic-beta');
  });

  test('cannot make names mean anything', () => {
    const odd = JSON.parse(
      '{"__proto__": {"speed": "fast"}, "constructor": 1, "hasOwnProperty": 2}',
    ) as object;
    const { original } = parse(odd);
    expect(original?.untranslatable?.param).toMatch(/^(?:__proto__|constructor|hasOwnProperty)$/);
    for (const type of ['__proto__', 'constructor', 'toString'])
      expect(parse({ messages: [user([{ type }])] }).original?.untranslatable?.param).toBe(
        'messages[0].content[0].type',
      );
  });

  test('with a signature that is too long, or thousands that are none, is served without them', () => {
    const thought = (signature: string) => ({ type: 'thinking', thinking: '', signature });
    const blocks = [
      thought(`tg1_${'A'.repeat(2_000_000)}`),
      ...Array.from({ length: 5_000 }, () => thought('tg1_AAAA')),
    ];
    const { call } = parse({ messages: [user('x'), assistant(...blocks, text('y')), user('z')] });
    expect(call.messages[1]).toEqual({ role: 'assistant', items: [{ type: 'text', text: 'y' }] });
  });
});
