/** The query parameters of a list of Generations. */
import { invalidQuery, parseLimit, type Query } from '../http/query.ts';
import { type GenerationFilter, generationStatuses } from './generation-store.ts';

export type ListQuery = Readonly<{ limit: number; cursor: string | null; filter: GenerationFilter }>;

export const listParameters = ['limit', 'cursor', 'status', 'model'] as const;

export function parseListQuery(query: Query, defaultLimit = 20): ListQuery {
  return {
    limit: parseLimit(query.get('limit'), defaultLimit),
    cursor: query.get('cursor'),
    filter: { status: parseStatus(query.get('status')), model: parseModel(query.get('model')) },
  };
}

function parseStatus(text: string | null): GenerationFilter['status'] {
  if (text === null) return null;
  const status = generationStatuses.find((candidate) => candidate === text);
  if (status === undefined) throw invalidQuery('status', generationStatuses.join(', '));
  return status;
}

/** Any name is valid, because there may be Generations of models that have left the catalogue. */
function parseModel(text: string | null): string | null {
  // PostgreSQL cannot store a NUL.
  if (text === '' || text?.includes('\0')) throw invalidQuery('model', 'the ID of a model');
  return text;
}
