import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';
import { checkProvider } from './ai-sdk-checks.mjs';
import { apiKey, baseURL, check, hello, IMAGE_MODEL, MODEL } from './checks.mjs';

const openai = createOpenAI({ baseURL, apiKey });

await checkProvider({
  chat: (id) => openai.chat(id),
  model: MODEL,
  imageModel: openai.image(IMAGE_MODEL),
});
await check('openai(MODEL)', () => generateText({ model: openai(MODEL), prompt: hello, maxRetries: 0 }));
