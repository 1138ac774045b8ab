/**
 * IDs are UUIDv7: they sort by creation time, so the newest rows of a table are stored together and a Generation's
 * partition follows from its ID alone.
 */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** The ID of nothing: it sorts before every other, and in sums it stands for all keys, or all accounts, together. */
export const nilId = '00000000-0000-0000-0000-000000000000';

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether PostgreSQL accepts a text as an ID. On anything else a query would fail. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

const requestIdPattern = /^req_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The public form of a request's UUID: `req_` and its 32 hexadecimal digits. */
export function requestIdFromUuid(uuid: string): string {
  // Pieces of fixed length cost a tenth of a search.
  return `req_${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`;
}

/** The UUID inside a request ID, or null when the text is not a request ID. */
export function uuidFromRequestId(requestId: string): string | null {
  const match = requestIdPattern.exec(requestId);
  return match ? match.slice(1).join('-') : null;
}

/** The smallest UUIDv7 that can be made at a time, as first_id_at of the database makes it. */
export function firstIdAt(timeMs: number): string {
  const time = timeMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/** When a UUIDv7 was made. */
export function timeOfId(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
}
