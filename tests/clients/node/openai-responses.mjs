import OpenAI from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import {
  check,
  expect,
  expectError,
  hello,
  MODEL,
  notOffered,
  pixel,
  RESPONSES_MODEL,
  reasonedWeather,
  replay,
  twoTools,
  weather,
} from './checks.mjs';

const client = new OpenAI(); // reads OPENAI_BASE_URL and OPENAI_API_KEY

const tools = ['get_weather', 'get_time'].map((name) =>
  zodResponsesFunction({ name, parameters: z.object({ city: z.string() }) }),
);
const city = z.object({ name: z.string(), country: z.string() });
const results = { get_weather: 'sunny', get_time: 'noon' };
const respond = (fields) => client.responses.create({ model: MODEL, store: false, ...fields });
const streamed = (fields) =>
  client.responses.stream({ model: MODEL, store: false, ...fields }).finalResponse();

/** Calls what the response asks for, and sends its items back with the results. */
async function loop(prompt, send, fields = {}) {
  const input = [{ role: 'user', content: prompt }];
  const { output } = await send({ input, tools, ...fields });
  const calls = output.filter(({ type }) => type === 'function_call');
  const answers = calls.map(({ name, call_id }) => ({
    type: 'function_call_output',
    call_id,
    output: results[name],
  }));
  const { output_text } = await send({ input: [...input, ...output, ...answers], tools, ...fields });
  for (const { name } of calls) expect(output_text, results[name]);
  return { calls, output };
}

await check('chat', async () => {
  const response = await client.responses.create({ model: MODEL, input: hello });
  expect(response.output_text, hello);
});
await check('stream', async () => {
  let text = '';
  for await (const event of await client.responses.create({ model: MODEL, input: hello, stream: true }))
    if (event.type === 'response.output_text.delta') text += event.delta;
  expect(text, hello);
});
await check('tools', () => loop(weather, respond));
await check('structured output', async () => {
  const text = { format: zodTextFormat(city, 'city') };
  const response = await client.responses.parse({ model: MODEL, input: 'Name a city.', text });
  expect(response.output_parsed.country, 'sample');
});
await check('image input', async () => {
  const content = [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', image_url: pixel, detail: 'auto' },
  ];
  expect((await respond({ input: [{ role: 'user', content }] })).output_text, '1 image');
});
notOffered('image output');
await check('errors', () => expectError(() => respond({ model: 'x', input: 'x' }), 'model_not_found'));
await check('tools, streamed', () => loop(weather, streamed));
await check('parallel tools', async () => {
  for (const send of [respond, streamed]) expect((await loop(twoTools, send)).calls.length, 2);
});
await check(replay, async () => {
  const fields = { model: RESPONSES_MODEL, include: ['reasoning.encrypted_content'] };
  for (const send of [respond, streamed]) {
    const { output } = await loop(reasonedWeather, send, fields);
    expect(output[0].type, 'reasoning');
  }
});
await check("tool_choice: 'required'", async () => {
  const { output } = await respond({ input: hello, tools, tool_choice: 'required' });
  expect(output[0].type, 'function_call');
});
await check('previous_response_id', () => respond({ input: hello, previous_response_id: 'resp_1' }));
