/**
 * The wire format of OpenAI's Responses API: some models take tools only there, and reasoning survives between turns only
 * there. Documented at platform.openai.com/docs/api-reference/responses.
 */
import type { ChatAdapter } from './chat.ts';
import { readAnswer } from './responses-answer.ts';
import { passOn } from './responses-pass-on.ts';
import { chatRequest, minOutputTokens, unsupported } from './responses-request.ts';
import { openStreamReader } from './responses-stream.ts';
import { readResponsesUsage } from './responses-usage.ts';
import { objectAt } from './wire.ts';

/** The last event repeats the whole answer, and the first and the last one the tools and instructions of the request. */
export const responses: ChatAdapter = {
  format: 'responses',
  passOn,
  unsupported,
  minOutputTokens,
  chatRequest,
  readAnswer,
  readUsage: (body) => readResponsesUsage(objectAt(body, 'usage')),
  openReader: (upstream) => openStreamReader(upstream, null),
  maxEvent: 8_388_608,
  // Its reader has templates of its own.
  hasUniformText: false,
};
