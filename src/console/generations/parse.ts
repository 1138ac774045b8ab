/** The query of a list of an account's Generations. */
import type { GenerationFilter } from '../../generations/generation-store.ts';
import { listParameters as parametersOfKey, parseListQuery } from '../../generations/parse-list.ts';
import { invalidQuery, type Query } from '../../http/query.ts';
import { isUuid } from '../params.ts';

/** Of one key, or of all keys of the account. */
export type AccountFilter = GenerationFilter & Readonly<{ keyId: string | null }>;

type AccountListQuery = Readonly<{ limit: number; cursor: string | null; filter: AccountFilter }>;

export const listParameters = [...parametersOfKey, 'key'] as const;

const defaultLimit = 50;

export function parseAccountList(query: Query): AccountListQuery {
  const { limit, cursor, filter } = parseListQuery(query, defaultLimit);
  return { limit, cursor, filter: { ...filter, keyId: parseKey(query.get('key')) } };
}

function parseKey(text: string | null): string | null {
  if (text !== null && !isUuid(text)) throw invalidQuery('key', 'the ID of a key');
  return text;
}
