/** Any Generation of any account, for an operator who is asked about it. */
import type { SQL } from 'bun';
import { attributionColumn } from '../../generations/attribution.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { type DetailedGeneration, presentDetail, refundsQuery } from '../generations.ts';
import type { OperatorGeneration } from '../operator-contract.ts';

type AnyGeneration = DetailedGeneration &
  Readonly<{
    account_id: string;
    account_name: string;
    reported_input_tokens: bigint | null;
    reported_output_tokens: bigint | null;
    reported: Readonly<Record<string, number | null>> | null;
  }>;

export function presentAny(generation: AnyGeneration): Omit<OperatorGeneration, 'draws'> {
  return {
    ...presentDetail(generation),
    account: { id: generation.account_id, name: generation.account_name },
    reported_usage: presentReported(generation),
  };
}

function presentReported(generation: AnyGeneration): OperatorGeneration['reported_usage'] {
  const { reported_input_tokens: input, reported_output_tokens: output, reported } = generation;
  if (input === null || output === null) return null;
  return {
    input_tokens: Number(input),
    output_tokens: Number(output),
    counts: reported && Object.entries(reported).map(([name, count]) => ({ name, count })),
  };
}

export async function findAnyGeneration(
  sql: SQL,
  reader: OperatorReader,
  id: string,
): Promise<AnyGeneration | null> {
  const rows = await sql<Found<AnyGeneration, 'id'>[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refunds.*, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason, reported_input_tokens,
           reported_output_tokens, reported, ${attributionColumn(sql, 'generation')}
    from ${operatorOnly(sql, reader)} as allowed
    left join generation_details as generation on generation.id = ${id}
    left join accounts on accounts.id = generation.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join lateral (${refundsQuery(sql)}) as refunds on true
    left join write_offs on write_offs.generation_id = generation.id`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}
