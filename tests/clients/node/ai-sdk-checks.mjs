/** The same checks for all providers of the AI SDK. */
import { generateImage, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import {
  check,
  expect,
  expectError,
  hello,
  notOffered,
  pixel,
  reasonedWeather,
  replay,
  twoTools,
  Untested,
  weather,
} from './checks.mjs';

const getWeather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: () => 'sunny',
});
const city = Output.object({ schema: z.object({ name: z.string(), country: z.string() }) });

const getTime = tool({
  description: 'The time in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: () => 'noon',
});

/** `chat` makes a chat model of an ID; `imageModel` is null where there is none. */
export async function checkProvider({ chat, model, imageModel, providerOptions = {} }) {
  const once = { model: chat(model), maxRetries: 0, providerOptions };
  await check('chat', async () => expect((await generateText({ ...once, prompt: hello })).text, hello));
  await check('stream', async () => {
    let text = '';
    for await (const piece of streamText({ ...once, prompt: hello }).textStream) text += piece;
    expect(text, hello);
  });
  await check('tools', async () => {
    const { text } = await generateText({
      ...once,
      prompt: weather,
      tools: { get_weather: getWeather },
      stopWhen: isStepCount(3),
    });
    expect(text, 'sunny');
  });
  await check('structured output', async () => {
    const { output } = await generateText({ ...once, prompt: 'Name a city.', output: city });
    expect(output.country, 'sample');
  });
  await check('image input', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'file', mediaType: 'image/png', data: pixel },
    ];
    const { text } = await generateText({ ...once, messages: [{ role: 'user', content }] });
    expect(text, '1 image');
  });
  if (imageModel === null) notOffered('image output');
  else await checkImages(imageModel);
  await check('errors', () =>
    expectError(() => generateText({ ...once, model: chat('x'), prompt: 'x' }), 'model_not_found'),
  );
  await check('maxOutputTokens: 5', () => generateText({ ...once, prompt: hello, maxOutputTokens: 5 }));
  await check("toolChoice: 'required'", () =>
    generateText({ ...once, prompt: weather, tools: { get_weather: getWeather }, toolChoice: 'required' }),
  );
}

async function checkImages(imageModel) {
  await check('image output', async () => {
    const { image } = await generateImage({
      model: imageModel,
      prompt: 'A gate',
      size: '1024x1024',
      maxRetries: 0,
    }).catch((error) => {
      // The SDK downloads what it gets a URL for, except from loopback addresses, where the sandbox is.
      if (/127\.0\.0\.1 is not allowed/.test(error.message)) throw new Untested(error.message);
      throw error;
    });
    expect(image.mediaType, 'image/');
  });
}

/** Conversations of several steps, each of which sends back what the one before returned. `thinker` is a model that shows its reasoning. */
export async function checkSteps({ model, providerOptions = {}, thinker, thinkerOptions }) {
  const plain = { model, providerOptions };
  await check('tools, streamed', async () => {
    const { text } = streamText(stepsOf(plain, weather));
    expect(await text, 'sunny');
  });
  await check('parallel tools', async () => {
    for (const text of [
      (await generateText(stepsOf(plain, twoTools))).text,
      await streamText(stepsOf(plain, twoTools)).text,
    ]) {
      expect(text, 'sunny');
      expect(text, 'noon');
    }
  });
  await check(replay, async () => {
    const thinking = { model: thinker, providerOptions: thinkerOptions };
    const { text, steps } = await generateText(stepsOf(thinking, reasonedWeather));
    expect(text, 'sunny');
    expect(steps[0].content[0].type, 'reasoning');
    expect(await streamText(stepsOf(thinking, reasonedWeather)).text, 'sunny');
  });
}

function stepsOf({ model, providerOptions }, prompt) {
  const tools = { get_weather: getWeather, get_time: getTime };
  return { model, providerOptions, prompt, tools, stopWhen: isStepCount(3), maxRetries: 0 };
}
