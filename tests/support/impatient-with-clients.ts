/** Loaded before a gateway: a client that reads nothing is given up after two seconds instead of thirty. */
import { stallDeadlines } from '../../src/http/client-stream.ts';
import { replaceDuration } from './replace-duration.ts';

replaceDuration(stallDeadlines, 2_000);
