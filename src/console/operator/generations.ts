/** Any request of any account, for an operator who is asked about it. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { uuidFromRequestId } from '../../lib/ids.ts';
import { type Found, rowsForOperator } from '../access.ts';
import { type DetailedGeneration, presentDetail } from '../generations.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorGeneration } from '../operator-contract.ts';

export function anyGenerationPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/generations/:generation': {
      GET: async (request, { params, signedIn }) => {
        readQuery(request.url, []);
        const id = uuidFromRequestId(params.generation ?? '');
        const find = (known: string) => findAnyGeneration(sql, signedIn.userId, known);
        const generation = id === null ? null : await lookUp('generation_lookup_failed', () => find(id));
        if (generation === null)
          throw new ApiError('generation_not_found', { message: 'No account has a request with this ID.' });
        return Response.json(presentAny(generation));
      },
    },
  };
}

type AnyGeneration = DetailedGeneration &
  Readonly<{
    account_id: string;
    account_name: string;
    reported_input_tokens: bigint | null;
    reported_output_tokens: bigint | null;
    reported: Readonly<Record<string, number | null>> | null;
  }>;

function presentAny(generation: AnyGeneration): OperatorGeneration {
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
  operatorId: string,
  id: string,
): Promise<AnyGeneration | null> {
  const rows = await sql<Found<AnyGeneration, 'id'>[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refund.amount as refunded, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason, reported_input_tokens,
           reported_output_tokens, reported
    from users
    left join generation_details as generation on generation.id = ${id}
    left join accounts on accounts.id = generation.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join ledger_entries as refund on refund.generation_id = generation.id and refund.kind = 'refund'
    left join write_offs on write_offs.generation_id = generation.id
    where users.id = ${operatorId} and is_operator`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}
