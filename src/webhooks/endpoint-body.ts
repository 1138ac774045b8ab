/** What people and programs send about webhooks. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { accountEventTypes, operatorEventTypes } from '../events/event.ts';
import { bodyOf, converted, uuid } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { parseTime } from '../lib/calendar.ts';
import type { EndpointChange, EndpointDraft, EndpointOwner } from './endpoint-store.ts';
import { parseEndpointUrl, urlWords } from './endpoint-url.ts';
import type { Replay } from './replay.ts';

const descriptionWords = 'a line of at most 200 characters';
const description = z
  .string(descriptionWords)
  .transform((text) => text.trim())
  .refine((text) => text.length <= 200 && !/\p{Cc}/u.test(text), descriptionWords);
const url = z.string('an address').max(2_000, 'an address of at most 2000 characters');
const typesWords = 'a list of types of events, without repetition, or null for all';
const types = z
  .array(z.enum([...accountEventTypes, ...operatorEventTypes], 'a type of event'), typesWords)
  .min(1, typesWords)
  .refine((list) => new Set(list).size === list.length, typesWords)
  .nullable();

export const draftFields = { url, description: description.default(''), types: types.default(null) };
export const endpointDraftSchema = bodyOf(draftFields);
export const endpointChangeSchema = bodyOf({
  url: url.optional(),
  description: description.optional(),
  types: types.optional(),
  is_enabled: z.boolean('true or false').optional(),
});

const time = converted('a time such as "2026-11-05T00:00:00Z"', parseTime);
export const replaySchema = bodyOf({
  delivery_id: uuid('the ID of a delivery').optional(),
  from: time.optional(),
  to: time.optional(),
});

type DraftBody = z.output<typeof endpointDraftSchema>;
type ChangeBody = z.output<typeof endpointChangeSchema>;
type ReplayBody = z.output<typeof replaySchema>;

export function endpointDraftOf(body: DraftBody, owner: EndpointOwner): EndpointDraft {
  requireTypes(body.types, owner);
  return { url: urlOf(body.url, owner), description: body.description, types: body.types };
}

/** The same from what was not checked yet. */
export function readEndpointDraft(given: unknown, owner: EndpointOwner): EndpointDraft {
  return endpointDraftOf(parseBody(endpointDraftSchema, given), owner);
}

export function endpointChangeOf(body: ChangeBody, owner: EndpointOwner): EndpointChange {
  requireTypes(body.types ?? null, owner);
  return {
    url: body.url === undefined ? undefined : urlOf(body.url, owner),
    description: body.description,
    types: body.types,
    isEnabled: body.is_enabled,
  };
}

/** One delivery, or a time. */
export function replayOf({ delivery_id: deliveryId, from, to }: ReplayBody): Replay {
  if (deliveryId !== undefined && from === undefined && to === undefined) return { deliveryId };
  if (deliveryId !== undefined || from === undefined || to === undefined || from >= to)
    throw invalid('from', 'either delivery_id, or from and to with from before to');
  return { from, to };
}

function urlOf(text: string, { accountId }: EndpointOwner): string {
  const rules = accountId === null ? 'operator' : 'customer';
  const parsed = parseEndpointUrl(text, rules);
  if (parsed === null) throw invalid('url', urlWords[rules]);
  return parsed;
}

/** What concerns the operator alone is not offered to customers, who would wait for it in vain. */
function requireTypes(chosen: readonly string[] | null, { accountId }: EndpointOwner): void {
  if (accountId === null || chosen === null) return;
  const known: readonly string[] = accountEventTypes;
  const place = chosen.findIndex((type) => !known.includes(type));
  if (place >= 0) throw invalid(`types.${place}`, `one of ${known.join(', ')}`);
}

function invalid(param: string, expected: string): ApiError {
  return new ApiError('invalid_parameter', { param, message: `${param} is invalid: expected ${expected}.` });
}
