import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { baseURL, check, expect, expectError, hello, MODEL, notOffered, pixel, weather } from './checks.mjs';

// Reads OPENAI_API_KEY.
const model = new ChatOpenAI({ model: MODEL, configuration: { baseURL } });

const getWeather = tool(() => 'sunny', {
  name: 'get_weather',
  description: 'The weather in a city',
  schema: z.object({ city: z.string() }),
});
const city = z.object({ name: z.string(), country: z.string() });

async function useTools(able) {
  const question = new HumanMessage(weather);
  const call = await able.invoke([question]);
  const [{ id }] = call.tool_calls;
  const result = new ToolMessage({ content: 'sunny', tool_call_id: id });
  expect((await able.invoke([question, call, result])).text, 'sunny');
}

await check('chat', async () => {
  const answer = await model.invoke(hello);
  expect(answer.text, hello);
});
await check('stream', async () => {
  let text = '';
  for await (const chunk of await model.stream(hello)) text += chunk.text;
  expect(text, hello);
});
await check('tools', () => useTools(model.bindTools([getWeather])));
await check('structured output', async () => {
  const answer = await model.withStructuredOutput(city, { method: 'jsonSchema' }).invoke('Name a city.');
  expect(answer.country, 'sample');
});
await check('image input', async () => {
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: pixel } },
  ];
  expect((await model.invoke([new HumanMessage({ content })])).text, '1 image');
});
notOffered('image output');
await check('errors', () => {
  const other = new ChatOpenAI({ model: 'x', configuration: { baseURL }, maxRetries: 0 });
  return expectError(() => other.invoke(hello), 'model_not_found');
});
const limited = (fields) =>
  new ChatOpenAI({ model: MODEL, configuration: { baseURL }, ...fields }).invoke(hello);
await check('maxTokens: 5', () => limited({ maxTokens: 5 }));
await check('modelKwargs: { max_tokens: 5 }', () => limited({ modelKwargs: { max_tokens: 5 } }));
await check("bindTools(…, { tool_choice: 'any' })", () =>
  useTools(model.bindTools([getWeather], { tool_choice: 'any' })),
);
await check('withStructuredOutput(…)', () => model.withStructuredOutput(city).invoke('Name a city.'));
