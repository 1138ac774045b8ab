import { availableParallelism } from 'node:os';
import { BoundedQueue, type Ticket } from '../lib/bounded-queue.ts';

export const minPassword = 8;
export const maxPassword = 128;

const maxAtOnce = 4;

/**
 * A hash is meant to be slow: it occupies 64 MB and a core for a moment, on its own thread. Half of the cores are
 * always left to everything else.
 */
const queue = new BoundedQueue({
  maxRunning: Math.min(maxAtOnce, Math.max(1, Math.floor(availableParallelism() / 2))),
  maxWaiting: 20,
  maxWaitingPerOrigin: 10,
  reservedForPreferred: 5,
});

/** For passwords that the operator sets on this machine. */
export const ownTicket: Ticket = { origin: 'this machine', isPreferred: true };

/** Throws an OverloadError when too many are waiting; so does verifyPassword. */
export function hashPassword(password: string, ticket: Ticket): Promise<string> {
  return queue.run(ticket, () => Bun.password.hash(password, 'argon2id'));
}

/** Without a hash the password is wrong, after as much work as with one. */
export async function verifyPassword(
  password: string,
  hash: string | null,
  ticket: Ticket,
): Promise<boolean> {
  if (hash !== null) return await queue.run(ticket, () => Bun.password.verify(password, hash));
  await hashPassword(password, ticket);
  return false;
}
