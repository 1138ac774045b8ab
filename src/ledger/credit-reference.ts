import { createHash } from 'node:crypto';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The ledger stores the references of credits as UUIDs. Other text, such as the number of an invoice, is hashed into one
 * (version 8), so that the same text is always the same reference.
 */
export function referenceIdOf(text: string): string {
  const lower = text.toLowerCase();
  if (uuid.test(lower)) return lower;
  const bytes = createHash('sha256').update(`tollgate credit reference\n${text}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
