/** The gateway, with leases that run out quickly. */
import { readConfig } from '../../src/config.ts';
import { serve } from '../../src/main.ts';
import { quickTimings } from './quick-lease.ts';

await serve(readConfig(), quickTimings);
