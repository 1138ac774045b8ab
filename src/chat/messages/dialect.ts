/** Anthropic's Messages API. */
import type { Counting } from '../count-tokens.ts';
import type { ChatDialect } from '../dialect.ts';
import type { Signatures } from '../signatures.ts';
import { type AskedOfMessages, parseCount, parseMessages } from './parse.ts';
import { PassedOnWriter } from './passed-on-writer.ts';
import { presentMessage } from './present.ts';
import { TranslatedWriter } from './translated-writer.ts';

/** Some clients add `?beta=true` to the address. */
const queryParameters = ['beta'];

const names = new Map([
  ['stop', 'stop_sequences'],
  ['response_format', 'output_config.format'],
  ['reasoning_effort', 'output_config.effort'],
  ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
]);

export function messages(signatures: Signatures): ChatDialect<AskedOfMessages> {
  return {
    api: 'messages',
    route: 'messages',
    names,
    queryParameters,
    keepsNumbers: true,
    servesAgents: true,
    parse: (body, incoming) => parseMessages(body, incoming, signatures),
    present: presentMessage,
    openWriter: (facts, isPassedOn) => (isPassedOn ? new PassedOnWriter(facts) : new TranslatedWriter(facts)),
    showsReasoning: true,
  };
}

/** POST /v1/messages/count_tokens. */
export function countedMessages(signatures: Signatures): Counting<unknown> {
  return {
    queryParameters,
    parse: (body, incoming) => parseCount(body, incoming, signatures),
    present: (tokens) => ({ input_tokens: tokens }),
  };
}
