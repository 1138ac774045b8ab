/** The secrets of endpoints are needed again for every delivery, so they are stored encrypted, each bound to its endpoint. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function encryptSecret(secret: Uint8Array, key: Buffer, endpointId: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(endpointId));
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
}

/** Null when it was encrypted with another key, or for another endpoint, or is none. */
export function decryptSecret(stored: Uint8Array, key: Buffer, endpointId: string): Buffer | null {
  const bytes = Buffer.from(stored);
  try {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(Buffer.from(endpointId))
      .setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    return null;
  }
}
