/**
 * Responses are stored encrypted, each bound to its request. They are encrypted in pieces, so that reading a long one
 * never takes all of it into memory.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';

/** What precedes the body of a response. */
export type ResponseHead = Readonly<z.infer<typeof headSchema>>;
/** A response as the client got it. */
export type PlainResponse = ResponseHead & Readonly<{ body: string }>;

const headSchema = z.object({
  /** The ID of the request that ran. */
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
/** Other requests get their turn after this many: encrypting them takes a few milliseconds. */
const piecesPerTurn = 32;
/** The JSON contains no line breaks, so the first one ends the head. */
const endOfHead = 0x0a;

/** The first bytes of an encrypted response, enough to start with: its salt and its first piece. */
export const openingBytes = saltBytes + encryptedPieceBytes;

/** `identity` is that of the request: the response cannot be decrypted for another one. */
export async function encrypt(
  { body, ...head }: PlainResponse,
  key: Buffer,
  identity: string,
): Promise<Buffer> {
  const salt = randomBytes(saltBytes);
  const responseKey = keyOf(key, salt, identity);
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

/** A response whose first piece has been read. */
export class EncryptedResponse {
  readonly head: ResponseHead;
  /** The part of the body in the first piece. */
  readonly beginning: Buffer;
  readonly pieceCount: number;
  readonly #responseKey: Buffer;

  /** Throws when it was encrypted with another key, for another request, or changed since. */
  constructor(opening: Uint8Array, totalBytes: number, key: Buffer, identity: string) {
    this.pieceCount = Math.ceil((totalBytes - saltBytes) / encryptedPieceBytes);
    this.#responseKey = keyOf(key, opening.subarray(0, saltBytes), identity);
    const first = this.decrypt(0, opening.subarray(saltBytes));
    const end = first.indexOf(endOfHead);
    this.head = headSchema.parse(JSON.parse(first.toString('utf8', 0, end)));
    this.beginning = first.subarray(end + 1);
  }

  /** Where a piece is in the encrypted response. The last one may be shorter. */
  static rangeOf(index: number): Readonly<{ start: number; length: number }> {
    return { start: saltBytes + index * encryptedPieceBytes, length: encryptedPieceBytes };
  }

  /** Throws when it is not this piece of this response, or is not the last one when it should be. */
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

/** Each response has its own key, so the nonces of its pieces can be counted instead of random. */
function keyOf(key: Buffer, salt: Uint8Array, identity: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, identity, key.length));
}

/** Binds a piece to its position, and marks the last one. */
function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUInt32BE(index);
  nonce[4] = isLast ? 1 : 0;
  return nonce;
}
