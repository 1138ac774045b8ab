/**
 * How many files and sockets this process may still open. When there are none left, new connections are not even
 * accepted, so a balancer has to know before. Only Linux shows the numbers; elsewhere nothing is reported.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';

const minFreeShare = 0.05;
const minFree = 32;
const folder = '/proc/self/fd';

/** In words; null while there are enough. */
export function descriptorProblem(): string | null {
  if (softLimit === null) return null;
  const used = countOpen();
  const isScarce = softLimit - used < Math.max(minFree, softLimit * minFreeShare);
  return isScarce ? `${used} of ${softLimit} in use` : null;
}

/** Read once at the start. */
const softLimit = readSoftLimit();

function readSoftLimit(): number | null {
  try {
    const text = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return text === undefined ? null : Number(text);
  } catch {
    return null;
  }
}

/** The size of the folder is the number of its entries since Linux 6.2; older kernels say 0. */
function countOpen(): number {
  return statSync(folder).size || readdirSync(folder).length;
}
