/** The playground sends what it shows, and reads what it is sent, however it is cut into pieces. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiProblem } from '../../dashboard/api/client.ts';
import {
  onConnectionEnd,
  splitEvents,
  withBody,
  withEvent,
} from '../../dashboard/pages/playground/answer-stream.ts';
import {
  type AssistantTurn,
  chatRequestOf,
  emptyTurn,
  isUnanswered,
  messagesOf,
  openCalls,
  type Turn,
  turnsAsCode,
  withShortImages,
} from '../../dashboard/pages/playground/conversation.ts';
import {
  adviceFor,
  describeFinish,
  guideOf,
  settingOf,
  titleFor,
  wasAdmitted,
} from '../../dashboard/pages/playground/ending-words.ts';
import {
  type ImageResult,
  imageRequestOf,
  urlsIn,
  withResult,
} from '../../dashboard/pages/playground/image-request.ts';
import { mayCall, selectPair } from '../../dashboard/pages/playground/selection.ts';
import {
  emptyParameters,
  exampleTools,
  parseParameters,
  parseTools,
} from '../../dashboard/pages/playground/settings.ts';
import { restore, textOf } from '../../dashboard/pages/playground/use-playground-work.ts';
import { parseChat } from '../../src/chat/completions/parse.ts';
import { ApiError } from '../../src/errors.ts';

const user = (text: string): Turn => ({ kind: 'user', text, images: [] });
const answer = (part: Partial<AssistantTurn>): AssistantTurn => ({
  ...emptyTurn,
  ending: { kind: 'finished', reason: 'stop' },
  ...part,
});
const call = { id: 'call_1', name: 'get_weather', arguments: '{"city":"Lisbon"}' };

function isTakenByServer(body: Record<string, unknown>): boolean {
  try {
    parseChat({ model: 'model', messages: [{ role: 'user', content: 'Hi' }], ...body });
    return true;
  } catch (thrown) {
    if (thrown instanceof ApiError) return false;
    throw thrown;
  }
}

describe('a stream', () => {
  const delta = (fields: unknown, reason: string | null = null) =>
    JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
  const events = [
    delta({ role: 'assistant', content: '' }),
    delta({ content: 'Good\n\nday, ' }),
    delta({ content: '<b>you</b>' }),
    delta({
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'one', arguments: '' } }],
    }),
    delta({
      tool_calls: [{ index: 1, id: 'call_2', type: 'function', function: { name: 'two', arguments: '' } }],
    }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
    delta({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    delta({}, 'tool_calls'),
    JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } }),
    '[DONE]',
  ];
  const wire = events.map((event) => `data: ${event}\n\n`).join('');

  test('says the same however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: wire.length }), { maxLength: 20 }), (cuts) => {
        const places = [0, ...cuts.toSorted((one, other) => one - other), wire.length];
        let rest = '';
        let turn = emptyTurn;
        for (const [at, from] of places.slice(0, -1).entries()) {
          const split = splitEvents(rest + wire.slice(from, places[at + 1]));
          rest = split.rest;
          turn = split.events.reduce(withEvent, turn);
        }
        expect(rest).toBe('');
        expect(turn).toEqual({
          kind: 'assistant',
          text: 'Good\n\nday, <b>you</b>',
          toolCalls: [
            { id: 'call_1', name: 'one', arguments: '{"a":1}' },
            { id: 'call_2', name: 'two', arguments: '{}' },
          ],
          requestId: null,
          finishReason: 'tool_calls',
          ending: { kind: 'finished', reason: 'tool_calls' },
        });
      }),
    );
  });

  test('that breaks off says so, and keeps what was written', () => {
    const begun = withEvent(emptyTurn, delta({ content: 'Half' }));
    const failed = withEvent(
      begun,
      '{"error":{"message":"The stream failed.","code":"provider_stream_error"}}',
    );
    expect(failed.text).toBe('Half');
    expect(failed.ending).toEqual({
      kind: 'failed',
      problem: new ApiProblem('The stream failed.', { status: 0, code: 'provider_stream_error' }),
    });
    expect(withEvent(withEvent(failed, delta({}, 'stop')), '[DONE]').ending).toEqual(failed.ending);
    expect(onConnectionEnd(answer({})).ending?.kind).toBe('finished');
  });

  test('that stops before its last event was cut, even after the model said that it was done', () => {
    const stopped = withEvent(withEvent(emptyTurn, delta({ content: 'All' })), delta({}, 'stop'));
    expect(stopped.ending).toBeNull();
    expect(onConnectionEnd(stopped).ending).toMatchObject({
      kind: 'failed',
      problem: { code: 'stream_cut', message: 'The connection was lost before the end of the response.' },
    });
    expect(withEvent(stopped, '[DONE]').ending).toEqual({ kind: 'finished', reason: 'stop' });
  });

  test('reads line ends and comments as the format has them', () => {
    expect(splitEvents(': hello\r\n\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: rest')).toEqual({
      events: ['{"a":\n1}'],
      rest: 'data: rest',
    });
  });

  test('and a non-streamed answer are read alike', () => {
    const body = { choices: [{ message: { content: 'Hi' }, finish_reason: 'length' }] };
    expect(withBody(emptyTurn, body)).toEqual(
      answer({ text: 'Hi', finishReason: 'length', ending: { kind: 'finished', reason: 'length' } }),
    );
    expect(describeFinish('length')).toContain('cut off');
    expect(describeFinish('content_filter')).toContain('withheld');
    expect(describeFinish('stop')).toBeNull();
  });
});

describe('a conversation', () => {
  const turns: readonly Turn[] = [
    user('Weather?'),
    answer({ toolCalls: [call], ending: { kind: 'finished', reason: 'tool_calls' } }),
    { kind: 'tool', callId: 'call_1', name: 'get_weather', result: '21' },
    answer({ text: 'Mild.' }),
  ];

  test('becomes messages that the server takes', () => {
    const messages = messagesOf('Be brief.', turns);
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
    expect(isTakenByServer({ messages })).toBe(true);
    expect(messagesOf('  ', [user('Hi')])).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  test('leaves out answers that never came, and calls that were not finished', () => {
    const stopped = answer({ toolCalls: [call], ending: { kind: 'stopped' } });
    expect(messagesOf('', [user('Hi'), stopped, user('Again')])).toEqual([
      { role: 'user', content: 'Again' },
    ]);
    expect(openCalls([user('Hi'), stopped])).toEqual([]);
    expect(openCalls(turns.slice(0, 2))).toEqual([call]);
    expect(openCalls(turns)).toEqual([]);
  });

  test('with pictures sends them as parts', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const messages = messagesOf('', [{ kind: 'user', text: 'Look', images: [{ name: 'a.png', url }] }]);
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ]);
    expect(isTakenByServer({ messages })).toBe(true);
    expect(withShortImages(`"${url}${'A'.repeat(500)}"`)).toHaveLength(63);
  });

  test('is shown as code with the draft, or as it was asked last', () => {
    const empty = { kind: 'user', text: ' ', images: [] } as const;
    expect(turnsAsCode(turns, empty)).toEqual(turns.slice(0, 3));
    expect(turnsAsCode(turns, { ...empty, text: 'Next' })).toHaveLength(5);
    expect(turnsAsCode([], empty)).toEqual([]);
  });
});

describe('settings', () => {
  test('are good here if and only if the server takes them', () => {
    const numbers = fc.constantFrom(
      '',
      '0',
      '1',
      '2',
      '1.5',
      '1.999',
      '-1',
      '0.5',
      '1e3',
      'x',
      '2147483647',
      '2147483648',
      ' 1 ',
    );
    fc.assert(
      fc.property(numbers, numbers, numbers, numbers, (temperature, maxTokens, topP, seed) => {
        const { fields, problems } = parseParameters({
          ...emptyParameters,
          temperature,
          maxTokens,
          topP,
          seed,
        });
        expect(isTakenByServer({ ...fields })).toBe(true);
        const written = { temperature, max_tokens: maxTokens, top_p: topP, seed };
        for (const [name, text] of Object.entries(written)) {
          // A number in another spelling is refused here only.
          if (text.trim() === '' || text.includes('e')) continue;
          expect(name in problems).toBe(!isTakenByServer({ [name]: Number(text) }));
        }
      }),
    );
  });

  test('ask for JSON in the format of the API', () => {
    const objectFormat = parseParameters({ ...emptyParameters, responseFormat: 'json_object' });
    const schemaFormat = parseParameters({ ...emptyParameters, responseFormat: 'json_schema' });
    expect(isTakenByServer({ ...objectFormat.fields })).toBe(true);
    expect(isTakenByServer({ ...schemaFormat.fields })).toBe(true);
    const broken = parseParameters({ ...emptyParameters, responseFormat: 'json_schema', schema: '[]' });
    expect(broken.problems.response_format).toBe('Enter a JSON object.');
  });

  test('tools are good here if and only if the server takes them', () => {
    const text = fc.constantFrom('one', 'two', '', 'odd name', 'a'.repeat(65));
    const tool = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom('function', 'other'),
          function: fc.oneof(
            fc.record(
              {
                name: text,
                description: fc.constantFrom('words', 3),
                parameters: fc.constantFrom({}, [], null),
                extra: text,
              },
              { requiredKeys: ['name'] },
            ),
            fc.constant(null),
          ),
          extra: text,
        },
        { requiredKeys: ['type', 'function'] },
      ),
      fc.record({ type: fc.constant('function'), function: fc.record({ name: text }) }),
      fc.constant(7),
    );
    fc.assert(
      fc.property(fc.array(tool, { minLength: 1, maxLength: 3 }), (tools) => {
        expect(parseTools(JSON.stringify(tools)).problem === null).toBe(isTakenByServer({ tools }));
      }),
      { numRuns: 500 },
    );
    expect(parseTools(exampleTools).tools).toHaveLength(1);
    expect(parseTools(' ')).toEqual({ tools: [], problem: null });
    expect(parseTools('{').problem).toStartWith('This is not JSON: ');
    expect(parseTools('{}').problem).toStartWith('Enter a JSON array');
  });

  test('ask nothing of a model that it cannot do', () => {
    const capabilities = {
      text_input: true,
      image_input: false,
      text_output: true,
      streaming: false,
      function_calling: false,
      structured_output: false,
    };
    const model = { id: 'plain', capabilities } as Parameters<typeof chatRequestOf>[0]['model'];
    const parts = {
      model,
      system: '',
      parameters: { seed: 1, response_format: { type: 'json_object' } },
      tools: parseTools(exampleTools).tools,
    };
    expect(chatRequestOf(parts, [user('Hi')])).toEqual({
      model: 'plain',
      messages: [{ role: 'user', content: 'Hi' }],
      seed: 1,
    });
    const able = {
      ...model,
      capabilities: { ...capabilities, streaming: true, function_calling: true, structured_output: true },
    };
    expect(Object.keys(chatRequestOf({ ...parts, model: able }, [user('Hi')])).toSorted()).toEqual([
      'messages',
      'model',
      'response_format',
      'seed',
      'stream',
      'stream_options',
      'tools',
    ]);
  });
});

test('a question whose answer never began is left out of what is sent next', () => {
  const problem = new ApiProblem('No.', { status: 502, code: 'provider_error' });
  const failed: Turn = { ...emptyTurn, ending: { kind: 'failed', problem } };
  const broken: Turn = { ...failed, text: 'Half' };
  const turns = [user('one'), failed, user('two'), broken, user('three')];
  expect(messagesOf('', turns)).toEqual([
    { role: 'user', content: 'two' },
    { role: 'assistant', content: 'Half' },
    { role: 'user', content: 'three' },
  ]);
  expect(turns.map((_, at) => isUnanswered(turns, at))).toEqual([true, false, false, false, false]);
  expect(isUnanswered([user('one'), emptyTurn], 0)).toBe(false);
});

test.each([
  ['provider_rate_limit', 429, true],
  ['provider_error', 502, true],
  ['all_providers_unavailable', 503, true],
  ['billing_consistency_error', 500, true],
  ['streaming_error', 0, true],
  ['stream_cut', 0, true],
  ['network_error', 0, false],
  ['invalid_parameter', 400, false],
  ['invalid_api_key', 401, false],
  ['insufficient_balance', 402, false],
  ['account_suspended', 403, false],
  ['model_not_found', 404, false],
  ['rate_limit_exceeded', 429, false],
  ['provider_not_configured', 503, false],
])('that %s with status %p has a Generation is %p', (code, status, isAdmitted) => {
  expect(wasAdmitted({ code, status })).toBe(isAdmitted);
});

test('a key that has ended is explained to people in other words than to programs', () => {
  expect(titleFor({ code: 'invalid_api_key', message: 'Send it as: Authorization' })).toStartWith('This key');
  expect(titleFor({ code: 'account_suspended', message: 'As it is.' })).toBe('As it is.');
});

test('there is advice where people can do something', () => {
  const told = (code: string, param: string | null = null) => adviceFor({ code, param });
  const otherwise = told('internal_error');
  for (const code of [
    'insufficient_balance',
    'monthly_spend_limit_exceeded',
    'model_not_allowed',
    'provider_timeout',
    'stream_cut',
  ])
    expect(told(code)).not.toBe(otherwise);
  expect(told('invalid_parameter', 'temperature')).toBe('Change this setting and try again.');
  for (const param of ['messages', 'messages[0].content', 'prompt'])
    expect([told('invalid_parameter', param), settingOf({ param })]).toEqual([
      'Change your message and try again.',
      null,
    ]);
  expect(settingOf({ param: 'tools' })).toBe('tools');
});

test('the guide that a message points to is a link on this page, and nothing else is', () => {
  const code = 'invalid_parameter';
  for (const origin of ['', 'https://gateway.example.com']) {
    const message = `Wrong. See ${origin}/docs/sandbox#directives`;
    expect([titleFor({ code, message }), guideOf({ message })]).toEqual([
      'Wrong.',
      '/docs/sandbox#directives',
    ]);
  }
  for (const message of ['Wrong. See https://elsewhere.example/login', 'See /docs/chat first.', '']) {
    expect([titleFor({ code, message }), guideOf({ message })]).toEqual([message, null]);
  }
});

describe('the model and the key', () => {
  const modelIds = ['a', 'b', 'c', 'd'];
  const ids = fc.subarray(modelIds);
  const keyOf = fc.record({ allowed_models: fc.option(ids, { nil: null }) });
  const keyLists = fc
    .array(keyOf, { maxLength: 4 })
    .map((keys) => keys.map((key, at) => ({ ...key, id: `key-${at}` })));
  const modelLists = ids.chain((chosen) =>
    fc.tuple(...chosen.map((id) => fc.constantFrom('chat', 'image').map((workload) => ({ id, workload })))),
  ) as fc.Arbitrary<{ id: string; workload: 'chat' | 'image' }[]>;
  const wanted = fc.record({
    model: fc.constantFrom('', 'gone', ...modelIds),
    key: fc.constantFrom('', 'gone', 'key-0', 'key-1', 'key-2'),
  });

  test('go together whenever a pair does, and are what was asked for where that is possible', () => {
    fc.assert(
      fc.property(keyLists, modelLists, wanted, (keys, models, asked) => {
        const { key, model } = selectPair(keys, models, asked);
        expect([key === undefined, model === undefined]).toEqual([keys.length === 0, models.length === 0]);
        if (key === undefined || model === undefined) return;
        const isNamed = models.some(({ id }) => id === asked.model);
        if (isNamed) expect(model.id).toBe(asked.model);
        const open = isNamed ? [model] : models;
        const couldWork = open.some(({ id }) => keys.some((candidate) => mayCall(candidate, id)));
        expect(mayCall(key, model.id)).toBe(couldWork);
        const askedKey = keys.find(({ id }) => id === asked.key);
        if (askedKey !== undefined && open.some(({ id }) => mayCall(askedKey, id)))
          expect(key).toBe(askedKey);
      }),
    );
  });

  test('are a chat model by default', () => {
    const models = [
      { id: 'a', workload: 'image' as const },
      { id: 'b', workload: 'chat' as const },
    ];
    const pictures = { id: 'one', allowed_models: ['a'] };
    const everything = { id: 'two', allowed_models: null };
    const nothing = { model: '', key: '' };
    expect(selectPair([pictures, everything], models, nothing)).toEqual({
      key: everything,
      model: models[1],
    });
    expect(selectPair([pictures], models, nothing)).toEqual({ key: pictures, model: models[0] });
  });
});

describe('what is kept in the tab', () => {
  test('is what was written, and nothing that was not typed', () => {
    const work = restore(null);
    const changed = {
      ...work,
      wanted: { model: 'm', key: 'k' },
      settings: { system: 's', parameters: { ...emptyParameters, seed: '7' }, tools: '[]' },
      draft: {
        kind: 'user' as const,
        text: 'Hi',
        images: [{ name: 'a', url: 'data:image/png;base64,AAAA' }],
      },
      imageForm: { prompt: 'A gate', size: '1x1', count: '2' },
      turns: [user('before')],
    };
    expect(textOf(changed)).not.toContain('AAAA');
    expect(restore(textOf(changed))).toEqual({
      ...changed,
      draft: { ...changed.draft, images: [] },
      turns: [],
    });
  });

  test('may be anything', () => {
    const empty = restore(null);
    for (const text of [
      '',
      '7',
      'null',
      '[]',
      '{"settings":7,"draft":{},"wanted":[]}',
      '{"settings":{"parameters":{"seed":7}}}',
    ])
      expect(restore(text)).toEqual(empty);
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(typeof restore(text).draft.text).toBe('string');
      }),
    );
  });
});

describe('images', () => {
  const model = { id: 'm', sizes: ['1x1', '2x2'], max_images: 2 };

  test('are asked for as the form says, or as the model does by default', () => {
    expect(imageRequestOf(model, { prompt: ' A gate ', size: '2x2', count: '2' })).toEqual({
      model: 'm',
      prompt: 'A gate',
      size: '2x2',
      n: 2,
    });
    expect(imageRequestOf(model, { prompt: '', size: '9x9', count: '3' })).toMatchObject({
      size: '1x1',
      n: 1,
    });
  });

  test('are found in a response, and only the newest requests are kept', () => {
    expect(urlsIn({ data: [{ url: 'a' }, {}, { url: 7 }] })).toEqual(['a']);
    expect(urlsIn({})).toEqual([]);
    const result = { number: 0, prompt: '', urls: [], requestId: null, ending: null };
    const many = Array.from({ length: 12 }, (_, number) => ({ ...result, number }));
    const kept = many.reduce<readonly ImageResult[]>(withResult, []);
    expect(kept.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(withResult(kept, { ...result, number: 11, urls: ['a'] }).at(-1)?.urls).toEqual(['a']);
  });
});
