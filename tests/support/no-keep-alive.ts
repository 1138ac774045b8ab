/** Loaded before a gateway: however busy the machine is, no stream is silent for long enough to get a comment. */
import { silenceDeadlines } from '../../src/chat/stream.ts';
import { replaceDuration } from './replace-duration.ts';

replaceDuration(silenceDeadlines, 600_000);
