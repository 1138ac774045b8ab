/** The same checks for both providers of the AI SDK. */
import { generateImage, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { check, expect, expectError, hello, pixel, Untested, weather } from './checks.mjs';

const getWeather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: () => 'sunny',
});
const city = Output.object({ schema: z.object({ name: z.string(), country: z.string() }) });

/** `chat` makes a chat model of an ID. */
export async function checkProvider({ chat, model, imageModel }) {
  const once = { model: chat(model), maxRetries: 0 };
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
  await check('errors', () =>
    expectError(() => generateText({ ...once, model: chat('x'), prompt: 'x' }), 'model_not_found'),
  );
  await check('maxOutputTokens: 5', () => generateText({ ...once, prompt: hello, maxOutputTokens: 5 }));
  await check("toolChoice: 'required'", () =>
    generateText({ ...once, prompt: weather, tools: { get_weather: getWeather }, toolChoice: 'required' }),
  );
}
