/** A page of a list, with a signed cursor that belongs to the list and its filters. */
import { ApiError } from '../errors.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../generations/cursor.ts';
import { newestPosition } from '../generations/generation-store.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, type Query } from '../http/query.ts';

export const pageParameters = ['limit', 'cursor'] as const;

const defaultLimit = 20;

export type PageRequest = Readonly<{
  limit: number;
  /** The list goes on after this UUID. */
  before: string;
  cursorAt: (position: string) => string;
}>;

/** `scope` names the list and its filters. */
export function readPage(query: Query, scope: CursorScope, signingKey: Uint8Array): PageRequest {
  const cursor = query.get('cursor');
  const before = cursor === null ? newestPosition : decodeCursor(cursor, scope, signingKey, Date.now());
  if (before === null) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return {
    limit: parseLimit(query.get('limit'), defaultLimit),
    before,
    cursorAt: (position) => encodeCursor(position, scope, signingKey, Date.now()),
  };
}

/** `rows` has one more than the limit when there is another page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  { limit, cursorAt }: PageRequest,
  present: (row: Row) => Item,
  positionOf: (row: Row) => string,
) {
  return { object: 'list', ...presentPage(rows, limit, present, (row) => cursorAt(positionOf(row))) };
}

/** A number as a position: a UUID that sorts as the number does. */
export function positionOfNumber(number: bigint): string {
  const hex = number.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const largestNumber = 2n ** 63n - 1n;

export function numberAtPosition(position: string): bigint {
  const number = BigInt(`0x${position.replaceAll('-', '')}`);
  return number > largestNumber ? largestNumber : number;
}
