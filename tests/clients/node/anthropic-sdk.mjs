import Anthropic from '@anthropic-ai/sdk';
import {
  check,
  expect,
  expectError,
  hello,
  MESSAGES_MODEL,
  MODEL,
  notOffered,
  pixel,
  reasonedWeather,
  replay,
  twoTools,
  weather,
} from './checks.mjs';

const client = new Anthropic(); // reads ANTHROPIC_BASE_URL, without /v1, and ANTHROPIC_API_KEY

const object = (...names) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
});
const tools = ['get_weather', 'get_time'].map((name) => ({ name, input_schema: object('city') }));
const results = { get_weather: 'sunny', get_time: 'noon' };
const send = (fields) => client.messages.create({ model: MODEL, max_tokens: 4096, ...fields });
const streamed = (fields) =>
  client.messages.stream({ model: MODEL, max_tokens: 4096, ...fields }).finalMessage();
const user = (content) => ({ role: 'user', content });
const textOf = ({ content }) => content.map((block) => block.text ?? '').join('');

/** Calls what the message asks for, and sends its blocks back with the results. */
async function loop(prompt, ask, fields = {}) {
  const { content } = await ask({ messages: [user(prompt)], tools, ...fields });
  const calls = content.filter(({ type }) => type === 'tool_use');
  const answers = calls.map(({ id, name }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: results[name],
  }));
  const messages = [user(prompt), { role: 'assistant', content }, user(answers)];
  const answer = textOf(await ask({ messages, tools, ...fields }));
  for (const { name } of calls) expect(answer, results[name]);
  return { calls, content };
}

await check('chat', async () => {
  const message = await client.messages.create({
    model: MODEL,
    max_tokens: 4096,
    messages: [{ role: 'user', content: hello }],
  });
  expect(message.content[0].text, hello);
});
await check('stream', async () => expect(textOf(await streamed({ messages: [user(hello)] })), hello));
await check('tools', () => loop(weather, send));
await check('structured output', async () => {
  const format = { type: 'json_schema', schema: object('name', 'country') };
  const message = await send({ messages: [user('Name a city.')], output_config: { format } });
  expect(JSON.parse(textOf(message)).country, 'sample');
});
await check('image input', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: pixel.split(',')[1] };
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', source },
  ];
  expect(textOf(await send({ messages: [user(content)] })), '1 image');
});
notOffered('image output');
await check('errors', () =>
  expectError(() => send({ model: 'x', messages: [user('x')] }), 'model_not_found'),
);
await check('tools, streamed', () => loop(weather, streamed));
await check('parallel tools', async () => {
  for (const ask of [send, streamed]) expect((await loop(twoTools, ask)).calls.length, 2);
});
await check(replay, async () => {
  const fields = { model: MESSAGES_MODEL, thinking: { type: 'enabled', budget_tokens: 1024 } };
  for (const ask of [send, streamed]) {
    const { content } = await loop(reasonedWeather, ask, fields);
    expect(content[0].type, 'thinking');
  }
});
await check("tool_choice: { type: 'any' }", async () => {
  const { content } = await send({ messages: [user(hello)], tools, tool_choice: { type: 'any' } });
  expect(content[0].type, 'tool_use');
});
await check('messages.countTokens', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: MODEL, messages: [user(hello)] });
  if (!(input_tokens > 0)) throw new Error(`${input_tokens} tokens`);
});
await check('models.list', async () => {
  const ids = [];
  for await (const { id } of client.models.list()) ids.push(id);
  expect(ids, MODEL);
});
