/** Loaded before the program: a dead node's claims end soon, and events that were not delivered are found soon. */
import { pace } from '../../src/payments/pace.ts';

pace.claimSeconds = 5;
pace.maxLookMs = 4_000;
pace.firstLookSeconds = 5;
pace.pollSeconds = 3;
pace.overlapSeconds = 10;
