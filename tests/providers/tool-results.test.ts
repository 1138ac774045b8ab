/** Results of tools with images, and of tools that failed, in each format. */
import { describe, expect, test } from 'bun:test';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { ChatAdapter, ChatCall, ChatMessage, ImagePart, ToolResult } from '../../src/providers/chat.ts';
import { google } from '../../src/providers/google.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: null,
  model: 'gemini-3.5-flash',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_1',
};
const tools = [{ name: 'look', description: null, parameters: null, strict: null }];
const picture = (type = 'image/png'): ImagePart => ({
  type: 'image',
  url: `data:${type};base64,aWNvbg==`,
  detail: null,
});
const words = (text: string) => ({ type: 'text', text }) as const;
const result = (toolCallId: string, content: ToolResult['content'], isError = false): ToolResult => ({
  role: 'tool',
  toolCallId,
  content,
  name: null,
  isError,
});

/** A turn that calls as many tools as there are results, and the results. */
function talk(...results: ToolResult[]): Partial<ChatCall> {
  const items = results.map(
    ({ toolCallId }) => ({ type: 'tool_call', id: toolCallId, name: 'look', arguments: '{}' }) as const,
  );
  const messages: ChatMessage[] = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', items },
    ...results,
  ];
  return { messages, tools };
}

const bodyOf = (adapter: ChatAdapter, call: Partial<ChatCall>, to: Partial<Upstream> = {}) =>
  JSON.parse(adapter.chatRequest({ ...emptyCall, ...call }, { ...upstream, ...to }, false).body);
const refusalOf = (adapter: ChatAdapter, call: Partial<ChatCall>, images: 'any' | 'data' = 'any') =>
  adapter.unsupported({ ...emptyCall, ...call }, { ...defaultDialect, images });

describe('Anthropic', () => {
  const contentOf = (...results: ToolResult[]) => bodyOf(anthropic, talk(...results)).messages[2].content;
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aWNvbg==' } };

  test('takes text and images as they are, without empty texts', () => {
    expect(contentOf(result('a', [words('Here:'), words(' '), picture()]), result('b', [words('')]))).toEqual(
      [
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Here:' }, image] },
        { type: 'tool_result', tool_use_id: 'b' },
      ],
    );
  });

  test('is told of failures, which never are empty', () => {
    const failed = { type: 'tool_result', is_error: true };
    expect(contentOf(result('a', 'No.', true), result('b', '', true), result('c', [], true))).toEqual([
      { ...failed, tool_use_id: 'a', content: 'No.' },
      { ...failed, tool_use_id: 'b', content: 'The tool failed.' },
      { ...failed, tool_use_id: 'c', content: 'The tool failed.' },
    ]);
  });

  test('refuses images of other types by name', () => {
    expect(refusalOf(anthropic, talk(result('a', [picture('image/bmp')])))).toMatchObject({
      param: 'messages',
    });
    expect(refusalOf(anthropic, talk(result('a', [words(''), picture()])))).toBeNull();
  });

  test('can be told to use some tool', () => {
    const choice = (parallelToolCalls: boolean | null) =>
      bodyOf(anthropic, { ...talk(), toolChoice: 'required', parallelToolCalls }).tool_choice;
    expect(choice(null)).toEqual({ type: 'any' });
    expect(choice(false)).toEqual({ type: 'any', disable_parallel_tool_use: true });
  });
});

describe('OpenAI', () => {
  const messagesOf = (call: Partial<ChatCall>) => bodyOf(openai, call).messages;

  test('gets the text where it belongs, and images from a user once all results are there', () => {
    const call = talk(
      result('a', [words('One'), picture(), words('two')]),
      result('b', 'plain'),
      result('c', [picture('image/jpeg')]),
    );
    const image = (type: string) => ({
      type: 'image_url',
      image_url: { url: `data:${type};base64,aWNvbg==` },
    });
    const expected = [
      { role: 'tool', tool_call_id: 'a', content: 'One\ntwo' },
      { role: 'tool', tool_call_id: 'b', content: 'plain' },
      { role: 'tool', tool_call_id: 'c', content: '' },
      {
        role: 'user',
        content: [
          words('Images of tool result 1:'),
          image('image/png'),
          words('Images of tool result 3:'),
          image('image/jpeg'),
        ],
      },
    ];
    expect(messagesOf(call).slice(2)).toEqual(expected);
    const more = [...(call.messages ?? []), { role: 'user', content: 'And?' } as const];
    expect(messagesOf({ ...call, messages: more }).slice(2)).toEqual([
      ...expected,
      { role: 'user', content: 'And?' },
    ]);
  });

  test('reads of failures in the text', () => {
    const call = talk(result('a', 'No.', true), result('b', [words('Nor here.')], true));
    expect(messagesOf(call).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'Error: No.' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: Nor here.' },
    ]);
  });

  test('refuses an image by URL where it is not fetched', () => {
    const named: ImagePart = { type: 'image', url: 'https://example.com/a.png', detail: null };
    expect(refusalOf(openai, talk(result('a', [named])), 'data')).toMatchObject({ param: 'messages' });
    expect(refusalOf(openai, talk(result('a', [named])), 'any')).toBeNull();
    expect(refusalOf(openai, talk(result('a', [picture()])), 'data')).toBeNull();
  });

  test('can be told to use some tool', () => {
    expect(bodyOf(openai, { ...talk(), toolChoice: 'required' }).tool_choice).toBe('required');
  });
});

describe('Google', () => {
  const inline = (mimeType: string) => ({ inlineData: { mimeType, data: 'aWNvbg==' } });
  const partsOf = (model: string, ...results: ToolResult[]) =>
    bodyOf(google, talk(...results), { model }).contents[2].parts;
  const results = [result('a', [words('{"n":1}'), picture()]), result('b', [picture('image/webp')])];

  test('takes images within a result from Gemini 3 on', () => {
    expect(partsOf('gemini-3.5-flash', ...results)).toEqual([
      { functionResponse: { name: 'look', response: { n: 1 }, parts: [inline('image/png')] } },
      { functionResponse: { name: 'look', response: { result: '' }, parts: [inline('image/webp')] } },
    ]);
  });

  test('gets them after all results before that', () => {
    expect(partsOf('gemini-2.5-pro', ...results)).toEqual([
      { functionResponse: { name: 'look', response: { n: 1 } } },
      { functionResponse: { name: 'look', response: { result: '' } } },
      inline('image/png'),
      inline('image/webp'),
    ]);
  });

  test('is told of failures', () => {
    expect(partsOf('gemini-3.5-flash', result('a', '{"n":1}', true))).toEqual([
      { functionResponse: { name: 'look', response: { error: '{"n":1}' } } },
    ]);
  });

  test('refuses images of other types, and by URL', () => {
    const named: ImagePart = { type: 'image', url: 'https://example.com/a.png', detail: null };
    for (const image of [picture('image/heic'), picture('image/gif'), named])
      expect(refusalOf(google, talk(result('a', [image])))).toMatchObject({ param: 'messages' });
    expect(refusalOf(google, talk(...results))).toBeNull();
  });

  test('can be told to use some tool', () => {
    expect(bodyOf(google, { ...talk(), toolChoice: 'required' }).toolConfig).toEqual({
      functionCallingConfig: { mode: 'ANY' },
    });
  });
});
