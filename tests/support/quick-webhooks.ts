/** Loaded before the program: what was not delivered is tried again soon, and a dead node's endpoints are free soon. */
import { pace } from '../../src/webhooks/pace.ts';

// Many, so that nothing is given up.
pace.pausesMs = Array.from({ length: 40 }, () => 500);
pace.failingPauseMs = 100;
pace.timeoutMs = 2_000;
pace.maxTurnMs = 500;
pace.claimSeconds = 4;
