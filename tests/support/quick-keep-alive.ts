/** Loaded before a gateway: a client hears of a silent provider every 200 ms instead of every five seconds. */
import { maxSilenceMs } from '../../src/chat/stream.ts';
import { replaceDeadline } from './replace-deadline.ts';

replaceDeadline(maxSilenceMs, 200);
