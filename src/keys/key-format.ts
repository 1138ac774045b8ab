/** An API key is `svc_sk_`, 40 random characters and a checksum. */
import { hashSecret, secretFormat } from '../lib/secret-format.ts';

const prefix = 'svc_sk_';
const format = secretFormat(prefix);

export const generateKey = format.generate;
export const isWellFormedKey = format.isWellFormed;
/** What is stored and looked up in place of the key. */
export const hashKey = hashSecret;
export const keyHint = format.hint;
/** Whether a text was meant as a key, be it mistyped or cut short. Imported keys begin with sk-. */
export function isKeyLike(text: string): boolean {
  return format.isLike(text) || text.startsWith('sk-');
}

/** Whether it claims to be a key of this gateway, as no key of a provider does. */
export function isForThisGateway(text: string): boolean {
  return text.trimStart().startsWith(prefix);
}

const importedShape = /^[\x21-\x2b\x2d-\x7e]{8,256}$/;

/**
 * Whether it can be a key of another gateway that was imported: printable, without spaces and commas, and not one of ours that
 * was mistyped. It has no checksum, so only a lookup tells whether it is one.
 */
export function isImportable(text: string): boolean {
  return importedShape.test(text) && !format.isLike(text);
}
