import type { SQL } from 'bun';

export type PriceList = Readonly<{ version: string; digest: string; content: unknown }>;

/** Keeps a price list for ever, once for each different content, and returns the number that Generations name it by. */
export async function storePriceList(sql: SQL, { version, digest, content }: PriceList): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    with stored as (
      insert into price_lists (version, digest, content)
      values (${version}, ${Buffer.from(digest, 'hex')}, ${JSON.stringify(content)}::text::jsonb)
      on conflict (digest) do nothing
      returning id
    )
    select id from stored union all select id from price_lists where digest = ${Buffer.from(digest, 'hex')} limit 1`;
  return row.id;
}
