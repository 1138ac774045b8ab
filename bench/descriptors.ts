import { readDescriptorLimit } from '../src/lib/descriptors.ts';

/** A gateway has two sockets per stream; the rest is for its database, its log and itself. */
const ownDescriptors = 200;

/** Throws before a run of several minutes that would fail for lack of file descriptors. */
export function requireDescriptors(streams: number, limit = readDescriptorLimit()): void {
  const needed = 2 * streams + ownDescriptors;
  if (limit !== null && limit < needed)
    throw new Error(
      `${streams} streams need ${needed} file descriptors per process, and the limit is ${limit}: run "ulimit -n ${needed}" first.`,
    );
}
