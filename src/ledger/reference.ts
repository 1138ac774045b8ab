import { createHash } from 'node:crypto';
import { isUuid } from '../lib/ids.ts';

/** A reference as the ledger stores it, and as it was given if that is not a UUID. */
export type Reference = Readonly<{ id: string; text: string | null }>;

/**
 * The ledger stores references as UUIDs. Other text, such as the number of an invoice, is hashed into one (version 8), so
 * that the same text is always the same reference.
 */
export function referenceOf(text: string): Reference {
  if (isUuid(text)) return { id: text.toLowerCase(), text: null };
  const bytes = createHash('sha256').update(`tollgate credit reference\n${text}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    '-',
  );
  return { id, text };
}
