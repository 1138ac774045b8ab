/** Loaded before a gateway: a client hears of a silent provider every 200 ms instead of every five seconds. */
import { silenceDeadlines } from '../../src/chat/stream.ts';
import { replaceDuration } from './replace-duration.ts';

replaceDuration(silenceDeadlines, 200);
