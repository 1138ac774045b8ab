/**
 * Rich conversations against a server that is as strict as each vendor: what a model thought goes back to it, failed tools
 * and images in their results are accepted.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { startSandbox } from '../../sandbox/server.ts';
import { SseParser } from '../../src/lib/sse.ts';
import { anthropic } from '../../src/providers/anthropic.ts';
import type {
  AnswerItem,
  ChatAdapter,
  ChatCall,
  ChatEvent,
  ChatMessage,
  ToolResult,
} from '../../src/providers/chat.ts';
import { efforts } from '../../src/providers/effort.ts';
import { google } from '../../src/providers/google.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

const vendors: readonly (readonly [string, ChatAdapter, string, string])[] = [
  ['OpenAI', openai, 'v1', 'gpt'],
  ['Anthropic', anthropic, 'v1', 'claude'],
  ['Google', google, 'v1beta', 'gemini-3.5-flash'],
  ['older Google', google, 'v1beta', 'gemini-2.5-pro'],
];

const look = { name: 'look', description: null, parameters: { type: 'object' }, strict: null };
const user = (content: string): ChatMessage => ({ role: 'user', content });

function upstreamOf(version: string, model: string, more: Partial<Upstream> = {}): Upstream {
  return {
    baseUrl: `${sandbox.url}/${version}`,
    apiKey: 'any-key',
    model,
    maxOutputTokens: 8_192,
    dialect: defaultDialect,
    showsReasoning: true,
    maker: `p/${model}`,
    requestId: 'req_1',
    ...more,
  };
}

async function post(adapter: ChatAdapter, call: Partial<ChatCall>, to: Upstream, stream: boolean) {
  const whole = { ...emptyCall, tools: [look], ...call };
  expect(adapter.unsupported(whole, to.dialect, to.reasoning)).toBeNull();
  const { url, headers, body } = adapter.chatRequest(whole, to, stream);
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text} for ${body}`);
  return text;
}

async function answerTo(adapter: ChatAdapter, call: Partial<ChatCall>, to: Upstream) {
  return adapter.readAnswer(JSON.parse(await post(adapter, call, to, false)), to);
}

async function eventsFor(adapter: ChatAdapter, call: Partial<ChatCall>, to: Upstream): Promise<ChatEvent[]> {
  const read = adapter.openReader(to);
  return new SseParser().push(await post(adapter, call, to, true)).flatMap((data) => [...read(data ?? '')]);
}

/** What the events of a stream add up to. */
function itemsOf(events: readonly ChatEvent[]): AnswerItem[] {
  const items: AnswerItem[] = [];
  let reasoning = '';
  let text = '';
  for (const event of events) {
    if (event.type === 'reasoning') reasoning += event.text;
    if (event.type === 'reasoning_end')
      items.push({ type: 'reasoning', text: reasoning, signature: event.signature });
    if (event.type === 'text') text += event.text;
    if (event.type === 'tool_call')
      items.push({ type: 'tool_call', id: event.id, name: event.name, arguments: '' });
    const last = items.at(-1);
    if (event.type === 'tool_arguments' && last?.type === 'tool_call')
      items[items.length - 1] = { ...last, arguments: last.arguments + event.text };
  }
  return text === '' ? items : [...items, { type: 'text', text }];
}

const picture = { type: 'image', url: 'data:image/png;base64,aWNvbg==', detail: null } as const;
const results: readonly Pick<ToolResult, 'content' | 'isError'>[] = [
  { content: 'fine', isError: false },
  { content: '', isError: true },
  { content: [], isError: true },
  { content: [{ type: 'text', text: '' }, picture], isError: false },
  { content: [picture, { type: 'text', text: 'a cat' }, picture], isError: true },
];

describe.each(vendors)('%s', (_, adapter, version, model) => {
  const to = upstreamOf(version, model);
  const asked = user('[[tool look]] [[reasoning 20]] Look.');

  test('a turn with reasoning and a call goes on with every kind of result', async () => {
    const whole = await answerTo(adapter, { messages: [asked] }, to);
    const streamed = itemsOf(await eventsFor(adapter, { messages: [asked] }, to));
    const thought = whole.items.find(({ type }) => type === 'reasoning');
    expect(streamed.map(({ type }) => type)).toEqual(whole.items.map(({ type }) => type));
    expect(streamed.find(({ type }) => type === 'reasoning')).toEqual(thought as AnswerItem);
    if (adapter !== openai) expect(thought).toBeDefined();
    for (const items of [whole.items, streamed])
      for (const result of results) {
        const toolCallId = items.find((item) => item.type === 'tool_call')?.id ?? '';
        const answered: ToolResult = { role: 'tool', toolCallId, name: null, ...result };
        const messages: ChatMessage[] = [asked, { role: 'assistant', items }, answered];
        expect((await answerTo(adapter, { messages }, to)).finishReason).toBe('stop');
      }
  });

  test('any conversation of reasoning, text and answered calls is accepted, with any effort', async () => {
    const item = fc.oneof(
      fc.constant<AnswerItem>({ type: 'text', text: 'Well.' }),
      fc.constantFrom<AnswerItem>(
        { type: 'reasoning', text: 'Hm.', signature: { value: 'c2ln', madeBy: to.maker ?? '' } },
        { type: 'reasoning', text: '', signature: { value: 'redacted:ZGF0YQ==', madeBy: to.maker ?? '' } },
        { type: 'reasoning', text: 'Hm.', signature: { value: 'c2ln', madeBy: 'p/another' } },
        { type: 'reasoning', text: 'Hm.', signature: null },
      ),
      fc.constant<AnswerItem>({ type: 'tool_call', id: 'call', name: 'look', arguments: '{}' }),
    );
    const turn = fc.tuple(fc.array(item, { minLength: 1, maxLength: 4 }), fc.constantFrom(...results));
    const support = fc.option(
      fc.record({
        efforts: fc.constantFrom(efforts.slice(2, 5), ['none', ...efforts.slice(2, 5)] as const),
        effortsWithTools: fc.constant([]),
        control: fc.constantFrom('effort' as const, 'budget' as const),
      }),
    );
    const call = fc.record({
      turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
      effort: fc.option(fc.constantFrom(...efforts)),
      temperature: fc.option(fc.constantFrom(0.5, 1)),
      toolChoice: fc.option(fc.constantFrom('auto' as const, 'required' as const)),
      reasoning: support,
      maxOutputTokens: fc.constantFrom(100, 2_048, 8_192),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ turns, reasoning, maxOutputTokens, ...fields }) => {
        let count = 0;
        const messages = turns.flatMap(([items, result]): ChatMessage[] => {
          const own = items.map((one) =>
            one.type === 'tool_call' ? { ...one, id: `call_${++count}` } : one,
          );
          const answers = own.flatMap((one): ChatMessage[] =>
            one.type === 'tool_call' ? [{ role: 'tool', toolCallId: one.id, name: null, ...result }] : [],
          );
          return [user('Go on.'), { role: 'assistant', items: own }, ...answers];
        });
        const whole = { ...fields, messages: [...messages, user('And?')] };
        await answerTo(adapter, whole, { ...to, reasoning, maxOutputTokens });
      }),
      { numRuns: 150 },
    );
  });
});
