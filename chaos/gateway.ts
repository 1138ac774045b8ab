/** The gateway of a run: the real one, with leases as long as the run wants them. */
import { readConfig } from '../src/config.ts';
import { usualTimings } from '../src/ledger/lease-timings.ts';
import { serve } from '../src/main.ts';

const leaseMs = Number(process.env.CHAOS_LEASE_MS ?? usualTimings.leaseMs);
const beatsPerLease = usualTimings.leaseMs / usualTimings.beatMs;

await serve(readConfig(), { ...usualTimings, leaseMs, beatMs: leaseMs / beatsPerLease });
