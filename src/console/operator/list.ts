/** What the operator's long lists have in common: a search, a page, and where the next one begins. */
import { ApiError } from '../../errors.ts';
import { invalidQuery, readQuery } from '../../http/query.ts';
import type { Page } from '../contract.ts';
import { isUuid } from '../params.ts';

/** What is looked for: a text anywhere in a name, as a regular expression, or an ID. Both are null without a search. */
export type Search = Readonly<{ pattern: string | null; id: string | null }>;
export type ListQuery = Readonly<{ search: Search; limit: number; before: string }>;

const defaultLimit = 50;
const limitPattern = /^(?:[1-9][0-9]?|100)$/;
const longestSearch = 200;
/** No ID is greater, so this is where a list begins. IDs sort by time: the newest come first. */
const newestPosition = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export function readListQuery(url: string): ListQuery {
  const query = readQuery(url, ['search', 'limit', 'cursor']);
  return {
    search: parseSearch(query.get('search')?.trim() ?? ''),
    limit: parseLimit(query.get('limit')),
    before: parseCursor(query.get('cursor')),
  };
}

/** `rows` holds one more than the limit when there is another page. A cursor is the ID that a page ended with. */
export function pageOf<Row extends Readonly<{ id: string }>, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
): Page<Item> {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { data: page.map(present), has_more: last !== undefined, next_cursor: last?.id ?? null };
}

function parseSearch(text: string): Search {
  if (text === '') return { pattern: null, id: null };
  // The database has no text with a NUL in it.
  if (text.length > longestSearch || text.includes('\0'))
    throw invalidQuery('search', `a text of at most ${longestSearch} characters`);
  return { pattern: [...text].map(patternOf).join(''), id: isUuid(text) ? text : null };
}

/**
 * One character, in upper and in lower case. Both are named, because whether the database itself knows that Ä and ä
 * belong together depends on the locale it was made with.
 */
function patternOf(character: string): string {
  const cases = [character, character.toLowerCase(), character.toUpperCase()];
  const [first, ...others] = new Set(cases.filter((text) => [...text].length === 1));
  if (others.length > 0) return `[${first}${others.join('')}]`;
  return character.replace(/[!-/:-@[-`{-~]/, '\\$&');
}

function parseLimit(text: string | null): number {
  if (text === null) return defaultLimit;
  if (!limitPattern.test(text)) throw invalidQuery('limit', 'an integer from 1 to 100');
  return Number(text);
}

function parseCursor(text: string | null): string {
  if (text === null) return newestPosition;
  if (!isUuid(text)) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return text;
}
