/** OpenAI's Responses, without anything that is stored. */
import type { ChatDialect } from '../dialect.ts';
import type { Signatures } from '../signatures.ts';
import { type AskedOfResponses, parseResponses } from './parse.ts';
import { PassedOnWriter } from './passed-on-writer.ts';
import { presentResponse } from './present.ts';
import { ResponseWriter } from './writer.ts';

export function responses(signatures: Signatures): ChatDialect<AskedOfResponses> {
  return {
    route: 'responses',
    parse: parseResponses(signatures),
    present: presentResponse,
    openWriter: (facts, isPassedOn) => (isPassedOn ? new PassedOnWriter(facts) : new ResponseWriter(facts)),
    showsReasoning: true,
  };
}
