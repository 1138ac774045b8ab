import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';
import { checkProvider, checkSteps } from './ai-sdk-checks.mjs';
import { apiKey, baseURL, check, hello, MODEL, RESPONSES_MODEL } from './checks.mjs';

const openai = createOpenAI({ baseURL, apiKey });
const providerOptions = { openai: { store: false } };

await checkProvider({ chat: (id) => openai(id), model: MODEL, imageModel: null, providerOptions });
await checkSteps({
  model: openai(MODEL),
  providerOptions,
  thinker: openai(RESPONSES_MODEL),
  thinkerOptions: {
    openai: { ...providerOptions.openai, include: ['reasoning.encrypted_content'], forceReasoning: true },
  },
});
await check('one turn without store: false', () =>
  generateText({ model: openai(MODEL), prompt: hello, maxRetries: 0 }),
);
await check('a second turn without store: false', async () => {
  const asked = { role: 'user', content: hello };
  const { response } = await generateText({ model: openai(MODEL), messages: [asked], maxRetries: 0 });
  const messages = [asked, ...response.messages, asked];
  await generateText({ model: openai(MODEL), messages, maxRetries: 0 });
});
