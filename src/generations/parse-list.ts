/** The query of a list of Generations. Nothing is clamped: a page of another size than asked for would be a surprise. */
import { invalidQuery, type Query } from '../http/query.ts';
import { type GenerationFilter, generationStatuses } from './generation-store.ts';

export type ListQuery = Readonly<{ limit: number; cursor: string | null; filter: GenerationFilter }>;

export const listParameters = ['limit', 'cursor', 'status', 'model'] as const;

const limitPattern = /^(?:[1-9][0-9]?|100)$/;

export function parseListQuery(query: Query, defaultLimit = 20): ListQuery {
  return {
    limit: parseLimit(query.get('limit'), defaultLimit),
    cursor: query.get('cursor'),
    filter: { status: parseStatus(query.get('status')), model: parseModel(query.get('model')) },
  };
}

export function parseLimit(text: string | null, defaultLimit: number): number {
  if (text === null) return defaultLimit;
  if (!limitPattern.test(text)) throw invalidQuery('limit', 'an integer from 1 to 100');
  return Number(text);
}

function parseStatus(text: string | null): GenerationFilter['status'] {
  if (text === null) return null;
  const status = generationStatuses.find((candidate) => candidate === text);
  if (status === undefined) throw invalidQuery('status', generationStatuses.join(', '));
  return status;
}

/** A model that the catalogue no longer has may still have Generations, so any name will do. */
function parseModel(text: string | null): string | null {
  // The database has no text with a NUL in it.
  if (text === '' || text?.includes('\0')) throw invalidQuery('model', 'the ID of a model');
  return text;
}
