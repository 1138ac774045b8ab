/** GET /api/console/operator/generations/{request_id}: what became of a request that somebody asks about. */
import { ApiError } from '../../../errors.ts';
import { lookUp } from '../../../http/lookup.ts';
import { readQuery } from '../../../http/query.ts';
import { uuidFromRequestId } from '../../../lib/ids.ts';
import { presentDetail } from '../../generations/present.ts';
import type { ConsoleContext } from '../../guard.ts';
import type { OperatorGeneration } from '../../operator-contract.ts';
import { findAnyGeneration } from './generation-queries.ts';

export async function showAnyGeneration(
  request: Request,
  { services, params, signedIn }: ConsoleContext,
): Promise<Response> {
  readQuery(request.url, []);
  const id = uuidFromRequestId(params.generation ?? '');
  const find = (known: string) => findAnyGeneration(services.sql, signedIn.userId, known);
  const generation = id === null ? null : await lookUp('generation_lookup_failed', () => find(id));
  if (generation === null)
    throw new ApiError('generation_not_found', { message: 'No account has a request with this ID.' });
  const { account, reportedUsage } = generation;
  return Response.json({
    ...presentDetail(generation),
    account,
    reported_usage: reportedUsage && {
      input_tokens: Number(reportedUsage.inputTokens),
      output_tokens: Number(reportedUsage.outputTokens),
    },
  } satisfies OperatorGeneration);
}
