/** What requests in the Responses format mean: pure, without a gateway. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseResponses } from '../../src/chat/responses/parse.ts';
import { flatName } from '../../src/chat/responses/tools.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import { ApiError } from '../../src/errors.ts';
import { efforts } from '../../src/providers/chat.ts';

type Json = Record<string, unknown>;

const signatures = new Signatures(Buffer.alloc(32, 1));
const parse = (body: unknown, accountId = 'a') =>
  parseResponses(signatures)(body, { accountId, headers: new Headers() });
const asked = (fields: Json = {}) => ({ model: 'm', input: 'Hello', ...fields });
const items = (...input: unknown[]) => asked({ input });
const user = { role: 'user', content: 'Hello' };
const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'c', output: 'seen' };
const look = { type: 'function', name: 'look', parameters: { type: 'object' } };

function refusalOf(body: unknown): { code: string; param: string | undefined; message: string } {
  try {
    parse(body);
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    const { code, param, message } = thrown;
    return { code, param, message };
  }
  throw new Error('It was taken.');
}

describe('messages', () => {
  test('a string is what the user says, after the instructions', () => {
    expect(parse(asked({ instructions: 'Be brief.' })).call.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ]);
  });

  test.each(['system', 'developer'])('%s is a system message wherever it is', (role) => {
    const message = {
      type: 'message',
      role,
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    };
    expect(parse(items(user, message)).call.messages.at(-1)).toEqual({ role: 'system', content: 'a\nb' });
  });

  test('parts of a user keep their order, and the details of images', () => {
    const url = 'https://example.com/cat.png';
    const image = (detail?: string) => ({ type: 'input_image', image_url: url, ...(detail && { detail }) });
    const content = [
      image(),
      { type: 'input_text', text: 'x', prompt_cache_breakpoint: {} },
      image('low'),
      image('original'),
    ];
    expect(parse(items({ role: 'user', content })).call.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', url, detail: null },
          { type: 'text', text: 'x' },
          { type: 'image', url, detail: 'low' },
          { type: 'image', url, detail: 'high' },
        ],
      },
    ]);
  });

  test('images of a tool', () => {
    const url = 'data:image/png;base64,QQ==';
    const seen = [
      { type: 'input_text', text: 'here' },
      { type: 'input_image', image_url: url },
    ];
    expect(parse(items(user, call, { ...output, output: seen })).call.messages.at(-1)).toEqual({
      role: 'tool',
      toolCallId: 'c',
      content: [
        { type: 'text', text: 'here' },
        { type: 'image', url, detail: null },
      ],
      name: null,
      isError: false,
    });
  });

  test('what a model wrote in a row is one message until something else comes', () => {
    const said = (text: string) => ({ role: 'assistant', content: [{ type: 'output_text', text }] });
    const { messages } = parse(
      items(user, said('a'), call, said('b'), output, said('c'), user, { role: 'assistant', content: 'd' }),
    ).call;
    expect(messages.map((message) => [message.role, 'items' in message ? message.items.length : 0])).toEqual([
      ['user', 0],
      ['assistant', 3],
      ['tool', 0],
      ['assistant', 1],
      ['user', 0],
      ['assistant', 1],
    ]);
  });

  test('reasoning is kept if it was sealed for this account and model, and dropped otherwise', () => {
    const signature = { value: 'secret', madeBy: 'p/x' };
    const sealed = signatures.seal(signature, { accountId: 'a', model: 'm' });
    const thought = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'hm' }],
      content: null,
    };
    const replayed = items(user, { ...thought, encrypted_content: sealed }, call, output);
    expect(parse(replayed).call.messages[1]).toMatchObject({
      items: [{ type: 'reasoning', text: 'hm', signature }, { type: 'tool_call' }],
    });
    expect(parse(replayed).original?.signatures).toEqual(new Map([[sealed, signature]]));
    expect(parse(replayed, 'b').call.messages[1]).toMatchObject({ items: [{ type: 'tool_call' }] });
    expect(parse(replayed, 'b').original?.signatures).toEqual(new Map([[sealed, null]]));
    for (const encrypted of ['of somebody else', null, undefined])
      expect(
        parse(items(user, { ...thought, encrypted_content: encrypted }, call, output)).call.messages[1],
      ).toMatchObject({
        items: [{ type: 'tool_call' }],
      });
  });

  test.each([
    [items(output), 'input[0].call_id'],
    [items(user, call, call), 'input[2].call_id'],
    [items({ role: 'user', content: [] }), 'input[0].content'],
    [items({ role: 'user', content: [{ type: 'input_text' }] }), 'input[0].content[0].text'],
    [
      items({ role: 'user', content: [{ type: 'input_image', image_url: 'http://x' }] }),
      'input[0].content[0].image_url',
    ],
    [
      items({ role: 'assistant', content: [{ type: 'input_image', image_url: 'https://x' }] }),
      'input[0].content',
    ],
    [items({ role: 'robot', content: 'x' }), 'input[0].role'],
    [items({ content: 'x' }), 'input[0].type'],
    [items({ ...call, name: '' }), 'input[0].name'],
    [items({ ...call, call_id: 'x'.repeat(8_193) }), 'input[0].call_id'],
    [items({ type: 'reasoning', summary: [] }), 'input'],
    [asked({ input: [] }), 'input'],
    [asked({ input: 5 }), 'input'],
    [asked({ model: '' }), 'model'],
    [asked({ max_output_tokens: 0 }), 'max_output_tokens'],
    [asked({ temperature: 2.1 }), 'temperature'],
    [asked({ text: { format: { type: 'xml' } } }), 'text.format.type'],
    [asked({ reasoning: { effort: 'huge' } }), 'reasoning.effort'],
    [asked({ metadata: { a: 1 } }), 'metadata'],
    [
      asked({ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) }),
      'metadata',
    ],
    [asked({ tools: [{ type: 'function', name: 'with space' }] }), 'tools[0].name'],
    [asked({ tools: [look, look] }), 'tools'],
    [asked({ tools: [look], tool_choice: { type: 'function', name: 'listen' } }), 'tool_choice.name'],
    [asked({ tool_choice: 'required' }), 'tool_choice'],
  ])('an error names the place: %j', (body, param) => {
    const refusal = refusalOf(body);
    expect([refusal.param, refusal.code]).toEqual([param, expect.stringMatching(/^(?:invalid|missing)_/)]);
  });
});

describe('refused whoever serves it', () => {
  test.each<[Json, string]>([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: { id: 'c' } }, 'conversation'],
    [{ background: true }, 'background'],
    [{ prompt: { id: 'p' } }, 'prompt'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ truncation: 'auto' }, 'truncation'],
    [{ top_logprobs: 5 }, 'top_logprobs'],
    [{ max_tool_calls: 3 }, 'max_tool_calls'],
    [{ prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options'],
    [{ prompt_cache_retention: '24h' }, 'prompt_cache_retention'],
    [{ context_management: [] }, 'context_management'],
    [{ moderation: {} }, 'moderation'],
    [{ access_programs: {} }, 'access_programs'],
    [{ image: {} }, 'image'],
    [{ include: ['web_search_call.action.sources'] }, 'include[0]'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0]'],
    [
      { input: [user, { role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[1].content[0].file_id',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'tool_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }, 'tools[0].tools[0].type'],
    [{ tools: [look], tool_choice: { type: 'file_search' } }, 'tool_choice'],
    [
      {
        tools: [{ type: 'namespace', name: 'n', tools: [look] }],
        tool_choice: { type: 'namespace', name: 'n' },
      },
      'tool_choice',
    ],
    [
      {
        input: [
          {
            type: 'additional_tools',
            role: 'developer',
            tools: [{ type: 'web_search', external_web_access: false }],
          },
        ],
      },
      'input[0].tools[0].type',
    ],
    ...[
      'file_search',
      'code_interpreter',
      'computer',
      'image_generation',
      'mcp',
      'local_shell',
      'shell',
      'apply_patch',
    ].map((type): [Json, string] => [{ tools: [look, { type }] }, 'tools[1].type']),
    ...[
      'compaction',
      'compaction_trigger',
      'configuration_update',
      'program_output',
      'shell_call',
      'shell_call_output',
      'local_shell_call',
      'apply_patch_call',
      'computer_call_output',
      'file_search_call',
      'web_search_call',
      'image_generation_call',
      'code_interpreter_call',
      'mcp_list_tools',
    ].map((type): [Json, string] => [{ input: [user, { type, id: 'x' }] }, 'input[1].type']),
  ])('%j', (fields, param) => {
    const refusal = refusalOf(asked(fields));
    expect([refusal.code, refusal.param]).toEqual(['unsupported_parameter', param]);
    // It says what to do.
    expect(refusal.message.length).toBeGreaterThan(30);
  });

  test('null is the same as nothing', () => {
    const nothing = Object.fromEntries(
      [
        'previous_response_id',
        'conversation',
        'background',
        'prompt',
        'service_tier',
        'truncation',
        'top_logprobs',
        'max_tool_calls',
        'instructions',
        'stream',
        'stream_options',
        'max_output_tokens',
        'temperature',
        'top_p',
        'tools',
        'tool_choice',
        'parallel_tool_calls',
        'text',
        'reasoning',
        'include',
        'store',
        'metadata',
        'prompt_cache_key',
        'safety_identifier',
        'user',
        'unknown',
      ].map((name) => [name, null]),
    );
    const { original, ...request } = parse(asked(nothing));
    expect(original?.untranslatable).toBeNull();
    expect(request.call).toEqual(parse(asked()).call);
  });
});

describe('left to a provider that speaks the format', () => {
  test.each<[Json, string]>([
    [{ brand_new: 1 }, 'brand_new'],
    [{ text: { tone: 'warm' } }, 'text.tone'],
    [{ reasoning: { budget: 5 } }, 'reasoning.budget'],
    [{ input: [{ ...user, tone: 'warm' }] }, 'input[0].tone'],
    [{ input: [user, { type: 'brand_new' }] }, 'input[1]'],
    [{ input: [user, { type: 'tool_search_call', call_id: 'x' }] }, 'input[1]'],
    [{ input: [{ type: 'additional_tools', role: 'developer', tools: [look] }] }, 'input[0]'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:,x' }] }] },
      'input[0].content[0]',
    ],
    [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'input[0].content[0]'],
    [{ tools: [{ ...look, async: true }] }, 'tools[0].async'],
  ])('%j', (fields, param) => {
    const body = asked(fields);
    const { original, furtherInput } = parse(body);
    expect(original?.untranslatable?.param).toBe(param);
    expect(original?.body).toBe(body);
    // Its text is held for.
    expect(furtherInput?.values).toHaveLength(1);
  });

  test('a file can have any number of tokens', () => {
    const file = { type: 'input_file', file_data: 'data:,x' };
    expect(parse(items({ role: 'user', content: [file] })).furtherInput?.unbounded?.param).toBe(
      'input[0].content[0]',
    );
    expect(parse(asked({ brand_new: 1 })).furtherInput?.unbounded).toBeNull();
  });

  test('what Codex says about itself and a search without a price are not passed on', () => {
    const search = { type: 'web_search', external_web_access: false };
    const later = { type: 'tool_search', execution: 'client' };
    const body = asked({ tools: [search, look, later], client_metadata: { a: 'b' } });
    const { original, call: translated } = parse(body);
    expect(original?.body).toEqual(asked({ tools: [look, later] }));
    expect(original?.untranslatable).toBeNull();
    expect(translated.tools?.map(({ name }) => name)).toEqual(['look']);
  });
});

describe('tools', () => {
  test('allowed_tools leaves the others out', () => {
    const tools = [look, { ...look, name: 'listen' }, { type: 'custom', name: 'write' }];
    const allowed = (mode: string, ...names: Json[]) =>
      parse(asked({ tools, tool_choice: { type: 'allowed_tools', mode, tools: names } })).call;
    const both = allowed('required', { type: 'function', name: 'listen' }, { type: 'custom', name: 'write' });
    expect([both.tools?.map(({ name }) => name), both.toolChoice]).toEqual([['listen', 'write'], 'required']);
    expect(allowed('auto', { type: 'function', name: 'look' }).toolChoice).toBe('auto');
  });

  test('a named tool is chosen by its flat name', () => {
    const tools = [
      { type: 'namespace', name: 'n', tools: [look] },
      { type: 'custom', name: 'write' },
    ];
    const chosen = (choice: Json) => parse(asked({ tools, tool_choice: choice })).call.toolChoice;
    expect(chosen({ type: 'function', name: 'look', namespace: 'n' })).toEqual({ functionName: 'n__look' });
    expect(chosen({ type: 'custom', name: 'write' })).toEqual({ functionName: 'write' });
  });

  test('flat names fit every provider, and are the same for the same tool only', () => {
    const name = fc.string({ minLength: 1, maxLength: 80, unit: 'binary' });
    const plain = fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/);
    fc.assert(
      fc.property(fc.tuple(plain, fc.option(name)), fc.tuple(plain, fc.option(name)), (one, other) => {
        const [first, second] = [flatName(...one), flatName(...other)];
        expect(first).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(flatName(...one)).toBe(first);
        if (one[1] === null && one[0].length <= 64) expect(first).toBe(one[0]);
        if (first === second && !first.includes('__')) expect(one).toEqual(other);
      }),
    );
  });
});

test('settings mean the same as in chat', () => {
  const format = { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true };
  const {
    call: translated,
    outputLimit,
    stream,
  } = parse(
    asked({
      stream: true,
      max_output_tokens: 128_000,
      temperature: 2,
      top_p: 0,
      tools: [look],
      tool_choice: 'required',
      parallel_tool_calls: false,
      text: { format, verbosity: 'low' },
      reasoning: { effort: 'none', summary: 'auto', context: 'all_turns', mode: 'standard' },
    }),
  );
  expect([stream, outputLimit]).toEqual([true, 128_000]);
  expect(translated).toEqual({
    messages: [{ role: 'user', content: 'Hello' }],
    temperature: 2,
    maxTokens: null,
    topP: 0,
    stop: null,
    presencePenalty: null,
    tools: [{ name: 'look', description: null, parameters: { type: 'object' }, strict: null }],
    toolChoice: 'required',
    parallelToolCalls: false,
    responseFormat: { ...format, description: null } as never,
    seed: null,
    effort: 'none',
    verbosity: 'low',
  });
  for (const effort of efforts) expect(parse(asked({ reasoning: { effort } })).call.effort).toBe(effort);
});

describe('reasoning is shown', () => {
  test.each<[Json, boolean, boolean]>([
    [{}, false, false],
    [{ include: [] }, false, false],
    [{ reasoning: { effort: 'high' } }, false, false],
    [{ reasoning: { summary: 'auto' } }, true, false],
    [{ reasoning: { generate_summary: 'concise' } }, true, false],
    [{ include: ['reasoning.encrypted_content'] }, true, true],
  ])('%j', (fields, isShown, isSealed) => {
    const { showsReasoning, seal } = parse(asked(fields)).asked;
    expect([showsReasoning, seal !== null]).toEqual([isShown, isSealed]);
  });
});

describe('what is repeated in the response', () => {
  test('is bounded, however long the request', () => {
    const { repeated } = parse(
      asked({
        instructions: 'x'.repeat(70_000),
        tools: Array.from({ length: 2_000 }, (_, index) => ({
          ...look,
          name: `f${index}`,
          description: 'x'.repeat(40),
        })),
      }),
    ).asked;
    expect([repeated.instructions, repeated.tools]).toEqual([null, []]);
    expect(JSON.stringify(repeated).length).toBeLessThan(2_000);
  });
});

describe('hostile bodies', () => {
  const everything = asked({
    instructions: 'x',
    stream: true,
    input: [
      user,
      {
        type: 'reasoning',
        id: 'r',
        summary: [{ type: 'summary_text', text: 'x' }],
        encrypted_content: 'tg1_x',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [] }] },
      call,
      output,
      { type: 'custom_tool_call', call_id: 'd', name: 'w', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'd', output: [{ type: 'input_text', text: 'x' }] },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.y/z', detail: 'low' }] },
    ],
    tools: [
      look,
      { type: 'custom', name: 'w', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'namespace', name: 'n', description: 'x', tools: [look] },
    ],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'look', namespace: 'n' }],
    },
    text: { format: { type: 'json_schema', name: 'x', schema: {} }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    metadata: { a: 'b' },
  });

  test('any change is taken, or refused by an error of the table that names a parameter', () => {
    const places = pathsIn(everything);
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), (place, value) => {
        const body: unknown = JSON.parse(JSON.stringify(replaced(everything, place, value)));
        try {
          parse(body);
        } catch (thrown) {
          if (!(thrown instanceof ApiError)) throw thrown;
          if (place.length > 0) expect(thrown.param?.length ?? 0).toBeGreaterThan(0);
          expect(thrown.message.length).toBeLessThan(500);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('names of objects are data', () => {
    const body = JSON.parse(
      '{"model":"m","input":[{"role":"user","content":"x","__proto__":{"type":"item_reference"}}],"constructor":1,"tools":[{"type":"function","name":"constructor"},{"type":"function","name":"__proto__"}]}',
    ) as unknown;
    const { call: translated, original } = parse(body);
    expect(translated.tools?.map(({ name }) => name)).toEqual(['constructor', '__proto__']);
    expect(original?.untranslatable).not.toBeNull();
  });

  test('ten thousand items, parts and tools are read in a moment', () => {
    const input = Array.from({ length: 20_000 }, (_, index) =>
      index % 2 === 0 ? { ...call, call_id: `c${index}` } : { ...output, call_id: `c${index - 1}` },
    );
    const tools = Array.from({ length: 10_000 }, (_, index) => ({ ...look, name: `f${index}` }));
    const parts = Array.from({ length: 10_000 }, () => ({ type: 'input_text', text: 'x' }));
    const { call: translated } = parse(asked({ input: [...input, { role: 'user', content: parts }], tools }));
    expect(translated.messages).toHaveLength(20_001);
    expect(translated.tools).toHaveLength(10_000);
  });
});

test('a list of tools that is as long as another is not compared with each of it', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
  const tools = names.map((name) => ({ type: 'namespace', name, tools: [look] }));
  const allowed = names.map((namespace) => ({ type: 'function', name: 'look', namespace }));
  const again = names.map(() => ({ type: 'function', name: 'look' }));
  const choice = (list: Json[]) =>
    asked({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: list } });
  // Pair by pair these would take minutes.
  expect(parse(choice(again)).call.tools).toHaveLength(20_000);
  expect(parse(choice(allowed)).call.tools).toHaveLength(20_000);
  expect(parse(choice(allowed.slice(0, 100))).call.tools).toHaveLength(100);
});

type Path = readonly (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item, index) => pathsIn(item, [...path, index]))];
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([name, item]) => pathsIn(item, [...path, name]));
  return [path, [...path, 'foreign'], ...inner];
}

function replaced(value: unknown, [step, ...rest]: Path, by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? replaced(item, rest, by) : item));
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [step]: replaced(object[step], rest, by) };
}
