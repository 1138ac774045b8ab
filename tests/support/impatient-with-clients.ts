/** Loaded before a gateway: a client that reads nothing is given up after two seconds instead of thirty. */
import { replaceDeadline } from './replace-deadline.ts';

replaceDeadline(30_000, 2_000);
