import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { check, expect, expectError, hello, IMAGE_MODEL, MODEL, pixel, weather } from './checks.mjs';

const client = new OpenAI(); // reads OPENAI_BASE_URL and OPENAI_API_KEY

const user = (content) => ({ role: 'user', content });
const getWeather = { name: 'get_weather', parameters: z.object({ city: z.string() }) };
const city = zodResponseFormat(z.object({ name: z.string(), country: z.string() }), 'city');

await check('chat', async () => {
  const completion = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: hello }],
  });
  expect(completion.choices[0].message.content, hello);
  expect(completion._request_id, completion.id);
});

await check('stream', async () => {
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages: [user(hello)],
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text, hello);
});

await check('tools', async () => {
  const tool = zodFunction({ ...getWeather, function: () => 'sunny' });
  for (const stream of [false, true]) {
    const runner = client.chat.completions.runTools({
      model: MODEL,
      messages: [user(weather)],
      tools: [tool],
      stream,
    });
    expect(await runner.finalContent(), 'sunny');
  }
  // What a helper parsed goes back into the conversation as it is.
  const tools = [zodFunction(getWeather)];
  const messages = [user(weather)];
  const [{ message }] = (await client.chat.completions.parse({ model: MODEL, messages, tools })).choices;
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'sunny' };
  const answer = await client.chat.completions.create({
    model: MODEL,
    messages: [...messages, message, result],
    tools,
  });
  expect(answer.choices[0].message.content, 'sunny');
});

await check('structured output', async () => {
  const completion = await client.chat.completions.parse({
    model: MODEL,
    messages: [user('Name a city.')],
    response_format: city,
  });
  expect(completion.choices[0].message.parsed.country, 'sample');
});

await check('image input', async () => {
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: pixel } },
  ];
  const completion = await client.chat.completions.create({ model: MODEL, messages: [user(parts)] });
  expect(completion.choices[0].message.content, '1 image');
});

await check('image output', async () => {
  const images = await client.images.generate({
    model: IMAGE_MODEL,
    prompt: 'A gate at dawn',
    size: '1024x1024',
  });
  expect(images.data[0].url, '://');
});

await check('errors', () =>
  expectError(() => client.chat.completions.create({ model: 'x', messages: [user('x')] }), 'model_not_found'),
);

const send = (fields) => client.chat.completions.create({ model: MODEL, messages: [user(hello)], ...fields });
await check('max_tokens: 5', () => send({ max_tokens: 5 }));
await check('max_completion_tokens: 5', () => send({ max_completion_tokens: 5 }));
await check('a parsed message sent back', async () => {
  const first = { model: MODEL, messages: [user('Name a city.')], response_format: city };
  const [{ message }] = (await client.chat.completions.parse(first)).choices;
  await send({ messages: [user('Name a city.'), message, user(hello)] });
});
