/** The hash of what a request asks for: the same for the same JSON, in whatever order its fields stand. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { CanonicalJson } from './canonical-json.ts';

/** Other requests get their turn after so many: a megabyte takes about ten milliseconds. */
const slicesPerTurn = 16;

/** In hexadecimal digits. The same body for another route is another request. */
export async function hashRequest(route: string, body: unknown): Promise<string> {
  const hash = createHash('sha256').update(`${route} `);
  const json = new CanonicalJson(body);
  let sliceCount = 0;
  for (let slice = json.nextSlice(); slice !== ''; slice = json.nextSlice()) {
    hash.update(slice);
    sliceCount += 1;
    if (sliceCount % slicesPerTurn === 0) await setImmediate();
  }
  return hash.digest('hex');
}
