/** Loaded before a gateway: a client that takes nothing is given up after two seconds, and not after thirty. */
import { replaceDeadline } from './replace-deadline.ts';

replaceDeadline(30_000, 2_000);
