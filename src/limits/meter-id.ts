/** The ID of an end user's meter, as `limit_meter_id` of the database makes it. */
export function meterIdOf(limitId: string, endUser: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(`${limitId}${endUser}`).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
