import { createHash } from 'node:crypto';

/** What the database keeps of a one-time token. Tokens are random, so a plain hash cannot be guessed back. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
