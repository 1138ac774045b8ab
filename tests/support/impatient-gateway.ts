/** The gateway, without patience for a database that cannot be reached. */
import { readConfig } from '../../src/config.ts';
import { defaultTimings } from '../../src/ledger/heartbeat.ts';
import { serve } from '../../src/main.ts';

await serve(readConfig(), defaultTimings, 0);
