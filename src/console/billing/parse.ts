/** The query of a statement. */
import { ApiError } from '../../errors.ts';
import { parseLimit, type Query } from '../../http/query.ts';

type StatementQuery = Readonly<{ limit: number; before: bigint }>;

export const statementParameters = ['limit', 'cursor'] as const;

const defaultLimit = 50;
/** No entry has a greater number, so this is where a statement begins. */
const newestPosition = 2n ** 63n - 1n;

/**
 * A cursor is the number of the last entry on the page. Entries are numbered without gaps and never change, so it needs
 * neither a signature nor an end: there is nothing in it that the statement does not show.
 */
export function parseStatement(query: Query): StatementQuery {
  return {
    limit: parseLimit(query.get('limit'), defaultLimit),
    before: parseCursor(query.get('cursor')),
  };
}

function parseCursor(text: string | null): bigint {
  if (text === null) return newestPosition;
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return BigInt(text);
}
