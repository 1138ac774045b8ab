/** The gateway of a run: the real one, with the lease of the run. Other words are for scripts that are loaded before it. */
import { parseArgs } from 'node:util';
import { readConfig } from '../../src/config.ts';
import { serve } from '../../src/main.ts';
import { defaultTimings } from '../../src/nodes/heartbeat.ts';

const beatsPerLease = defaultTimings.leaseMs / defaultTimings.beatMs;

export async function runGateway(words: readonly string[]): Promise<never> {
  const { values } = parseArgs({ args: [...words], options: { lease: { type: 'string' } }, strict: false });
  const leaseMs = typeof values.lease === 'string' ? Number(values.lease) : defaultTimings.leaseMs;
  return await serve(readConfig(), { ...defaultTimings, leaseMs, beatMs: leaseMs / beatsPerLease });
}
