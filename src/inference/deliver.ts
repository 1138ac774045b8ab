/** Delivers an answer that is one body: sent, and kept for retries, only with its charge. */
import type { Claim } from '../idempotency/claim.ts';
import type { Ending, OpenGeneration } from './generation.ts';
import { settleBeforeDelivery } from './run.ts';

export type Delivery = Readonly<{
  generation: OpenGeneration;
  /** The right to answer for good, when the request has a name. */
  claim: Claim | null;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;

const headers = { 'content-type': 'application/json;charset=utf-8' };

export async function deliverWhole(
  { generation, claim, client }: Delivery,
  answer: object,
  billed: (status: 'completed' | 'cancelled', kept: Ending['kept']) => Ending,
): Promise<Response> {
  const body = JSON.stringify(answer);
  const kept = claim === null ? null : await claim.kept(body, headers, null);
  // A retry gets what was kept, so what was paid for it is not given back when it has to be withheld.
  const whenWithheld = claim?.keepsAnswer === true ? 'stands' : 'refund';
  // A client that left before its answer still caused the work; its Generation is closed as cancelled.
  const status = client.aborted ? 'cancelled' : 'completed';
  await settleBeforeDelivery(generation, billed(status, kept), whenWithheld);
  // What is not stored is released by whoever claimed it.
  if (kept !== null) claim?.handOver();
  return new Response(body, { headers });
}
