/**
 * How many files and sockets this process may still open. When there are none left, new connections are not even
 * accepted, so a balancer has to know before. Only Linux shows the numbers; elsewhere nothing is reported.
 */
import { countDescriptors, readDescriptorLimit } from '../lib/descriptors.ts';

const minFreeShare = 0.05;
const minFree = 32;
/** Read once at the start. */
const softLimit = readDescriptorLimit();

/** In words; null while there are enough. */
export function descriptorProblem(): string | null {
  const used = softLimit === null ? null : countDescriptors();
  if (softLimit === null || used === null) return null;
  const isScarce = softLimit - used < Math.max(minFree, softLimit * minFreeShare);
  return isScarce ? `${used} of ${softLimit} in use` : null;
}
