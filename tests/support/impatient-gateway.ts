/** The gateway, with no patience for an unreachable database. */
import { readConfig } from '../../src/config.ts';
import { serve } from '../../src/main.ts';
import { defaultTimings } from '../../src/nodes/heartbeat.ts';

await serve(readConfig(), defaultTimings, 0);
