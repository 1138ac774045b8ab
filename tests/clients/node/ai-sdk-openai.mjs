import { createOpenAI } from '@ai-sdk/openai';
import { checkProvider } from './ai-sdk-checks.mjs';
import { apiKey, baseURL, IMAGE_MODEL, MODEL } from './checks.mjs';

const openai = createOpenAI({ baseURL, apiKey });

await checkProvider({
  chat: (id) => openai.chat(id),
  model: MODEL,
  imageModel: openai.image(IMAGE_MODEL),
});
