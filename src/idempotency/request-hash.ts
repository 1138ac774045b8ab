/** The hash of a request: the same for the same JSON, whatever the order of its fields. */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { CanonicalJson } from '../json/canonical.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';

/** Hashed without a break: half a megabyte takes about five milliseconds. */
const slicesAtOnce = 8;

/** One at a time, because the steps of several would add up. The budget for body bytes limits how many can wait. */
const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 10_000 });

/** In hexadecimal. The same body for another route is another request. */
export async function hashRequest(route: string, body: unknown): Promise<string> {
  const hash = createHash('sha256').update(`${route} `);
  const json = new CanonicalJson(body);
  if (!hashNext(hash, json)) await queue.run({ origin: route }, () => hashRest(hash, json));
  return hash.digest('hex');
}

/** Lets other requests run before each step. */
async function hashRest(hash: Hash, json: CanonicalJson): Promise<void> {
  do await setImmediate();
  while (!hashNext(hash, json));
}

/** True when done. */
function hashNext(hash: Hash, json: CanonicalJson): boolean {
  for (let sliceCount = 0; sliceCount < slicesAtOnce; sliceCount++) {
    const slice = json.nextSlice();
    if (slice === '') return true;
    hash.update(slice);
  }
  return false;
}
