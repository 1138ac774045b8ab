/** Calls whose arguments a directive gives, as tests with agents need them, which do what they are told. */
import { afterAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { startSandbox } from '../../sandbox/server.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.stop());

const tools = ['weather', 'time'].map((name) => ({ type: 'function', function: { name } }));

function send(messages: readonly unknown[]): Promise<Response> {
  return fetch(`${sandbox.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any-key', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages, tools }),
  });
}

async function answer(messages: readonly unknown[]) {
  const { choices } = (await (await send(messages)).json()) as OpenAI.ChatCompletion;
  return choices[0]?.message;
}

test('tools are called with given arguments, and one after the other', async () => {
  const text = '[[tool weather {"city":"Oslo","list":[ ["a"] ]}]] [[next-tool time {"city":"Bergen"}]]';
  const messages: unknown[] = [{ role: 'user', content: text }];
  const made: unknown[] = [];
  for (const result of ['rain', 'noon']) {
    const call = (await answer(messages))?.tool_calls?.[0];
    made.push(call && 'function' in call && call.function);
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    messages.push({ role: 'tool', tool_call_id: call?.id, content: result });
  }
  expect(made).toEqual([
    { name: 'weather', arguments: '{"city":"Oslo","list":[ ["a"] ]}' },
    { name: 'time', arguments: '{"city":"Bergen"}' },
  ]);
  expect((await answer(messages))?.content).toBe('The tools returned: noon');
});

test('arguments that are not an object are rejected', async () => {
  for (const content of ['[[tool weather {"city"]]', '[[tool weather Oslo]]'])
    expect((await send([{ role: 'user', content }])).status).toBe(400);
});
