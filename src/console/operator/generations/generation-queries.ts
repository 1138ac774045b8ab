import type { SQL } from 'bun';
import { type DetailedGeneration, type DetailRow, toDetail } from '../../generations/generation-queries.ts';
import { type Found, rowsFound } from '../operator-queries.ts';

type AnyGeneration = DetailedGeneration &
  Readonly<{
    account: { id: string; name: string };
    /** What the provider reported and was not believed. */
    reportedUsage: { inputTokens: bigint; outputTokens: bigint } | null;
  }>;

type AnyRow = DetailRow & {
  account_id: string;
  account_name: string;
  reported_input_tokens: bigint | null;
  reported_output_tokens: bigint | null;
};

/** Of whatever account it is. */
export async function findAnyGeneration(
  sql: SQL,
  operatorId: string,
  id: string,
): Promise<AnyGeneration | null> {
  const rows = await sql<Found<AnyRow, 'id'>[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refund.amount as refunded, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason, reported_input_tokens,
           reported_output_tokens
    from users
    left join generation_details as generation on generation.id = ${id}
    left join accounts on accounts.id = generation.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join ledger_entries as refund on refund.generation_id = generation.id and refund.kind = 'refund'
    left join write_offs on write_offs.generation_id = generation.id
    where users.id = ${operatorId} and is_operator`;
  const [row] = rowsFound(rows, 'id');
  return row ? toAnyGeneration(row) : null;
}

function toAnyGeneration(row: AnyRow): AnyGeneration {
  const { reported_input_tokens: inputTokens, reported_output_tokens: outputTokens } = row;
  return {
    ...toDetail(row),
    account: { id: row.account_id, name: row.account_name },
    reportedUsage: inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens },
  };
}
