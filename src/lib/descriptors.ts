/** The file descriptors of this process. Only Linux shows them; elsewhere these return null. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

const folder = '/proc/self/fd';

/** The soft limit. */
export function readDescriptorLimit(): number | null {
  try {
    const text = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return text === undefined ? null : Number(text);
  } catch {
    return null;
  }
}

export function countDescriptors(): number | null {
  try {
    // The size of the folder is the number of its entries since Linux 6.2; older kernels report 0.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return null;
  }
}
