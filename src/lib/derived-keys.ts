import { hkdfSync } from 'node:crypto';

/** Derives a 32-byte key for each purpose from one secret. None of them reveals anything about the others. */
export type DerivedKeys = (purpose: string) => Buffer;

export function deriveKeys(secret: string): DerivedKeys {
  return (purpose) => Buffer.from(hkdfSync('sha256', secret, 'tollgate', purpose, 32));
}
