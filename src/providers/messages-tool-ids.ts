/**
 * The IDs of tool calls. This format allows few characters in them, and providers of other formats choose theirs freely and
 * want them back. Any other ID is encoded for the client, and decoded when it comes back. Pure.
 */
const prefix = 'recoded-';

export function toWireId(id: string): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id) && !id.startsWith(prefix)) return id;
  return prefix + Buffer.from(id, 'utf16le').toString('base64url');
}

export function fromWireId(wireId: string): string {
  if (!wireId.startsWith(prefix)) return wireId;
  const id = Buffer.from(wireId.slice(prefix.length), 'base64url').toString('utf16le');
  // What was not made here is left as it is.
  return toWireId(id) === wireId ? id : wireId;
}
