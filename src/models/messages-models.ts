/** Models in the form of Anthropic's API, for its clients. */
import { invalidQuery, type Query } from '../http/query.ts';
import type { CallableModel } from './access.ts';

export const pageParameters = ['limit', 'after_id', 'before_id'];

const defaultLimit = 20;
const maxLimit = 1_000;

/** A page of those that such a client can call, in the order of the catalogue. */
export function presentMessagesModels(models: readonly CallableModel[], query: Query) {
  const chat = models.filter(({ workload }) => workload === 'chat');
  const limit = limitOf(query.get('limit'));
  const after = placeOf(chat, query, 'after_id');
  const before = placeOf(chat, query, 'before_id');
  if (after !== null && before !== null)
    throw invalidQuery('before_id', 'only one of after_id and before_id');
  const start = before === null ? (after ?? -1) + 1 : Math.max(0, before - limit);
  const end = before ?? Math.min(chat.length, start + limit);
  const page = chat.slice(start, end);
  return {
    data: page.map(presentMessagesModel),
    has_more: before === null ? end < chat.length : start > 0,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

export function presentMessagesModel(model: CallableModel) {
  return {
    type: 'model' as const,
    id: model.id,
    display_name: model.name,
    created_at: new Date(model.createdSeconds * 1000).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: model.contextWindow,
    max_tokens: model.maxOutputTokens,
  };
}

function limitOf(text: string | null): number {
  if (text === null) return defaultLimit;
  const limit = Number(text);
  if (!/^\d{1,4}$/.test(text) || limit < 1 || limit > maxLimit)
    throw invalidQuery('limit', `an integer from 1 to ${maxLimit}`);
  return limit;
}

/** Null when the query does not name a place. */
function placeOf(models: readonly CallableModel[], query: Query, name: string): number | null {
  const id = query.get(name);
  if (id === null) return null;
  const place = models.findIndex((model) => model.id === id);
  if (place < 0) throw invalidQuery(name, 'the ID of a model of this list');
  return place;
}
