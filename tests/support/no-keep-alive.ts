/** Loaded before a gateway: however busy the machine is, no stream is silent for long enough to get a comment. */
import { maxSilenceMs } from '../../src/chat/stream.ts';
import { replaceDeadline } from './replace-deadline.ts';

replaceDeadline(maxSilenceMs, 600_000);
