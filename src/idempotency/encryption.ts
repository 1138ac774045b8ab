/**
 * Answers rest in the database encrypted, each bound to the request that it answers. They are encrypted in chunks, so
 * that a long one is never in memory as a whole when it is read.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';

/** What precedes the body of an answer. */
export type ResponseHead = Readonly<z.infer<typeof headSchema>>;
/** An answer as the client got it. */
export type PlainResponse = ResponseHead & Readonly<{ body: string }>;

const headSchema = z.object({
  /** The ID of the request that was carried out. */
  requestId: z.string(),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
});

const algorithm = 'aes-256-gcm';
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const pieceBytes = 65_536;
const encryptedPieceBytes = pieceBytes + tagBytes;
/** Other requests get their turn after so much: encrypting it takes a few milliseconds. */
const piecesPerTurn = 32;
/** JSON has no line breaks of its own, so the first one ends the head. */
const endOfHead = 0x0a;

/** The first bytes of a encrypted answer, which hold all that is needed to begin: its salt and its first piece. */
export const openingBytes = saltBytes + encryptedPieceBytes;

/** `place` is what the answer belongs to: it cannot be read in another. */
export async function encrypt({ body, ...head }: PlainResponse, key: Buffer, place: string): Promise<Buffer> {
  const salt = randomBytes(saltBytes);
  const responseKey = keyOf(key, salt, place);
  const text = Buffer.from(`${JSON.stringify(head)}\n${body}`);
  const pieceCount = Math.ceil(text.length / pieceBytes);
  const encrypted = Buffer.allocUnsafe(saltBytes + text.length + pieceCount * tagBytes);
  salt.copy(encrypted);
  for (let index = 0, at = saltBytes; index < pieceCount; index++) {
    const cipher = createCipheriv(algorithm, responseKey, nonceOf(index, index === pieceCount - 1));
    at += cipher.update(text.subarray(index * pieceBytes, (index + 1) * pieceBytes)).copy(encrypted, at);
    cipher.final();
    at += cipher.getAuthTag().copy(encrypted, at);
    if (index % piecesPerTurn === piecesPerTurn - 1) await setImmediate();
  }
  return encrypted;
}

/** An answer whose first piece has been read. */
export class EncryptedResponse {
  readonly head: ResponseHead;
  /** The body as far as the first piece has it. */
  readonly beginning: Buffer;
  readonly pieceCount: number;
  readonly #responseKey: Buffer;

  /** Throws when it was encrypted with another key, for another place, or changed since. */
  constructor(opening: Uint8Array, totalBytes: number, key: Buffer, place: string) {
    this.pieceCount = Math.ceil((totalBytes - saltBytes) / encryptedPieceBytes);
    this.#responseKey = keyOf(key, opening.subarray(0, saltBytes), place);
    const first = this.decrypt(0, opening.subarray(saltBytes));
    const end = first.indexOf(endOfHead);
    this.head = headSchema.parse(JSON.parse(first.toString('utf8', 0, end)));
    this.beginning = first.subarray(end + 1);
  }

  /** Where a piece stands in the encrypted answer. The last one may be shorter. */
  static rangeOf(index: number): Readonly<{ start: number; length: number }> {
    return { start: saltBytes + index * encryptedPieceBytes, length: encryptedPieceBytes };
  }

  /** Throws when it is not this piece of this answer, or is not the last when it should be. */
  decrypt(index: number, encrypted: Uint8Array): Buffer {
    const nonce = nonceOf(index, index === this.pieceCount - 1);
    const textBytes = encrypted.length - tagBytes;
    const decipher = createDecipheriv(algorithm, this.#responseKey, nonce, {
      authTagLength: tagBytes,
    }).setAuthTag(encrypted.subarray(textBytes));
    const text = decipher.update(encrypted.subarray(0, textBytes));
    decipher.final();
    return text;
  }
}

/** Each answer has a key of its own, so its pieces can be numbered instead of each having to be random. */
function keyOf(key: Buffer, salt: Uint8Array, place: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, place, key.length));
}

/** A piece fits into its own place only, and only the last one ends an answer. */
function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUInt32BE(index);
  nonce[4] = isLast ? 1 : 0;
  return nonce;
}
