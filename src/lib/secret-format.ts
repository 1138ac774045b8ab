/**
 * The form of our secrets: a prefix, 40 random characters and a checksum of 6. The checksum lets a mistyped or made-up one be
 * rejected without a query; it is no secret and proves nothing.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 40;
const checksumLength = 6;

export type SecretFormat = Readonly<{
  generate: (randomBytes?: (count: number) => Uint8Array) => string;
  isWellFormed: (text: string) => boolean;
  /** Whether a text was meant as one, be it mistyped or cut short. */
  isLike: (text: string) => boolean;
  /** Enough to recognise one in a list, too little to use it. */
  hint: (secret: string) => string;
}>;

export function secretFormat(prefix: string): SecretFormat {
  const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);
  const length = prefix.length + randomLength;

  function generate(
    randomBytes: (count: number) => Uint8Array = (count) => crypto.getRandomValues(new Uint8Array(count)),
  ): string {
    let body = prefix;
    while (body.length < length) {
      for (const byte of randomBytes(randomLength)) {
        // Bytes of 248 and above would make the first characters of the alphabet likelier than the rest.
        if (byte < 248 && body.length < length) body += alphabet[byte % 62];
      }
    }
    return body + checksum(body);
  }

  return {
    generate,
    isWellFormed: (text) =>
      shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength),
    isLike: (text) => text.startsWith(prefix),
    hint: (secret) => `${prefix}…${secret.slice(-4)}`,
  };
}

/** What is stored and looked up in place of a secret. They are random, so a plain hash cannot be reversed by guessing. */
export function hashSecret(secret: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(secret).digest();
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
