/** A random UUID. The browser's own function for it is there only over HTTPS, which a gateway in a private net may lack. */
export function newUuid(): string {
  return uuidFrom(crypto.getRandomValues(new Uint8Array(16)));
}

/** Version 4: six bits say so, the others are those given. */
export function uuidFrom(random: Uint8Array): string {
  const hex = [...random.slice(0, 16)]
    .map((byte, at) => (at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte))
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
