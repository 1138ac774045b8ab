import { Agent, Runner, run, setTracingDisabled, tool } from '@openai/agents';
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

// Reads OPENAI_BASE_URL and OPENAI_API_KEY.
setTracingDisabled(true);
const agent = new Agent({ name: 'Assistant', model: MODEL, modelSettings: { store: false } });

const tools = Object.entries({ get_weather: 'sunny', get_time: 'noon' }).map(([name, result]) =>
  tool({
    name,
    description: name,
    parameters: z.object({ city: z.string() }),
    strict: true,
    execute: () => result,
  }),
);
const able = (fields = {}) => agent.clone({ tools, ...fields });

async function streamed(from, prompt) {
  const result = await run(from, prompt, { stream: true });
  let text = '';
  for await (const piece of result.toTextStream()) text += piece;
  await result.completed;
  return { ...result, text, finalOutput: result.finalOutput };
}

await check('chat', async () => expect((await run(agent, hello)).finalOutput, hello));
await check('stream', async () => expect((await streamed(agent, hello)).text, hello));
await check('tools', async () => expect((await run(able(), weather)).finalOutput, 'sunny'));
await check('structured output', async () => {
  const typed = agent.clone({ outputType: z.object({ name: z.string(), country: z.string() }) });
  expect((await run(typed, 'Name a city.')).finalOutput.country, 'sample');
});
await check('image input', async () => {
  const content = [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', image: pixel },
  ];
  expect((await run(agent, [{ role: 'user', content }])).finalOutput, '1 image');
});
notOffered('image output');
await check('errors', () => expectError(() => run(agent.clone({ model: 'x' }), hello), 'model_not_found'));
await check('tools, streamed', async () => expect((await streamed(able(), weather)).finalOutput, 'sunny'));
await check('parallel tools', async () => {
  for (const ask of [run, streamed]) {
    const { finalOutput } = await ask(able(), twoTools);
    expect(finalOutput, 'sunny');
    expect(finalOutput, 'noon');
  }
});
await check(replay, async () => {
  const modelSettings = {
    store: false,
    providerData: { include: ['reasoning.encrypted_content'] },
  };
  const thinker = able({ model: RESPONSES_MODEL, modelSettings });
  const { newItems, finalOutput } = await new Runner().run(thinker, reasonedWeather);
  expect(newItems[0].type, 'reasoning_item');
  expect(finalOutput, 'sunny');
});
await check("modelSettings: { toolChoice: 'required' }", async () =>
  expect((await run(able({ modelSettings: { toolChoice: 'required' } }), hello)).finalOutput, 'sunny'),
);
