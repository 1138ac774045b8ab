/** The hash of what a request asks for: the same for the same JSON, in whatever order its fields stand. */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { CanonicalJson } from './canonical-json.ts';

/** So many are hashed at once: half a megabyte takes about five milliseconds. */
const slicesAtOnce = 8;

/** One at a time, because the steps of several would come together. The budget for body bytes limits who may wait. */
const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 10_000 });

/** In hexadecimal digits. The same body for another route is another request. */
export async function hashRequest(route: string, body: unknown): Promise<string> {
  const hash = createHash('sha256').update(`${route} `);
  const json = new CanonicalJson(body);
  if (!hashNext(hash, json)) await queue.run({ origin: route }, () => hashRest(hash, json));
  return hash.digest('hex');
}

/** With a chance for other requests before each step. */
async function hashRest(hash: Hash, json: CanonicalJson): Promise<void> {
  do await setImmediate();
  while (!hashNext(hash, json));
}

/** True when that was all. */
function hashNext(hash: Hash, json: CanonicalJson): boolean {
  for (let sliceCount = 0; sliceCount < slicesAtOnce; sliceCount++) {
    const slice = json.nextSlice();
    if (slice === '') return true;
    hash.update(slice);
  }
  return false;
}
