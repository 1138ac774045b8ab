/**
 * Signatures of reasoning travel through clients, which send them back with the conversation. They are sealed for that:
 * encrypted, and bound to an account and a model, so that nobody can present what another customer or model was given.
 * Nothing has to be stored here.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Signature } from '../providers/chat.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Tells ours from those that a vendor made, without looking further. */
const prefix = 'tg1_';
/** Vendors' own have a few kilobytes. */
const maxCharacters = 1_000_000;

/** Whom a signature is given to. `model` is as the client named it. */
export type SignatureScope = Readonly<{ accountId: string; model: string }>;

/** `opened` are those that were opened so far, by their sealed form; null for those that are not ours. */
export type OpenedSignatures = Readonly<{
  open: (sealed: string) => Signature | null;
  opened: ReadonlyMap<string, Signature | null>;
}>;

/** More than any conversation that fits a context window. Opening them all was measured to take 60 ms. */
const maxOpened = 4_000;
const maxOpenedCharacters = 8_000_000;

export class Signatures {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  seal({ value, madeBy }: Signature, scope: SignatureScope): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce);
    cipher.setAAD(boundTo(scope));
    const text = Buffer.concat([cipher.update(JSON.stringify([madeBy, value])), cipher.final()]);
    return prefix + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
  }

  /** Kept for as long as an answer streams, so nothing else of the request may be in its scope. */
  sealFor(scope: SignatureScope): (signature: Signature) => string {
    return (signature) => this.seal(signature, scope);
  }

  /** Opens each signature of a request once, up to a limit; the rest are treated as forged. */
  openerFor(scope: SignatureScope): OpenedSignatures {
    const opened = new Map<string, Signature | null>();
    let characters = 0;
    const open = (sealed: string) => {
      const known = opened.get(sealed);
      if (known !== undefined) return known;
      characters += sealed.length;
      const isWithin = opened.size < maxOpened && characters <= maxOpenedCharacters;
      const signature = isWithin ? this.open(sealed, scope) : null;
      if (isWithin) opened.set(sealed, signature);
      return signature;
    };
    return { open, opened };
  }

  /** Null for whatever was not sealed here for this account and model. */
  open(sealed: string, scope: SignatureScope): Signature | null {
    if (!sealed.startsWith(prefix) || sealed.length > maxCharacters) return null;
    const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url');
    // Several texts decode to the same bytes; only the one that was given out is ours.
    if (bytes.length <= nonceBytes + tagBytes || prefix + bytes.toString('base64url') !== sealed) return null;
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes));
    decipher.setAAD(boundTo(scope));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
      const [madeBy, value] = JSON.parse(text.toString()) as [string, string];
      return { value, madeBy };
    } catch {
      return null;
    }
  }
}

function boundTo({ accountId, model }: SignatureScope): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([accountId, model]))
    .digest();
}
