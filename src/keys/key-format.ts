/** An API key is `svc_sk_`, 40 random characters and a checksum. */
import { hashSecret, secretFormat } from '../lib/secret-format.ts';

const prefix = 'svc_sk_';
const format = secretFormat(prefix);

export const generateKey = format.generate;
export const isWellFormedKey = format.isWellFormed;
/** What is stored and looked up in place of the key. */
export const hashKey = hashSecret;
export const keyHint = format.hint;
/** Whether a text was meant as a key, be it mistyped or cut short. */
export const isKeyLike = format.isLike;

/** Whether it claims to be a key of this gateway, as no key of a provider does. */
export function isForThisGateway(text: string): boolean {
  return text.trimStart().startsWith(prefix);
}
