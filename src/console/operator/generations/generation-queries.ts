import type { SQL } from 'bun';
import { type DetailedGeneration, type DetailRow, toDetail } from '../../generations/generation-queries.ts';

export type AnyGeneration = DetailedGeneration & Readonly<{ account: { id: string; name: string } }>;

type AnyRow = DetailRow & { account_id: string; account_name: string };

/** Of whatever account it is. */
export async function findAnyGeneration(sql: SQL, id: string): Promise<AnyGeneration | null> {
  const [row] = await sql<AnyRow[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           (select -amount from ledger_entries where generation_id = generation.id) as charged,
           write_offs.amount as written_off, write_offs.reason as write_off_reason
    from find_generation(${id}::uuid) as generation
    join accounts on accounts.id = generation.account_id
    join api_keys on api_keys.id = generation.key_id
    left join write_offs on write_offs.generation_id = generation.id`;
  return row ? { ...toDetail(row), account: { id: row.account_id, name: row.account_name } } : null;
}
