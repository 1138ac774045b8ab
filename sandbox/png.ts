/** A real PNG of any size, cheaply: one byte per pixel, a colour palette, each row in one colour. */

import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The same prompt gives the same image; each image of a request differs. */
export function imageSeed(prompt: string, index: number): number {
  return Bun.hash.crc32(`${index} ${prompt}`);
}

/** A gradient from the colour of the seed to black. */
export function makePng(width: number, height: number, seed: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // Eight bits per pixel, a palette, and the only defined methods.

  const palette = Buffer.alloc(256 * 3);
  for (let index = 0; index < palette.length; index += 1) {
    const colour = (seed >>> ((index % 3) * 8)) & 0xff;
    palette[index] = Math.round((colour * (256 - Math.floor(index / 3))) / 256);
  }

  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row += 1) {
    const start = row * (width + 1) + 1; // Each row starts with a zero: no filter.
    rows.fill(Math.floor((row * 256) / height), start, start + width);
  }

  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, data.length + 8)), data.length + 8);
  return bytes;
}
