import type { SQL } from 'bun';

export type PriceList = Readonly<{ version: string; digest: string; content: unknown }>;

/** Keeps a price list for ever, once for each different content, and returns the number that Generations name it by. */
export async function storePriceList(sql: SQL, { version, digest, content }: PriceList): Promise<number> {
  const digestBytes = Buffer.from(digest, 'hex');
  await sql`
    insert into price_lists (version, digest, content)
    values (${version}, ${digestBytes}, ${JSON.stringify(content)}::text::jsonb)
    on conflict (digest) do nothing`;
  // Asked in a statement of its own, because the one above cannot see a row that another node has just stored.
  const [row] = await sql<[{ id: number }]>`select id from price_lists where digest = ${digestBytes}`;
  return row.id;
}
