/** A decision provider: POST {base URL}/decisions, with the body that the client sent. */
import { readVerdict } from './answers.ts';
import type { DecisionSource } from './decider.ts';
import { DecisionError } from './errors.ts';
import { exchange } from './exchange.ts';

type DecisionProvider = Readonly<{
  /** The name that clients see. */
  name: string;
  /** Without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  model: string;
}>;

export function askProvider({ name, baseUrl, apiKey, model }: DecisionProvider): DecisionSource {
  return {
    model,
    ask: async ({ text, questions }, requestId, signal) => {
      const headers = {
        'content-type': 'application/json',
        // A compressed body would get around the limit on its length.
        'accept-encoding': 'identity',
        'x-client-request-id': requestId,
        authorization: `Bearer ${apiKey}`,
      };
      const { body, upstream } = await exchange(
        { url: `${baseUrl}/decisions`, headers, body: text },
        name,
        signal,
      );
      const verdict = readVerdict(body, questions);
      if (verdict === null) throw new DecisionError('invalid_response', { upstream });
      return { ...verdict, upstream };
    },
  };
}
