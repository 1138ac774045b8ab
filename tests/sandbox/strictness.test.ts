/** The sandbox is as strict as each vendor, so that an adapter's mistake gets 400 and is not overlooked. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readAnthropicChat } from '../../sandbox/anthropic-request.ts';
import { readGoogleChat } from '../../sandbox/google-request.ts';
import { encryptedContentOf } from '../../sandbox/responses-wire.ts';
import { startSandbox } from '../../sandbox/server.ts';
import {
  anthropic,
  google,
  type Json,
  openai,
  png,
  responses,
  results,
  type Speaker,
  type Talk,
  tools,
} from '../support/wire-speakers.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

/** A request that is fine, and what makes it a bad one. */
const base: Talk = { turns: [...results, { user: 'And then?', images: 1 }], tools, system: ['Be brief.'] };

function send(
  speaker: Speaker,
  body: unknown,
  headers: Record<string, string> = speaker.key,
): Promise<Response> {
  return fetch(`${sandbox.url}${speaker.path(base, false)}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
}

const user = (content: unknown) => ({ role: 'user', content });
const toolUse = (more: Json) => ({ type: 'tool_use', id: 'a', name: 'weather', input: {}, ...more });
const calling = (...content: Json[]) => [user('Hi'), { role: 'assistant', content }];
const toolResult = { type: 'tool_result', tool_use_id: 'a', content: 'x' };
const imageOf = (source: Json) => [user([{ type: 'image', source }])];
const call = { functionCall: { name: 'weather', args: {} } };
const response = { functionResponse: { name: 'weather', response: { output: 'x' } } };
const turns = (...parts: Json[][]) =>
  parts.map((own, index) => ({ role: index % 2 === 0 ? 'user' : 'model', parts: own }));
const hi = [{ text: 'Hi' }];
const declaring = (declaration: Json) => ({
  tools: [{ functionDeclarations: [{ name: 'f', ...declaration }] }],
});

const wrongs: [Speaker, [string, Json][]][] = [
  [
    openai,
    [
      ['an unknown field', { thinking: {} }],
      ['an unknown role', { messages: [{ role: 'model', content: 'x' }] }],
      ['a user without words', { messages: [user(null)] }],
      ['a result of no call', { messages: [user('Hi'), { role: 'tool', tool_call_id: 'a', content: 'x' }] }],
      [
        'a call without its result',
        { messages: (openai.write(base, false).messages as Json[]).toSpliced(3, 1) },
      ],
      [
        'no calls in a list of calls',
        { messages: [user('Hi'), { role: 'assistant', content: 'x', tool_calls: [] }] },
      ],
      [
        'arguments that are no text',
        {
          messages: [
            user('Hi'),
            {
              role: 'assistant',
              tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }],
            },
          ],
        },
      ],
      ['a tool with a bad name', { tools: [{ type: 'function', function: { name: 'a b' } }] }],
      ['a choice without a name', { tool_choice: { type: 'function' } }],
      ['stream options without a stream', { stream_options: { include_usage: true } }],
      ['an effort that does not exist', { reasoning_effort: 'much' }],
      ['a verbosity that does not exist', { verbosity: 'none' }],
      [
        'an image in a result',
        {
          messages: (openai.write(base, false).messages as Json[]).map((message) =>
            message.role === 'tool'
              ? { ...message, content: [{ type: 'image_url', image_url: { url: 'x' } }] }
              : message,
          ),
        },
      ],
    ],
  ],
  [
    responses,
    [
      ['a field of chat completions', { messages: [user('Hi')] }],
      ['a field that it does not have', { stop: 'x' }],
      ['no input', { input: [] }],
      ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }],
      ['a part of another vendor', { input: [user([{ type: 'text', text: 'x' }])] }],
      ['an image as an object', { input: [user([{ type: 'input_image', image_url: { url: 'x' } }])] }],
      ['a result of no call', { input: [{ type: 'function_call_output', call_id: 'a', output: 'x' }] }],
      [
        'a call without its result',
        { input: [user('Hi'), { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }] },
      ],
      ['a stored item', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
      ['reasoning that is stored nowhere', { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }],
      [
        'reasoning under another ID',
        {
          input: [
            { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: encryptedContentOf('rs_1') },
          ],
        },
      ],
      ['a nested function', { tools: [{ type: 'function', function: { name: 'f' } }] }],
      [
        'a function that says nothing of strict',
        { tools: [{ type: 'function', name: 'f', parameters: {} }] },
      ],
      ['a choice without a name', { tool_choice: { type: 'function' } }],
      ['a format without a schema', { text: { format: { type: 'json_schema', name: 's' } } }],
      ['stream options without a stream', { stream_options: { include_obfuscation: false } }],
      ['an earlier response', { previous_response_id: 'resp_1' }],
    ],
  ],
  [
    anthropic,
    [
      ['no max_tokens', { max_tokens: undefined }],
      ['an unknown field', { presence_penalty: 1 }],
      ['a system message among the others', { messages: [{ role: 'system', content: 'x' }, user('Hi')] }],
      ['an unknown field of a message', { messages: [{ ...user('Hi'), name: 'x' }] }],
      ['an empty text', { messages: [user('')] }],
      ['a blank text block', { messages: [user([{ type: 'text', text: ' ' }])] }],
      ['an empty system prompt', { system: '' }],
      ['no content', { messages: [user([])] }],
      ['a block of another vendor', { messages: [user([{ type: 'image_url', image_url: { url: 'x' } }])] }],
      [
        'a kind of image that is not taken',
        { messages: imageOf({ type: 'base64', media_type: 'image/bmp', data: png }) },
      ],
      [
        'an image at a data address',
        { messages: imageOf({ type: 'url', url: `data:image/png;base64,${png}` }) },
      ],
      ['a call without a result', { messages: [...calling(toolUse({})), user('Hi')] }],
      ['a call at the end', { messages: calling(toolUse({})) }],
      [
        'a result after other things',
        { messages: [...calling(toolUse({})), user([{ type: 'text', text: 'x' }, toolResult])] },
      ],
      ['two results for one call', { messages: [...calling(toolUse({})), user([toolResult, toolResult])] }],
      ['a result of no call', { messages: [user([toolResult])] }],
      [
        'a call whose input is text',
        { messages: [...calling(toolUse({ input: '{}' })), user([toolResult])] },
      ],
      [
        'an ID with other characters',
        { messages: [...calling(toolUse({ id: 'a.b' })), user([{ ...toolResult, tool_use_id: 'a.b' }])] },
      ],
      [
        'an ID used twice',
        {
          messages: [
            ...calling(toolUse({})),
            user([toolResult]),
            ...calling(toolUse({})).slice(1),
            user([toolResult]),
          ],
        },
      ],
      ['a tool without a schema', { tools: [{ name: 'f' }] }],
      ['a schema that is not an object', { tools: [{ name: 'f', input_schema: { type: 'string' } }] }],
      ['a choice without tools', { tools: undefined, tool_choice: { type: 'auto' } }],
      ['a choice that is not declared', { tool_choice: { type: 'tool', name: 'other' } }],
      ['a temperature above 1', { temperature: 1.5 }],
      ['a blank stop sequence', { stop_sequences: ['\n'] }],
      ['JSON without a schema', { output_config: { format: { type: 'json_object' } } }],
      ['an effort that does not exist', { output_config: { effort: 'none' } }],
      ['thinking of another kind', { thinking: { type: 'auto' } }],
      ['too small a budget', { max_tokens: 5_000, thinking: { type: 'enabled', budget_tokens: 1_000 } }],
      [
        'a budget for the whole answer',
        { max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      ],
      ['thinking with a temperature', { thinking: { type: 'adaptive' }, temperature: 0.5 }],
      ['thinking with a forced tool', { thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } }],
      [
        'thinking at the end of a turn',
        { messages: [...calling({ type: 'thinking', thinking: 'Hm.', signature: 's' }), user('Go on')] },
      ],
      [
        'an error without words',
        {
          messages: [
            ...calling(toolUse({})),
            user([{ type: 'tool_result', tool_use_id: 'a', is_error: true }]),
          ],
        },
      ],
    ],
  ],
  [
    google,
    [
      ['an unknown field', { model: 'm' }],
      ['an unknown field of the configuration', { generationConfig: { max_tokens: 5 } }],
      ['another role', { contents: [{ role: 'assistant', parts: hi }] }],
      ['no contents', { contents: [] }],
      ['no parts', { contents: [{ role: 'user', parts: [] }] }],
      ['an unknown part', { contents: turns([{ type: 'text', text: 'x' }]) }],
      [
        'two kinds of data in a part',
        { contents: turns([{ text: 'x', inlineData: { mimeType: 'image/png', data: png } }]) },
      ],
      ['data of no kind', { contents: turns([{ inlineData: { data: png } }]) }],
      [
        'a kind of image that is not taken',
        { contents: turns([{ inlineData: { mimeType: 'image/gif', data: png } }]) },
      ],
      ['a call without a response', { contents: turns(hi, [call], hi) }],
      ['a call at the end', { contents: turns(hi, [call]) }],
      [
        'names to choose from, with no need to choose',
        { toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['weather'] } } },
      ],
      [
        'a response with another ID',
        {
          contents: turns(
            hi,
            [{ functionCall: { ...call.functionCall, id: 'a' } }],
            [{ functionResponse: { ...response.functionResponse, id: 'b' } }],
          ),
        },
      ],
      ['a response by the model', { contents: [...turns(hi, [call]), { role: 'model', parts: [response] }] }],
      ['a call at the start', { contents: turns(hi, [call], [response]).slice(1) }],
      ['fewer responses than calls', { contents: turns(hi, [call, call], [response]) }],
      ['more responses than calls', { contents: turns(hi, [call], [response, response]) }],
      [
        'a response of another name',
        { contents: turns(hi, [call], [{ functionResponse: { ...response.functionResponse, name: 'f' } }]) },
      ],
      ['a response without a call', { contents: turns([response]) }],
      [
        'a response that is text',
        { contents: turns(hi, [call], [{ functionResponse: { name: 'weather', response: 'x' } }]) },
      ],
      [
        'arguments that are text',
        { contents: turns(hi, [{ functionCall: { name: 'weather', args: '{}' } }], [response]) },
      ],
      ['a word of JSON Schema', declaring({ parameters: { type: 'object', additionalProperties: false } })],
      [
        'the same, further inside',
        declaring({
          parameters: { type: 'object', properties: { a: { type: 'array', items: { const: 1 } } } },
        }),
      ],
      ['a list of types', declaring({ parameters: { type: ['object', 'null'] } })],
      [
        'two schemas',
        declaring({ parameters: { type: 'object' }, parametersJsonSchema: { type: 'object' } }),
      ],
      ['an unknown way to think', { generationConfig: { thinkingConfig: { effort: 'low' } } }],
      ['a level that does not exist', { generationConfig: { thinkingConfig: { thinkingLevel: 'max' } } }],
      [
        'a level and a budget',
        { generationConfig: { thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 5 } } },
      ],
      ['six stop sequences', { generationConfig: { stopSequences: [...'abcdef'] } }],
      ['a schema for text', { generationConfig: { responseSchema: { type: 'object' } } }],
      ['a mode that does not exist', { toolConfig: { functionCallingConfig: { mode: 'any' } } }],
    ],
  ],
];

describe.each(wrongs)('what is not allowed', (speaker, rows) => {
  test(`${speaker.name}: nothing is wrong with the request that follows`, async () => {
    const answered = (await (await send(speaker, speaker.write(base, false))).json()) as Json;
    expect(answered.error ?? null).toBeNull();
  });

  test.each(rows)(`${speaker.name}: %s`, async (_, wrong) => {
    const refused = await send(speaker, { ...speaker.write(base, false), ...wrong });
    expect([refused.status, speaker.isError((await refused.json()) as Json)]).toEqual([400, true]);
  });
});

test('what only looks wrong is allowed', async () => {
  const allowed: [Speaker, Json][] = [
    [openai, { max_completion_tokens: 5, random_seed: 1, tool_choice: 'required' }],
    [
      anthropic,
      {
        thinking: { type: 'disabled' },
        top_k: 5,
        stop_sequences: ['x'],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
      },
    ],
    [anthropic, { messages: imageOf({ type: 'url', url: 'https://example.com/a.png' }) }],
    [anthropic, { max_tokens: 5_000, thinking: { type: 'enabled', budget_tokens: 1_024 }, temperature: 1 }],
    [anthropic, { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } }],
    [openai, { reasoning_effort: 'none', verbosity: 'low' }],
    [google, { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } } }],
    [google, { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
    [google, declaring({ parametersJsonSchema: { type: ['object', 'null'], additionalProperties: false } })],
    [google, declaring({ parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } })],
    [
      google,
      { contents: [{ parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a' } }] }] },
    ],
  ];
  for (const [speaker, more] of allowed) {
    expect(await (await send(speaker, { ...speaker.write(base, false), ...more })).json()).not.toHaveProperty(
      'error',
    );
  }
  const { 'anthropic-version': _, ...noVersion } = anthropic.key;
  for (const headers of [noVersion, { ...noVersion, 'anthropic-version': '2030-01-01' }]) {
    expect(
      (await send(anthropic, anthropic.write(base, false), headers as Record<string, string>)).status,
    ).toBe(400);
  }
});

describe('what is read', () => {
  const fromAnthropic = (more: Json) => readAnthropicChat({ ...anthropic.write(base, false), ...more });
  const fromGoogle = (more: Json) => readGoogleChat({ ...google.write(base, false), ...more }, 'm', false);
  const named = { type: 'function', function: { name: 'time' } } as const;

  test.each<[Json, Json]>([
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'auto' }, { tool_choice: 'auto', parallel_tool_calls: true }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [{ type: 'tool', name: 'time' }, { tool_choice: named }],
  ])('Anthropic, the choice of a tool: %j', (tool_choice, expected) => {
    expect(fromAnthropic({ tool_choice })).toMatchObject(expected);
  });

  test.each<[Json, unknown]>([
    [{}, 'auto'],
    [{ mode: 'NONE' }, 'none'],
    [{ mode: 'VALIDATED', allowedFunctionNames: ['time'] }, 'auto'],
    [{ mode: 'ANY' }, 'required'],
    [{ mode: 'ANY', allowedFunctionNames: ['time', 'weather'] }, named],
  ])('Google, the choice of a tool: %j', (functionCallingConfig, expected) => {
    expect(fromGoogle({ toolConfig: { functionCallingConfig } }).tool_choice as unknown).toEqual(expected);
  });

  test('thoughts are skipped', () => {
    const thinking = [
      { type: 'thinking', thinking: 'x', signature: 'y' },
      { type: 'redacted_thinking', data: 'z' },
    ];
    const { messages } = fromAnthropic({
      system: undefined,
      messages: [...calling(...thinking, { type: 'text', text: 'a' }), user('b')],
    });
    expect(messages[1]).toEqual({ role: 'assistant', content: 'a', tool_calls: undefined });
    const said = turns(
      hi,
      [
        { text: 'x', thought: true },
        { text: 'a', thoughtSignature: 'y' },
      ],
      hi,
    );
    expect(fromGoogle({ contents: said, systemInstruction: undefined }).messages[1]).toEqual(
      messages[1] as (typeof messages)[1],
    );
  });

  test.each<[Json, string]>([
    [{ output: 'x' }, 'x'],
    [{ result: 'x' }, 'x'],
    [{ error: 'x' }, 'x'],
    [{ output: { a: 1 } }, '{"a":1}'],
    [{ degrees: 21 }, '{"degrees":21}'],
  ])('Google, the result of a call: %j', (result, expected) => {
    const answered = [{ functionResponse: { name: 'weather', response: result } }];
    expect(fromGoogle({ contents: turns(hi, [call], answered) }).messages.at(-1)?.content).toBe(expected);
  });

  test('Google, both kinds of schema', () => {
    const own = {
      type: 'OBJECT',
      properties: { a: { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }] } } },
    };
    const usual = {
      type: 'object',
      properties: { a: { type: 'array', items: { anyOf: [{ type: 'string' }] } } },
    };
    const schemaOf = (more: Json) => fromGoogle(more).tools?.[0]?.function.parameters;
    expect(schemaOf(declaring({ parameters: own }))).toEqual(usual);
    expect(schemaOf(declaring({ parametersJsonSchema: own }))).toEqual(own);
    const responseMimeType = 'application/json';
    for (const [config, schema] of [
      [{ responseSchema: own }, usual],
      [{ responseJsonSchema: own }, own],
      [{ _responseJsonSchema: own }, own],
    ]) {
      expect(fromGoogle({ generationConfig: { responseMimeType, ...config } }).response_format).toEqual({
        type: 'json_schema',
        json_schema: { schema },
      });
    }
    expect(fromGoogle({ generationConfig: { responseMimeType } }).response_format).toEqual({
      type: 'json_object',
    });
  });
});
