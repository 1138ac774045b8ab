import { hkdfSync } from 'node:crypto';

/** A key of 32 bytes for each purpose, all from one secret. One of them reveals nothing about the others. */
export type DerivedKeys = (purpose: string) => Buffer;

export function deriveKeys(secret: string): DerivedKeys {
  return (purpose) => Buffer.from(hkdfSync('sha256', secret, 'tollgate', purpose, 32));
}
