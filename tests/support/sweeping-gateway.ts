/** The gateway, with payments swept so often that no test waits for it. */
import { readConfig } from '../../src/config.ts';
import { serve } from '../../src/main.ts';
import { pace } from '../../src/payments/pace.ts';

pace.sweepMs = 500;
await serve(readConfig());
