import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { checkProvider } from './ai-sdk-checks.mjs';
import { apiKey, baseURL, IMAGE_MODEL, MODEL } from './checks.mjs';

const tollgate = createOpenAICompatible({
  name: 'tollgate',
  baseURL,
  apiKey,
  supportsStructuredOutputs: true,
});

await checkProvider({
  chat: (id) => tollgate(id),
  model: MODEL,
  imageModel: tollgate.imageModel(IMAGE_MODEL),
});
