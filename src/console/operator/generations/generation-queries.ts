import type { SQL } from 'bun';
import { type DetailedGeneration, type DetailRow, toDetail } from '../../generations/generation-queries.ts';
import { type Found, rowsFound } from '../operator-queries.ts';

type AnyGeneration = DetailedGeneration & Readonly<{ account: { id: string; name: string } }>;

type AnyRow = DetailRow & { account_id: string; account_name: string };

/** Of whatever account it is. */
export async function findAnyGeneration(
  sql: SQL,
  operatorId: string,
  id: string,
): Promise<AnyGeneration | null> {
  const rows = await sql<Found<AnyRow, 'id'>[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           (select -amount from ledger_entries where generation_id = generation.id) as charged,
           write_offs.amount as written_off, write_offs.reason as write_off_reason
    from users
    left join find_generation(${id}::uuid) as generation on true
    left join accounts on accounts.id = generation.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join write_offs on write_offs.generation_id = generation.id
    where users.id = ${operatorId} and is_operator`;
  const [row] = rowsFound(rows, 'id');
  return row ? { ...toDetail(row), account: { id: row.account_id, name: row.account_name } } : null;
}
