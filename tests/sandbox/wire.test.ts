/** What only one of the sandbox's formats has, as it is on the wire. */
import { afterAll, expect, test } from 'bun:test';
import { startSandbox } from '../../sandbox/server.ts';
import { deep, google, type Json, list, responses, saying, tools } from '../support/wire-speakers.ts';

const sandbox = startSandbox({ keepEntries: 100 });
afterAll(() => sandbox.stop());

test('Imagen draws what is asked for', async () => {
  const draw = (prompt: string, wanted: Json = {}) =>
    fetch(`${sandbox.url}/v1beta/models/imagen-4:predict`, {
      method: 'POST',
      headers: google.key,
      body: JSON.stringify({ instances: [{ prompt }], parameters: wanted }),
    });
  const drawn = await draw('A tree', { sampleCount: 2, aspectRatio: '16:9' });
  const { predictions } = (await drawn.json()) as {
    predictions: { mimeType: string; bytesBase64Encoded: string }[];
  };
  expect(predictions.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'image/png']);
  const bytes = Buffer.from(predictions[0]?.bytesBase64Encoded ?? '', 'base64');
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([1408, 768]);
  expect(predictions[0]).not.toEqual(predictions[1] as (typeof predictions)[0]);
  const entry = sandbox.entries.find((one) => JSON.stringify(one.body).includes('A tree'));
  expect(entry).toMatchObject({ model: 'imagen-4', usage: { images: 2 }, stream: false });
  expect(await (await draw('[[fewer 1]]', { sampleCount: 1 })).json()).toEqual({});
  expect((await draw('[[status 503]]')).status).toBe(503);
  for (const wrong of [{ sampleCount: 5 }, { aspectRatio: '2:1' }, { imageSize: '8K' }, { size: '1x1' }]) {
    expect((await draw('A tree', wrong)).status).toBe(400);
  }
});

const respond = (body: Json) =>
  fetch(`${sandbox.url}/v1/responses`, {
    method: 'POST',
    headers: responses.key,
    body: JSON.stringify({ ...responses.write(saying('Hi [[reasoning 5]] [[cached 2]]'), false), ...body }),
  });
const eventsIn = async (response: Response) =>
  [...(await response.text()).matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
    ([, name, data]) => [name ?? '', JSON.parse(data ?? '') as Json] as const,
  );

test('a response of OpenAI, with reasoning as it was asked for', async () => {
  const plain = (await (await respond({ reasoning: undefined })).json()) as Json;
  expect(plain).toMatchObject({
    object: 'response',
    status: 'completed',
    store: false,
    output: [
      { type: 'reasoning', summary: [] },
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'You said: Hi' }] },
    ],
    usage: {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 },
      output_tokens: 8,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 20,
    },
  });
  expect(list(plain.output)[0]).not.toHaveProperty('encrypted_content');
  const shown = (await (await respond({ include: ['reasoning.encrypted_content'] })).json()) as Json;
  const [thought] = list(shown.output);
  expect(thought).toMatchObject({ summary: [{ text: expect.stringContaining('thought') }] });
  const again = await respond({ input: [thought as Json, { role: 'user', content: 'Hi' }] });
  expect(again.status).toBe(200);
});

test('its events, numbered and in the documented order', async () => {
  const events = await eventsIn(await respond({ stream: true, include: ['reasoning.encrypted_content'] }));
  const names = events.map(([name]) => name.replace('response.', ''));
  expect(names).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    ...Array<string>(2).fill('reasoning_summary_text.delta'),
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    ...Array<string>(3).fill('output_text.delta'),
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ]);
  events.forEach(([name, data], index) => {
    expect([data.type, data.sequence_number]).toEqual([name, index]);
  });
  expect(deep(events[0]?.[1], 'response', 'usage')).toBeNull();
  const padded = events.filter(([, { obfuscation }]) => obfuscation !== undefined);
  expect(padded).toHaveLength(5);
  const bare = await eventsIn(
    await respond({ stream: true, stream_options: { include_obfuscation: false } }),
  );
  expect(bare.filter(([, { obfuscation }]) => obfuscation !== undefined)).toHaveLength(0);
});

test('free text for a custom tool, and the group of a tool', async () => {
  const asked = (tool: Json) => respond({ input: '[[tools 1]]', tools: [tool], stream: true }).then(eventsIn);
  const custom = await asked({ type: 'custom', name: 'patch' });
  expect(deep(custom.at(-1)?.[1], 'response', 'output', 0)).toMatchObject({
    type: 'custom_tool_call',
    name: 'patch',
    input: 'sample of free text',
  });
  expect(custom.map(([name]) => name)).toContain('response.custom_tool_call_input.delta');
  const inner = { type: 'function', strict: false, ...tools[0] };
  const grouped = await asked({ type: 'namespace', name: 'sky', description: 'x', tools: [inner] });
  expect(deep(grouped.at(-1)?.[1], 'response', 'output', 0)).toMatchObject({
    type: 'function_call',
    namespace: 'sky',
    name: 'weather',
  });
});
