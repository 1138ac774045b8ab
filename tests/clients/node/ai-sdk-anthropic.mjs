import { createAnthropic } from '@ai-sdk/anthropic';
import { checkProvider, checkSteps } from './ai-sdk-checks.mjs';
import { apiKey, baseURL, MESSAGES_MODEL, MODEL } from './checks.mjs';

// The base URL ends in /v1, unlike that of Anthropic's own SDKs.
const anthropic = createAnthropic({ baseURL, apiKey });

await checkProvider({ chat: (id) => anthropic(id), model: MODEL, imageModel: null });
await checkSteps({
  model: anthropic(MODEL),
  thinker: anthropic(MESSAGES_MODEL),
  thinkerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
});
