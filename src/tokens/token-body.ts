/** The draft of a token as the dashboard sends it. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { bodyOf, converted, line } from '../json/fields.ts';
import { listOf } from '../json/list.ts';
import { parseBody } from '../json/problem.ts';
import { parseTime } from '../lib/calendar.ts';
import { parseNetwork } from '../lib/ip-address.ts';
import {
  defaultTokenRate,
  isTooFarAhead,
  maxNetworks,
  maxTokenRate,
  scopes,
  type TokenDraft,
} from './token-store.ts';

const rateWords = `a whole number from 1 to ${maxTokenRate}`;
const networkWords = 'an address or a network such as "10.0.0.0/8"';
const scopeWords = scopes.map((scope) => `"${scope}"`).join(', ');

const schema = bodyOf({
  name: line(200),
  scopes: listOf(z.enum(scopes, `one of ${scopeWords}`), `a list of scopes, of ${scopeWords}`, {
    min: 1,
    max: scopes.length,
  }),
  networks: z
    .nullable(
      listOf(
        z.string(networkWords).refine((text) => parseNetwork(text) !== null, networkWords),
        `a list of 1 to ${maxNetworks} networks, or null for everywhere`,
        { min: 1, max: maxNetworks },
      ),
    )
    .default(null),
  requests_per_minute: z
    .int(rateWords)
    .min(1, rateWords)
    .max(maxTokenRate, rateWords)
    .default(defaultTokenRate),
  expires_at: converted('a time such as "2027-01-31T12:00:00Z"', parseTime),
});

export function parseTokenDraft(body: unknown, now: Date): TokenDraft {
  const draft = parseBody(schema, body);
  if (draft.expires_at <= now) throw invalidExpiry('A token can only expire in the future.');
  if (isTooFarAhead(draft.expires_at, now))
    throw invalidExpiry('A token must expire within a year. Replace it before then.');
  return {
    name: draft.name,
    scopes: [...new Set(draft.scopes)],
    networks: draft.networks,
    requestsPerMinute: draft.requests_per_minute,
    expiresAt: draft.expires_at,
  };
}

function invalidExpiry(message: string): ApiError {
  return new ApiError('invalid_parameter', { param: 'expires_at', message });
}
