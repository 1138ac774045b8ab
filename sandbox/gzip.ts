/** Compresses an answer so that each write can be read as soon as it arrives. */

import { constants, crc32, deflateRawSync } from 'node:zlib';
import type { Writes } from './transfer.ts';

/** The magic bytes, then: deflate, no flags, no time, unknown operating system. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const lastBlock = deflateRawSync('');

/** Keeps the number of writes. A body that is cut off gets no trailer. */
export function gzipWrites(writes: Writes, isEnded: boolean): Writes {
  let checksum = 0;
  let length = 0;
  let previous: Writes[number] | null = null;
  let bytes = Buffer.alloc(0);
  let block = bytes;
  return writes.map((write, index) => {
    // Padding repeats the same write, which needs compressing only once.
    if (write !== previous) {
      bytes = Buffer.from(write);
      block = deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
      previous = write;
    }
    checksum = crc32(bytes, checksum);
    length += bytes.length;
    const isLast = index === writes.length - 1;
    return Buffer.concat([
      ...(index === 0 ? [header] : []),
      block,
      ...(isLast && isEnded ? [lastBlock, trailer(checksum, length)] : []),
    ]);
  });
}

function trailer(checksum: number, length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(checksum, 0);
  bytes.writeUInt32LE(length % 2 ** 32, 4);
  return bytes;
}
