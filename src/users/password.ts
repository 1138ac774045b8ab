import { availableParallelism } from 'node:os';
import { createQueue } from '../lib/bounded-queue.ts';

export const shortestPassword = 8;
export const longestPassword = 128;

const mostAtOnce = 4;
const mostWaiting = 20;

/**
 * A hash is meant to be slow: it takes 64 MB and a core for a moment, on a thread of its own. Half of the cores stay with
 * everything else, whatever comes in.
 */
const takeTurn = createQueue(
  Math.min(mostAtOnce, Math.max(1, Math.floor(availableParallelism() / 2))),
  mostWaiting,
);

/** Throws an OverloadError when too many are waiting; so does verifyPassword. */
export function hashPassword(password: string): Promise<string> {
  return takeTurn(() => Bun.password.hash(password, 'argon2id'));
}

export function verifyPassword(password: string, hash: string): Promise<boolean> {
  return takeTurn(() => Bun.password.verify(password, hash));
}
