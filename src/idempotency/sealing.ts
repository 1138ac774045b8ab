/** Answers rest in the database encrypted, each bound to the request that it answers. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';

/** An answer as the client got it. */
export type Answer = Readonly<z.infer<typeof answerSchema>>;

const answerSchema = z.object({
  /** The ID of the request that was carried out. */
  requestId: z.string(),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** `place` is what the answer belongs to: it cannot be read in another. */
export function seal(answer: Answer, key: Buffer, place: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(place));
  const text = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

/** Throws when it was sealed with another key, for another place, or changed since. */
export function unseal(sealed: Uint8Array, key: Buffer, place: string): Answer {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
    .setAAD(Buffer.from(place))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const text = Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
  return answerSchema.parse(JSON.parse(text.toString('utf8')));
}
