import { availableParallelism } from 'node:os';
import { type Claim, createSharedQueue } from '../lib/bounded-queue.ts';

export const shortestPassword = 8;
export const longestPassword = 128;

const mostAtOnce = 4;

/**
 * A hash is meant to be slow: it takes 64 MB and a core for a moment, on a thread of its own. Half of the cores stay with
 * everything else, whatever comes in.
 */
const takeTurn = createSharedQueue({
  mostRunning: Math.min(mostAtOnce, Math.max(1, Math.floor(availableParallelism() / 2))),
  mostWaiting: 20,
  keptForPreferred: 5,
  mostWaitingOfOneOrigin: 10,
});

/** For what the operator of this machine asks for. */
export const ownClaim: Claim = { origin: 'this machine', isPreferred: true };

/** Throws an OverloadError when too many are waiting; so does verifyPassword. */
export function hashPassword(password: string, claim: Claim): Promise<string> {
  return takeTurn(claim, () => Bun.password.hash(password, 'argon2id'));
}

/** Without a hash it is wrong, after as much work. */
export async function verifyPassword(password: string, hash: string | null, claim: Claim): Promise<boolean> {
  if (hash !== null) return await takeTurn(claim, () => Bun.password.verify(password, hash));
  await hashPassword(password, claim);
  return false;
}
