/** Signs a delivery by the rules of Standard Webhooks. */
import { createHmac, randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** The bytes sign; people see them as `whsec_` and base64. */
export function newSecret(): Buffer {
  return randomBytes(secretBytes);
}

export function showSecret(secret: Uint8Array): string {
  return secretPrefix + Buffer.from(secret).toString('base64');
}

/** With a secret and the one before it, a receiver that knows either accepts the delivery. */
export function signaturesOf(
  secrets: readonly Uint8Array[],
  eventId: string,
  timestampSeconds: number,
  body: string,
): string {
  return secrets
    .map((secret) => {
      const signed = createHmac('sha256', secret).update(`${eventId}.${timestampSeconds}.${body}`);
      return `v1,${signed.digest('base64')}`;
    })
    .join(' ');
}
