/** What the operator's long lists have in common: a search, a page, and where the next page starts. */
import { ApiError } from '../../errors.ts';
import { newestPosition } from '../../generations/generation-store.ts';
import { presentPage } from '../../http/present-page.ts';
import { invalidQuery, parseLimit, readQuery } from '../../http/query.ts';
import { isUuid } from '../../lib/ids.ts';
import type { Page } from '../contract.ts';

/** What to search for: a text anywhere in a name, as a regular expression, or an ID. Both are null without a search. */
export type Search = Readonly<{ pattern: string | null; id: string | null }>;
export type ListQuery = Readonly<{ search: Search; limit: number; before: string }>;

const defaultLimit = 50;
const maxSearchLength = 200;

export function readListQuery(url: string): ListQuery {
  const query = readQuery(url, ['search', 'limit', 'cursor']);
  return {
    search: parseSearch(query.get('search')?.trim() ?? ''),
    limit: parseLimit(query.get('limit'), defaultLimit),
    before: parseCursor(query.get('cursor')),
  };
}

export function pageOf<Item extends Readonly<{ id: string }>>(
  items: readonly Item[],
  limit: number,
): Page<Item> {
  return presentPage(
    items,
    limit,
    (item) => item,
    ({ id }) => id,
  );
}

function parseSearch(text: string): Search {
  if (text === '') return { pattern: null, id: null };
  // PostgreSQL cannot store a NUL.
  if (text.length > maxSearchLength || text.includes('\0'))
    throw invalidQuery('search', `a text of at most ${maxSearchLength} characters`);
  return { pattern: patternOf(text), id: isUuid(text) ? text : null };
}

/** A regular expression for the text, in upper or lower case. */
export function patternOf(text: string): string {
  return [...text].map(eitherCase).join('');
}

/**
 * One character, in upper and in lower case. Both are listed, because whether the database itself knows that Ä and ä
 * belong together depends on the locale it was created with.
 */
function eitherCase(character: string): string {
  const cases = [character, character.toLowerCase(), character.toUpperCase()];
  const [first, ...others] = new Set(cases.filter((text) => [...text].length === 1));
  if (others.length > 0) return `[${first}${others.join('')}]`;
  return character.replace(/[!-/:-@[-`{-~]/, '\\$&');
}

/** A cursor is the ID of the last item on the page. */
export function parseCursor(text: string | null): string {
  if (text === null) return newestPosition;
  if (!isUuid(text)) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return text;
}
