/**
 * An API key is `svc_sk_`, 40 random characters and a checksum of 6. The checksum lets a mistyped or made-up key be
 * rejected without a query; it is no secret and proves nothing.
 */
const prefix = 'svc_sk_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 40;
const checksumLength = 6;
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

export function generateKey(
  randomBytes: (count: number) => Uint8Array = (count) => crypto.getRandomValues(new Uint8Array(count)),
): string {
  let body = prefix;
  while (body.length < prefix.length + randomLength) {
    for (const byte of randomBytes(randomLength)) {
      // Bytes of 248 and above would make the first characters of the alphabet likelier than the rest.
      if (byte < 248 && body.length < prefix.length + randomLength) body += alphabet[byte % 62];
    }
  }
  return body + checksum(body);
}

/** Whether it claims to be a key of this gateway, as no key of a provider does. */
export function isForThisGateway(text: string): boolean {
  return text.trimStart().startsWith(prefix);
}

export function isWellFormedKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** What is stored and looked up in place of the key. */
export function hashKey(key: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(key).digest();
}

/** Enough to recognise a key in a list, too little to use it. */
export function keyHint(key: string): string {
  return `${prefix}…${key.slice(-4)}`;
}

function checksum(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = '';
  for (let position = 0; position < checksumLength; position++) {
    text = alphabet[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Whether a text was meant as a key, be it mistyped or cut short. */
export const isKeyLike = (text: string) => text.startsWith(prefix);
