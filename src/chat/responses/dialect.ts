/** OpenAI's Responses, without anything that is stored. */
import type { Counting } from '../count-tokens.ts';
import type { ChatDialect } from '../dialect.ts';
import type { Signatures } from '../signatures.ts';
import { type AskedOfResponses, parseResponses } from './parse.ts';
import { PassedOnWriter } from './passed-on-writer.ts';
import { presentResponse } from './present.ts';
import { ResponseWriter } from './writer.ts';

const names = new Map([
  ['messages', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
]);

export function responses(signatures: Signatures): ChatDialect<AskedOfResponses> {
  return {
    api: 'responses',
    route: 'responses',
    names,
    servesAgents: true,
    parse: parseResponses(signatures),
    present: presentResponse,
    openWriter: (facts, isPassedOn) => (isPassedOn ? new PassedOnWriter(facts) : new ResponseWriter(facts)),
    showsReasoning: true,
  };
}

/** POST /v1/responses/input_tokens. */
export function countedResponses(signatures: Signatures): Counting<AskedOfResponses> {
  return {
    parse: parseResponses(signatures),
    present: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  };
}
