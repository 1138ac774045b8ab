/**
 * The ETag of a resource stands for what an update can change of it. What moves by itself, such as a balance, is no part of it.
 * It is computed and not stored, so a change through any door makes another one.
 */
import { createHash } from 'node:crypto';
import { ApiError } from '../errors.ts';

export function etagOf(fields: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `"${createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 32)}"`;
}

/** What an If-Match header lets be changed. */
export type Precondition = (etag: string) => boolean;

/** An update without one could undo what another program has just changed. */
export function readPrecondition(headers: Headers): Precondition {
  const text = headers.get('if-match');
  if (text === null) throw new ApiError('precondition_required', { param: 'If-Match' });
  if (text.trim() === '*') return () => true;
  const etags = text.split(',').map((etag) => etag.trim());
  return (etag) => etags.includes(etag);
}

export function requireMatch(isMet: Precondition, etag: string): void {
  if (!isMet(etag)) throw new ApiError('precondition_failed', { param: 'If-Match' });
}
